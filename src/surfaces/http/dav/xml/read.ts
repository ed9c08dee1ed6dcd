// Reads XML bodies of requests: namespace-aware, without document types and entities, within limits.

import { type SaxesOptions, SaxesParser, type SaxesTagNS } from "saxes";
import { badRequest, HttpError } from "../../plumbing/http-error.js";

/** Maximum bytes of an XML body. */
export const MAX_XML_BYTES = 1_048_576;
const MAX_LEVELS = 100;
const MAX_ELEMENTS = 1000;
const MAX_ATTRIBUTES = 100;
const XMLNS = "http://www.w3.org/2000/xmlns/";

/** An attribute; declarations of namespaces are not among them. */
export interface XmlAttribute {
  readonly prefix: string;
  readonly namespace: string;
  readonly local: string;
  readonly value: string;
}

export interface XmlElement {
  readonly prefix: string;
  readonly namespace: string;
  readonly local: string;
  readonly attributes: readonly XmlAttribute[];
  /** `xml:lang` in force, of this element or one around it. */
  readonly language: string | undefined;
  /** Texts and elements in order. */
  readonly content: readonly (string | XmlElement)[];
}

interface OpenElement extends XmlElement {
  readonly content: (string | XmlElement)[];
}

/** @throws HttpError 400 for what is malformed, 413 for what is too large */
export const readXml = (bytes: Buffer): XmlElement => new XmlReader().read(decode(bytes));

export const isNamed = (node: XmlElement, namespace: string, local: string): boolean =>
  node.namespace === namespace && node.local === local;

export const childrenOf = ({ content }: XmlElement): readonly XmlElement[] =>
  content.filter((part): part is XmlElement => typeof part !== "string");

export const childOf = (node: XmlElement, namespace: string, local: string): XmlElement | undefined =>
  childrenOf(node).find((child) => isNamed(child, namespace, local));

/** The text directly inside an element, without white space around it. */
export const innerText = ({ content }: XmlElement): string =>
  content
    .filter((part) => typeof part === "string")
    .join("")
    .trim();

function decode(bytes: Buffer): string {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  const encoding = isUtf16 ? (bytes[0] === 0xff ? "utf-16le" : "utf-16be") : "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw badRequest(`Body is not valid ${encoding.toUpperCase()}`);
  }
}

const malformed = (reason: string): HttpError => badRequest(`Malformed XML: ${reason}`);
const tooMuch = (what: string): HttpError => new HttpError(413, `XML body has more than ${what}`);

class XmlReader {
  readonly #parser: SaxesParser<SaxesOptions & { xmlns: true }>;
  readonly #open: OpenElement[] = [];
  #top: XmlElement | undefined;
  #elements = 0;
  #attributes = 0;

  constructor() {
    const parser = new SaxesParser({ xmlns: true });
    parser.on("error", () => {
      // The parser's own message may repeat any part of the body.
      throw malformed("not well-formed, an undeclared prefix, or an entity other than the five of XML");
    });
    parser.on("doctype", () => {
      throw malformed("document types are not accepted");
    });
    parser.on("opentagstart", () => this.#count());
    parser.on("attribute", () => {
      if (++this.#attributes > MAX_ATTRIBUTES) throw tooMuch(`${MAX_ATTRIBUTES} attributes in an element`);
    });
    parser.on("opentag", (tag) => this.#begin(tag));
    parser.on("closetag", () => this.#end());
    parser.on("text", (text) => this.#open.at(-1)?.content.push(text));
    parser.on("cdata", (text) => this.#open.at(-1)?.content.push(text));
    this.#parser = parser;
  }

  read(text: string): XmlElement {
    this.#parser.write(text).close();
    if (this.#top === undefined) throw malformed("no element");
    return this.#top;
  }

  #count(): void {
    this.#attributes = 0;
    if (++this.#elements > MAX_ELEMENTS) throw tooMuch(`${MAX_ELEMENTS} elements`);
    if (this.#open.length >= MAX_LEVELS) throw tooMuch(`${MAX_LEVELS} levels`);
  }

  #begin(tag: SaxesTagNS): void {
    const all = Object.values(tag.attributes);
    if (all.some(({ uri, prefix, value }) => uri === XMLNS && prefix !== "" && value === "")) {
      throw malformed("a prefix without a namespace");
    }
    const attributes = all
      .filter(({ uri }) => uri !== XMLNS)
      .map(({ prefix, uri, local, value }) => ({ prefix, namespace: uri, local, value }));
    const own = attributes.find(({ prefix, local }) => prefix === "xml" && local === "lang")?.value;
    const language = own ?? this.#open.at(-1)?.language;
    const node = { prefix: tag.prefix, namespace: tag.uri, local: tag.local, attributes, language, content: [] };
    this.#open.at(-1)?.content.push(node);
    this.#open.push(node);
  }

  #end(): void {
    const node = this.#open.pop();
    if (this.#open.length === 0) this.#top = node;
  }
}
