// Parses WebDAV URLs into places, and formats places as URLs.

import type { IncomingMessage } from "node:http";
import type { HttpHost } from "../host.js";
import { basePath, entranceOf, isOwnAuthority } from "../plumbing/entrance.js";
import { badRequest, HttpError } from "../plumbing/http-error.js";
import type { Named } from "./locks/locks.js";

/** A place that a URL names. */
export interface Target extends Named {
  /** The URL ends in a slash, so it names a collection. */
  readonly isSlashed: boolean;
}

/** @param url the target of a request, as sent @throws HttpError 400 */
export function targetOf(url: string): Target {
  if (url.includes("#")) throw badRequest("URL must not have a fragment");
  const [path = ""] = url.replace(/^https?:\/\/[^/?]*/i, "").split("?", 1);
  return parsePath(path);
}

function parsePath(path: string): Target {
  const [first, ...rest] = path.split("/").slice(1).map(decodeSegment);
  const segments = rest.filter((segment) => segment !== "");
  const isSlashed = path.endsWith("/");
  if (first !== "dav" && first !== "dlfs") return { space: "top", segments: [], isSlashed };
  const [root, ...below] = segments;
  return { space: first, ...(root === undefined ? {} : { root }), segments: below, isSlashed };
}

function decodeSegment(encoded: string): string {
  let segment: string;
  try {
    segment = decodeURIComponent(encoded);
  } catch {
    throw badRequest("Malformed URL: invalid percent-encoding or UTF-8");
  }
  if (/[/\\\0]/.test(segment)) throw badRequest("URL must not have an encoded '/', '\\' or NUL in a segment");
  if (segment === "." || segment === "..") throw badRequest("URL must not have '.' or '..' as a segment");
  return segment;
}

/**
 * The URL of a place, without scheme and host. URLs of collections end in a slash.
 * @param prefix path by which the request came
 */
export function hrefOf(prefix: string, { space, root, segments }: Named, isCollection: boolean): string {
  const names = [...(space === "top" ? [] : [space]), ...(root === undefined ? [] : [root]), ...segments];
  const path = names.map((name) => `/${encodeName(name)}`).join("");
  return `${prefix}${path}${isCollection ? "/" : ""}`;
}

/** Percent-encodes all but what RFC 3986 calls unreserved. */
export function encodeName(name: string): string {
  // Most names need nothing.
  if (/^[\w.~-]*$/.test(name)) return name;
  return encodeURIComponent(name).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The place below another. */
export const childOf = (target: Target, name: string): Named =>
  target.root === undefined
    ? { space: target.space, root: name, segments: [] }
    : { space: target.space, root: target.root, segments: [...target.segments, name] };

/** The collection that holds a place; `undefined` for `/`. */
export function parentOf({ space, root, segments }: Named): Named | undefined {
  if (segments.length > 0 && root !== undefined) return { space, root, segments: segments.slice(0, -1) };
  return root === undefined ? undefined : { space, segments: [] };
}

/** Path below the root, for an operation. */
export const pathText = ({ segments }: Pick<Target, "segments">): string => segments.join("/");

/**
 * The place that `Destination` (or a tag of `If`) names.
 * @throws HttpError 400, 403 for what is not below the same prefix, 502 for another host
 */
export function destinationOf(text: string, from: Target, host: HttpHost, request: IncomingMessage): Target {
  const found = addressOf(text, host, request);
  if (found === "other host") throw new HttpError(502, "Destination is on another host");
  if (found.space === "top" || found.space !== from.space) {
    throw new HttpError(403, "Destination must be below the same of /dav/ and /dlfs/");
  }
  return found;
}

/** @throws HttpError 400 */
export function addressOf(text: string, host: HttpHost, request: IncomingMessage): Target | "other host" {
  const [, address, path] = /^(?:https?:\/\/([^/?#]*))?(\/[^?#]*)$/i.exec(text) ?? [];
  if (path === undefined || /[^!-~]/.test(text)) {
    throw badRequest("Destination must be an absolute URL or path, without query and fragment");
  }
  // Clients that keep a password in their URL send it along; who calls is said elsewhere.
  const authority = address?.slice(address.lastIndexOf("@") + 1);
  if (authority !== undefined && !isOwnAuthority(host, request, authority)) return "other host";
  const prefixes = [entranceOf(host, request).prefix, basePath(host)];
  const prefix = prefixes.find((one) => one !== "" && path.startsWith(`${one}/`)) ?? "";
  return parsePath(path.slice(prefix.length));
}
