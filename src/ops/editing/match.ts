import type { TextChange } from "../../core/call/terms.js";
import { type PlainText, plainText, type Terminator, terminatorsIn, withTerminator } from "../content/terminators.js";
import { type Spans, spansOf } from "./span-search.js";
import { type Occurrences, occurrencesOf } from "./text-search.js";

/** Most occurrences one edit replaces. */
export const MAX_OCCURRENCES = 1000;

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  /** How often the old text occurs, at most {@link MAX_OCCURRENCES}. */
  readonly expect: number;
}

export type Replacement = TextChange;

/** How one edit stands to a text. */
export interface Match {
  /** Occurrences of the old text, overlapping ones too. */
  readonly found: number;
  /** Where they begin, the first of them. */
  readonly starts: readonly number[];
  /** All of them, if there are as many as expected. */
  readonly replacements: readonly Replacement[];
}

/** Finds what edits mean in one text. Matching is exact; only line endings are tolerated. */
export class EditMatcher {
  readonly #text: string;
  readonly #terminators: readonly Terminator[];
  #plain: PlainText | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#terminators = terminatorsIn(text);
  }

  match(edit: Edit): Match {
    const [only, ...others] = this.#terminators;
    if (only === undefined) return this.#literally(edit);
    if (others.length === 0) return this.#literally(aligned(edit, only));
    const literal = this.#literally(edit);
    return literal.found === edit.expect ? literal : this.#plainly(edit, only);
  }

  #literally({ oldText, newText, expect }: Edit): Match {
    const found = occurrencesOf(oldText, this.#text, MAX_OCCURRENCES);
    return matchOf(found, expect, (start) => ({ start, end: start + oldText.length, text: newText }));
  }

  /** Line endings count as equal, and what is inserted takes those that the file mostly has. */
  #plainly(edit: Edit, dominant: Terminator): Match {
    const oldText = withTerminator("\n", edit.oldText);
    const newText = withTerminator(dominant, edit.newText);
    const { count, spans } = spansOf(oldText, this.#text, MAX_OCCURRENCES) ?? this.#inView(oldText);
    const ends = new Map(spans.map(({ start, end }) => [start, end]));
    const starts = spans.map(({ start }) => start);
    return matchOf({ count, starts }, edit.expect, (start) => ({
      start,
      end: ends.get(start) ?? start,
      text: newText,
    }));
  }

  /** In a copy of the text, which is made once: for what would be found too often otherwise. */
  #inView(oldText: string): Spans {
    this.#plain ??= plainText(this.#text);
    const { text, original } = this.#plain;
    const { count, starts } = occurrencesOf(oldText, text, MAX_OCCURRENCES);
    // By the old length in the view: in the original it differs from place to place.
    return { count, spans: starts.map((start) => ({ start: original(start), end: original(start + oldText.length) })) };
  }
}

const aligned = ({ oldText, newText, expect }: Edit, terminator: Terminator): Edit => ({
  oldText: withTerminator(terminator, oldText),
  newText: withTerminator(terminator, newText),
  expect,
});

const matchOf = (
  { count, starts }: Occurrences,
  expect: number,
  replacement: (start: number) => Replacement,
): Match => ({ found: count, starts, replacements: count === expect ? starts.map(replacement) : [] });
