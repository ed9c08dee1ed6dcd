import type { ErrorCode, FileAdapterError } from "../../src/core/errors/errors.js";

export type Command =
  | { readonly kind: "write" | "append"; readonly path: string; readonly content: string; readonly parents: boolean }
  | { readonly kind: "mkdir"; readonly path: string; readonly parents: boolean }
  | { readonly kind: "remove"; readonly path: string; readonly recursive: boolean }
  | { readonly kind: "read"; readonly path: string; readonly offset: number; readonly length: number }
  | { readonly kind: "stat" | "list"; readonly path: string };

/** What a command answers, as far as every backend must agree. */
export type Outcome = { readonly value: unknown } | { readonly code: FileAdapterError["code"]; readonly path: unknown };

/** A root as one flat table: ASCII content by path, `null` for a directory. The root itself has no row. */
export type Model = Map<string, string | null>;

/** Runs a command on the table, by the sentences of the specification and without a tree. */
export function runOnModel(model: Model, command: Command): Outcome {
  switch (command.kind) {
    case "write":
    case "append":
      return put(model, command);
    case "mkdir":
      return mkdir(model, command);
    case "remove":
      return remove(model, command);
    case "read":
      return read(model, command);
    case "stat":
      return { value: describe(model, command.path) };
    case "list":
      return list(model, command.path);
  }
}

const fail = (code: ErrorCode, path: string): Outcome => ({ code, path });

type Kind = "file" | "directory" | undefined;

function kindOf(model: Model, path: string): Kind {
  if (path === "") return "directory";
  const row = model.get(path);
  return row === undefined ? undefined : row === null ? "directory" : "file";
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** Every directory a path goes through, topmost first. */
function ancestorsOf(path: string): string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

function parentFault(model: Model, path: string, parents: boolean): Outcome | undefined {
  const file = ancestorsOf(path).find((ancestor) => kindOf(model, ancestor) === "file");
  if (file !== undefined) return fail("NOT_A_DIRECTORY", file);
  const parent = parentOf(path);
  return kindOf(model, parent) === undefined && !parents ? fail("PARENT_MISSING", parent) : undefined;
}

function set(model: Model, path: string, row: string | null): void {
  for (const ancestor of ancestorsOf(path)) model.set(ancestor, null);
  model.set(path, row);
}

function put(model: Model, command: Extract<Command, { content: string }>): Outcome {
  const { path, content, kind } = command;
  const fault = parentFault(model, path, command.parents);
  if (fault !== undefined) return fault;
  if (kindOf(model, path) === "directory") return fail("IS_A_DIRECTORY", path);
  const old = model.get(path);
  set(model, path, kind === "append" ? `${old ?? ""}${content}` : content);
  return { value: { bytes: content.length, created: typeof old !== "string" } };
}

function mkdir(model: Model, { path, parents }: { path: string; parents: boolean }): Outcome {
  const fault = parentFault(model, path, parents);
  if (fault !== undefined) return fault;
  const kind = kindOf(model, path);
  if (kind === "file") return fail("EXISTS_NOT_DIRECTORY", path);
  if (kind === undefined) set(model, path, null);
  return { value: { created: kind === undefined } };
}

function remove(model: Model, { path, recursive }: { path: string; recursive: boolean }): Outcome {
  if (path === "") return fail("ROOT_DELETE", path);
  if (kindOf(model, path) === undefined) return { value: { existed: false } };
  const below = Array.from(model.keys()).filter((other) => other.startsWith(`${path}/`));
  if (below.length > 0 && !recursive) return fail("NOT_EMPTY", path);
  for (const gone of [path, ...below]) model.delete(gone);
  return { value: { existed: true } };
}

function read(model: Model, command: { path: string; offset: number; length: number }): Outcome {
  const { path, offset, length } = command;
  const kind = kindOf(model, path);
  if (kind === undefined) return fail("NOT_FOUND", path);
  if (kind === "directory") return fail("IS_A_DIRECTORY", path);
  const content = model.get(path) ?? "";
  return { value: { text: content.slice(offset, offset + length), size: content.length } };
}

function list(model: Model, path: string): Outcome {
  const kind = kindOf(model, path);
  if (kind === undefined) return fail("NOT_FOUND", path);
  if (kind === "file") return fail("NOT_A_DIRECTORY", path);
  const children = Array.from(model.keys()).filter((other) => parentOf(other) === path);
  const entries = children.toSorted().map((child) => ({
    name: child.slice(child.lastIndexOf("/") + 1),
    ...describe(model, child),
  }));
  return { value: { entries, total: entries.length } };
}

function describe(model: Model, path: string): { type: Kind; size: number } | undefined {
  const type = kindOf(model, path);
  return type === undefined ? undefined : { type, size: model.get(path)?.length ?? 0 };
}
