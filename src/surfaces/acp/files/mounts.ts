// Maps the absolute paths that agents use to roots and paths in them.

import { escapeText } from "../../../core/errors/texts.js";
import type { AcpMount } from "../options.js";

/** A root mounted where agents see it. */
export interface Mount {
  readonly root: string;
  /** Segments of its absolute path. */
  readonly prefix: readonly string[];
  readonly readOnly: boolean;
}

/** Where a path sent by an agent leads, lexically (symlinks are not resolved). */
export interface AcpPlace {
  /** The root is read-only. */
  readonly readOnly: boolean;
  /** Segments of the absolute path. */
  readonly absolute: readonly string[];
  readonly root: string;
  /** Path in the root; `""`: the root itself. */
  readonly path: string;
  /** Segments of `path`. */
  readonly segments: readonly string[];
  /** As the agent sent it. */
  readonly sent: string;
}

/** A root that the caller may use, from `file:roots`. */
export interface SeenRoot {
  readonly name: string;
  readonly path: string;
  readonly kind: string;
  readonly readOnly: boolean;
}

/** Parent of the roots without a host path that may be shown. */
const VIRTUAL = "venue-roots";

/** Resolves the configured mounts. @throws Error if a root cannot be mounted as configured */
export function placeMounts(wanted: readonly AcpMount[], roots: readonly SeenRoot[]): readonly Mount[] {
  const mounts = wanted.map(({ root, prefix }) => {
    const found = roots.find(({ name }) => name === root);
    if (found === undefined) throw new Error(`Cannot mount root '${escapeText(root)}': it does not exist`);
    const text = prefix ?? defaultPrefix(found);
    const segments = absoluteSegments(text);
    if (segments === undefined)
      throw new Error(`Cannot mount root '${escapeText(root)}': its prefix is no absolute path`);
    return { root, prefix: segments, readOnly: found.readOnly };
  });
  const texts = mounts.map(({ prefix }) => prefix.join("/"));
  if (new Set(texts).size < texts.length) throw new Error("Cannot mount two roots at one prefix");
  // The longest prefix is tried first.
  return mounts.sort((a, b) => b.prefix.length - a.prefix.length);
}

function defaultPrefix({ name, path, kind }: SeenRoot): string {
  return kind !== "dlfs" && path.startsWith("/") ? path : `/${VIRTUAL}/${name}`;
}

/** @returns `undefined` if the path is relative or contains `..` */
function absoluteSegments(path: string): readonly string[] | undefined {
  if (!path.startsWith("/")) return undefined;
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  return segments.includes("..") ? undefined : segments;
}

/** Whether a path ends in `/` or `/.` and so can only name a directory. */
export const namesDirectory = (path: string): boolean => /\/\.?$/.test(path);

/** The part of `path` below `prefix`, compared by whole segments; `undefined` if it is not below. */
export function below(prefix: readonly string[], path: readonly string[]): readonly string[] | undefined {
  return prefix.length <= path.length && prefix.every((segment, index) => segment === path[index])
    ? path.slice(prefix.length)
    : undefined;
}

/** @returns `undefined` if the path is in no mount */
export function findPlace(mounts: readonly Mount[], sent: string): AcpPlace | undefined {
  const absolute = absoluteSegments(sent);
  if (absolute === undefined) return undefined;
  for (const { root, prefix, readOnly } of mounts) {
    const segments = below(prefix, absolute);
    if (segments !== undefined) return { root, readOnly, path: segments.join("/"), segments, sent, absolute };
  }
  return undefined;
}
