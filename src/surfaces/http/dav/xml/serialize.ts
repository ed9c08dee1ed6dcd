// Writes parsed elements again, with their prefixes, namespaces and attributes.

import type { XmlAttribute, XmlElement } from "./read.js";
import { element, Markup, textOf } from "./write.js";

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
