// Works out what one section of a patch changes: reads the file, matches, and builds the new content.

import { notEncodable } from "../../core/errors/edit-texts.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { anchorNotFound, hunkAmbiguous, hunkNotFound } from "../../core/errors/patch-texts.js";
import { alreadyExists, contentTooLarge, notFound } from "../../core/errors/texts.js";
import { type Expected, expectedOf, hashText, type Sha256 } from "../../core/etag.js";
import type { GroupChange } from "../../core/ports/backend.js";
import type { FileCall } from "../../core/ports/operation.js";
import type { PatchOutput } from "../../schema/types.js";
import { encodeNew } from "../content/encoding.js";
import type { Replacement } from "../editing/match.js";
import { nearestLines, unseenIn } from "../editing/nearest-lines.js";
import { bytesOf, type Original, readOriginal, textAfter } from "../editing/original.js";
import { planOf, shiftBehindMark } from "../editing/plan.js";
import { type HunkFault, matchHunks, WAYS, type Way } from "./hunks.js";
import type { Hunk, Section } from "./section.js";

/** Time limit for finding lines similar to a hunk that does not match. */
const NEAREST_MS = 30;
const LINES_TOLD = 10;

/** A section whose places are authorised. */
export interface PlacedSection<Call extends FileCall = FileCall> {
  readonly section: Section;
  readonly call: Call;
  /** Where the entry goes. */
  readonly to?: Call;
  readonly ifMatch?: string;
}

type File = PatchOutput["files"][number];

/** The changes of one section. */
export interface PlannedSection {
  readonly changes: readonly GroupChange[];
  readonly file: Omit<File, "etag">;
  /** Of the content of the file afterwards, where it is known without the change. */
  readonly sha256?: Sha256;
  /** Hunks, edits and whole-file changes. */
  readonly applied: number;
  /** Bytes of content that must be kept until the patch is done. */
  readonly keptBytes: number;
  /** Absent: the caller may not read it, or it is no text. */
  readonly diff?: { readonly text: string; readonly replacements: readonly Replacement[] };
}

const PARENTS = { parents: true } as const;

/** @throws what makes the section fail */
export async function planSection(placed: PlacedSection): Promise<PlannedSection> {
  const { section, call } = placed;
  switch (section.kind) {
    case "add":
      if ((await call.root.backend.stat(call.path, call.access)) !== undefined) {
        throw alreadyExists(call.access.place, [". Use *** Update File:"]);
      }
      return planWhole(placed, section.content, undefined);
    case "write":
      return planWhole(placed, section.content, await call.root.backend.stat(call.path, call.access));
    case "mkdir": {
      const changes = [{ kind: "mkdir", at: call, options: { ...PARENTS } }] as const;
      return { changes, file: { path: call.path.text, action: "add" }, applied: 1, keptBytes: 0 };
    }
    case "delete":
      return planDelete(placed);
    case "move":
      return planMove(placed);
    default:
      return planText(placed, section);
  }
}

const expectedIn = ({ ifMatch }: PlacedSection): Expected | undefined =>
  ifMatch === undefined ? undefined : expectedOf({ ifMatch });

/** @param old what is replaced */
async function planWhole(
  placed: PlacedSection,
  content: string,
  old: { readonly size: number } | undefined,
): Promise<PlannedSection> {
  const { call } = placed;
  const action = old === undefined ? "add" : "modify";
  const { place } = call.access;
  const before = action === "add" ? undefined : await textBefore(placed);
  const { encoding } = call.root;
  const bytes = encodeNew(content, encoding);
  if (bytes === undefined) throw notEncodable(place, encoding);
  if (bytes.length > call.limits.maxWriteBytes) throw contentTooLarge(place, bytes.length, call.limits.maxWriteBytes);
  const expected = action === "add" ? ("nothing" as const) : expectedIn(placed);
  const text = before?.text ?? "";
  const isShown = call.access.holds("crud/read") && (action === "add" || before !== undefined);
  return {
    changes: [
      { kind: "write", at: call, body: { load: () => bytes, length: bytes.length }, options: { ...PARENTS, expected } },
    ],
    file: { path: call.path.text, action },
    applied: 1,
    keptBytes: old?.size ?? 0,
    ...(isShown ? { diff: { text, replacements: [{ start: 0, end: text.length, text: content }] } } : {}),
  };
}

/** The old text of a file that is replaced, for the diff; `undefined`: it cannot be shown. */
async function textBefore({ call }: PlacedSection): Promise<Original | undefined> {
  if (!call.access.holds("crud/read")) return undefined;
  try {
    return await readOriginal({}, call);
  } catch (error) {
    if (error instanceof FileAdapterError && ["NOT_TEXT", "TOO_LARGE"].includes(error.code)) return undefined;
    throw error;
  }
}

async function planDelete(placed: PlacedSection): Promise<PlannedSection> {
  const { call } = placed;
  const size = await sizeOf(call);
  const options = { recursive: false, expected: expectedIn(placed) };
  const changes = [{ kind: "remove", at: call, options }] as const;
  return { changes, file: { path: call.path.text, action: "delete" }, applied: 1, keptBytes: size };
}

/** Bytes of what is there; a link that leads nowhere has none. @throws NOT_FOUND */
async function sizeOf({ root, path, access }: FileCall): Promise<number> {
  try {
    const stat = await root.backend.stat(path, access);
    if (stat === undefined) throw notFound(access.place);
    return stat.size;
  } catch (error) {
    if (error instanceof FileAdapterError && error.code === "DANGLING_SYMLINK") return 0;
    throw error;
  }
}

async function planMove(placed: PlacedSection): Promise<PlannedSection> {
  const { call } = placed;
  await sizeOf(call);
  const to = await freeTarget(placed);
  const changes = [moveTo(call, to, expectedIn(placed))];
  return { changes, file: { path: to.path.text, from: call.path.text, action: "move" }, applied: 1, keptBytes: 0 };
}

/** @throws ALREADY_EXISTS */
async function freeTarget({ to }: PlacedSection): Promise<FileCall> {
  if (to === undefined) throw new TypeError("A move has a target");
  if ((await to.root.backend.stat(to.path, to.access)) !== undefined) {
    throw alreadyExists(to.access.place, [". Delete it first, or choose another name"]);
  }
  return to;
}

const moveTo = (from: FileCall, to: FileCall, expectedFrom: Expected | undefined): GroupChange => ({
  ...{ kind: "move", from, to },
  options: { ...PARENTS, overwrite: false, expectedFrom },
});

async function planText(
  placed: PlacedSection,
  section: Extract<Section, { kind: "edit" | "update" }>,
): Promise<PlannedSection> {
  const { call, ifMatch } = placed;
  const original = await readOriginal(ifMatch === undefined ? {} : { ifMatch }, call);
  const mayRead = call.access.holds("crud/read");
  const { replacements, applied, way } =
    section.kind === "edit"
      ? await planEdits(section.edits, original, { call, mayRead })
      : planHunks(section.hunks, original, { call, mayRead });
  const text = textAfter(original, replacements, call);
  const isSame = text === original.text;
  const bytes = isSame ? undefined : bytesOf(text, original, call);
  const expected = { content: hashText(original.sha256), stamp: original.stamp };
  const to = section.kind === "update" && section.to !== undefined ? await freeTarget(placed) : undefined;
  const at = to ?? call;
  // The record of a move has the hash of what was moved: that is read.
  const moved = to === undefined ? [] : [moveTo(call, to, { content: expected.content })];
  const written: readonly GroupChange[] =
    bytes === undefined
      ? []
      : [
          {
            kind: "write",
            at,
            body: { load: () => bytes, length: bytes.length },
            options: { parents: false, expected },
          },
        ];
  const path = at.path.text;
  const file: PlannedSection["file"] =
    to === undefined ? { path, action: "modify" } : { path, from: call.path.text, action: "move" };
  return {
    changes: [...moved, ...written],
    file: way === "exact" || !mayRead ? file : { ...file, tried: way },
    applied,
    keptBytes: original.size,
    ...(bytes === undefined ? { sha256: original.sha256 } : {}),
    ...(mayRead ? { diff: { text: original.text, replacements } } : {}),
  };
}

interface Matched {
  readonly replacements: readonly Replacement[];
  readonly applied: number;
  readonly way: Way;
}

interface Reader {
  readonly call: FileCall;
  readonly mayRead: boolean;
}

async function planEdits(
  edits: Extract<Section, { kind: "edit" }>["edits"],
  original: Original,
  reader: Reader,
): Promise<Matched> {
  const replacements = await planOf(edits, original, reader);
  return { replacements, applied: replacements.length, way: "exact" };
}

function planHunks(hunks: readonly Hunk[], { text, form }: Original, reader: Reader): Matched {
  // A byte order mark stays in front of the first line, which is matched without it.
  const body = form.bom ? text.slice(1) : text;
  const found = matchHunks(body, hunks);
  if ("wanted" in found) throw hunkError(found, { ...reader, text: body, of: hunks.length });
  const shift = (one: Replacement): Replacement => ({ ...one, start: one.start + 1, end: one.end + 1 });
  const replacements = form.bom ? found.replacements.map(shift).map(shiftBehindMark) : found.replacements;
  return { replacements, applied: hunks.length, way: found.way };
}

function hunkError(
  fault: HunkFault,
  { call, mayRead, text, of }: Reader & { text: string; of: number },
): FileAdapterError {
  const { place, scope } = call.access;
  const { hunk, lines, wanted } = fault;
  if (lines.length > 0) {
    const shownLines = mayRead ? { lines: lines.slice(0, LINES_TOLD) } : {};
    return hunkAmbiguous(place, { hunk, of, found: lines.length, ...shownLines });
  }
  if (fault.isAnchor) return anchorNotFound(place, { hunk, of, anchor: wanted });
  const until = Math.max(0, scope.remainingMs() - NEAREST_MS);
  if (!mayRead) return hunkNotFound(place, { hunk, of, tried: WAYS });
  const nearest = nearestLines(wanted, text, () => scope.remainingMs() <= until);
  return hunkNotFound(place, { hunk, of, tried: WAYS, nearest, ...unseenIn(text, wanted, nearest) });
}
