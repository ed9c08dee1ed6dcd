// Writes XML: every text passes the one escaping function, every element through `element`.

/** Text that is XML already. Only this module makes it. */
import type { XmlAttribute, XmlElement } from "./read.js";

export class Markup {
  /** @param text must be well-formed */
  private constructor(readonly text: string) {}

  /** Markup that {@link element} or the parser has checked. */
  static trusted(text: string): Markup {
    return new Markup(text);
  }
}

/** A string is escaped; markup is taken as it is. */
export type Content = string | Markup | readonly Content[];

export const DAV = "DAV:";
/** Namespace of what the responses carry beside the standard. */
export const OWN = "urn:venue-files";
export const XML_TYPE = 'application/xml; charset="utf-8"';
export const PROLOGUE = '<?xml version="1.0" encoding="utf-8"?>\n';

/** The declarations that a document element carries; `element` writes names with these prefixes. */
export const NAMESPACES = { "xmlns:D": DAV };

/** An element. @param name with its prefix; of fixed text, never from a request */
export function element(
  name: string,
  content: Content = "",
  attributes: Readonly<Record<string, string>> = {},
): Markup {
  let start = name;
  for (const key in attributes) start += ` ${key}="${escapeXml(attributes[key] ?? "")}"`;
  const inside = textOf(content);
  return Markup.trusted(inside === "" ? `<${start}/>` : `<${start}>${inside}</${name}>`);
}

export function textOf(content: Content): string {
  if (typeof content === "string") return escapeXml(content);
  return content instanceof Markup ? content.text : content.map(textOf).join("");
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\t": "&#9;",
  "\n": "&#10;",
  "\r": "&#13;",
};

/** Text for an element or attribute. Characters that XML 1.0 cannot hold become U+FFFD. */
export function escapeXml(text: string): string {
  // Most texts are plain.
  if (/^[ !#-%'-;=?-~]*$/.test(text)) return text;
  return text
    .toWellFormed()
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"\t\n\r]/g, (char) => ESCAPES[char] ?? "");
}

/** The name of a property or other element. */
export interface XmlName {
  readonly namespace: string;
  readonly local: string;
}

/** An element of any namespace. @param name as it was parsed, so that `local` is a valid name */
export function namedElement({ namespace, local }: XmlName, content: Content = ""): Markup {
  if (namespace === DAV) return element(`D:${local}`, content);
  return namespace === ""
    ? element(local, content, { xmlns: "" })
    : element(`x:${local}`, content, { "xmlns:x": namespace });
}

/** A name in Clark notation: `{namespace}local`. */
export const clark = ({ namespace, local }: XmlName): string => `{${namespace}}${local}`;

export function fromClark(text: string): XmlName {
  // A local name holds no brace, a namespace may.
  const end = text.lastIndexOf("}");
  return { namespace: text.slice(1, end), local: text.slice(end + 1) };
}

type Scope = ReadonlyMap<string, string>;

const XML = "http://www.w3.org/XML/1998/namespace";
const EMPTY: Scope = new Map();

/** An element that stands by itself: it declares the namespaces that it uses, and keeps the language in force. */
export function standalone(node: XmlElement): Markup {
  const { language, attributes } = node;
  const hasOwn = attributes.some(isLanguage);
  const lang = { prefix: "xml", namespace: XML, local: "lang", value: language ?? "" };
  return write(language === undefined || hasOwn ? node : { ...node, attributes: [...attributes, lang] }, EMPTY);
}

/** Content of an element. */
export const contentOf = ({ content }: XmlElement): Markup =>
  Markup.trusted(content.map((part) => textOf(typeof part === "string" ? part : write(part, EMPTY))).join(""));

const isLanguage = ({ prefix, local }: XmlAttribute): boolean => prefix === "xml" && local === "lang";

function write(node: XmlElement, scope: Scope): Markup {
  const declared = new Map<string, string>();
  const declare = (prefix: string, namespace: string) => {
    if (prefix === "xml" || (declared.get(prefix) ?? scope.get(prefix) ?? "") === namespace) return;
    declared.set(prefix, namespace);
  };
  declare(node.prefix, node.namespace);
  for (const { prefix, namespace } of node.attributes) if (prefix !== "") declare(prefix, namespace);
  const within = new Map([...scope, ...declared]);
  const declarations = [...declared].map(([prefix, uri]) => [prefix === "" ? "xmlns" : `xmlns:${prefix}`, uri]);
  const attributes = node.attributes.map(({ prefix, local, value }) => [nameOf(prefix, local), value]);
  const content = node.content.map((part) => (typeof part === "string" ? part : write(part, within)));
  return element(nameOf(node.prefix, node.local), content, Object.fromEntries([...declarations, ...attributes]));
}

const nameOf = (prefix: string, local: string): string => (prefix === "" ? local : `${prefix}:${local}`);
