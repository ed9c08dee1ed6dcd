// Reads the entries at the places of a patch before it changes them.

import { FileAdapterError } from "../../core/errors/errors.js";
import { notFound } from "../../core/errors/texts.js";
import { type Expected, expectedOf, hashText } from "../../core/etag.js";
import type { FileStat } from "../../core/ports/backend.js";
import type { FileCall } from "../../core/ports/operation.js";
import { isAscii } from "../content/known-encoding.js";
import { type Original, type OriginalRequest, readOriginal } from "../editing/original.js";
import type { FileEntry } from "./entries.js";
import type { Section } from "./section.js";

/** A section whose places are authorised. */
export interface PlacedSection<Call extends FileCall = FileCall> {
  readonly section: Section;
  readonly call: Call;
  /** Where the entry goes. */
  readonly to?: Call | undefined;
  /** Source of a copied entry. */
  readonly from?: Call | undefined;
  readonly ifMatch?: string | undefined;
  /** Encoding of files that are not UTF-8. */
  readonly encoding?: string | undefined;
}

export const expectedIn = ({ ifMatch }: PlacedSection): Expected | undefined => expectedOf({ ifMatch });

/** @throws NOT_FOUND if the entry is needed */
export async function statOnDisk(call: FileCall, isNeeded = false): Promise<FileStat | undefined> {
  const { root, path, access } = call;
  try {
    const stat = await root.backend.stat(path, access);
    if (stat === undefined && isNeeded) throw notFound(access.place);
    return stat;
  } catch (error) {
    const isDangling = error instanceof FileAdapterError && error.code === "DANGLING_SYMLINK";
    // A link that leads nowhere can be moved and deleted.
    if (isDangling && isNeeded) return undefined;
    throw error;
  }
}

/** @throws as a read */
export async function fileOnDisk(
  { ifMatch, encoding }: Pick<PlacedSection, "ifMatch" | "encoding">,
  call: FileCall,
): Promise<FileEntry> {
  const original = await originalOf({ ifMatch, encoding }, call);
  const { text, form, size, sha256, stamp } = original;
  const disk = { at: call, size, original, expected: { content: hashText(sha256), stamp } };
  return { kind: "file", at: call, disk, text, form, applied: 0, way: "exact" };
}

/** Reads a file. The named encoding counts only where the bytes tell no other. */
async function originalOf({ encoding, ...input }: OriginalRequest, call: FileCall): Promise<Original> {
  const found = await readOriginal(input, call);
  const isOpen = found.form.isBroken === true || isAscii(found.text);
  return encoding !== undefined && isOpen ? readOriginal({ ...input, encoding }, call) : found;
}

/** The old text of a file that is replaced, for the diff; `undefined`: it cannot be shown. */
export async function textBefore({ call }: PlacedSection): Promise<Original | undefined> {
  if (!call.access.holds("crud/read")) return undefined;
  try {
    return await readOriginal({}, call);
  } catch (error) {
    if (error instanceof FileAdapterError && ["NOT_TEXT", "TOO_LARGE"].includes(error.code)) return undefined;
    throw error;
  }
}
