// Reads of a file as it was before or after a recorded change.

import { isSamePath } from "../../core/call/path.js";
import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import { escapeText, invalidInput, notFound } from "../../core/errors/texts.js";
import type { ReadBackend } from "../../core/ports/backend.js";
import type { JournalEntry, NotUndoable, Side } from "../../core/ports/changes/journal.js";
import type { OpenFile, Stamp } from "../../core/ports/open-file.js";
import type { FileCall, PathCall, Resolve } from "../../core/ports/operation.js";
import { isWithin } from "../../path/grammar.js";
import { type PastContent, PastContents } from "./past-content.js";
import { requireHistory } from "./visible-entries.js";

/** `<entry id>:before` or `<entry id>:after` */
const VERSION = /^([0-9a-z]{1,64}):(before|after)$/;

/** The call on the version it asks for; without one the call itself. @throws INVALID_INPUT, NOT_FOUND */
export async function atVersion(call: PathCall, version: string): Promise<FileCall> {
  const content = await contentAt(call, version);
  const { sha256 } = content;
  const stamp = `past:${version}`;
  if (sha256 !== undefined) call.versions.put(call.root.name, stamp, sha256);
  const backend = pastFile(content, sha256 === undefined ? undefined : stamp);
  return { ...call, root: { ...call.root, backend } };
}

/** The call on content in memory. */
export function withContent(call: PathCall, bytes: Buffer): FileCall {
  const facts = { size: bytes.length, modified: 0 };
  const read = async (offset: number, length: number): Promise<Buffer> => bytes.subarray(offset, offset + length);
  const backend = pastFile({ ...facts, open: () => ({ ...facts, read, close: () => {} }) }, undefined);
  return { ...call, root: { ...call.root, backend } };
}

/**
 * The content of the requested path on one side of an entry.
 *
 * @param name the field of the input that names the version
 * @throws INVALID_INPUT, NOT_FOUND if it was not kept
 */
export async function contentAt(call: PathCall, version: string, name = "version"): Promise<PastContent> {
  const { id, side } = parseVersion(version, name);
  await requireHistory([call]);
  const journal = await call.root.journal?.open();
  const entry = await journal?.entry(id);
  // The same answer for a change of another path: it would tell that there was one.
  const stored = entry && pathIn(entry, call);
  if (journal === undefined || entry === undefined || stored === undefined) {
    throw invalidInput(
      `No entry ${id} of "${escapeText(call.path.text)}" is in the history. Take '${name}' from file:history`,
      `/${name}`,
      "<entry id>:before or :after",
      { tool: "file:history", option: name },
    );
  }
  // Judged by the rights and deny patterns of now.
  call.access.real(stored);
  const past = await new PastContents(journal, readsIn(call.root.name, call.at)).at(entry, side, stored);
  if (past === "nothing") throw notFound(call.access.place);
  if (typeof past === "string") throw notKeptNow(call, past);
  return past;
}

/** @throws INVALID_INPUT */
function parseVersion(text: string, name: string): { readonly id: string; readonly side: Side } {
  const [, id, side] = VERSION.exec(text) ?? [];
  if (id === undefined) {
    throw invalidInput(
      `'${name}' must be an entry id and :before or :after, from file:history`,
      `/${name}`,
      "<entry id>:before or :after",
      { tool: "file:history", option: name },
    );
  }
  return { id, side: side === "before" ? "before" : "after" };
}

/** The path of an entry that a call means, as it was stored; of two spellings the one that it gives. */
function pathIn({ path, from, fromRoot }: JournalEntry, { root, path: { segments } }: PathCall) {
  const paths = from !== undefined && (fromRoot ?? root.name) === root.name ? [path, from] : [path];
  const { foldsCase } = root.backend;
  const isIt = (one: readonly string[]) => one.length === segments.length && isWithin(one, segments, foldsCase);
  return paths.find((one) => isSamePath(one, segments)) ?? paths.find(isIt);
}

/** Calls that read other paths of a root, as far as the caller may. */
export function readsIn(root: string, at: Resolve): (path: readonly string[]) => PathCall | undefined {
  return (path) => {
    try {
      return at({ root, path: path.join("/"), abilities: ["crud/read"], changes: false, isReal: true });
    } catch (error) {
      if (error instanceof FileAdapterError) return undefined;
      throw error;
    }
  };
}

function notKeptNow({ access }: PathCall, reason: NotUndoable): FileAdapterError {
  const { message, data } = notFound(access.place);
  return adapterError("NOT_FOUND", `${message}. This version was not kept (${reason})`, { ...data, reason });
}

/** The file of one call as it was. */
function pastFile(content: PastContent, stamp: Stamp | undefined): ReadBackend {
  const { size, modified } = content;
  const stampPart = stamp === undefined ? {} : { stamp };
  const open = async (): Promise<OpenFile> => {
    const file = await content.open();
    const { descriptor } = file;
    return {
      ...{ size: file.size, modified, ...stampPart },
      ...(descriptor === undefined ? {} : { descriptor }),
      read: (offset, length, into) => file.read(offset, length, into),
      close: () => file.close(),
    };
  };
  return {
    stat: () => ({ type: "file", size, modified, readOnly: true, symlink: false, ...stampPart }),
    open,
    async read(_path, plan) {
      const file = await open();
      try {
        const { offset, length } = plan(file.size);
        const bytes = await file.read(offset, Math.max(0, Math.min(length, file.size - offset)));
        return { bytes, size: file.size, ...stampPart };
      } finally {
        file.close();
      }
    },
  };
}
