// Grants: parsing, covering and intersecting capabilities on roots (`file://`) and drives.

import { type Ability, APPROVE, type Capability } from "../core/call/capability.js";
import { fieldsOf, isObject } from "../core/unknown.js";
import type { GrantReading, GrantSemantics } from "../ucan/verify/proof.js";
import { referenceTo } from "./drive-key.js";

/** `file`: a root; `dlfs`: a drive. Neither ever covers the other. */
export type Scheme = "file" | "dlfs";

/** A parsed capability. The first segment is the name of the root or drive; no segments mean all of them. */
export interface Grant {
  /** Absent: `file`. */
  readonly scheme?: Scheme;
  /** Canonical DID of the owner of the drives; absent for roots. */
  readonly owner?: string;
  readonly segments: readonly string[];
  /** Parts of the ability, split at `/`; none mean every ability. */
  readonly words: readonly string[];
  /** The capability as written, for display. */
  readonly written: Capability;
}

export const EVERYTHING: Grant = { segments: [], words: [], written: { with: "file://", can: "*" } };
/** The operator's grants besides {@link EVERYTHING}. */
export const APPROVAL_EVERYWHERE: Grant = {
  segments: [],
  words: [APPROVE],
  written: { with: "file://", can: APPROVE },
};
/** The grant of an owner in its drives. */
export const everyDriveOf = (owner: string): Grant => ({
  ...{ scheme: "dlfs", owner, segments: [], words: [] },
  written: { with: "dlfs://", can: "*" },
});

/** The right that one step of an operation requires: root or drive name, path below it, and ability. */
export interface Need {
  /** Absent: `file`. */
  readonly scheme?: Scheme;
  readonly owner?: string;
  readonly segments: readonly string[];
  readonly words: readonly string[];
}

export const SCHEME = "file://";
const DRIVE_SCHEME = "dlfs://";
/** The names of a drive: [1] the DID of its owner, absent for those of whoever gives the capability. */
const DRIVES = /^(?:dlfs:\/\/|dlfs\/|(did:[a-z0-9]+:[A-Za-z0-9._:%-]+)\/dlfs\/)/;
const startOf = (scheme: Scheme | undefined): string => (scheme === "dlfs" ? DRIVE_SCHEME : SCHEME);
const MAX_WITH_BYTES = 1024;
const REFUSED = /[%\\?#*:\u0000-\u001f\u007f]/;
const ABILITY = /^(?:\*|[a-z][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9_-]*)*(?:\/\*)?)$/;

/**
 * Parses one entry of a capability list, strictly: an entry that deviates from the format grants nothing
 * (`undefined`). Caveats (`nb`) are not evaluated, so an entry with them grants nothing either. Source: capability
 * rules, grants.
 *
 * @param giver whose drives are meant where the entry names no owner. Absent: nobody's
 */
export function parseGrant(value: unknown, { giver = "", canonicalDid = same }: GrantReading = {}): Grant | undefined {
  if (!isObject(value)) return undefined;
  if (Object.keys(value).some((key) => key !== "with" && key !== "can")) return undefined;
  const { with: resource, can } = value;
  if (typeof resource !== "string" || typeof can !== "string") return undefined;
  const segments = RESOURCES.of(resource);
  const words = ABILITIES.of(can);
  if (segments === undefined || words === undefined) return undefined;
  const written = { with: resource, can };
  if (resource.startsWith(SCHEME)) return { segments, words, written };
  const [, owner] = DRIVES.exec(resource) ?? [];
  return { scheme: "dlfs", owner: owner === undefined ? giver : canonicalDid(owner), segments, words, written };
}

const same = (did: string): string => did;

/** Whether a capability grants anything in roots. A configuration cannot grant drives: each caller owns its own. */
export function grantsFiles(value: unknown): boolean {
  const grant = parseGrant(value);
  return grant !== undefined && isOf("file", grant);
}

function parseResource(text: string): readonly string[] | undefined {
  const start = text.startsWith(SCHEME) ? SCHEME : DRIVES.exec(text)?.[0];
  if (start === undefined || !text.isWellFormed() || Buffer.byteLength(text) > MAX_WITH_BYTES) return undefined;
  const rest = text.slice(start.length);
  if (rest === "") return [];
  const segments = (rest.endsWith("/") ? rest.slice(0, -1) : rest).split("/");
  return segments.every(isPlainSegment) ? segments : undefined;
}

const isPlainSegment = (segment: string): boolean =>
  segment !== "" && segment !== "." && segment !== ".." && segment === segment.trim() && !REFUSED.test(segment);

function parseAbility(can: string): readonly string[] | undefined {
  if (!ABILITY.test(can)) return undefined;
  return can.split("/").filter((word) => word !== "*");
}

/** Most texts whose parts are kept, and the longest of them, in characters: callers choose them. */
const MAX_KEPT = 256;
const MAX_KEPT_CHARS = 256;

/** Parses texts. The few that come with every call are parsed once: that took an eighth of a small read. */
class KeptParts {
  readonly #parse: (text: string) => readonly string[] | undefined;
  readonly #kept = new Map<string, readonly string[]>();

  constructor(parse: (text: string) => readonly string[] | undefined) {
    this.#parse = parse;
  }

  of(text: string): readonly string[] | undefined {
    const known = this.#kept.get(text);
    if (known !== undefined) return known;
    const parts = this.#parse(text);
    if (parts === undefined || text.length > MAX_KEPT_CHARS) return parts;
    if (this.#kept.size === MAX_KEPT) this.#kept.clear();
    this.#kept.set(text, Object.freeze(parts));
    return parts;
  }
}

const RESOURCES = new KeptParts(parseResource);
const ABILITIES = new KeptParts(parseAbility);

const WORDS: Readonly<Record<Ability, readonly string[]>> = {
  "crud/read": ["crud", "read"],
  "crud/write": ["crud", "write"],
  "crud/delete": ["crud", "delete"],
  "exec/run": ["exec", "run"],
  approve: [APPROVE],
};

export const wordsOf = (ability: Ability): readonly string[] => WORDS[ability];

/** Whether a grant or need has this scheme. */
export const isOf = (scheme: Scheme, one: { readonly scheme?: Scheme }): boolean => (one.scheme ?? "file") === scheme;

/** Whether a grant covers a need: same scheme and owner, and both its segments and its words are prefixes of the need's. */
export const covers = (grant: Need, need: Need): boolean =>
  isOf(grant.scheme ?? "file", need) &&
  grant.owner === need.owner &&
  isPrefix(grant.segments, need.segments) &&
  grantsWords(grant.words, need.words);

/** Words are a prefix; but every ability (no words) does not include approval, which has to be named. */
const grantsWords = (held: readonly string[], needed: readonly string[]): boolean =>
  isPrefix(held, needed) && (needed[0] !== APPROVE || held[0] === APPROVE);

/** Values of `can`, besides `*`. */
export const ABILITY_NAMES = "crud/read, crud/write, crud/delete, crud (all three), exec/run or approve";

/** Whether any operation needs what a grant gives; else its ability is misspelt. */
export const isOfUse = ({ words }: Grant): boolean => Object.values(WORDS).some((needed) => grantsWords(words, needed));

/** Whether an entry of a caps list may grant anything; those of other schemes are for other adapters. */
export function mayGrant(value: unknown): boolean {
  const { with: resource } = fieldsOf(value);
  if (typeof resource === "string" && !/^(?:file:|dlfs:|dlfs\/|did:[^/]*\/dlfs\/)/i.test(resource)) return true;
  const grant = parseGrant(value);
  return grant !== undefined && isOfUse(grant);
}

/** Semantics of the capabilities in UCANs, for the verifier. */
export const FILE_SEMANTICS: GrantSemantics<Grant> = { parse: parseGrant, covers, ownerOf: ({ owner }) => owner };

/** The intersection of two grants; `undefined` if it is empty. On each axis one must be a prefix of the other. */
export function intersect(a: Grant, b: Grant): Grant | undefined {
  if (!isOf(a.scheme ?? "file", b) || a.owner !== b.owner) return undefined;
  const [wide, deep] = a.segments.length <= b.segments.length ? [a, b] : [b, a];
  const [broad, fine] = a.words.length <= b.words.length ? [a, b] : [b, a];
  if (!isPrefix(wide.segments, deep.segments) || !grantsWords(broad.words, fine.words)) return undefined;
  const written = { with: deep.written.with, can: fine.written.can };
  return {
    ...(a.scheme === undefined ? {} : { scheme: a.scheme }),
    ...(a.owner === undefined ? {} : { owner: a.owner }),
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

/** A resource as text, for display; never parsed back. */
export function printResource(segments: readonly string[], scheme: Scheme = "file"): string {
  const [root, ...path] = segments;
  if (root === undefined) return startOf(scheme);
  return scheme === "file" || root.includes("/")
    ? referenceTo(root, path)
    : `${startOf(scheme)}${root}/${path.join("/")}`;
}
