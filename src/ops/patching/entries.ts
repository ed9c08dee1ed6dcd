// Entries of a patch, one for each place, and the changes that carry them out.

import { contentTooLarge, escapeText } from "../../core/errors/texts.js";
import type { Expected, Sha256 } from "../../core/etag.js";
import type { GroupChange, GroupWriteOptions } from "../../core/ports/backend.js";
import type { FileCall } from "../../core/ports/operation.js";
import type { PatchOutput } from "../../schema/types.js";
import { bareName, encodeNew, notEncodable, type TextForm } from "../content/encoding.js";
import { isAscii } from "../content/known-encoding.js";
import type { Replacement } from "../editing/match.js";
import { bytesOf, type Original } from "../editing/original.js";
import type { Way } from "./hunks.js";

/** A file as it will be. */
export interface FileEntry {
  readonly kind: "file";
  readonly at: FileCall;
  /** Where it is now. Absent: it is new. */
  readonly disk?: DiskFile | undefined;
  /** The file that it is a copy of. */
  readonly copyOf?: FileCall | undefined;
  /** With the byte order mark. */
  readonly text: string;
  /** Absent: that of new files in its root. */
  readonly form?: TextForm | undefined;
  /** Encoding that the call names for files that are not UTF-8. */
  readonly encoding?: string | undefined;
  readonly executable?: boolean | undefined;
  /** Replacements in the original's text; absent: all of it is replaced. */
  readonly replacements?: readonly Replacement[] | undefined;
  readonly applied: number;
  readonly way: Way;
}

interface DiskFile {
  readonly at: FileCall;
  readonly size: number;
  /** Absent: its text is not known. */
  readonly original?: Original | undefined;
  readonly expected: Expected | undefined;
}

/** An entry that gets another name. */
export interface MoveEntry {
  readonly kind: "move";
  readonly from: FileCall;
  readonly at: FileCall;
  readonly isFolder: boolean;
  readonly expected: Expected | undefined;
}

export interface RemoveEntry {
  readonly kind: "remove";
  readonly at: FileCall;
  readonly size: number;
  readonly expected: Expected | undefined;
  /** Not a folder, nor a link. */
  readonly isFile: boolean;
}

interface FolderEntry {
  readonly kind: "mkdir";
  readonly at: FileCall;
}

export type Entry = FileEntry | MoveEntry | RemoveEntry | FolderEntry;

/** The changes of one entry. */
export interface PlannedEntry {
  readonly changes: readonly GroupChange[];
  /** Where it ends up. */
  readonly at: FileCall;
  readonly file: Omit<PatchOutput["files"][number], "etag">;
  /** Hash of the file's content afterwards, where it is known without the change. */
  readonly sha256?: Sha256 | undefined;
  /** Hunks, edits and whole-file changes. */
  readonly applied: number;
  /** Bytes of content that must be kept until the patch is done. */
  readonly keptBytes: number;
  readonly executable?: boolean | undefined;
  readonly hint?: string | undefined;
  /** Absent: the caller may not read it, or it is no text. */
  readonly diff?: { readonly text: string; readonly replacements: readonly Replacement[] } | undefined;
}

const PARENTS = { parents: true } as const;

/** @throws NOT_TEXT, TOO_LARGE */
export function planEntry(entry: Entry): PlannedEntry {
  const { at } = entry;
  const path = at.path.text;
  const base = { at, applied: 1, keptBytes: 0 };
  switch (entry.kind) {
    case "mkdir":
      return { ...base, changes: [{ kind: "mkdir", at, options: { ...PARENTS } }], file: { path, action: "add" } };
    case "remove": {
      const { expected, size } = entry;
      const changes = [{ kind: "remove", at, options: { recursive: false, expected } }] as const;
      return { ...base, changes, file: { path, action: "delete" }, keptBytes: size };
    }
    case "move": {
      const changes = [moveTo(entry.from, at, entry.expected)];
      return { ...base, changes, file: { path, from: entry.from.path.text, action: "move" } };
    }
    default:
      return planFile(entry);
  }
}

const moveTo = (from: FileCall, to: FileCall, expectedFrom: Expected | undefined): GroupChange => ({
  ...{ kind: "move", from, to },
  options: { ...PARENTS, overwrite: false, expectedFrom },
});

function planFile(entry: FileEntry): PlannedEntry {
  const { at, disk, form, text, applied, way, executable } = entry;
  const original = disk?.original;
  const isMoved = disk !== undefined && disk.at.path.text !== at.path.text;
  const expected = disk?.expected;
  // Without the stamp the backend hashes the file, as the record of a move needs.
  const expectedFrom = typeof expected === "object" ? { content: expected.content } : expected;
  const isSame = form !== undefined && text === original?.text && executable === undefined;
  const options: GroupWriteOptions = {
    parents: form === undefined || disk === undefined,
    expected: disk === undefined ? "nothing" : expected,
    executable,
  };
  const mayRead = at.access.holds("crud/read") && (disk === undefined || disk.at.access.holds("crud/read"));
  const isShown = mayRead && (disk === undefined || original !== undefined);
  const before = original?.text ?? "";
  const whole = [{ start: 0, end: before.length, text }];
  return {
    at,
    changes: [...(isMoved ? [moveTo(disk.at, at, expectedFrom)] : []), ...(isSame ? [] : [writeOf(entry, options)])],
    file: { ...nameOf(entry, isMoved), ...(way === "exact" || !mayRead ? {} : { tried: way }) },
    applied,
    keptBytes: disk?.size ?? 0,
    executable,
    hint: hintOf(entry),
    sha256: isSame ? original?.sha256 : undefined,
    diff: isShown ? { text: before, replacements: entry.replacements ?? whole } : undefined,
  };
}

/** Hint for text that changes the encoding of its file, where the call names none. */
function hintOf({ at, disk, form, text, encoding }: FileEntry): string | undefined {
  const old = disk?.original?.form;
  if (old === undefined || form !== undefined || encoding !== undefined) return undefined;
  const now = at.root.encoding ?? "utf-8";
  const isKept = old.isBroken === true ? isAscii(text) : bareName(old.encoding) === bareName(now);
  const was = old.isBroken === true ? "in another encoding (latin1?)" : old.encoding;
  return isKept ? undefined : `"${escapeText(at.path.text)}" was ${was} and is ${now} now. Pass encoding to keep it`;
}

function nameOf({ at, disk, copyOf }: FileEntry, isMoved: boolean): PlannedEntry["file"] {
  const path = at.path.text;
  if (isMoved && disk !== undefined) return { path, from: disk.at.path.text, action: "move" };
  if (disk !== undefined) return { path, action: "modify" };
  return { path, ...(copyOf === undefined ? {} : { from: copyOf.path.text }), action: "add" };
}

function writeOf(
  { at, disk, text, form, encoding = at.root.encoding }: FileEntry,
  options: GroupWriteOptions,
): GroupChange {
  const { place } = at.access;
  const size = disk?.size ?? 0;
  const bytes = form === undefined ? encodeNew(text, encoding) : bytesOf(text, { form, size }, at);
  if (bytes === undefined) throw notEncodable(place, encoding);
  const limit = at.limits.maxWriteBytes;
  if (form === undefined && bytes.length > limit) throw contentTooLarge(place, bytes.length, limit);
  return { kind: "write", at, body: { load: () => bytes, length: bytes.length }, options };
}
