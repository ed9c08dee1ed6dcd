// Word: the body, and its notes behind it.

import { type Flow, textHandler } from "../flow.js";
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
  const refer = (kind: keyof Notes, attributes: Attributes): void =>
    flow.text(markOf(kind, notes[kind].push(attribute(attributes, "id") ?? "") - 1));
  return textHandler(flow, (name, attributes) => {
    if (SKIPPED.has(name)) return "skip";
    if (name === "tab") flow.text("\t");
    if (name === "cr") flow.end();
    if (name === "noBreakHyphen") flow.text("-");
    if (name === "footnoteReference") refer("footnotes", attributes);
    if (name === "endnoteReference") refer("endnotes", attributes);
    return undefined;
  });
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
