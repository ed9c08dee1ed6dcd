// Preconditions of a request: the `If` header, and the conditional headers of RFC 9110.

import { badRequest } from "../../plumbing/http-error.js";
import { type DavCall, undefinedFor } from "../call.js";
import { hashIn } from "../entity-tag.js";
import { DavError } from "../errors.js";
import { addressOf, type Target } from "../target.js";
import { type Condition, type ConditionList, parseIf } from "./if-header.js";

/** Evaluated preconditions, and those that the operation must check again when it makes the change. */
export interface Conditions {
  /** Lock tokens that the request names. */
  readonly tokens: ReadonlySet<string>;
  /** Hash that a resource must have still. */
  hashOf(place: Pick<Target, "segments" | "root">): string | undefined;
  /** Nothing may be at the target. */
  readonly isNew: boolean;
}

const nameOf = ({ root, segments }: Pick<Target, "segments" | "root">): string => [root, ...segments].join("/");

/** Evaluates all conditions of a request. @throws HttpError 400, 412 */
export async function evaluateConditions(call: DavCall): Promise<Conditions> {
  const evaluation = new Evaluation(call);
  const tokens = await evaluation.ifHeader();
  const isNew = await evaluation.standardHeaders();
  const { hashes } = evaluation;
  return { tokens, hashOf: (place) => hashes.get(nameOf(place)), isNew };
}

const failed = (): DavError => new DavError(412, "A condition of the request does not hold", { code: "CONFLICT" });

class Evaluation {
  /** Hashes that made conditions true. */
  readonly hashes = new Map<string, string>();
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
      const hash = await this.#hash(target);
      if (hash === undefined || !tagsIn(match).some((tag) => hashIn(tag) === hash)) throw failed();
      this.hashes.set(nameOf(target), hash);
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
    const hashes = tagsIn(none).flatMap((tag) => hashIn(tag.replace(/^W\//, "")) ?? []);
    const hash = hashes.length === 0 ? undefined : await this.#hash(target);
    if (hash !== undefined && hashes.includes(hash)) throw failed();
    return false;
  }

  async #holds({ tag, conditions }: ConditionList): Promise<boolean> {
    const place = this.#placeOf(tag);
    if (place === undefined) return false;
    const relied: string[] = [];
    for (const condition of conditions) {
      if ((await this.#isMet(condition, place)) === condition.isNegated) return false;
      const hash = condition.isNegated ? undefined : hashIn(condition.etag ?? "");
      if (hash !== undefined) relied.push(hash);
    }
    for (const hash of relied) this.hashes.set(nameOf(place), hash);
    return true;
  }

  async #isMet({ token, etag }: Condition, place: Target): Promise<boolean> {
    if (etag !== undefined) {
      const hash = hashIn(etag);
      return hash !== undefined && (await this.#hash(place)) === hash;
    }
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

/** Strong and weak entity tags of a list. */
const tagsIn = (header: string): string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? [];
