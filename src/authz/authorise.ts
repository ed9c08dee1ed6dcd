import type { Ability } from "../core/capability.js";
import type { FileAdapterError } from "../core/errors.js";
import { denied } from "./denial.js";
import { covers, EVERYTHING, type Grant, intersect, type Need, parseGrant, wordsOf } from "./grant.js";

/** What a caller may do at all, before any caps list narrows it. */
export type Authority = "everything" | readonly Grant[];

/** A caps list, read. Absent lists narrow nothing and are not represented. */
export interface CapsList {
  readonly grants: readonly Grant[];
  /** Why the list allows nothing as a whole. */
  readonly fault?: "malformed" | "too_large";
}

/** The most grants a denial shows, and hence the most that are worked out for it. */
const MAX_SHOWN = 20;
const MAX_ENTRIES = 256;

/** Reads a caps list as given. `undefined`: no restriction. Malformed entries grant nothing, the others count. */
export function readCaps(value: unknown): CapsList | undefined {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return { grants: [], fault: "malformed" };
  if (value.length > MAX_ENTRIES) return { grants: [], fault: "too_large" };
  return { grants: value.map(parseGrant).filter((grant) => grant !== undefined) };
}

/** Decides what one caller may do in one call: caps ∩ authority, on canonical segments only. Knows no files. */
export class Authoriser {
  readonly #caps: readonly CapsList[];
  readonly #authority: Authority;
  readonly #operation: string;

  /** @param caps each list must cover a need; `authority` must cover it too */
  constructor(options: { operation: string; caps: readonly (CapsList | undefined)[]; authority: Authority }) {
    this.#operation = options.operation;
    this.#caps = options.caps.filter((list) => list !== undefined);
    this.#authority = options.authority;
  }

  /** @param segments the root's name and the path below it @throws CAPABILITY_DENIED */
  require(segments: readonly string[], ability: Ability): void {
    const need = { segments, words: wordsOf(ability) };
    if (!this.#allows(need)) throw this.#denial(need, ability);
  }

  /**
   * The same for the place a request really leads to. The denial names the requested place: where a link leads is not
   * told to someone without rights there. @throws CAPABILITY_DENIED
   */
  requireReal(root: string, path: { requested: readonly string[]; real: readonly string[] }, ability: Ability): void {
    if (sameSegments(path.requested, path.real)) return;
    const need = { segments: [root, ...path.real], words: wordsOf(ability) };
    if (this.#allows(need)) return;
    throw this.#denial({ segments: [root, ...path.requested], words: need.words }, ability, true);
  }

  /** Whether the caller holds any grant in a root. */
  seesRoot(root: string): boolean {
    return this.#someGrant((grant) => grant.segments.length === 0 || grant.segments[0] === root);
  }

  /** @throws CAPABILITY_DENIED unless the caller may read something in one of `roots` */
  requireAnyRead(roots: readonly string[]): void {
    const words = wordsOf("crud/read");
    const readable = (root: string) =>
      this.#someGrant(
        (grant) =>
          (grant.segments[0] ?? root) === root && covers({ segments: [], words: grant.words }, { segments: [], words }),
      );
    if (!roots.some(readable)) throw this.#denial({ segments: [], words }, "crud/read");
  }

  #allows(need: Need): boolean {
    for (const list of this.#caps) if (!list.grants.some((grant) => covers(grant, need))) return false;
    return this.#authority === "everything" || this.#authority.some((grant) => covers(grant, need));
  }

  /** Whether some grant of caps ∩ authority satisfies `test`. */
  #someGrant(test: (grant: Grant) => boolean): boolean {
    for (const grant of this.#held()) if (test(grant)) return true;
    return false;
  }

  /** The grants of caps ∩ authority, worked out one by one. */
  *#held(): Generator<Grant> {
    const lists = [
      this.#authority === "everything" ? [EVERYTHING] : this.#authority,
      ...this.#caps.map((list) => list.grants),
    ];
    yield* combine(lists, EVERYTHING);
  }

  #denial(need: Need, ability: Ability, realPath = false): FileAdapterError {
    const faults = new Set(this.#caps.flatMap((list) => (list.fault === undefined ? [] : [list.fault])));
    const byCaps = this.#caps.some((list) => !list.grants.some((grant) => covers(grant, need)));
    const byAuthority = this.#authority !== "everything" && !this.#authority.some((grant) => covers(grant, need));
    const deniedBy = realPath
      ? ["path_policy" as const]
      : [...(byCaps ? ["agent_caps" as const] : []), ...(byAuthority ? ["authority" as const] : [])];
    const have: Grant[] = [];
    let truncated = false;
    for (const grant of this.#held()) {
      if (have.some((known) => covers(known, grant))) continue;
      if (have.length === MAX_SHOWN) {
        truncated = true;
        break;
      }
      have.push(grant);
    }
    return denied({
      operation: this.#operation,
      required: { segments: need.segments, ability },
      deniedBy,
      have,
      truncated,
      reasons: faults.size > 0 ? [...faults] : ["not_covered"],
    });
  }
}

function* combine(lists: readonly (readonly Grant[])[], narrowed: Grant): Generator<Grant> {
  const [list, ...rest] = lists;
  if (list === undefined) yield narrowed;
  else {
    for (const grant of list) {
      const next = intersect(narrowed, grant);
      if (next !== undefined) yield* combine(rest, next);
    }
  }
}

function sameSegments(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((segment, index) => segment === b[index]));
}
