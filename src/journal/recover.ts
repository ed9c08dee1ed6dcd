// Completes the entries of changes that dead processes had noted: the present state of the disk tells which were made.

import { inodeInVersion } from "../core/identity.js";
import type { EntryChange, EntryState } from "../core/ports/changes/change.js";
import type {
  IdentifiedRecord,
  JournalWriter,
  Kept,
  Part,
  Present,
  TrashFolder,
  TrashItem,
} from "../core/ports/changes/journal-writer.js";
import { type Found, LookBack } from "./look-back.js";
import type { LeftNote, LeftNotes } from "./pending-log.js";
import type { JournalStore } from "./store.js";

/** Most entries that are looked at beside the notes. */
const MAX_LATER = 10_000;

export interface SettleParts {
  readonly bin: TrashFolder;
  /** Name of the root. */
  readonly root: string;
  readonly store: JournalStore;
  /** Begins the names of what the journal keeps in the trash. */
  readonly trashPrefix: string;
  readonly newId: () => string;
  readonly add: JournalWriter["add"];
}

/** Outcome of a noted change. `unknown`: others have changed its place since. */
type Outcome =
  | { readonly made: EntryState | null; readonly addition?: EntryChange["addition"] }
  | "not made"
  | "unknown";

/** Completes what dead processes have left. */
export async function settleLeft(parts: SettleParts): Promise<void> {
  const { store, bin } = parts;
  const left = store.takePending();
  if (left === undefined) return;
  const lost = await settleNotes(left, parts);
  if (left.isLacking) addLacking(parts);
  left.settle();
  store.flush();
  if (lost.length > 0) await bin.remove(lost);
}

/** A process could not note all that it did before it died: this entry says so. */
function addLacking({ root, add, newId }: SettleParts): void {
  const time = Date.now();
  const state = { size: 0, modified: time };
  const by = { root, scheme: "file", op: "unknown", actor: "unknown", via: "", surface: "library" } as const;
  const what = { action: "modified", kind: "directory", path: [], before: state, after: state } as const;
  add({ ...by, ...what, id: newId(), time, mayInclude: "external" }, { in: "nothing", reason: "visited" });
}

/** @returns names in the trash of changes that were not made */
async function settleNotes({ notes }: LeftNotes, parts: SettleParts): Promise<string[]> {
  const { bin, store, trashPrefix } = parts;
  const left = notes.filter(({ planned }) => store.entry(planned.id) === undefined);
  if (left.length === 0) return [];
  await bin.recover();
  const nameOf = ({ planned }: LeftNote): string => trashPrefix + planned.id;
  const names = new Set(left.map(nameOf));
  // Only these are looked at: a trash can hold many.
  const items = new Map((await bin.list(trashPrefix, (name) => names.has(name))).map((item) => [item.name, item]));
  const lost: string[] = [];
  const past = new LookBack(bin, trashPrefix);
  // Newest first: the record of a later change tells the state before it.
  for (const note of withEntries(left, store)) {
    if (!("planned" in note)) {
      past.goBehind({ record: note, isMade: true });
      continue;
    }
    const { planned } = note;
    const item = items.get(nameOf(note));
    const outcome = await settle({ ...note, item, past }, parts);
    const isMade = typeof outcome === "object";
    past.goBehind({ record: isMade ? { ...planned, after: outcome.made } : planned, isMade });
    if (outcome === "not made" && item !== undefined) lost.push(item.name);
    if (outcome !== "not made") noteUndone(planned, store);
  }
  return lost;
}

/** Notes, and the entries that came after the first of them, newest first. */
function withEntries(notes: readonly LeftNote[], store: JournalStore): (LeftNote | IdentifiedRecord)[] {
  const idOf = (one: LeftNote | IdentifiedRecord): string => ("planned" in one ? one.planned.id : one.id);
  const [first = ""] = notes.map(idOf).sort();
  const all: (LeftNote | IdentifiedRecord)[] = [...notes];
  for (const id of store.ids(undefined)) {
    const row = store.entry(id);
    if (id < first || all.length >= MAX_LATER) break;
    if (row !== undefined) all.push(row);
  }
  return all.sort((a, b) => (idOf(a) < idOf(b) ? 1 : -1));
}

/** Marks the entries of an undo as undone. Entries that undos among them had undone stand again. */
function noteUndone({ undoes, group, id }: IdentifiedRecord, store: JournalStore): void {
  if (undoes === undefined) return;
  store.note(undoes, { undoneBy: group ?? id });
  store.note(
    undoes.flatMap((one) => store.entry(one)?.undoes ?? []),
    {},
  );
}

/** A note with the evidence of its outcome. */
interface Judged extends LeftNote {
  /** In the trash, under its name. */
  readonly item: TrashItem | undefined;
  readonly past: LookBack;
}

async function settle(note: Judged, { add }: SettleParts): Promise<Outcome> {
  const { planned } = note;
  const outcome = await outcomeOf(note);
  const made = await presentOf(planned.made ?? [], note.past);
  if (outcome === "not made") {
    const path = made.pop();
    const after = { size: 0, modified: planned.time };
    const directory = { action: "created", kind: "directory", before: null, after } as const;
    if (path !== undefined) add({ ...originOf(planned), ...directory, path, ...madePart(made) }, undefined);
    return outcome;
  }
  const { made: _, addition, ...rest } = planned;
  const kept = keptOf(note);
  if (outcome === "unknown") {
    add({ ...rest, ...madePart(made), ...(addition && { addition }) }, kept, "pending");
    return outcome;
  }
  const isConcurrent = addition !== undefined && outcome.addition === undefined;
  const record = { ...rest, ...madePart(made), after: outcome.made };
  const reason = isConcurrent ? "concurrent" : undefined;
  add(outcome.addition === undefined ? record : { ...record, addition: outcome.addition }, kept, reason);
  return outcome;
}

/** The origin of a planned change, without the change. */
function originOf(planned: IdentifiedRecord): IdentifiedRecord {
  const { from: _, fromRoot: __, files: ___, addition: ____, undoes: _____, ...rest } = planned;
  return rest;
}

const madePart = (made: readonly (readonly string[])[]) => (made.length === 0 ? {} : { made });

async function presentOf(paths: readonly (readonly string[])[], past: LookBack) {
  const found: (readonly string[])[] = [];
  for (const path of paths) {
    const now = await past.at(path);
    if (typeof now !== "string" && now.kind === "directory") found.push(path);
  }
  return found;
}

/** The state of the content afterwards was not seen, so that an undo compares it. */
function keptOf({ kept, reason = "not_kept", bytes, item }: Judged): Kept | undefined {
  if (item !== undefined) return { in: "trash", size: item.size };
  if (bytes !== undefined) return { in: "value", bytes };
  return kept === undefined ? undefined : { in: "nothing", reason };
}

function outcomeOf({ planned, inode, kept, item, past }: Judged): Outcome | Promise<Outcome> {
  // The name in the trash is secret, so the item there is this entry's.
  if (planned.action === "deleted") return item ? { made: null } : deleted(planned, kept === "trash", past);
  if (planned.action === "moved") return moved(planned, inode, past);
  if (inode !== undefined) return placed(planned, inode, past);
  if (planned.addition !== undefined) return appended(planned, planned.addition, past);
  return made(planned, past);
}

async function deleted({ path, before }: EntryChange, isInTrash: boolean, past: LookBack): Promise<Outcome> {
  const now = await past.at(path);
  if (now === "was missing" || (now === "missing" && !isInTrash)) return { made: null };
  return isSameEntry(before, now) ? "not made" : "unknown";
}

async function moved({ path, from = [] }: EntryChange, inode: string | undefined, past: LookBack): Promise<Outcome> {
  const [there, here] = [await past.at(path), await past.at(from)];
  // Two spellings of one name, or two names of one file.
  if (hasInode(there, inode) && hasInode(here, inode)) return "unknown";
  if (hasInode(there, inode)) return { made: there.state };
  return hasInode(here, inode) ? "not made" : "unknown";
}

/** An entry that was prepared elsewhere, and got its name by the commit. */
async function placed({ path, before, after, kind }: EntryChange, inode: string, past: LookBack): Promise<Outcome> {
  const now = await past.at(path);
  if (isMissing(now)) return before === null ? "not made" : "unknown";
  if (isSameEntry(before, now)) return "not made";
  if (!hasInode(now, inode)) return "unknown";
  const { size, modified, sha256 } = after ?? {};
  if (kind === "directory") return { made: now.state };
  // An inode that was never placed can have become somebody else's file.
  if (now.state.size !== size || now.state.modified !== modified) return "unknown";
  return { made: sha256 === undefined ? now.state : { ...now.state, sha256 } };
}

async function appended(
  { path, before, after }: EntryChange,
  { offset, sha256 }: NonNullable<EntryChange["addition"]>,
  past: LookBack,
): Promise<Outcome> {
  const end = after?.size ?? offset;
  const part: Part = { offset, length: end - offset };
  const now = await past.at(path, part);
  if (typeof now === "string" || inodeOf(now.state) !== inodeOf(before)) return "unknown";
  const { size, modified } = now.state;
  if (size === offset && modified === before?.modified) return "not made";
  // A later change has seen the size alone.
  const known = now.partSha256 === undefined ? undefined : sha256;
  if (size < end || (known === undefined ? size > end : now.partSha256 !== known)) return "unknown";
  if (size > end) return { made: now.state };
  const sum = now.partSha256 ?? sha256;
  return { made: now.state, addition: { offset, ...(sum && { sha256: sum }) } };
}

/** An entry that was made under its name: a directory, or a file by its first append. */
async function made({ path, kind, after }: EntryChange, past: LookBack): Promise<Outcome> {
  const now = await past.at(path, { offset: 0, length: after?.size ?? 0 });
  if (isMissing(now)) return "not made";
  if (now === "unknown" || now.kind !== kind) return "unknown";
  if (kind === "directory") return { made: now.state };
  const { size, sha256 = now.partSha256 } = after ?? {};
  if (now.state.size !== size || (now.partSha256 ?? sha256) !== sha256) return "unknown";
  return { made: { ...now.state, ...(sha256 && { sha256 }) } };
}

const isMissing = (now: Found): now is "missing" | "was missing" => now === "missing" || now === "was missing";

const inodeOf = (state: EntryState | null): string | undefined =>
  state?.version === undefined ? undefined : inodeInVersion(state.version);

const hasInode = (now: Found, inode: string | undefined): now is Present =>
  typeof now !== "string" && inode !== undefined && inodeOf(now.state) === inode;

/** Whether the entry from before the change is still there. */
function isSameEntry(before: EntryState | null, now: Found): boolean {
  if (before === null || typeof now === "string" || inodeOf(now.state) !== inodeOf(before)) return false;
  return now.state.size === before.size && now.state.modified === before.modified;
}
