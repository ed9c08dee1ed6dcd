// Word: the body, and its notes behind it.

import type { Flow } from "../flow.js";
import { type Package, relationOf } from "../package.js";
import { type Attributes, attribute, type XmlHandler } from "../xml.js";
import { readProperties } from "./properties.js";

/** Formatting, deleted and moved text, and second spellings of what stands beside them. */
const SKIPPED: ReadonlySet<string> = new Set(["pPr", "rPr", "tblPr", "trPr", "del", "moveFrom", "Fallback"]);

export async function readDocx(file: Package, flow: Flow): Promise<void> {
  const { part, meta } = await readProperties(file, "word/document.xml");
  flow.facts({ meta });
  const notes: Notes = { footnotes: [], endnotes: [] };
  await file.read(part, handlerOf(flow, notes));
  const relations = await file.relations(part);
  for (const kind of ["footnotes", "endnotes"] as const) {
    await file.readIfThere(relationOf(relations, kind), notesOf(flow, kind, notes));
  }
}

/** Ids of the notes in the order in which the body names them, which is how they are numbered. */
type Notes = Record<"footnotes" | "endnotes", string[]>;

const markOf = (kind: keyof Notes, index: number): string => `[${kind === "endnotes" ? "e" : ""}${index + 1}]`;

function handlerOf(flow: Flow, notes: Notes): Required<XmlHandler> {
  let isText = false;
  const refer = (kind: keyof Notes, attributes: Attributes): void =>
    flow.text(markOf(kind, notes[kind].push(attribute(attributes, "id") ?? "") - 1));
  return {
    open(name, attributes) {
      if (SKIPPED.has(name)) return "skip";
      isText = name === "t";
      switch (name) {
        case "tab":
          return flow.text("\t");
        case "br":
        case "cr":
          return flow.end();
        case "noBreakHyphen":
          return flow.text("-");
        case "footnoteReference":
          return refer("footnotes", attributes);
        case "endnoteReference":
          return refer("endnotes", attributes);
        case "tr":
          return flow.openRow();
        case "tc":
          return flow.openCell();
      }
      return undefined;
    },
    close(name) {
      isText = false;
      if (name === "p") flow.end();
      if (name === "tr") flow.closeRow();
    },
    text(text) {
      if (isText) flow.text(text.replace(/[\r\n]+/g, " "));
    },
  };
}

/** Each note begins with its mark; those that nothing refers to are separators. */
function notesOf(flow: Flow, kind: keyof Notes, notes: Notes): XmlHandler {
  const handler = handlerOf(flow, notes);
  let isFirst = true;
  /** The mark is written, and no text behind it. */
  let isBegun = false;
  return {
    ...handler,
    open(name, attributes) {
      if (name === "tab" && isBegun) return undefined;
      if (name !== "footnote" && name !== "endnote") return handler.open(name, attributes);
      const index = notes[kind].indexOf(attribute(attributes, "id") ?? "");
      if (index < 0) return "skip";
      if (isFirst) flow.end();
      isFirst = false;
      isBegun = true;
      flow.text(`${markOf(kind, index)} `);
      return undefined;
    },
    text(text) {
      handler.text(isBegun ? text.trimStart() : text);
      isBegun &&= text.trim() === "";
    },
  };
}
