// OpenDocument: texts with their notes behind them, and spreadsheets with a row a line.

import type { DocumentMeta } from "../../core/call/documents.js";
import { Unreadable } from "../ending.js";
import type { Flow } from "../flow.js";
import type { Package } from "../package.js";
import { type Attributes, attribute, type XmlHandler } from "../xml.js";
import { readMeta, sheetName, sheetNames } from "./properties.js";

/** Deleted text, remarks, and what is only for drawing. */
const SKIPPED: ReadonlySet<string> = new Set(["tracked-changes", "annotation", "forms", "ruby-text", "desc", "title"]);
/** Columns of a sheet, and spaces in a row. */
const MAX_COLUMNS = 16_384;
const MAX_SPACES = 256;

export async function readOdt(file: Package, flow: Flow): Promise<void> {
  await begin(file, flow);
  const notes: string[] = [];
  await file.read("content.xml", new TextHandler(flow, notes));
  if (notes.length > 0) flow.lines(`\n${notes.join("\n")}`);
}

export async function readOds(file: Package, flow: Flow): Promise<void> {
  const sheets: string[] = [];
  const meta = await begin(file, flow);
  await file.read("content.xml", {
    open: (name, attributes) => {
      if (name !== "table") return undefined;
      sheets.push(sheetName(attribute(attributes, "name")));
      return "skip";
    },
  });
  flow.facts({ meta: { ...meta, sheets: sheetNames(sheets) } });
  await file.read("content.xml", new SheetHandler(flow));
}

/** Refuses what is encrypted, and tells what the document says of itself. */
async function begin(file: Package, flow: Flow): Promise<DocumentMeta> {
  await file.readIfThere("META-INF/manifest.xml", {
    open: (name) => {
      if (name === "encryption-data") throw new Unreadable("encrypted");
    },
  });
  const meta = await readMeta(file, "meta.xml");
  flow.facts({ meta });
  return meta;
}

const times = (attributes: Attributes, name: string, most: number): number =>
  Math.min(Math.max(1, Number(attribute(attributes, name)) || 1), most);

class TextHandler implements XmlHandler {
  readonly #flow: Flow;
  readonly #notes: string[];
  /** Paragraphs that are open; one may lie in a frame in another. */
  #paragraphs = 0;
  /** Mark and text of the note that is open, and which of both is read. */
  #note: { mark: string; text: string; isMark: boolean } | undefined;

  constructor(flow: Flow, notes: string[]) {
    this.#flow = flow;
    this.#notes = notes;
  }

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (SKIPPED.has(name)) return "skip";
    switch (name) {
      case "p":
      case "h":
        if (this.#paragraphs++ > 0 && this.#note === undefined) this.#flow.break();
        break;
      case "s":
        this.#add(" ".repeat(times(attributes, "c", MAX_SPACES)));
        break;
      case "tab":
        this.#add("\t");
        break;
      case "line-break":
        this.#end();
        break;
      case "note":
        this.#note = { mark: "", text: "", isMark: true };
        break;
      case "note-body":
        if (this.#note !== undefined) this.#note.isMark = false;
        break;
      case "table-row":
        this.#flow.openRow();
        break;
      case "table-cell":
      case "covered-table-cell":
        this.#flow.openCell();
    }
    return undefined;
  }

  close(name: string): void {
    if (name === "p" || name === "h") {
      this.#paragraphs--;
      this.#end();
    }
    if (name === "table-row") this.#flow.closeRow();
    if (name !== "note" || this.#note === undefined) return;
    const { mark, text } = this.#note;
    this.#note = undefined;
    this.#notes.push(`[${mark}] ${text.trim()}`);
    this.#add(`[${mark}]`);
  }

  text(text: string): void {
    if (this.#paragraphs > 0) this.#add(text.replace(/[ \t\r\n]+/g, " "));
  }

  #add(text: string): void {
    if (this.#note === undefined) this.#flow.text(text);
    else if (this.#note.isMark) this.#note.mark += text;
    else this.#note.text += text;
  }

  #end(): void {
    if (this.#note === undefined) this.#flow.end();
    else this.#add(" ");
  }
}

/** Values that are shown as they are kept: as dates of ISO 8601, and as other programs write them. */
const VALUES: ReadonlyMap<string, (attributes: Attributes) => string | undefined> = new Map(
  Object.entries({
    date: (attributes: Attributes) => attribute(attributes, "date-value"),
    time: (attributes: Attributes) =>
      /^PT(\d+)H(\d+)M(\d+)/
        .exec(attribute(attributes, "time-value") ?? "")
        ?.slice(1)
        .join(":"),
    boolean: (attributes: Attributes) => attribute(attributes, "boolean-value")?.toUpperCase(),
    float: (attributes: Attributes) => attribute(attributes, "value"),
    percentage: (attributes: Attributes) => attribute(attributes, "value"),
    currency: (attributes: Attributes) => attribute(attributes, "value"),
  }),
);

class SheetHandler implements XmlHandler {
  readonly #flow: Flow;
  #rows = 1;
  /** Cells of the row, with empty ones before them. */
  #row: { readonly gap: number; readonly text: string; readonly times: number }[] = [];
  #gap = 0;
  #cell: { text: string; readonly value: string | undefined; readonly times: number } | undefined;
  #isParagraph = false;

  constructor(flow: Flow) {
    this.#flow = flow;
  }

  open(name: string, attributes: Attributes): "skip" | undefined {
    if (SKIPPED.has(name) || name === "shapes") return "skip";
    switch (name) {
      case "table":
        this.#flow.unit({ is: "sheet", at: sheetName(attribute(attributes, "name")) });
        break;
      case "table-row":
        this.#rows = times(attributes, "number-rows-repeated", Number.POSITIVE_INFINITY);
        this.#row = [];
        this.#gap = 0;
        break;
      case "table-cell":
      case "covered-table-cell":
        this.#cell = {
          text: "",
          value: VALUES.get(attribute(attributes, "value-type") ?? "")?.(attributes),
          times: times(attributes, "number-columns-repeated", MAX_COLUMNS),
        };
        break;
      case "p":
        if (this.#cell !== undefined && this.#cell.text !== "") this.#cell.text += " ";
        this.#isParagraph = true;
    }
    return undefined;
  }

  close(name: string): void {
    if (name === "p") this.#isParagraph = false;
    if (name === "table-row") this.#writeRow();
    if ((name !== "table-cell" && name !== "covered-table-cell") || this.#cell === undefined) return;
    const { text: found, value, times } = this.#cell;
    const text = (value ?? found).replace(/\s+/g, " ").trim();
    this.#cell = undefined;
    if (text === "") {
      this.#gap = Math.min(this.#gap + times, MAX_COLUMNS);
      return;
    }
    this.#row.push({ gap: this.#gap, text, times });
    this.#gap = 0;
  }

  text(text: string): void {
    if (this.#isParagraph && this.#cell !== undefined) this.#cell.text += text;
  }

  #writeRow(): void {
    for (let row = 0; row < this.#rows && this.#row.length > 0; row++) {
      for (const [index, { gap, text, times }] of this.#row.entries()) {
        this.#flow.text("\t".repeat(gap + (index === 0 ? 0 : 1)));
        for (let count = 0; count < times; count++) this.#flow.text(count === 0 ? text : `\t${text}`);
      }
      this.#flow.break();
    }
    this.#row = [];
  }
}
