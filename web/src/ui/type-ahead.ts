// Typing in a list goes to the first entry whose name begins so.

/** A pause of this ends a word. */
const PAUSE_MS = 1000;
const ASCII = /^[ -~]*$/;
const MARKS = /\p{M}/gu;

/** Without case and accents. */
const fold = (text: string): string =>
  ASCII.test(text) ? text.toLowerCase() : text.normalize("NFD").replace(MARKS, "").toLowerCase();

/** The fields used of a `KeyboardEvent`. */
export interface Key {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly timeStamp: number;
}

export class TypeAhead {
  #typed = "";
  #at = Number.NEGATIVE_INFINITY;

  /** Takes a character into the word. A space only within one, since it chooses. @returns whether it did */
  takes({ key, ctrlKey, metaKey, altKey, timeStamp }: Key): boolean {
    // On the way to a capital letter.
    if (key === "Shift") return false;
    const isOver = timeStamp - this.#at > PAUSE_MS;
    if (ctrlKey || metaKey || altKey || [...key].length !== 1 || (key === " " && (isOver || this.#typed === ""))) {
      this.#typed = "";
      return false;
    }
    this.#typed = (isOver ? "" : this.#typed) + key;
    this.#at = timeStamp;
    return true;
  }

  /** Where the word leads; one character again and again to one entry after the other. @param active index to begin at */
  find(names: readonly string[], active: number): number | undefined {
    const typed = fold(this.#typed);
    if (typed === "") return undefined;
    const [first = ""] = typed;
    const isRepeated = typed === first.repeat(typed.length);
    return (
      this.#next(names, typed, typed.length === 1 ? active + 1 : active) ??
      (isRepeated ? this.#next(names, first, active + 1) : undefined)
    );
  }

  #next(names: readonly string[], start: string, from: number): number | undefined {
    for (let step = 0; step < names.length; step += 1) {
      const index = (from + step) % names.length;
      if (fold(names[index] ?? "").startsWith(start)) return index;
    }
    return undefined;
  }
}
