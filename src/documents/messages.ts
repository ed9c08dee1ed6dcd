// Messages of the process and the thread that read documents.

import type { DocumentFault, DocumentRequest, DocumentText, DocumentUnit } from "../core/call/documents.js";

/** A file to read: one line of JSON on the standard input of the process, and then its bytes. */
export type FileRequest = Pick<DocumentRequest, "size" | "kind" | "pages" | "maxChars">;

/** Facts about a document, as they become known. */
export type Facts = Partial<Pick<DocumentText, "kind" | "count" | "meta">>;

/** A message of the thread, which the process passes on as a line of JSON. Text belongs to the last unit. */
export type Message =
  | { readonly is: "facts"; readonly facts: Facts }
  | { readonly is: "unit"; readonly unit: DocumentUnit }
  | { readonly is: "text"; readonly text: string }
  | End;

/** The last message about a file. */
export type End = (
  | { readonly is: "end"; readonly ends?: DocumentText["ends"] }
  | ({ readonly is: "fault" } & DocumentFault)
) & {
  /** The process reads no further file. */
  readonly isLast?: boolean;
};
