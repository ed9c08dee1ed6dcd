// The lines of a patch, and the hunks that are made of them.

import type { FileAdapterError } from "../../core/errors/errors.js";
import { invalidInput } from "../../core/errors/texts.js";
import type { Hunk, HunkLine } from "./section.js";

export const BEGIN = "*** Begin Patch";
export const END = "*** End Patch";

/** Fault of a line, 1-based. */
export const fault = (line: number, what: string): FileAdapterError =>
  invalidInput(`Line ${line} of the patch: ${what}`, "/patch", `${BEGIN} … ${END}, or a unified diff`);

/** A line of a patch. */
export interface Line {
  /** Without a CR at its end. */
  readonly text: string;
  /** With the CR at its end that belongs to the file's line. */
  readonly raw: string;
  /** 1-based. */
  readonly number: number;
}

/** The lines of a patch. Where every line ends with CRLF, that is how the patch was sent and says nothing of the file. */
export function linesIn(patch: string): Line[] {
  const isCrlf = !/(?:^|[^\r])\n/.test(patch);
  return patch
    .replace(/^\ufeff/, "")
    .split("\n")
    .map((whole, index) => {
      const text = whole.replace(/\r$/, "");
      return { text, raw: isCrlf ? text : whole, number: index + 1 };
    });
}

/** Whether the patch as a whole was sent with CRLF. */
export const isSentWithCrlf = (patch: string): boolean => patch.includes("\n") && !/(?:^|[^\r])\n/.test(patch);

/** A hunk under construction. */
export class HunkDraft {
  readonly anchors: string[] = [];
  readonly before: string[] = [];
  readonly after: HunkLine[] = [];
  atEnd = false;
  above: number | undefined;
  #last: "-" | "+" | " " | undefined;
  #bare: { before: boolean; after: boolean } | undefined;

  /** @param saysEnds the format says of every file whether it ends with a newline */
  constructor(saysEnds = false) {
    if (saysEnds) this.#bare = { before: false, after: false };
  }

  get isEmpty(): boolean {
    return this.before.length === 0 && this.after.length === 0;
  }

  /** @returns whether the line belongs into a hunk */
  add({ text, raw }: Line): boolean {
    const sign = text[0];
    if (sign === "\\") {
      this.#bare ??= { before: false, after: false };
      if (this.#last !== "+") this.#bare.before = true;
      if (this.#last !== "-") this.#bare.after = true;
      return true;
    }
    if (sign === "+") this.after.push({ added: raw.slice(1) });
    else if (sign === "-") this.before.push(raw.slice(1));
    // Models leave the space out before empty lines.
    else if (sign === " " || text === "") {
      this.after.push({ kept: this.before.length });
      this.before.push(sign === " " ? raw.slice(1) : raw);
    } else return false;
    this.#last = sign === "+" || sign === "-" ? sign : " ";
    return true;
  }

  finish(): Hunk {
    const { anchors, before, after, atEnd, above } = this;
    return { anchors, before, after, atEnd, above, bare: this.#bare };
  }
}

const UNIFIED = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/** Fields of the header of a hunk in a unified diff. */
interface HunkHeader {
  /** Lines of the old file above it. */
  readonly above: number;
  readonly oldCount: number;
  readonly newCount: number;
}

export function headerIn(text: string): HunkHeader | undefined {
  const [found, start, oldCount = "1", newCount = "1"] = UNIFIED.exec(text) ?? [];
  if (found === undefined) return undefined;
  // A range without lines names the line above it.
  const above = Number(oldCount) === 0 ? Number(start) : Math.max(0, Number(start) - 1);
  return { above, oldCount: Number(oldCount), newCount: Number(newCount) };
}
