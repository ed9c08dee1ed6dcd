// Preconditions of a request: the `If` header, the conditional headers of RFC 9110, and the locks that others hold.

import { hashIn, stampIn, tagsIn } from "../../plumbing/entity-tags.js";
import { badRequest } from "../../plumbing/http-error.js";
import { type DavCall, undefinedFor } from "../call.js";
import { DavError } from "../errors.js";
import { addressOf, parentOf, type Target } from "../target.js";
import { element } from "../xml/write.js";
import { type Condition, type ConditionList, parseIf } from "./if-header.js";
import type { Lock, Named } from "./locks.js";

/** Evaluated preconditions, and those that the operation must check again when it makes the change. */
export interface Conditions {
  /** Lock tokens that the request names. */
  readonly tokens: ReadonlySet<string>;
  /** Version that a resource must have still: its hash, or the tag of its stamp. */
  versionOf(place: Named): string | undefined;
  /** Nothing may be at the target. */
  readonly isNew: boolean;
}

const nameOf = ({ root, segments }: Named): string => [root, ...segments].join("/");

/** Evaluates all conditions of a request. @throws HttpError 400, 412 */
export async function evaluateConditions(call: DavCall): Promise<Conditions> {
  const evaluation = new Evaluation(call);
  const tokens = await evaluation.ifHeader();
  const isNew = await evaluation.standardHeaders();
  const { versions } = evaluation;
  return { tokens, versionOf: (place) => versions.get(nameOf(place)), isNew };
}

const failed = (): DavError => new DavError(412, "A condition of the request does not hold", { code: "CONFLICT" });

class Evaluation {
  /** Versions that made conditions true. */
  readonly versions = new Map<string, string>();
  readonly #call: DavCall;
  readonly #known = new Map<string, Promise<string | undefined>>();

  constructor(call: DavCall) {
    this.#call = call;
  }

  /** @returns the tokens in the header */
  async ifHeader(): Promise<ReadonlySet<string>> {
    const header = this.#call.header("if");
    if (header === undefined) return new Set();
    const lists = parseIf(header);
    for (const list of lists) {
      if (!(await this.#holds(list))) continue;
      return new Set(lists.flatMap(({ conditions }) => conditions.map(({ token }) => token ?? "")));
    }
    throw failed();
  }

  /** @returns whether nothing may be at the target */
  async standardHeaders(): Promise<boolean> {
    const { target } = this.#call;
    const [match, none, since] = ["if-match", "if-none-match", "if-unmodified-since"].map((name) =>
      this.#call.header(name)?.trim(),
    );
    if (match === "*" && (await this.#stat(target)) === undefined) throw failed();
    if (match !== undefined && match !== "*") {
      const version = await this.#versionIn(tagsIn(match), target);
      if (version === undefined) throw failed();
      this.versions.set(nameOf(target), version);
    }
    if (match === undefined && since !== undefined) {
      const found = await this.#stat(target);
      const time = Date.parse(since);
      if (Number.isNaN(time)) throw badRequest("If-Unmodified-Since must be a date of HTTP");
      if (found === undefined || Math.floor(found.modified / 1000) * 1000 > time) throw failed();
    }
    if (none === undefined) return false;
    if (none === "*") {
      if ((await this.#stat(target)) !== undefined) throw failed();
      return true;
    }
    const tags = tagsIn(none).map((tag) => tag.replace(/^W\//, ""));
    if ((await this.#versionIn(tags, target)) !== undefined) throw failed();
    return false;
  }

  async #holds({ tag, conditions }: ConditionList): Promise<boolean> {
    const place = this.#placeOf(tag);
    if (place === undefined) return false;
    const relied: string[] = [];
    for (const condition of conditions) {
      if ((await this.#isMet(condition, place)) === condition.isNegated) return false;
      const version = condition.isNegated ? undefined : versionNamedBy(condition.etag ?? "");
      if (version !== undefined) relied.push(version);
    }
    for (const version of relied) this.versions.set(nameOf(place), version);
    return true;
  }

  async #isMet({ token, etag }: Condition, place: Target): Promise<boolean> {
    if (etag !== undefined) return (await this.#versionIn([etag], place)) !== undefined;
    const lock = this.#call.locks.find(token ?? "");
    return lock !== undefined && this.#call.locks.covering(this.#call.spotOf(place)).includes(lock);
  }

  /** `undefined`: a URL that is none of this venue's. */
  #placeOf(tag: string | undefined): Target | undefined {
    const { target, host, exchange } = this.#call;
    if (tag === undefined) return target;
    const found = addressOf(tag, host, exchange.request.raw);
    return found === "other host" || found.root === undefined || found.space !== target.space ? undefined : found;
  }

  #stat(place: Target) {
    return undefinedFor(["NOT_A_DIRECTORY"], this.#call.stat(place));
  }

  /** The first version named by strong ETags, in either form, that a file has. */
  async #versionIn(tags: readonly string[], place: Target): Promise<string | undefined> {
    for (const tag of tags) {
      const [stamp, hash] = [stampIn(tag), hashIn(tag)];
      if (stamp !== undefined && (await this.#stat(place))?.tag === stamp) return stamp;
      if (hash !== undefined && (await this.#hash(place)) === hash) return hash;
    }
    return undefined;
  }

  #hash(place: Target): Promise<string | undefined> {
    const name = nameOf(place);
    const known = this.#known.get(name) ?? this.#hashNow(place);
    this.#known.set(name, known);
    return known;
  }

  async #hashNow(place: Target): Promise<string | undefined> {
    const found = await this.#stat(place);
    if (found?.type !== "file") return undefined;
    return found.hash ?? (await this.#call.stat(place, true))?.hash;
  }
}

const versionNamedBy = (tag: string): string | undefined => stampIn(tag) ?? hashIn(tag);

/** A place that a request changes, and how. */
export interface Touched {
  readonly place: Named;
  /** Everything below it too. */
  readonly isTree: boolean;
  /** The resource appears or disappears, so that its collection changes. */
  readonly isMember: boolean;
}

/** @throws HttpError 423 for a lock whose token the holder has not sent; as an operation for a caller without rights */
export async function requireUnlocked(
  call: DavCall,
  { tokens }: Pick<Conditions, "tokens">,
  changes: readonly Touched[],
): Promise<void> {
  const held = (lock: Lock): boolean => tokens.has(lock.token) && lock.caller === call.caller.did;
  for (const { place, isTree, isMember } of changes) {
    const spot = call.spotOf(place);
    const parent = isMember ? parentOf(place) : undefined;
    const groups = [
      call.locks.covering(spot),
      ...(parent === undefined || parent.root === undefined ? [] : [call.locks.on(call.spotOf(parent))]),
      ...(isTree ? bySpot(call.locks.below(spot)) : []),
    ];
    // Any of several shared locks on one resource will do.
    const blocking = groups.find((locks) => locks.length > 0 && !locks.some(held))?.[0];
    if (blocking !== undefined) await refuse(call, place, blocking);
  }
}

async function refuse(call: DavCall, place: Named, lock: Lock): Promise<never> {
  // A caller who may not change the resource does not learn of the lock.
  await undefinedFor(["NOT_FOUND", "NOT_A_DIRECTORY", "PARENT_MISSING", "NOT_A_FILE"], call.run("touch", place));
  const condition = element("D:lock-token-submitted", element("D:href", call.hrefOf(lock.place, lock.isCollection)));
  throw new DavError(423, "Locked. Unlock it, or send the token of the lock in If", { condition });
}

function bySpot(locks: readonly Lock[]): Lock[][] {
  const groups = new Map<string, Lock[]>();
  for (const lock of locks) {
    const path = lock.spot.segments.join("/");
    groups.set(path, [...(groups.get(path) ?? []), lock]);
  }
  return [...groups.values()];
}
