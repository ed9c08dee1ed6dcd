// Properties that documents tell of themselves.

import type { DocumentMeta } from "../../core/call/documents.js";
import { type Package, relationOf } from "../package.js";

/** Fields by the names of elements, in the documents of Office and in OpenDocument. */
const FIELDS: ReadonlyMap<string, "title" | "author" | "created"> = new Map([
  ["title", "title"],
  ["creator", "author"],
  ["initial-creator", "author"],
  ["created", "created"],
  ["creation-date", "created"],
]);

/** The properties that a part names; of equal fields the first counts. */
export async function readMeta(file: Package, part: string | undefined): Promise<DocumentMeta> {
  const meta: DocumentMeta = {};
  let field: "title" | "author" | "created" | undefined;
  await file.readIfThere(part, {
    open: (name) => {
      field = FIELDS.get(name);
      if (field !== undefined && meta[field] !== undefined) field = undefined;
    },
    text: (text) => {
      if (field !== undefined) meta[field] = `${meta[field] ?? ""}${text}`;
    },
    close: () => {
      field = undefined;
    },
  });
  return tidyMeta(meta);
}

/** Opens the main part of a document of Office. @returns its name, and what the document says of itself */
export async function readProperties(file: Package, main: string): Promise<{ part: string; meta: DocumentMeta }> {
  const relations = await file.relations("");
  const meta = await readMeta(file, relationOf(relations, "core-properties"));
  return { part: relationOf(relations, "officeDocument") ?? main, meta };
}

const MAX_CHARS = 500;

/** Names of sheets beside a text; programs give at most 31 characters to one. */
const MAX_SHEETS = 250;
const MAX_NAME_CHARS = 100;

export const sheetName = (name = ""): string => name.slice(0, MAX_NAME_CHARS).toWellFormed();

export const sheetNames = (names: readonly string[]): string[] => names.slice(0, MAX_SHEETS);

/** Fields that say something, of a length that fits beside a text. */
export function tidyMeta({ title, author, created, ...rest }: DocumentMeta): DocumentMeta {
  const texts = Object.entries({ title, author, created }).map(([name, text = ""]) => [
    name,
    text.replace(/\s+/g, " ").trim().slice(0, MAX_CHARS).toWellFormed(),
  ]);
  return { ...Object.fromEntries(texts.filter(([, text]) => text !== "")), ...rest };
}
