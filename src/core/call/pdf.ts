// Port for the text of PDF files.

/** The file and the bounds of one reading. */
export interface PdfRequest {
  /** The bytes of the file, in order; read at most once. */
  readonly source: AsyncIterable<Uint8Array>;
  /** Bytes that `source` gives at most. */
  readonly size: number;
  /** No further page is read once there is more text than this, in bytes of UTF-8. */
  readonly maxBytes: number;
  /** Maximum time in milliseconds, waiting included. */
  readonly withinMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Callers take turns where files have to wait. */
  readonly caller?: string | undefined;
}

/** The text of a PDF, page by page. */
export interface PdfText {
  /** Number of pages of the document. */
  readonly count: number;
  /** Text of the first pages, in order: all of them, or fewer where a bound was reached. */
  readonly pages: readonly string[];
  /** Present if time or memory ran out before the next page was read. */
  readonly isSpent?: true;
}

/** Reads PDF files. */
export interface PdfReader {
  /**
   * @returns `undefined`: the file is damaged, encrypted or too costly, or no reader is installed
   * @throws ABORTED when cancelled or closed, and what `source` throws
   */
  read(request: PdfRequest): Promise<PdfText | undefined>;
  close(): Promise<void>;
}
