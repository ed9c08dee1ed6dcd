// Kinds of documents: by the names of files, by their first bytes, and what they need.

import type { DocumentKind, DocumentUnit, PageRange } from "../core/call/documents.js";

interface KindFacts {
  readonly extensions: readonly string[];
  /** Its media type, where no name tells it. */
  readonly mime: string;
  readonly title: string;
  /** The package that reads it, beside this one. */
  readonly peer?: string;
  /** Parts that a call can ask for by number. */
  readonly units?: "page" | "slide";
  /** Text in itself, which models get as it is. */
  readonly isText?: true;
}

const OFFICE = "application/vnd.openxmlformats-officedocument.";
const OPEN = "application/vnd.oasis.opendocument.";

export const KINDS: Readonly<Record<DocumentKind, KindFacts>> = {
  pdf: { extensions: ["pdf"], mime: "application/pdf", title: "a PDF", peer: "unpdf", units: "page" },
  docx: {
    extensions: ["docx", "docm", "dotx", "dotm"],
    mime: `${OFFICE}wordprocessingml.document`,
    title: "a Word document",
  },
  xlsx: {
    extensions: ["xlsx", "xlsm", "xltx", "xltm"],
    mime: `${OFFICE}spreadsheetml.sheet`,
    title: "an Excel workbook",
  },
  pptx: {
    extensions: ["pptx", "pptm", "potx", "potm", "ppsx", "ppsm"],
    mime: `${OFFICE}presentationml.presentation`,
    title: "a PowerPoint presentation",
    units: "slide",
  },
  odt: { extensions: ["odt", "ott"], mime: `${OPEN}text`, title: "an OpenDocument text" },
  ods: { extensions: ["ods", "ots"], mime: `${OPEN}spreadsheet`, title: "an OpenDocument spreadsheet" },
  html: { extensions: ["html", "htm"], mime: "text/html", title: "a web page", peer: "htmlparser2", isText: true },
  xhtml: {
    extensions: ["xhtml", "xht"],
    mime: "application/xhtml+xml",
    title: "a web page",
    peer: "htmlparser2",
    isText: true,
  },
  ipynb: { extensions: ["ipynb"], mime: "application/x-ipynb+json", title: "a notebook", isText: true },
};

const BY_EXTENSION: ReadonlyMap<string, DocumentKind> = new Map(
  (Object.keys(KINDS) as DocumentKind[]).flatMap((kind) => KINDS[kind].extensions.map((one) => [one, kind] as const)),
);

/** Kinds that are no text in themselves: models get their text in place of their bytes. */
export type BinaryKind = Exclude<DocumentKind, "html" | "xhtml" | "ipynb">;

export const isBinaryKind = (kind: DocumentKind): kind is BinaryKind => KINDS[kind].isText !== true;

/** Bytes of a file that tell what it is. */
export const HEAD_BYTES = 8192;

export const kindByName = (name: string): DocumentKind | undefined =>
  name.lastIndexOf(".") < 1 ? undefined : BY_EXTENSION.get(name.slice(name.lastIndexOf(".") + 1).toLowerCase());

/** Kind of a file by its first bytes: `zip` and `compound` may be documents. `undefined`: none of these. */
export type HeadKind = "pdf" | "html" | "xhtml" | "zip" | "compound" | "rtf";

const MAGIC: readonly (readonly [HeadKind, Buffer])[] = [
  ["pdf", Buffer.from("%PDF-")],
  ["zip", Buffer.from("PK\x03\x04")],
  ["compound", Buffer.from("d0cf11e0a1b11ae1", "hex")],
  ["rtf", Buffer.from("{\\rtf")],
];

/** Each character can be matched in one way only: of others there would be exponentially many to try. */
const PAGE = /^\ufeff?(<\?xml[^>]*>)?(?:\s|<!--(?:(?!-->)[\s\S])*-->)*<(?:!doctype html|html)[\s>]/i;

export function kindOfHead(head: Buffer): HeadKind | undefined {
  const found = MAGIC.find(([, magic]) => head.subarray(0, magic.length).equals(magic));
  if (found !== undefined) return found[0];
  const [page, xml] = PAGE.exec(head.toString("utf8", 0, 1024)) ?? [];
  return page === undefined ? undefined : xml === undefined ? "html" : "xhtml";
}

/** Whether the first bytes of a zip name parts that documents have. */
const isPackageHead = (head: Buffer): boolean =>
  kindOfHead(head) === "zip" &&
  /\[Content_Types\]\.xml|_rels\/\.rels|mimetypeapplication\/vnd/.test(head.toString("latin1"));

/**
 * Whether a file is shown to models as the text of a document; the kind, if its name says so. Kinds that are text in
 * themselves come as they are.
 */
export function shownAsDocument(name: string, head: Buffer): { readonly kind: DocumentKind | undefined } | undefined {
  const kind = kindByName(name);
  const found = kindOfHead(head);
  if (found === "pdf") return { kind: "pdf" };
  if (kind !== undefined && isBinaryKind(kind) && found === "zip") return { kind };
  return kind === undefined && isPackageHead(head) ? { kind } : undefined;
}

/** The line above the text of a page, a slide or a sheet. */
export const markOf = ({ is, at }: DocumentUnit): string => `--- ${is} ${String(at).replace(/\s+/g, " ")} ---`;

/** A range within the pages or slides that there are; none: all of them. */
export const clamped = ({ first, last = Number.POSITIVE_INFINITY }: PageRange = { first: 1 }, count: number) => ({
  first: Math.min(first, count),
  last: Math.min(last, count),
});

/** Most UTF-16 units of text in one answer. */
export const MAX_CHARS = 1_000_000;
