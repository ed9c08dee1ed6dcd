import type { Ability, Capability } from "../core/call/capability.js";
import type { GrantSemantics } from "../ucan/verify/proof.js";

/** What a resource is about: a root, or a drive of the caller's own. Neither ever covers the other. */
export type Scheme = "file" | "dlfs";

/** A parsed capability. The name of the root or drive is the first segment; no segments mean every one. */
export interface Grant {
  /** Absent: `file`. */
  readonly scheme?: Scheme;
  readonly segments: readonly string[];
  /** Words of the ability; none mean every ability. */
  readonly words: readonly string[];
  /** As it was written, for people. */
  readonly written: Capability;
}

export const EVERYTHING: Grant = { segments: [], words: [], written: { with: "file://", can: "*" } };
export const EVERY_DRIVE: Grant = {
  scheme: "dlfs",
  segments: [],
  words: [],
  written: { with: "dlfs://", can: "*" },
};

/** What one step of an operation needs: the name of the root or drive and the path below it, and the ability. */
export interface Need {
  /** Absent: `file`. */
  readonly scheme?: Scheme;
  readonly segments: readonly string[];
  readonly words: readonly string[];
}

export const SCHEME = "file://";
const DRIVE_SCHEME = "dlfs://";
const startOf = (scheme: Scheme | undefined): string => (scheme === "dlfs" ? DRIVE_SCHEME : SCHEME);
const MAX_WITH_BYTES = 1024;
const REFUSED = /[%\\?#*:\u0000-\u001f\u007f]/;
const ABILITY = /^(?:\*|[a-z][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9_-]*)*(?:\/\*)?)$/;

/**
 * Parses one entry of a capability list, strictly: whatever is odd about it makes it grant nothing.
 * Caveats (`nb`) are not evaluated, so an entry that has them grants nothing either. Source: capability rules, grants.
 */
export function parseGrant(value: unknown): Grant | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  if (Object.keys(value).some((key) => key !== "with" && key !== "can")) return undefined;
  const { with: resource, can } = value as { with?: unknown; can?: unknown };
  if (typeof resource !== "string" || typeof can !== "string") return undefined;
  const scheme = resource.startsWith(DRIVE_SCHEME) ? "dlfs" : "file";
  const segments = parseResource(resource, scheme);
  const words = parseAbility(can);
  if (segments === undefined || words === undefined) return undefined;
  return { ...(scheme === "dlfs" ? { scheme } : {}), segments, words, written: { with: resource, can } };
}

/** Whether a capability grants anything in roots: all that a configuration can give, since drives are their callers' own. */
export function grantsFiles(value: unknown): boolean {
  const grant = parseGrant(value);
  return grant !== undefined && isOf("file", grant);
}

function parseResource(text: string, scheme: Scheme): string[] | undefined {
  const start = startOf(scheme);
  if (!text.startsWith(start) || !text.isWellFormed() || Buffer.byteLength(text) > MAX_WITH_BYTES) return undefined;
  const rest = text.slice(start.length);
  if (rest === "") return [];
  const segments = (rest.endsWith("/") ? rest.slice(0, -1) : rest).split("/");
  return segments.every(isPlainSegment) ? segments : undefined;
}

const isPlainSegment = (segment: string): boolean =>
  segment !== "" && segment !== "." && segment !== ".." && segment === segment.trim() && !REFUSED.test(segment);

function parseAbility(can: string): string[] | undefined {
  if (!ABILITY.test(can)) return undefined;
  return can.split("/").filter((word) => word !== "*");
}

const WORDS: Readonly<Record<Ability, readonly string[]>> = {
  "crud/read": ["crud", "read"],
  "crud/write": ["crud", "write"],
  "crud/delete": ["crud", "delete"],
  "exec/run": ["exec", "run"],
};

export const wordsOf = (ability: Ability): readonly string[] => WORDS[ability];

/** Whether a grant or need is about roots, or about drives. */
export const isOf = (scheme: Scheme, one: { readonly scheme?: Scheme }): boolean => (one.scheme ?? "file") === scheme;

/** Whether a grant covers a need: of the same scheme, and both its segments and its words are a prefix. */
export const covers = (grant: Need, need: Need): boolean =>
  isOf(grant.scheme ?? "file", need) && isPrefix(grant.segments, need.segments) && isPrefix(grant.words, need.words);

/** What the capabilities in tokens mean here. */
export const FILE_SEMANTICS: GrantSemantics<Grant> = { parse: parseGrant, covers };

/** The narrower of two grants on each axis, if one lies within the other there. */
export function intersect(a: Grant, b: Grant): Grant | undefined {
  if (!isOf(a.scheme ?? "file", b)) return undefined;
  const [wide, deep] = a.segments.length <= b.segments.length ? [a, b] : [b, a];
  const [broad, fine] = a.words.length <= b.words.length ? [a, b] : [b, a];
  if (!isPrefix(wide.segments, deep.segments) || !isPrefix(broad.words, fine.words)) return undefined;
  const written = { with: deep.written.with, can: fine.written.can };
  return {
    ...(a.scheme === undefined ? {} : { scheme: a.scheme }),
    segments: deep.segments,
    words: fine.words,
    written,
  };
}

function isPrefix(short: readonly string[], long: readonly string[]): boolean {
  if (short.length > long.length) return false;
  for (let i = 0; i < short.length; i++) if (short[i] !== long[i]) return false;
  return true;
}

/** The printed form of a resource; for people, never parsed back. */
export function printResource(segments: readonly string[], scheme: Scheme = "file"): string {
  const [root, ...path] = segments;
  return root === undefined ? startOf(scheme) : `${startOf(scheme)}${root}/${path.join("/")}`;
}
