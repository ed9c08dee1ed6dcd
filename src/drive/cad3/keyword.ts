// Keywords: names that are a value type of their own.

export const MAX_KEYWORD_BYTES = 128;

/** A name that is a value type of its own, such as `:fs`. Created by {@link keyword}. */
export class Keyword {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/**
 * Creates a keyword.
 *
 * @param name 1 to 128 bytes of UTF-8
 * @throws RangeError for any other length and for lone surrogates
 */
export function keyword(name: string): Keyword {
  const bytes = Buffer.byteLength(name, "utf8");
  if (bytes < 1 || bytes > MAX_KEYWORD_BYTES)
    throw new RangeError(`A keyword has 1 to ${MAX_KEYWORD_BYTES} bytes, not ${bytes}`);
  if (!name.isWellFormed()) throw new RangeError("A keyword holds no lone surrogates");
  return new Keyword(name);
}
