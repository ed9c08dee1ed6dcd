// The text of a document as its reader finds it: lines, and rows of tables with their cells in one line.

import type { DocumentUnit } from "../core/call/documents.js";
import { Ended } from "./ending.js";
import { markOf } from "./kinds.js";
import type { Facts, Message } from "./messages.js";
import type { XmlHandler } from "./xml.js";

/** Characters sent at once, fewer at first: what was sent is kept if time or memory end. */
const BATCH_CHARS = 65_536;

// Control characters that text does not contain, such as form feeds.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

export class Flow {
  readonly #send: (message: Message) => void;
  /** Characters that are still wanted. */
  #left: number;
  #line = "";
  /** Cells of the rows that are open; a table may lie in a cell. */
  readonly #rows: string[][] = [];
  #batch = "";
  #sent = 0;
  /** Nothing of the unit has been written. */
  #isFresh = true;
  #isBlank = false;

  constructor(send: (message: Message) => void, maxChars: number) {
    this.#send = send;
    this.#left = maxChars;
  }

  facts(facts: Facts): void {
    this.#send({ is: "facts", facts });
  }

  /** The line that names it counts as text. @throws Ended */
  unit(unit: DocumentUnit): void {
    this.finish();
    this.#isFresh = true;
    this.#isBlank = false;
    this.#send({ is: "unit", unit });
    this.#left -= markOf(unit).length;
    if (this.#left < 0) throw new Ended("enough");
  }

  /** Text within a line. @throws Ended */
  text(text: string): void {
    const row = this.#rows.at(-1);
    if (row === undefined) this.#line += text;
    else row.push(`${row.pop() ?? ""}${text}`);
    if (this.#line.length > this.#left) this.end();
  }

  /** Text with lines of its own. @throws Ended */
  lines(text: string): void {
    for (const line of text.split("\n")) {
      this.text(line);
      this.end();
    }
  }

  /** The end of a line; in a cell there are none. @throws Ended */
  end(): void {
    if (this.#rows.length > 0) {
      this.text(" ");
      return;
    }
    const line = this.#line;
    this.#line = "";
    this.#write(line);
  }

  /** Ends a line that has begun. @throws Ended */
  break(): void {
    if (this.#rows.length > 0 || this.#line !== "") this.end();
  }

  /** @throws Ended */
  openRow(): void {
    if (this.#rows.length === 0) this.break();
    this.#rows.push([]);
  }

  openCell(): void {
    this.#rows.at(-1)?.push("");
  }

  /** @throws Ended */
  closeRow(): void {
    const cells = this.#rows.pop();
    if (cells === undefined) return;
    const line = cells.map((cell) => cell.replace(/\s+/g, " ").trim()).join("\t");
    if (this.#rows.length > 0) this.text(`${line.replaceAll("\t", " ")} `);
    else this.#write(line);
  }

  /** Writes what is in hand. */
  finish(): void {
    while (this.#rows.length > 0) this.closeRow();
    if (this.#line !== "") this.end();
    this.#flush();
  }

  /** One empty line stands for several, none at the ends of a unit. */
  #write(given: string): void {
    const line = given.replace(CONTROLS, "").trimEnd();
    if (line === "") {
      this.#isBlank = !this.#isFresh;
      return;
    }
    const whole = `${this.#isFresh ? "" : "\n"}${this.#isBlank ? "\n" : ""}${line}`;
    // A line may be as long as the file; one unit more tells that it goes on.
    const text = whole.slice(0, this.#left + 1).toWellFormed();
    this.#isFresh = false;
    this.#isBlank = false;
    this.#batch += text;
    this.#left -= text.length;
    if (this.#left < 0 || this.#batch.length > Math.min(this.#sent, BATCH_CHARS)) this.#flush();
    if (this.#left < 0) throw new Ended("enough");
  }

  #flush(): void {
    if (this.#batch !== "") this.#send({ is: "text", text: this.#batch });
    this.#sent += this.#batch.length;
    this.#batch = "";
  }
}

/** Hears of paragraphs, tables and their texts, which Word and PowerPoint call alike. @param open hears of every element before */
export function textHandler(flow: Flow, open: Required<XmlHandler>["open"]): Required<XmlHandler> {
  let isText = false;
  return {
    open(name, attributes) {
      if (open(name, attributes) === "skip") return "skip";
      isText = name === "t";
      if (name === "br") flow.end();
      if (name === "tr") flow.openRow();
      if (name === "tc") flow.openCell();
      return undefined;
    },
    close(name) {
      isText = false;
      if (name === "p") flow.end();
      if (name === "tr") flow.closeRow();
    },
    text(text) {
      if (isText) flow.text(text.replace(/[\r\n\v]+/g, " "));
    },
  };
}
