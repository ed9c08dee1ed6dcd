// Messages of the process and the thread that read documents.

import type {
  DocumentFault,
  DocumentKind,
  DocumentMeta,
  DocumentText,
  DocumentUnit,
  PageRange,
} from "../core/call/documents.js";

/** A file to read: one line of JSON on the standard input of the process, and then its bytes. */
export interface FileRequest {
  /** Bytes of the file. */
  readonly size: number;
  readonly kind?: DocumentKind | undefined;
  readonly pages?: PageRange | undefined;
  readonly maxChars: number;
  /** Milliseconds, for the first file from the start of the process. */
  readonly withinMs: number;
}

/** Facts about a document, as they become known. */
export interface Facts {
  readonly kind?: DocumentKind;
  readonly count?: number;
  readonly meta?: DocumentMeta;
}

/** A message of the thread. Text belongs to the last unit. */
export type ThreadMessage =
  | { readonly is: "facts"; readonly facts: Facts }
  | { readonly is: "unit"; readonly unit: DocumentUnit }
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "end"; readonly ends?: DocumentText["ends"] }
  | ({ readonly is: "fault" } & DocumentFault);

/** The answer for a file, as a line of JSON on the standard output of the process. */
export type ProcessAnswer = (DocumentText | DocumentFault) & {
  /** The process reads no further file. */
  readonly isLast?: true;
};
