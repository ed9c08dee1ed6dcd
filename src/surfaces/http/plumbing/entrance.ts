// By which address a request came in: addresses in its answer are below the same one.

import type { IncomingMessage } from "node:http";
import { isLoopbackHost } from "../../../config/loopback.js";
import type { HttpHost } from "../host.js";

/** Facts of the venue that decide which addresses are its own. */
export type Addresses = Pick<HttpHost, "url" | "hosts" | "trustProxy">;

/** A base URL by which clients reach the venue. */
export interface Entrance {
  /** Without a trailing slash. */
  readonly url: string;
  readonly origin: string;
  /** Path in front of those of endpoints: `""` or `/files`. */
  readonly prefix: string;
}

interface Base extends Entrance {
  readonly host: string;
}

/** A host and its port as in `Host`, in lower case. */
interface Authority {
  /** Without the brackets of an IPv6 literal. */
  readonly name: string;
  readonly port: string;
  readonly text: string;
}

const MAX_PORT = 65_535;
const PATH = /^(?:\/[\w.~-]+)+$/;

/** The requested host: that of an absolute-form target (RFC 9112 §3.2.2), else the `Host` header. */
export function addressee({ url = "", headers }: IncomingMessage): string | undefined {
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(url);
  return absolute?.[1] ?? headers.host;
}

/** @returns `undefined` for what is no host */
export function parseAuthority(text: string | undefined): Authority | undefined {
  const [, inBrackets, plain, port = ""] =
    /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]]+))(?::(\d{0,5}))?$/i.exec(text ?? "") ?? [];
  const name = (inBrackets ?? plain)?.toLowerCase();
  if (name === undefined || Number(port) > MAX_PORT) return undefined;
  return { name, port, text: `${inBrackets === undefined ? name : `[${name}]`}${port === "" ? "" : `:${port}`}` };
}

/** Whether a host name is one of the venue's: a name that anybody may send decides nothing. */
export function isOwnName(name: string, { hosts }: Pick<Addresses, "hosts">): boolean {
  return isLoopbackHost(name) || hosts.includes(name);
}

/** The base URL of the venue, which is an entrance too. */
function baseOf({ url }: Pick<Addresses, "url">): Base {
  const text = url();
  if (text === lastBase.url) return lastBase;
  const { origin, host, pathname } = new URL(text);
  // The URL of a venue changes once, when it begins to listen, and every request asks.
  lastBase = { url: text, origin, host, prefix: pathname.replace(/\/+$/, "") };
  return lastBase;
}

let lastBase: Base = { url: "", origin: "", host: "", prefix: "" };

/** The host name of `baseUrl`. */
export const ownName = (venue: Pick<Addresses, "url">): string => nameOf(new URL(baseOf(venue).origin));

/** The path of `baseUrl`, which requests may have or not. */
export const basePath = (venue: Pick<Addresses, "url">): string => baseOf(venue).prefix;

/** The entrance by which a request came, as far as its host is one of the venue's; else the venue's URL. */
export function entranceOf(venue: Addresses, request: IncomingMessage): Entrance {
  const base = baseOf(venue);
  if (!venue.trustProxy && request.headers.host === base.host && request.url?.startsWith("/") === true) return base;
  const said = venue.trustProxy ? forwarded(request) : NOTHING;
  const host = parseAuthority(said.host ?? addressee(request));
  if (host === undefined) return base;
  // Also where a proxy leaves out the port.
  const own = new URL(base.origin);
  const isBase = host.name === nameOf(own) && (host.port === own.port || host.port === "" || isDefault(host.port, own));
  if (!isBase && (!isOwnName(host.name, venue) || isUpstream(request, host, said))) return base;
  const prefix = said.prefix ?? (isBase || isBelow(targetAsSent(request), base.prefix) ? base.prefix : "");
  const scheme = said.scheme ?? (isBase || !(isLoopbackHost(host.name) || host.port !== "") ? own.protocol : "http:");
  const origin = new URL(`${scheme}//${isBase ? own.host : host.text}`).origin;
  return { origin, prefix, url: origin + prefix };
}

/** Whether a proxy has put our own address into `Host`, so that its client's is not known. */
function isUpstream({ headers, socket }: IncomingMessage, { name, port }: Authority, { host }: Forwarded): boolean {
  if (host !== undefined || !isLoopbackHost(name)) return false;
  // Only proxies reach a Unix socket, and whoever names none of the entrances.
  if (socket.localPort === undefined) return true;
  return headers["x-forwarded-for"] !== undefined && port === `${socket.localPort}`;
}

const nameOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

const isDefault = (port: string, { protocol, port: own }: URL): boolean =>
  own === "" && port === (protocol === "https:" ? "443" : "80");

/** The target before the path of `baseUrl` was taken away. */
const targetAsSent = (request: IncomingMessage & { readonly originalUrl?: string }): string =>
  request.originalUrl ?? request.url ?? "";

const isBelow = (target: string, prefix: string): boolean => withoutPrefix(target, prefix) !== target;

interface Forwarded {
  readonly host?: string | undefined;
  readonly scheme?: string | undefined;
  readonly prefix?: string | undefined;
}

const NOTHING: Forwarded = {};

/** The proxy in front adds its word at the end of what came with the request. */
function forwarded({ headers }: IncomingMessage): Forwarded {
  const [host, proto, path] = ["host", "proto", "prefix"].map((name) =>
    String(headers[`x-forwarded-${name}`] ?? "")
      .split(",")
      .at(-1)
      ?.trim()
      .replace(/\/+$/, ""),
  );
  return {
    host: host === "" ? undefined : host,
    scheme: proto !== undefined && /^https?$/i.test(proto) ? `${proto.toLowerCase()}:` : undefined,
    prefix: path !== undefined && PATH.test(path) ? path : undefined,
  };
}

/** The path of an endpoint as the client of a request reaches it. */
export const publicPath = (venue: Addresses, request: IncomingMessage, path: string): string =>
  `${entranceOf(venue, request).prefix}${path}`;

/**
 * A request target without the path of `baseUrl`, which a proxy may pass on or take away. Metadata documents may carry it behind
 * their name too (RFC 8414 §3.1).
 * @param prefix `""` or `/files`
 */
export function withoutPrefix(target: string, prefix: string): string {
  if (prefix === "") return target;
  const [path = ""] = target.split("?", 1);
  const query = target.slice(path.length);
  if (path === prefix) return `/${query}`;
  if (path.startsWith(`${prefix}/`)) return target.slice(prefix.length);
  const name = /^\/\.well-known\/[^/]*/.exec(path)?.[0];
  if (name === undefined) return target;
  const rest = path.slice(name.length);
  return rest === prefix || rest.startsWith(`${prefix}/`) ? `${name}${rest.slice(prefix.length)}${query}` : target;
}

/**
 * Whether an absolute URL of a header names this venue, by whichever entrance.
 * @param authority host and port of that URL
 */
export function isOwnAuthority(venue: Addresses, request: IncomingMessage, authority: string): boolean {
  const named = parseAuthority(authority);
  if (named === undefined) return false;
  const sent = parseAuthority(addressee(request));
  const said = venue.trustProxy ? parseAuthority(forwarded(request).host) : undefined;
  const own = parseAuthority(new URL(baseOf(venue).origin).host);
  // A proxy may end TLS, so the default ports of both schemes are none.
  const port = portOf(named);
  if ([sent, said, own].some((one) => one?.name === named.name && portOf(one) === port)) return true;
  const isAlias = isLoopbackHost(named.name)
    ? sent !== undefined && isLoopbackHost(sent.name)
    : venue.hosts.includes(named.name);
  return (
    isAlias &&
    [portOf(sent), `${request.socket.localPort ?? ""}`, ...(isLoopbackHost(named.name) ? [] : [""])].includes(port)
  );
}

const portOf = (authority: Authority | undefined): string => (authority?.port ?? "").replace(/^(?:80|443)$/, "");
