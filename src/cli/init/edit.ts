// Adds one entry to a client's file of JSON with comments, TOML or YAML, and leaves every other byte as it was. The file is parsed before
// and after: it is written only if nothing but the entry differs.

import { isDeepStrictEqual } from "node:util";
import { findNodeAtLocation, getNodeValue, type Node, type ParseError, parseTree } from "jsonc-parser";
import { attempt } from "../../core/io.js";
import { fieldsOf } from "../../core/unknown.js";
import type { Client } from "./clients.js";

/** The entry stands there already, with this text or another one. */
export class EntryExists extends Error {
  override readonly name = "EntryExists";
}

/** The file cannot be edited safely. The message completes "Cannot edit FILE: …". */
export class NotEditable extends Error {
  override readonly name = "NotEditable";
}

export interface Addition {
  readonly client: Pick<Client, "format" | "keys">;
  /** Name of the entry among the client's servers. */
  readonly name: string;
  readonly entry: Readonly<Record<string, unknown>>;
  /** Replaces an entry of that name. */
  readonly force: boolean;
}

/**
 * @param text the file; empty if there is none
 * @returns the new text
 * @throws EntryExists, NotEditable
 */
export async function addEntry(text: string, addition: Addition): Promise<string> {
  const { client, name, entry, force } = addition;
  const parse = await parserOf(client.format);
  const before = parse(text);
  const path = [...client.keys, name];
  const isThere = valueAt(before, path) !== undefined;
  if (isThere && !force) throw new EntryExists(name);
  const [lowest] = client.keys.filter((_, depth) => !isTable(valueAt(before, client.keys.slice(0, depth + 1)) ?? {}));
  if (lowest !== undefined) throw new NotEditable(`'${lowest}' holds no entries by name`);
  const edited = { json: addToJson, toml: addToToml, yaml: addToYaml }[client.format](text, addition, isThere);
  const after = attempt(() => parse(edited));
  const isAsWanted =
    isDeepStrictEqual(plain(valueAt(after, path)), plain(entry)) &&
    isDeepStrictEqual(withoutEntry(after, path), withoutEntry(before, path));
  if (isAsWanted) return edited;
  throw new NotEditable("the entry cannot be put there without changing something else. Add it by hand");
}

const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Parses the text of a file. @throws NotEditable where it is not valid */
type Parse = (text: string) => unknown;

async function parserOf(format: Client["format"]): Promise<Parse> {
  if (format === "json") return (text) => getNodeValue(treeOf(text.trim() === "" ? "{}" : text));
  if (format === "toml") {
    const { parse } = await import("smol-toml");
    return (text) => valid("TOML", () => parse(text, { integersAsBigInt: true }));
  }
  const { parseAllDocuments } = await import("yaml");
  return (text) => {
    const documents = parseAllDocuments(text, { logLevel: "error" });
    if (!Array.isArray(documents)) return {};
    const [document, ...others] = documents;
    const [fault] = document?.errors ?? [];
    if (fault !== undefined) throw new NotEditable(`line ${fault.linePos?.[0].line ?? 1} is not valid YAML`);
    if (others.length > 0) throw new NotEditable("it holds several YAML documents");
    return valid("YAML", () => document?.toJS());
  };
}

function valid(format: string, parse: () => unknown): unknown {
  try {
    const value = parse() ?? {};
    if (isTable(value)) return value;
  } catch (error) {
    const line = fieldsOf(error)["line"];
    throw new NotEditable(
      typeof line === "number" ? `line ${line} is not valid ${format}` : `it is not valid ${format}`,
    );
  }
  throw new NotEditable("it does not hold entries by name");
}

const valueAt = (value: unknown, [key, ...below]: readonly string[]): unknown => {
  if (key === undefined) return value;
  return isTable(value) && Object.hasOwn(value, key) ? valueAt(value[key], below) : undefined;
};

/** The same value without the entry, and without tables that held only that entry. */
function withoutEntry(value: unknown, [key = "", ...below]: readonly string[]): unknown {
  if (!isTable(value)) return value;
  const rest = Object.entries(value).filter(([name]) => name !== key);
  const inner = below.length === 0 ? undefined : withoutEntry(value[key], below);
  const isEmpty = inner === undefined || inner === null || (isTable(inner) && Object.keys(inner).length === 0);
  return Object.fromEntries(isEmpty ? rest : [...rest, [key, inner]]);
}

/** Without prototypes of a parser, and numbers as JSON has them. */
const plain = (value: unknown): unknown =>
  attempt(() => JSON.parse(JSON.stringify(value, (_key, one) => (typeof one === "bigint" ? Number(one) : one))));

/** @throws NotEditable */
function treeOf(text: string): Node {
  const errors: ParseError[] = [];
  const tree = parseTree(text.replace(/^\uFEFF/, " "), errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) throw new NotEditable(`line ${lineAt(text, first.offset)} is not valid JSON`);
  if (tree?.type !== "object") throw new NotEditable("it does not hold an object");
  return tree;
}

function addToJson(text: string, { client, name, entry }: Addition): string {
  const start = text.trim() === "" ? "{}\n" : text;
  const tree = treeOf(start);
  const old = findNodeAtLocation(tree, [...client.keys, name]);
  if (old !== undefined) {
    const indent = /^[ \t]*/.exec(start.slice(start.lastIndexOf("\n", old.offset) + 1))?.[0] ?? "";
    return replaceRange(start, old.offset, old.length, jsonText(entry, start, indent));
  }
  let parent = tree;
  const missing = [...client.keys, name];
  for (let key = missing[0]; key !== undefined; key = missing[0]) {
    const node = findNodeAtLocation(parent, [key]);
    if (node === undefined) break;
    parent = node;
    missing.shift();
  }
  const [key = name, ...below] = missing;
  const value = below.reduceRight<unknown>((inner, one) => ({ [one]: inner }), entry);
  return insertProperty(start, parent, [key, value]);
}

/** Puts a property first into an object; the other properties keep their bytes. */
function insertProperty(text: string, parent: Node, [key, value]: readonly [string, unknown]): string {
  const at = parent.offset + 1;
  const isEmpty = (parent.children?.length ?? 0) === 0;
  const inside = text.slice(at, parent.offset + parent.length - 1);
  const outer = /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", parent.offset) + 1))?.[0] ?? "";
  const indent = `${outer}${unitOf(text)}`;
  const eol = eolOf(text);
  const property = `${JSON.stringify(key)}: ${jsonText(value, text, indent)}`;
  if (isEmpty && inside.trim() === "") {
    return replaceRange(text, at, inside.length, `${eol}${indent}${property}${eol}${outer}`);
  }
  if (isEmpty) return replaceRange(text, at, 0, `${eol}${indent}${property}`);
  const space = inside.includes("\n") ? "" : `${eol}${indent}`;
  return replaceRange(
    text,
    at,
    space === "" ? 0 : (/^\s*/.exec(inside)?.[0].length ?? 0),
    `${eol}${indent}${property},${space}`,
  );
}

const replaceRange = (text: string, at: number, length: number, by: string): string =>
  text.slice(0, at) + by + text.slice(at + length);

/** A value over several lines, the first one without indentation. */
const jsonText = (value: unknown, text: string, indent: string): string =>
  JSON.stringify(value, undefined, unitOf(text)).replaceAll("\n", `${eolOf(text)}${indent}`);

const eolOf = (text: string): string => (text.includes("\r\n") ? "\r\n" : "\n");
/** One level of indentation, as the file has it. */
const unitOf = (text: string): string => /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";

const lineAt = (text: string, offset: number): number => text.slice(0, offset).split("\n").length;

/** Strings of JSON are strings of TOML and of YAML; arrays of them likewise. */
const inlineValue = (value: unknown): string =>
  Array.isArray(value) ? `[${value.map(inlineValue).join(", ")}]` : JSON.stringify(value);

/** A table is added at the end, where it ends whatever table stood there before. */
function addToToml(text: string, { client, name, entry }: Addition, isThere: boolean): string {
  const eol = eolOf(text);
  const lines = text === "" ? [] : text.split(/\r?\n/);
  const parent = client.keys.join(".");
  const header = `[${parent}.${name}]`;
  const own = [header, ...Object.entries(entry).map(([key, value]) => `${key} = ${inlineValue(value)}`)];
  const quoted = `["']?${name}["']?`;
  const isOwn = new RegExp(`^\\s*\\[\\s*${parent}\\s*\\.\\s*${quoted}\\s*(\\.|\\])`);
  const at = isThere ? lines.findIndex((line) => isOwn.test(line)) : -1;
  if (at < 0) {
    while (lines.at(-1)?.trim() === "") lines.pop();
    return [...lines, ...(lines.length === 0 ? [] : [""]), ...own, ""].join(eol);
  }
  const isOthers = (line: string) => /^\s*\[/.test(line) && !isOwn.test(line);
  const kept = lines.filter((_, index) => index < at || !isIn(lines, index, isOwn, isOthers));
  kept.splice(at, 0, ...own, "");
  return kept.join(eol);
}

/** Whether a line belongs to a table whose header `isOwn` matches. */
function isIn(lines: readonly string[], index: number, isOwn: RegExp, isOthers: (line: string) => boolean): boolean {
  for (let line = index; line >= 0; line--) {
    const text = lines[line] ?? "";
    if (isOwn.test(text)) return true;
    if (isOthers(text)) return false;
  }
  return false;
}

function addToYaml(text: string, { client, name, entry }: Addition): string {
  const eol = eolOf(text);
  const lines = text === "" ? [] : text.split(/\r?\n/);
  const [parent = ""] = client.keys;
  const at = lines.findIndex((line) => new RegExp(`^["']?${parent}["']?\\s*:`).test(line));
  const own = (indent: string) => [
    `${indent}${name}:`,
    ...Object.entries(entry).map(([key, value]) => `${indent}  ${key}: ${inlineValue(value)}`),
  ];
  if (at < 0) {
    while (lines.at(-1)?.trim() === "") lines.pop();
    return [...lines, `${parent}:`, ...own("  "), ""].join(eol);
  }
  const [, rest = ""] = /:\s*(.*)$/.exec(lines[at] ?? "") ?? [];
  if (/^\{\s*\}/.test(rest)) lines[at] = (lines[at] ?? "").replace(/\{\s*\}/, "").trimEnd();
  const end = endOfBlock(lines, at);
  const first = lines.slice(at + 1, end).find((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  const indent = /^ */.exec(first ?? "  ")?.[0] ?? "  ";
  const old = lines.findIndex(
    (line, index) => index > at && index < end && new RegExp(`^${indent}["']?${name}["']?\\s*:`).test(line),
  );
  if (old < 0) {
    lines.splice(at + 1, 0, ...own(indent));
    return lines.join(eol);
  }
  let after = old + 1;
  while (after < end && (lines[after]?.startsWith(`${indent} `) || lines[after]?.trim() === "")) after++;
  lines.splice(old, after - old, ...own(indent));
  return lines.join(eol);
}

/** The first line after a block that is no deeper than its key. */
function endOfBlock(lines: readonly string[], at: number): number {
  let end = at + 1;
  while (end < lines.length && /^(\s|#|$)/.test(lines[end] ?? "")) end++;
  return end;
}
