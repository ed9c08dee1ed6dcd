// Ends of a reading before the end of its file.

import type { DocumentFault, DocumentText } from "../core/call/documents.js";

/** There is as much text as was asked for, or a bound is reached. */
export class Ended extends Error {
  readonly why: NonNullable<DocumentText["ends"]>;

  constructor(why: NonNullable<DocumentText["ends"]>) {
    super(why);
    this.why = why;
  }
}

/** The file cannot be read. */
export class Unreadable extends Error {
  readonly fault: DocumentFault["fault"];
  readonly peer: string | undefined;

  constructor(fault: DocumentFault["fault"], peer?: string) {
    super(fault);
    this.fault = fault;
    this.peer = peer;
  }
}
