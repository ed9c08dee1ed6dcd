// Shorthand for calling a backend in tests.

import type { RelPath } from "../core/call/path.js";
import { FileAdapterError } from "../core/errors/errors.js";
import type { Place } from "../core/errors/texts.js";
import type {
  Backend,
  Body,
  FileStat,
  Listing,
  ReadBytes,
  ReadRange,
  Visit,
  WalkEntry,
} from "../core/ports/backend.js";
import { parsePath } from "../path/grammar.js";
import { type AccessOverrides, SUITE_ROOT, type TestAccess, testAccess } from "./access.js";
import { expect } from "./runner.js";

export type Content = string | Buffer | AsyncIterable<Uint8Array> | Body;
export type Written = { readonly bytes: number; readonly created: boolean };

export type Snapshot = readonly (readonly [path: string, content: string | null])[];

/**
 * A backend with short calls, as one caller uses it: paths are text, content may have any form, and each call has its
 * own Access. All methods are asynchronous, so that throwing synchronously and rejecting look the same.
 */
export interface Files {
  write(path: string, content: Content, options?: { parents?: boolean }): Promise<Written>;
  append(path: string, content: Content, options?: { parents?: boolean }): Promise<Written>;
  mkdir(path: string, options?: { parents?: boolean }): Promise<{ created: boolean }>;
  remove(path: string, options?: { recursive?: boolean }): Promise<{ existed: boolean }>;
  /** @param range default: the whole file */
  read(path: string, range?: ReadRange | ((size: number) => ReadRange)): Promise<ReadBytes>;
  text(path: string): Promise<string>;
  stat(path: string): Promise<FileStat | undefined>;
  list(path: string, page?: { after?: string; startsWith?: string; offset?: number; limit?: number }): Promise<Listing>;
  names(path: string): Promise<string[]>;
  /** @param visit default: enters every directory @returns the visited entries */
  walk(path: string, visit?: Visit, sizes?: boolean): Promise<WalkEntry[]>;
  /** Every path of the root with its content, `null` for directories: equal snapshots mean that nothing has changed. */
  snapshot(): Promise<Snapshot>;
}

export function filesOf(backend: Backend, overrides: Omit<AccessOverrides, "path"> = {}): Files {
  const call = (path: string): [RelPath, TestAccess] => {
    const parsed = parsePath(SUITE_ROOT, path);
    return [parsed, testAccess({ ...overrides, path: parsed.text })];
  };
  const files: Files = {
    async write(path, content, { parents = false } = {}) {
      const [parsed, access] = call(path);
      const { bytes, created } = await backend.write(parsed, bodyOf(content), { parents }, access);
      return { bytes, created };
    },
    async append(path, content, { parents = false } = {}) {
      const [parsed, access] = call(path);
      const { bytes, created } = await backend.append(parsed, bodyOf(content), { parents }, access);
      return { bytes, created };
    },
    async mkdir(path, { parents = false } = {}) {
      const [parsed, access] = call(path);
      return backend.mkdir(parsed, { parents }, access);
    },
    async remove(path, { recursive = false } = {}) {
      const [parsed, access] = call(path);
      return backend.remove(parsed, { recursive }, access);
    },
    async read(path, range = (size) => ({ offset: 0, length: size })) {
      const [parsed, access] = call(path);
      return backend.read(parsed, typeof range === "function" ? range : () => range, access);
    },
    async text(path) {
      return (await files.read(path)).bytes.toString("utf8");
    },
    async stat(path) {
      const [parsed, access] = call(path);
      return backend.stat(parsed, access);
    },
    async list(path, { after, startsWith, offset = 0, limit = 10_000 } = {}) {
      const [parsed, access] = call(path);
      return backend.list(parsed, { after, startsWith, offset, limit }, access);
    },
    async names(path) {
      return (await files.list(path)).entries.map((entry) => entry.name);
    },
    async walk(path, visit = () => "enter", sizes = false) {
      const [parsed, access] = call(path);
      const seen: WalkEntry[] = [];
      const record: Visit = (entry) => {
        seen.push(entry);
        return visit(entry);
      };
      await backend.walk(parsed, { visit: record, sizes }, access);
      return seen;
    },
    async snapshot() {
      const tree: [string, string | null][] = [];
      const names: string[] = [];
      for (const entry of await files.walk("")) {
        names.splice(entry.depth - 1, names.length, entry.name);
        const path = names.join("/");
        tree.push([path, entry.type === "directory" ? null : (await files.read(path)).bytes.toString("latin1")]);
      }
      return tree;
    },
  };
  return files;
}

export function bodyOf(content: Content): Body {
  if (typeof content === "string") return { load: () => Buffer.from(content) };
  if (Buffer.isBuffer(content)) return { load: () => content };
  return "load" in content ? content : { load: () => content };
}

/** A stream of these chunks that lets the event loop turn before each chunk. */
export async function* streamSlowly(...chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    await yieldToLoop();
    yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  }
}

/** Lets all other ready work run first. */
export const yieldToLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const placeOf = (path: string): Place => ({ root: SUITE_ROOT, path });

/** Expects a call to fail with exactly this error: code, message and data. */
export async function expectFailure(call: Promise<unknown>, expected: FileAdapterError): Promise<void> {
  const outcome = await call.then(
    (value) => ({ unexpected: value }),
    (error: unknown) => (error instanceof FileAdapterError ? tell(error) : { unexpected: error }),
  );
  expect(outcome).toEqual(tell(expected));
}

const tell = ({ code, message, data }: FileAdapterError) => ({ code, message, data });

/** The code of an expected failure; "done" where there is none. */
export const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "done",
    (error: unknown) => (error instanceof FileAdapterError ? error.code : error),
  );
