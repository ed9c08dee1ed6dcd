import type { Ability, Capability } from "../core/capability.js";
import type { GrantSemantics } from "../ucan/proof.js";

/** A parsed capability. The root's name is the first segment; no segments mean every root. */
export interface Grant {
  readonly segments: readonly string[];
  /** Words of the ability; none mean every ability. */
  readonly words: readonly string[];
  /** As it was written, for people. */
  readonly written: Capability;
}

export const EVERYTHING: Grant = { segments: [], words: [], written: { with: "file://", can: "*" } };

/** What one step of an operation needs: the root's name and the path below it, and the ability. */
export interface Need {
  readonly segments: readonly string[];
  readonly words: readonly string[];
}

export const SCHEME = "file://";
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
  const segments = parseResource(resource);
  const words = parseAbility(can);
  if (segments === undefined || words === undefined) return undefined;
  return { segments, words, written: { with: resource, can } };
}

function parseResource(text: string): string[] | undefined {
  if (!text.startsWith(SCHEME) || !text.isWellFormed() || Buffer.byteLength(text) > MAX_WITH_BYTES) return undefined;
  const rest = text.slice(SCHEME.length);
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
};

export const wordsOf = (ability: Ability): readonly string[] => WORDS[ability];

/** Whether a grant covers a need: both its segments and its words are a prefix. */
export const covers = (grant: Need, need: Need): boolean =>
  isPrefix(grant.segments, need.segments) && isPrefix(grant.words, need.words);

/** What the capabilities in tokens mean here. */
export const FILE_SEMANTICS: GrantSemantics<Grant> = { parse: parseGrant, covers };

/** The narrower of two grants on each axis, if one lies within the other there. */
export function intersect(a: Grant, b: Grant): Grant | undefined {
  const [wide, deep] = a.segments.length <= b.segments.length ? [a, b] : [b, a];
  const [broad, fine] = a.words.length <= b.words.length ? [a, b] : [b, a];
  if (!isPrefix(wide.segments, deep.segments) || !isPrefix(broad.words, fine.words)) return undefined;
  const written = { with: deep.written.with, can: fine.written.can };
  return { segments: deep.segments, words: fine.words, written };
}

function isPrefix(short: readonly string[], long: readonly string[]): boolean {
  if (short.length > long.length) return false;
  for (let i = 0; i < short.length; i++) if (short[i] !== long[i]) return false;
  return true;
}

/** The printed form of a resource; for people, never parsed back. */
export function printResource(segments: readonly string[]): string {
  const [root, ...path] = segments;
  return root === undefined ? SCHEME : `${SCHEME}${root}/${path.join("/")}`;
}
