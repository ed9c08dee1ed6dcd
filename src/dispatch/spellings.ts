// The two spellings of a call: upstream's fields, and ours. Calls run in ours; answers have the fields of the spelling asked in. No
// other file knows both. Rights are judged on what a call means, however it is spelled.

import { invalidInput } from "../core/errors/texts.js";
import type { AnyOperation } from "../core/ports/operation.js";
import { fieldsOf, isObject } from "../core/unknown.js";
import { parseReference, type Reference } from "../path/reference.js";

type Fields = Readonly<Record<string, unknown>>;

/** Subject of a call that has run. */
export interface CallPlaces {
  /** Canonical references of the places of the call, in the order in which it named them. */
  references(): readonly string[];
  /** URL at which WebDAV serves the first place; `undefined`: it does not. */
  url(): string | undefined;
}

/** A call in our fields. */
export interface SpelledCall {
  readonly given: Fields;
  /** The answer in the fields of the call. Absent: they are ours. */
  readonly answer?: (output: unknown, places: CallPlaces) => unknown;
  /** The call for the first bytes alone, from which it is answered too where the whole is too large. Absent: it is not. */
  readonly start?: Fields;
}

/** Operations that may name no root at all: their answer is then about every root. */
const ROOTLESS: ReadonlySet<string> = new Set(["history", "undo"]);

/**
 * Reads a call in either spelling. @param input valid by the schema of the operation @param onDrives its input has `drive`, not `root`
 * @throws INVALID_INPUT
 */
export function spelledCall({ name, on, runs }: AnyOperation, input: Fields, onDrives: boolean): SpelledCall {
  // The roots of a command are those of its mounts.
  if (on === "roots" || on === "drives" || runs === true) return { given: input };
  const named = input["contentRef"] === undefined ? input : withAsset(input);
  const given = name === "create" ? withPath(named) : named;
  const answer = name === "create" ? createdAnswer : undefined;
  if (onDrives) return answer === undefined ? { given } : { given, answer };
  if (given["from"] !== undefined) return { given: betweenPlaces(given, name), answer: movedAnswer };
  const isMove = name === "move" || name === "copy";
  if (isMove && given["path"] === undefined) throw required("path");
  if (given["root"] !== undefined) return answer === undefined ? { given } : { given, answer };
  if (name === "readMany") return { given: { ...given, files: filesByReference(given["files"]) } };
  const placed = byReference(given, isMove);
  if (placed === undefined) {
    // Only operations on archives read an asset or bytes in place of a path.
    const isPathless = on === "places" && (given["asset"] ?? given["bytes"]) !== undefined;
    if (ROOTLESS.has(name) || isPathless) return { given };
    throw required("root");
  }
  if (name === "read" && isWholeRead(given)) return { given: placed, answer: readAnswer, start: startOf(placed) };
  return answer === undefined ? { given: placed } : { given: placed, answer };
}

/** `contentRef` and `asset` are one field. */
function withAsset({ contentRef, ...input }: Fields): Fields {
  const { asset = contentRef } = input;
  if (asset === contentRef) return { ...input, asset };
  throw invalidInput(
    "'contentRef' and 'asset' are one field: give one of them",
    "/contentRef",
    "one of contentRef, asset",
  );
}

/** A new file without a path is called as its content says. */
function withPath(input: Fields): Fields {
  const { fileName } = fieldsOf(input["content"]);
  if (input["path"] !== undefined) return input;
  if (fileName === undefined) throw required("path", ", or content.fileName");
  return { ...input, path: fileName };
}

/** A call without a root, whose path is a reference. @param isMove `to` may be one too */
function byReference(input: Fields, isMove: boolean): Fields | undefined {
  const { path } = input;
  const found = typeof path === "string" ? readReference(path, "path") : undefined;
  if (found === undefined) return undefined;
  const { root, path: below } = found;
  // Not spread: an object made by two takes ten times as long.
  return Object.assign({}, input, { root, path: below }, isMove ? targetOf(input, root) : undefined);
}

/** Files that name their roots themselves. Answers have their paths as they were given. */
function filesByReference(files: unknown): readonly Fields[] {
  return (files as readonly Fields[]).map((file, index) => {
    const found = readReference(String(file["path"]), `files/${index}/path`);
    if (found === undefined) throw required("root");
    return { ...file, at: found };
  });
}

/** `{ from, to }` as a source and a target. */
function betweenPlaces(input: Fields, name: string): Fields {
  const { from, path, ...others } = input;
  if (path !== undefined)
    throw invalidInput("Only one of 'from' and 'path' may be given", "/path", "one of from, path");
  const { root, path: source } = endpoint(String(from), { explicit: input["root"], field: "from", rootField: "root" });
  const given = { ...others, root, path: source, ...targetOf(input, root) };
  // Upstream's copy of a directory has nothing in it.
  return name === "copy" && input["recursive"] === undefined ? { ...given, isEmptyCopy: true } : given;
}

function targetOf(input: Fields, fallback: string): Fields {
  const how = { explicit: input["toRoot"], fallback, field: "to", rootField: "toRoot" };
  const { root, path } = endpoint(String(input["to"]), how);
  return { toRoot: root, to: path };
}

interface EndpointNames {
  /** The root that the call names for it. */
  readonly explicit: unknown;
  readonly fallback?: string;
  readonly field: string;
  readonly rootField: string;
}

function endpoint(text: string, { explicit, fallback, field, rootField }: EndpointNames): Reference {
  const found = readReference(text, field);
  if (found === undefined || (found.isBare === true && explicit !== undefined)) {
    const root = explicit ?? fallback;
    if (root === undefined) throw required(rootField);
    return { root: String(root), path: text };
  }
  if (explicit === undefined || explicit === found.root) return found;
  throw invalidInput(
    `'${rootField}' and '${field}' name different roots`,
    `/${rootField}`,
    "the root of the reference",
  );
}

/** @throws INVALID_INPUT for a reference that names no place */
function readReference(text: string, field: string): Reference | undefined {
  const found = parseReference(text);
  if (found === undefined || !("fault" in found)) return found;
  throw invalidInput(`'${field}' ${found.fault}`, `/${field}`, "a path or a reference");
}

const required = (field: string, or = "") => invalidInput(`'${field}' is required${or}`, `/${field}`, "a value");

function movedAnswer(output: unknown, { references }: CallPlaces): unknown {
  if (!isObject(output)) return output;
  const { path: _, to: __, overwritten: ___, moved, copied, ...rest } = output;
  const [from, to] = references();
  return { ...(moved === undefined ? { copied } : { moved }), from, to, ...rest };
}

function createdAnswer(output: unknown, { references }: CallPlaces): unknown {
  return isObject(output) ? { ref: references()[0], ...output } : output;
}

const isWholeRead = ({ mode = "", offset, length, line, limit, head, tail, version }: Fields): boolean =>
  (mode === "" || mode === "auto") &&
  [offset, length, line, limit, head, tail, version].every((one) => one === undefined);

/** Enough to tell most bytes from text. */
const START_BYTES = 8192;
const startOf = (input: Fields): Fields => Object.assign({}, input, { offset: 0, length: START_BYTES });

/** Facts about bytes that the answer leaves out. */
const FACTS: ReadonlySet<string> = new Set(["size", "mime", "etag", "hash"]);

/** Bytes that are no text are fetched from their URL. */
function readAnswer(output: unknown, { url }: CallPlaces): unknown {
  if (!isObject(output) || output["encoding"] !== "base64") return output;
  const where = url();
  if (where === undefined) return output;
  const facts = Object.entries(output).filter(([name]) => FACTS.has(name));
  return { encoding: "binary", ...Object.fromEntries(facts), url: where };
}
