// Adds one entry to a client's file of JSON with comments, TOML or YAML, and leaves every other byte as it was.

import { findNodeAtLocation, type Node, type ParseError, parseTree } from "jsonc-parser";
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
export function addEntry(text: string, addition: Addition): string {
  const edit = { json: addToJson, toml: addToToml, yaml: addToYaml }[addition.client.format];
  return edit(text, addition);
}

function addToJson(text: string, { client, name, entry, force }: Addition): string {
  const errors: ParseError[] = [];
  const start = text.trim() === "" ? "{}\n" : text;
  const tree = parseTree(start.replace(/^\uFEFF/, " "), errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) throw new NotEditable(`line ${lineAt(start, first.offset)} is not valid JSON`);
  if (tree?.type !== "object") throw new NotEditable("it does not hold an object");
  const old = findNodeAtLocation(tree, [...client.keys, name]);
  if (old !== undefined) {
    if (!force) throw new EntryExists(name);
    const indent = /^[ \t]*/.exec(start.slice(start.lastIndexOf("\n", old.offset) + 1))?.[0] ?? "";
    return replaceRange(start, old.offset, old.length, jsonText(entry, start, indent));
  }
  let parent = tree;
  const missing = [...client.keys, name];
  for (let key = missing[0]; key !== undefined; key = missing[0]) {
    const node = findNodeAtLocation(parent, [key]);
    if (node === undefined) break;
    if (node.type !== "object") throw new NotEditable(`'${key}' is no object`);
    parent = node;
    missing.shift();
  }
  const [key = name, ...below] = missing;
  const value = below.reduceRight<unknown>((inner, one) => ({ [one]: inner }), entry);
  return insertProperty(start, parent, [key, value]);
}

/** Puts a property first into an object; what stands there keeps its bytes. */
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
function addToToml(text: string, { client, name, entry, force }: Addition): string {
  const eol = eolOf(text);
  const lines = text === "" ? [] : text.split(/\r?\n/);
  const parent = client.keys.join(".");
  const header = `[${parent}.${name}]`;
  const own = [header, ...Object.entries(entry).map(([key, value]) => `${key} = ${inlineValue(value)}`)];
  const quoted = `["']?${name}["']?`;
  const isOwn = new RegExp(`^\\s*\\[\\s*${parent}\\s*\\.\\s*${quoted}\\s*(\\.|\\])`);
  const elsewhere = new RegExp(`^\\s*(${parent}\\s*(=|\\.\\s*${quoted})|\\[\\[\\s*${parent})`);
  if (lines.some((line) => elsewhere.test(line))) {
    throw new NotEditable(`'${parent}' is not written as tables such as ${header}`);
  }
  const at = lines.findIndex((line) => isOwn.test(line));
  if (at < 0) {
    while (lines.at(-1)?.trim() === "") lines.pop();
    return [...lines, ...(lines.length === 0 ? [] : [""]), ...own, ""].join(eol);
  }
  if (!force) throw new EntryExists(name);
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

function addToYaml(text: string, { client, name, entry, force }: Addition): string {
  const eol = eolOf(text);
  const lines = text === "" ? [] : text.split(/\r?\n/);
  const [parent = ""] = client.keys;
  if (lines.some((line) => /^(---|\.\.\.|%|\t)/.test(line) && line !== "---")) {
    throw new NotEditable("it is not one plain YAML document");
  }
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
  if (!/^(#.*|\{\s*\}\s*(#.*)?)?$/.test(rest)) throw new NotEditable(`'${parent}' is not written as a block`);
  lines[at] = `${parent}:${rest.startsWith("#") ? ` ${rest}` : ""}`;
  const end = endOfBlock(lines, at);
  const first = lines.slice(at + 1, end).find((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  const indent = /^ */.exec(first ?? "  ")?.[0] ?? "  ";
  if (indent === "") throw new NotEditable(`'${parent}' is not written as a block`);
  const old = lines.findIndex(
    (line, index) => index > at && index < end && new RegExp(`^${indent}["']?${name}["']?\\s*:`).test(line),
  );
  if (old < 0) {
    lines.splice(at + 1, 0, ...own(indent));
    return lines.join(eol);
  }
  if (!force) throw new EntryExists(name);
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
