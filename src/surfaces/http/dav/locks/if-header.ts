// Parses the `If` header (RFC 4918 §10.4), in linear time and within limits.

import { badRequest, type HttpError } from "../../plumbing/http-error.js";

const MAX_CHARS = 8192;
const MAX_CONDITIONS = 100;

/** A state token or an entity tag, which the resource must have, or must not. */
export interface Condition {
  readonly isNegated: boolean;
  readonly token?: string;
  /** With its quotes. */
  readonly etag?: string;
}

/** Conditions that must all hold. */
export interface ConditionList {
  /** URL of the resource that is meant. Absent: that of the request. */
  readonly tag?: string;
  readonly conditions: readonly Condition[];
}

/** @throws HttpError 400 */
export function parseIf(header: string): readonly ConditionList[] {
  if (header.length > MAX_CHARS) throw malformed(`longer than ${MAX_CHARS} characters`);
  return new IfReader(header).read();
}

const malformed = (reason: string): HttpError => badRequest(`Malformed If header: ${reason}`);

class IfReader {
  readonly #text: string;
  #at = 0;
  #count = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): ConditionList[] {
    const lists: ConditionList[] = [];
    let tag: string | undefined;
    let isTagUsed = true;
    for (this.#skip(); this.#at < this.#text.length; this.#skip()) {
      if (this.#peek() === "<") {
        if (!isTagUsed || (tag === undefined && lists.length > 0)) throw malformed("a tag without a list");
        tag = this.#coded();
        isTagUsed = false;
      } else {
        lists.push({ ...(tag === undefined ? {} : { tag }), conditions: this.#list() });
        isTagUsed = true;
      }
    }
    if (lists.length === 0 || !isTagUsed) throw malformed("no list of conditions");
    return lists;
  }

  #list(): Condition[] {
    this.#take("(");
    const conditions: Condition[] = [];
    for (this.#skip(); this.#peek() !== ")"; this.#skip()) conditions.push(this.#condition());
    this.#take(")");
    if (conditions.length === 0) throw malformed("an empty list");
    return conditions;
  }

  #condition(): Condition {
    if (++this.#count > MAX_CONDITIONS) throw malformed(`more than ${MAX_CONDITIONS} conditions`);
    const isNegated = this.#text.slice(this.#at, this.#at + 3).toLowerCase() === "not";
    if (isNegated) {
      this.#at += 3;
      this.#skip();
    }
    if (this.#peek() === "<") return { isNegated, token: this.#coded() };
    this.#take("[");
    const end = this.#text.indexOf("]", this.#at);
    const etag = end === -1 ? "" : this.#text.slice(this.#at, end).trim();
    if (!/^(?:W\/)?"[^"]*"$/.test(etag)) throw malformed("not an entity tag");
    this.#at = end + 1;
    return { isNegated, etag };
  }

  #coded(): string {
    this.#take("<");
    const end = this.#text.indexOf(">", this.#at);
    const url = end === -1 ? "" : this.#text.slice(this.#at, end);
    if (url === "" || /[\s<]/.test(url)) throw malformed("not a URL in < and >");
    this.#at = end + 1;
    return url;
  }

  #take(char: string): void {
    if (this.#peek() !== char) throw malformed(`expected '${char}'`);
    this.#at++;
  }

  #peek(): string | undefined {
    return this.#text[this.#at];
  }

  #skip(): void {
    while (this.#peek() === " " || this.#peek() === "\t") this.#at++;
  }
}
