// Changes of groups, and those that fail in every backend, alone too.

import type { Backend, GroupChange, MoveOptions, WriteOptions } from "../core/ports/backend.js";
import { type AccessOverrides, at } from "./access.js";
import { bodyOf } from "./files.js";

export const write = (
  path: string,
  content: string,
  options: Partial<WriteOptions> = {},
  overrides?: AccessOverrides,
) =>
  ({
    kind: "write",
    at: at(path, overrides),
    body: bodyOf(content),
    options: { parents: false, ...options },
  }) satisfies GroupChange;

export const remove = (path: string, options: { recursive?: boolean; expected?: { content: string } } = {}) =>
  ({ kind: "remove", at: at(path), options: { recursive: false, ...options } }) satisfies GroupChange;

export const move = (from: string, to: string, options: Partial<MoveOptions> = {}) =>
  ({
    kind: "move",
    from: at(from),
    to: at(to),
    options: { parents: false, overwrite: false, ...options },
  }) satisfies GroupChange;

export const mkdir = (path: string, options: Partial<WriteOptions> = {}) =>
  ({ kind: "mkdir", at: at(path), options: { parents: false, ...options } }) satisfies GroupChange;

const OTHER = { content: "aaaaaaaa" };

/** Changes that fail in every backend, on the entries of {@link makeGround}. */
export const failingChanges = (): readonly (readonly [string, GroupChange, unknown])[] => [
  ["a write below nothing", write("none/x", "x"), "PARENT_MISSING"],
  ["a write below a file", write("old/x", "x", { parents: true }), "NOT_A_DIRECTORY"],
  ["a write onto a directory", write("full", "x"), "IS_A_DIRECTORY"],
  ["a write with another content expected", write("old", "x", { expected: { content: "aaaaaaaa" } }), "CONFLICT"],
  ["a write where nothing is expected", write("old", "x", { expected: "nothing" }), "CONFLICT"],
  ["a removal of nothing", remove("none"), "NOT_FOUND"],
  ["a removal of a full directory", remove("full"), "NOT_EMPTY"],
  ["a removal with another content expected", remove("old", { expected: { content: "aaaaaaaa" } }), "CONFLICT"],
  ["a move of nothing", move("none", "x"), "NOT_FOUND"],
  ["a move onto a file", move("full/inner", "old"), "ALREADY_EXISTS"],
  ["a directory over a file", mkdir("old"), "EXISTS_NOT_DIRECTORY"],
  ["a directory below nothing", mkdir("none/x"), "PARENT_MISSING"],
  ["a write with content expected where nothing is", write("absent", "x", { expected: OTHER }), "CONFLICT"],
  ["a removal of a directory of which content is expected", remove("empty", { expected: OTHER }), "IS_A_DIRECTORY"],
  ["a directory where nothing is expected", mkdir("empty", { expected: "nothing" }), "CONFLICT"],
  ["a move below nothing", move("old", "none/x"), "PARENT_MISSING"],
  ["a move into itself", move("full", "full/x"), "INVALID_INPUT"],
  ["a move of a directory of which content is expected", move("full", "x", { expectedFrom: OTHER }), "IS_A_DIRECTORY"],
  [
    "a move into new directories, with another content expected",
    move("old", "n/e/w", { parents: true, expectedFrom: OTHER }),
    "CONFLICT",
  ],
];

/** Alone, by the method of its kind. */
export async function runAlone(backend: Backend, change: GroupChange): Promise<unknown> {
  switch (change.kind) {
    case "write":
      return backend.write(change.at.path, change.body, change.options, change.at.access);
    case "remove":
      return backend.remove(change.at.path, change.options, change.at.access);
    case "mkdir":
      return backend.mkdir(change.at.path, change.options, change.at.access);
    case "move":
      return backend.move(change.from, change.to, change.options);
    default:
      return undefined;
  }
}
