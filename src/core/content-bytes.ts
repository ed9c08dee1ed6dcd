// Content of an answer as bytes, for surfaces that write bytes, without decoding to a string and encoding again.

/** Bytes that an answer shows as a text: as the UTF-8 they are, or in base64. */
export class ContentBytes {
  readonly bytes: Buffer;
  readonly form: "utf-8" | "base64";

  /** @param bytes valid UTF-8 where the form says so */
  constructor(bytes: Buffer, form: ContentBytes["form"]) {
    this.bytes = bytes;
    this.form = form;
  }

  toString(): string {
    return this.bytes.toString(this.form === "base64" ? "base64" : "utf8");
  }

  /** Called by `JSON.stringify`. */
  toJSON(): string {
    return replaceContent?.(this) ?? this.toString();
  }
}

let replaceContent: ((content: ContentBytes) => string) | undefined;

/** Runs `stringify`; JSON shows what `take` returns in place of each content. */
export function stringifyContents(take: (content: ContentBytes) => string, stringify: () => string): string {
  replaceContent = take;
  try {
    return stringify();
  } finally {
    replaceContent = undefined;
  }
}

const BYTES = Symbol("content bytes");

/** The field of an output that carries its content as bytes. JSON leaves it out. */
export const attachContent = (content: ContentBytes): object => ({ [BYTES]: content });

/** The content that an output carries as bytes. */
export const attachedContent = (output: object & { readonly [BYTES]?: ContentBytes }): ContentBytes | undefined =>
  output[BYTES];
