// Web pages: their text as it is laid out in lines, without scripts, styles and templates.

import type { DocumentMeta } from "../../core/call/documents.js";
import type { Flow } from "../flow.js";
import { tidyMeta } from "./properties.js";

const SKIPPED: ReadonlySet<string> = new Set(["script", "style", "template", "annotation"]);
/** Elements that begin and end lines. */
const BLOCKS: ReadonlySet<string> = new Set(
  (
    "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 " +
    "head header hr html legend li main menu nav ol option p pre section select summary table tbody tfoot thead title ul"
  ).split(" "),
);
/** Bytes in which a page names its encoding. */
const HEAD_BYTES = 1024;
/** Characters parsed between two looks at how much text there is. */
const PIECE_CHARS = 65_536;

export async function readHtml(data: Buffer, flow: Flow, { isXml }: { readonly isXml: boolean }): Promise<void> {
  const { Parser } = await import("htmlparser2");
  const page = new Page(flow, isXml);
  const parser = new Parser(page, { recognizeSelfClosing: isXml, recognizeCDATA: isXml });
  const text = decoded(data);
  for (let at = 0; at < text.length; at += PIECE_CHARS) parser.write(text.slice(at, at + PIECE_CHARS));
  parser.end();
}

function decoded(data: Buffer): string {
  const head = data.toString("latin1", 0, HEAD_BYTES);
  if (/^\xff\xfe|^\xfe\xff/.test(head))
    return new TextDecoder(head.startsWith("\xff") ? "utf-16le" : "utf-16be").decode(data);
  const named = /<meta[^>]*charset\s*=\s*["']?([\w-]+)|^<\?xml[^>]*encoding\s*=\s*["']([\w-]+)/i.exec(head);
  try {
    return new TextDecoder(named?.[1] ?? named?.[2] ?? "utf-8", { fatal: true }).decode(data);
  } catch {
    // No page in UTF-8, or in an encoding of no known name: what browsers take it for.
    return new TextDecoder("windows-1252").decode(data);
  }
}

class Page {
  readonly #flow: Flow;
  readonly #meta: DocumentMeta = {};
  #skipped = 0;
  #pre = 0;
  #isTitle = false;
  /** White space is left out at the start of a line, and after other. */
  #isSpace = true;
  readonly #isXml: boolean;
  /** In XML there is no text before the first element: it is of a document type with declarations of its own. */
  #isBegun: boolean;

  constructor(flow: Flow, isXml: boolean) {
    this.#flow = flow;
    this.#isXml = isXml;
    this.#isBegun = !isXml;
  }

  onopentag(tag: string, attributes: Readonly<Record<string, string>>): void {
    this.#isBegun = true;
    const name = this.#localOf(tag);
    if (SKIPPED.has(name)) this.#skipped++;
    if (this.#skipped > 0) return;
    if (name === "meta" && /^(dcterms\.creator|author)$/i.test(attributes["name"] ?? ""))
      this.#meta.author ??= attributes["content"] ?? "";
    if (name === "title") this.#isTitle = this.#meta.title === undefined;
    if (name === "pre") this.#pre++;
    if (name === "br") this.#flow.end();
    if (name === "tr") this.#flow.openRow();
    if (name === "td" || name === "th") this.#flow.openCell();
    this.#boundary(name);
  }

  onclosetag(tag: string): void {
    const name = this.#localOf(tag);
    if (SKIPPED.has(name)) {
      this.#skipped = Math.max(0, this.#skipped - 1);
      return;
    }
    if (this.#skipped > 0) return;
    if (name === "title") this.#isTitle = false;
    if (name === "head" || name === "html") this.#flow.facts({ meta: tidyMeta(this.#meta) });
    if (name === "pre") this.#pre = Math.max(0, this.#pre - 1);
    if (name === "tr") this.#flow.closeRow();
    this.#boundary(name);
  }

  ontext(text: string): void {
    if (this.#skipped > 0 || !this.#isBegun) return;
    if (this.#isTitle) {
      this.#meta.title = `${this.#meta.title ?? ""}${text}`;
      return;
    }
    if (this.#pre > 0) {
      this.#verbatim(text);
      return;
    }
    const words = text.replace(/[ \t\r\n\f\u00a0]+/g, " ");
    const shown = this.#isSpace ? words.trimStart() : words;
    if (shown === "") return;
    this.#isSpace = shown.endsWith(" ");
    this.#flow.text(shown);
  }

  #verbatim(text: string): void {
    for (const [index, line] of text.split("\n").entries()) {
      if (index > 0) this.#flow.end();
      this.#flow.text(line);
    }
  }

  /** In HTML a prefix is part of the name. */
  #localOf(tag: string): string {
    return this.#isXml ? tag.slice(tag.indexOf(":") + 1) : tag;
  }

  #boundary(name: string): void {
    if (BLOCKS.has(name)) this.#flow.break();
    if (BLOCKS.has(name) || name === "br" || name === "td" || name === "th" || name === "tr") this.#isSpace = true;
  }
}
