// Messages of the process and the thread that read one PDF.

/** Bounds of one reading, as JSON in the only argument of the process. The file is its standard input. */
export interface PdfBounds {
  /** Bytes of the file. */
  readonly size: number;
  /** No further page is read after this much text, in bytes of UTF-8. */
  readonly maxBytes: number;
  /** Milliseconds from the start of the process. */
  readonly withinMs: number;
}

/** A message of the thread. After `page` come further ones. */
export type ThreadMessage =
  | { readonly kind: "missing" | "end" }
  | { readonly kind: "page"; readonly count: number; readonly text: string };

/** The answer of the process, as JSON on its standard output. */
export interface ProcessAnswer {
  /** The peer that reads PDF files is not installed. */
  readonly isMissing?: true;
  readonly count: number;
  readonly pages: readonly string[];
  readonly isSpent?: true;
}
