// Port for the text of documents.

import { escapeText } from "../errors/texts.js";

/** Kinds of documents that hold more than plain text. */
export type DocumentKind = "pdf" | "docx" | "xlsx" | "pptx" | "odt" | "ods" | "html" | "xhtml" | "ipynb";

/** A part of a document that its readers call by a number or a name. */
export interface DocumentUnit {
  readonly is: "page" | "slide" | "sheet";
  readonly at: number | string;
}

/** Pages or slides, from 1; `last` absent: to the end. */
export interface PageRange {
  readonly first: number;
  readonly last?: number | undefined;
}

/** Properties that a document tells of itself. */
export interface DocumentMeta {
  title?: string;
  author?: string;
  /** A time as ISO 8601. */
  created?: string;
  sheets?: string[];
  /** Pages without any text: pictures of text. */
  scanned?: boolean;
}

/** The file and the bounds of one reading. */
export interface DocumentRequest {
  /** The bytes of the file, in order; read at most once. */
  readonly source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** Bytes that `source` gives at most. */
  readonly size: number;
  /** Absent: the content says. */
  readonly kind?: DocumentKind | undefined;
  /** Absent: all. Kinds without pages or slides leave it out. */
  readonly pages?: PageRange | undefined;
  /** UTF-16 units after which no more text is read. */
  readonly maxChars: number;
  /** Maximum time in milliseconds, waiting included. */
  readonly withinMs: number;
}

/** The text of a document, as far as it was asked for and read. */
export interface DocumentText {
  readonly kind: DocumentKind;
  /** Pages or slides of the whole document, where it has such. */
  readonly count?: number | undefined;
  readonly meta: DocumentMeta;
  /** Pages, slides or sheets in order; one without a unit in other documents. */
  readonly parts: readonly { readonly unit?: DocumentUnit | undefined; readonly text: string }[];
  /** Why it ends early: `maxChars`, or a bound of time, memory or size. */
  readonly ends?: "enough" | "spent" | undefined;
}

/** Why there is no text. */
export interface DocumentFault {
  readonly fault: "encrypted" | "damaged" | "unsupported" | "spent" | "missing" | "busy";
  /** The package that is missing. */
  readonly peer?: string | undefined;
}

/** Caller whose turn reads documents, and its deadline. */
export interface DocumentReading {
  readonly signal?: AbortSignal | undefined;
  /** Callers take turns where files have to wait. */
  readonly caller?: string | undefined;
}

/** Reads documents of one call, in turn. */
export interface DocumentSession {
  /** @throws ABORTED when cancelled or closed, and what `source` throws */
  read(request: DocumentRequest): Promise<DocumentText | DocumentFault>;
  /** Idempotent. */
  close(): void;
}

/** Reads documents. */
export interface DocumentReader {
  open(reading: DocumentReading): DocumentSession;
  close(): Promise<void>;
}

/** The page, slide or sheet of a document that a match is in, as a line names it; empty: none. */
export function unitText({ page, slide, sheet }: { page?: number; slide?: number; sheet?: string }): string {
  if (page !== undefined) return `page ${page}`;
  if (slide !== undefined) return `slide ${slide}`;
  return sheet === undefined ? "" : `sheet ${escapeText(sheet)}`;
}
