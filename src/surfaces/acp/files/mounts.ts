import { escapeText } from "../../../core/errors/texts.js";
import type { AcpMount } from "../options.js";

/** A root as it is seen by agents. */
export interface Mount {
  readonly root: string;
  /** Segments of its absolute prefix. */
  readonly prefix: readonly string[];
  readonly readOnly: boolean;
}

/** Where a path that an agent sent leads, as far as text goes. */
export interface AcpPlace {
  /** The root is. */
  readonly readOnly: boolean;
  /** Segments of the whole path. */
  readonly absolute: readonly string[];
  readonly root: string;
  /** In the root; `""`: the root itself. */
  readonly path: string;
  /** Segments of it. */
  readonly segments: readonly string[];
  /** As it was sent. */
  readonly sent: string;
}

/** A root that a caller may use, as `file:roots` says it. */
export interface SeenRoot {
  readonly name: string;
  readonly path: string;
  readonly kind: string;
  readonly readOnly: boolean;
}

/** Where roots are that have no host path, or none that may be shown. */
const VIRTUAL = "venue-roots";

/** The path leads to no file that could be reached. */
export class OutsideRoots extends Error {
  override readonly name = "OutsideRoots";
}

/** Puts mounts where they belong. @throws Error for what cannot be mounted */
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
  // The longest is tried first.
  return mounts.sort((a, b) => b.prefix.length - a.prefix.length);
}

function defaultPrefix({ name, path, kind }: SeenRoot): string {
  return kind !== "dlfs" && path.startsWith("/") ? path : `/${VIRTUAL}/${name}`;
}

/** @returns `undefined`: it is relative, or has a `..` */
export function absoluteSegments(path: string): readonly string[] | undefined {
  if (!path.startsWith("/")) return undefined;
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  return segments.includes("..") ? undefined : segments;
}

/** Whether the text of a path says that a directory is meant, which no file is. */
export const namesDirectory = (path: string): boolean => /\/\.?$/.test(path);

/** The part of `path` below `prefix`, on whole segments. */
export function below(prefix: readonly string[], path: readonly string[]): readonly string[] | undefined {
  return prefix.length <= path.length && prefix.every((segment, index) => segment === path[index])
    ? path.slice(prefix.length)
    : undefined;
}

/** @returns `undefined`: it is in no mount */
export function findPlace(mounts: readonly Mount[], sent: string): AcpPlace | undefined {
  const absolute = absoluteSegments(sent);
  if (absolute === undefined) return undefined;
  for (const { root, prefix, readOnly } of mounts) {
    const segments = below(prefix, absolute);
    if (segments !== undefined) return { root, readOnly, path: segments.join("/"), segments, sent, absolute };
  }
  return undefined;
}
