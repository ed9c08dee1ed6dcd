// The text of a file after the hunks or edits of a section.

import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { at, escapeText } from "../../core/errors/texts.js";
import type { FileCall } from "../../core/ports/operation.js";
import { BOM, otherEncoding, type TextForm } from "../content/encoding.js";
import type { Replacement } from "../editing/match.js";
import { nearestTo } from "../editing/nearest-lines.js";
import { textAfter } from "../editing/original.js";
import { LINES_TOLD, linesText, planOf, shiftBehindMark } from "../editing/plan.js";
import type { FileEntry } from "./entries.js";
import { type HunkFault, matchHunks, WAYS, type Way } from "./hunks.js";
import type { PlacedSection } from "./on-disk.js";
import type { Hunk } from "./section.js";

interface Matched {
  readonly replacements: readonly Replacement[];
  readonly applied: number;
  readonly way: Way;
}

/** A file after a section. @throws NO_MATCH, AMBIGUOUS_MATCH, OVERLAPPING_EDITS, TOO_LARGE */
export async function changed(file: FileEntry, { section, call }: PlacedSection): Promise<FileEntry> {
  const { text } = file;
  const hunks = "hunks" in section ? (section.hunks ?? []) : [];
  const found = section.kind === "edit" ? await byEdits(section.edits, file, call) : await byHunks(hunks, text, call);
  const form = formOf(file);
  requireSayable(found.replacements, form, call);
  const next = textAfter({ text, form }, found.replacements, call);
  if (section.kind === "delete" && next.replace(BOM, "") !== "") {
    const told = `"${escapeText(call.path.text)}" has more lines than the patch takes away. Read it, and delete it without them`;
    throw adapterError("NO_MATCH", told, at(call.access.place));
  }
  const isFirst = file.applied === 0;
  return {
    ...file,
    ...markedAs(file, next),
    applied: file.applied + Math.max(found.applied, section.executable === undefined ? 0 : 1),
    way: WAYS.indexOf(found.way) > WAYS.indexOf(file.way) ? found.way : file.way,
    replacements: isFirst ? found.replacements : undefined,
    executable: section.executable ?? file.executable,
  };
}

const formOf = ({ text, form }: FileEntry): TextForm => form ?? { encoding: "utf-8", bom: text.startsWith(BOM) };

/** Refuses text that stands for bytes: lone surrogates are bytes of a broken file, and U+FFFD does not say which byte. */
function requireSayable(replacements: readonly Replacement[], { isBroken }: TextForm, { access }: FileCall): void {
  if (isBroken !== true) return;
  if (replacements.some(({ text }) => !text.isWellFormed() || text.includes("\ufffd")))
    throw otherEncoding(access.place);
}

/** A patch may remove the byte order mark of UTF-8. That of UTF-16 stays, since it tells the encoding. */
function markedAs({ form }: FileEntry, text: string): Pick<FileEntry, "text" | "form"> {
  if (form === undefined || form.bom === text.startsWith(BOM)) return { text, form };
  if (form.encoding.startsWith("utf-16")) return { text: `${BOM}${text}`, form };
  return { text, form: { ...form, bom: !form.bom } };
}

async function byEdits(edits: Parameters<typeof planOf>[0], file: FileEntry, call: FileCall): Promise<Matched> {
  const mayRead = call.access.holds("crud/read");
  const replacements = await planOf(edits, { text: file.text, form: formOf(file) }, { call, mayRead });
  return { replacements, applied: replacements.length, way: "exact" };
}

async function byHunks(hunks: readonly Hunk[], text: string, call: FileCall): Promise<Matched> {
  // A byte order mark stays in front of the first line, which is matched without it unless the patch shows it.
  const isShown = hunks[0]?.before[0]?.startsWith(BOM) === true;
  const isMarked = text.startsWith(BOM) && !isShown;
  const body = isMarked ? text.slice(1) : text;
  const found = await matchHunks(body, hunks, () => call.access.scope.pause());
  if ("wanted" in found) throw hunkError(found, { call, text: body, of: hunks.length });
  const shift = (one: Replacement): Replacement => ({ ...one, start: one.start + 1, end: one.end + 1 });
  const replacements = isMarked ? found.replacements.map(shift).map(shiftBehindMark) : found.replacements;
  return { replacements, applied: hunks.length, way: found.way };
}

function hunkError(
  { hunk, lines, wanted, isAnchor }: HunkFault,
  { call, text, of }: { call: FileCall; text: string; of: number },
): FileAdapterError {
  const { place, scope } = call.access;
  const mayRead = call.access.holds("crud/read");
  const path = `"${escapeText(place.path)}"`;
  const which = `Hunk ${hunk + 1} of ${of}`;
  const data = { ...at(place), hunk: hunk + 1 };
  const found = lines.length;
  if (found > 0) {
    const where = mayRead ? ` (lines ${linesText(lines, found)})` : "";
    const told = `${which} matches ${path} in ${found} places${where}. Add lines around it, or a line above it behind @@`;
    return adapterError("AMBIGUOUS_MATCH", told, {
      ...data,
      found,
      ...(mayRead && { lines: lines.slice(0, LINES_TOLD) }),
    });
  }
  if (isAnchor) {
    const told = `${which}: ${path} has no line "${escapeText(wanted)}" there. Copy a line of the file behind @@, or leave it out`;
    return adapterError("NO_MATCH", told, { ...data, anchor: wanted });
  }
  const told = `${which} does not match ${path}`;
  if (!mayRead) return adapterError("NO_MATCH", told, data);
  const { nearest, advice } = nearestTo(wanted, text, scope);
  return adapterError("NO_MATCH", `${told}. ${advice}`, { ...data, tried: WAYS, nearest });
}
