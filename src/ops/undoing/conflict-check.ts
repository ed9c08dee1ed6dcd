// Decides whether the result of a change is still in place, so that undoing it destroys no change of others.

import { isSamePath } from "../../core/call/path.js";
import { changedMsIn, identityInVersion, modifiedMsIn, withoutChangeTime } from "../../core/identity.js";
import type { EntryState } from "../../core/ports/changes/change.js";
import type { Journal, JournalEntry } from "../../core/ports/changes/journal.js";
import type { PathCall } from "../../core/ports/operation.js";
import { areSame, hashRange } from "../history/past-content.js";
import type { KeptPlace, Outlook } from "./planned-state.js";
import type { ChangesSince, TreeHistory } from "./tree-history.js";

/** Undos that are followed back to find that a state is an older one again. */
const MAX_FOLLOWED = 50;
/** Entries of a tree that were changed after it was made and are looked up one by one. */
const MAX_LATER_ENTRIES = 10_000;
/** Change times may be this much later than the time of the entry that explains them. */
const SLACK_MS = 20;

/** File times go by ticks of at most this many milliseconds. */
const TICK_MS = 20;
/** Largest file in bytes that is compared by content although its version is the same. */
const MAX_COMPARED = 1_048_576;

export interface StandingParts {
  readonly journal: Journal;
  readonly history: TreeHistory;
  /** Ids of newer entries that are undone first. */
  readonly planned: ReadonlySet<string>;
  /** A call that may read a real path. */
  readonly reads: (path: readonly string[]) => PathCall | undefined;
}

/** `tail`: only the bytes that an append added still stand. */
export async function standsAt(
  parts: StandingParts,
  entry: JournalEntry,
  now: Outlook | undefined,
): Promise<boolean | "tail"> {
  const { after, kind } = entry;
  if (after === null || now === undefined) return after === null && now === undefined;
  if (now.kind !== kind || isOtherMode(after, now.state)) return false;
  if (kind === "directory") return standsAsDirectory(parts, entry, now);
  if (areSame(after, now.state)) return !isDoubtful(entry, now) || (await hasContent(parts, after, now));
  // A rename in the plan changes nothing but the change time.
  if ((kind === "link" || now.isPlanned === true) && isUnmoved(after, now.state)) return true;
  if (kind === "link") return isCopyOf(parts, entry, now);
  if (await hasContent(parts, after, now)) return true;
  if (await hasTail(parts, entry, now)) return "tail";
  return (await isAgain(parts, entry, now)) || isCopyOf(parts, entry, now);
}

/**
 * A change within the same tick of the clock of file times leaves the version as it is where the size is the same. So
 * what was just made when its version was taken is compared by content, unless it is large.
 */
function isDoubtful({ after, time, addition }: JournalEntry, now: Outlook): boolean {
  const { version, sha256, size = 0 } = after ?? {};
  if (version === undefined || version !== now.state.version) return false;
  const isThere = now.disk !== undefined || now.kept !== undefined;
  if (sha256 === undefined || addition !== undefined || !isThere || size > MAX_COMPARED) return false;
  return time - changedMsIn(version) < TICK_MS;
}

async function isCopyOf({ history }: StandingParts, entry: JournalEntry, now: Outlook): Promise<boolean> {
  if (entry.after === null || now.state.version === undefined) return false;
  const keptSince = isOtherEntry(entry, now) ? now.kept?.tree.time : undefined;
  const broughtBack = keptSince ?? broughtBackTime(await history.since(entry), now.disk ?? entry.path);
  return broughtBack !== undefined && isUntouchedCopy(entry.after, now.state, broughtBack);
}

function isOtherEntry({ after }: JournalEntry, { state }: Outlook): boolean {
  const [one, other] = [after?.version, state.version];
  return one !== undefined && other !== undefined && identityInVersion(one) !== identityInVersion(other);
}

const isOtherMode = (one: EntryState, other: EntryState): boolean =>
  one.mode !== undefined && other.mode !== undefined && one.mode !== other.mode;

/** A directory by itself, or a tree in which nothing has changed since. */
async function standsAsDirectory(parts: StandingParts, entry: JournalEntry, now: Outlook): Promise<boolean> {
  const isOther = isOtherEntry(entry, now) && now.kept === undefined;
  const broughtBack = isOther ? broughtBackTime(await parts.history.since(entry), now.disk ?? entry.path) : undefined;
  if (isOther && broughtBack === undefined) {
    // A command may have removed the directory and made it again: then all in it is of changes that were undone.
    return now.disk !== undefined && isTreeUnchanged(parts, entry, now.disk, Number.NEGATIVE_INFINITY);
  }
  if (!isOfTree(entry)) return true;
  if (now.disk !== undefined) return isTreeUnchanged(parts, entry, now.disk, broughtBack);
  return now.kept === undefined || (await areAllDone(parts, entry, now.kept));
}

/** Whether a change put a whole tree in place: a copy, a move, or a tree brought back from the trash. */
export const isOfTree = ({ files, action, undoes }: JournalEntry): boolean =>
  files !== undefined || action === "moved" || undoes !== undefined;

/** Whether a root is as a change of the whole root left it. */
export const standsAsRoot = (parts: StandingParts, entry: JournalEntry): Promise<boolean> =>
  isTreeUnchanged(parts, entry, []);

/** Everything of a version but the change time, which a rename changes. */
const isUnmoved = (one: EntryState, other: EntryState): boolean =>
  one.version !== undefined && withoutChangeTime(one.version) === withoutChangeTime(other.version ?? "");

async function hasContent(parts: StandingParts, after: EntryState, now: Outlook): Promise<boolean> {
  if (after.sha256 === undefined || after.size !== now.state.size) return false;
  if (now.content?.sha256 !== undefined) return now.content.sha256 === after.sha256;
  return (await hashOf(parts, now, 0, after.size)) === after.sha256;
}

async function hasTail(parts: StandingParts, { addition, after }: JournalEntry, now: Outlook): Promise<boolean> {
  if (addition === undefined || after === null || after.size !== now.state.size) return false;
  return (await hashOf(parts, now, addition.offset, after.size)) === addition.sha256;
}

async function hashOf({ reads }: StandingParts, now: Outlook, from: number, to: number): Promise<string | undefined> {
  const call = now.disk === undefined ? undefined : reads(now.disk);
  const file = (await now.content?.open()) ?? (await call?.root.backend.open(call.path, call.access));
  if (file === undefined) return undefined;
  try {
    return file.size === to ? await hashRange(file, from, to) : undefined;
  } finally {
    file.close();
  }
}

/**
 * Whether undos have put back the state of this entry, perhaps with another inode and other times, or at another path
 * after a move of a folder above.
 */
async function isAgain({ journal, history }: StandingParts, entry: JournalEntry, now: Outlook): Promise<boolean> {
  const { after } = entry;
  const changes = await history.since(entry);
  const undos = changes?.ofFile(now.disk ?? entry.path).filter(({ undoes }) => undoes !== undefined) ?? [];
  let state: EntryState | null = now.state;
  for (let left = MAX_FOLLOWED; left > 0 && state !== null; left--) {
    const current: EntryState = state;
    const undo = undos.find((one) => one.after !== null && areSame(one.after, current));
    const undone = undo?.undoes?.length ? await oldestAt(journal, undo.undoes, undo.path) : undefined;
    if (undo === undefined || undone === undefined) return false;
    if (!isSamePath(undone.path, undo.path))
      return after !== null && undone.after !== null && isUnmoved(after, undone.after);
    if (after !== null && areSame(undone.before, after)) return true;
    state = undone.before;
  }
  return false;
}

async function oldestAt(journal: Journal, ids: readonly string[], path: readonly string[]) {
  const found = await Promise.all(ids.map((id) => journal.entry(id)));
  const here = found.filter(
    (one) =>
      one !== undefined && (isSamePath(one.path, path) || (one.from !== undefined && isSamePath(one.from, path))),
  );
  return here.sort((a, b) => ((a?.id ?? "") < (b?.id ?? "") ? -1 : 1))[0];
}

type Path = readonly string[];

/** An entry of a tree that has changed since. */
interface Later {
  readonly path: Path;
  readonly isDirectory: boolean;
  readonly version: string;
  readonly changed: number;
}

/**
 * Whether nothing in a tree was changed since an entry, but what has been undone.
 * @param broughtBack when the tree was put there as a copy: change times up to then say nothing
 */
async function isTreeUnchanged(
  parts: StandingParts,
  entry: JournalEntry,
  disk: Path,
  broughtBack = entry.time,
): Promise<boolean> {
  const { journal, reads, planned } = parts;
  if (journal.differences !== undefined) {
    const paths = await journal.differences(entry, disk);
    if (paths === undefined) return false;
    if (paths.length === 0) return true;
    const changes = await doneSince(parts, entry, disk);
    return changes !== undefined && paths.every((path) => changes.near(path).some((one) => isDone(one, planned)));
  }
  const call = reads(disk);
  if (call === undefined) return false;
  const later: Later[] = [];
  const names: string[] = [];
  await call.root.backend.walk(
    call.path,
    {
      sizes: true,
      versions: true,
      visit({ name, depth, type, version = "", changed = 0 }) {
        names.length = depth - 1;
        names.push(name);
        // Entries are of whole milliseconds: what was changed in the same one was changed before.
        const at = Math.floor(changed);
        const isNewer = type !== "directory" && Math.floor(modifiedMsIn(version)) > entry.time;
        if (at > broughtBack || (isNewer && at > entry.time)) {
          later.push({ path: [...disk, ...names], isDirectory: type === "directory", version, changed });
        }
        return later.length > MAX_LATER_ENTRIES ? "stop" : "enter";
      },
    },
    call.access,
  );
  if (later.length === 0) return true;
  if (later.length > MAX_LATER_ENTRIES) return false;
  const changes = await doneSince(parts, entry, disk);
  return changes !== undefined && later.every((one) => isLeftByDone(changes, one, { planned, since: entry.time }));
}

/** Changes since an entry, if all changes in the tree have been undone or will be. */
async function doneSince({ history, planned }: StandingParts, entry: JournalEntry, tree: Path) {
  const changes = await history.since(entry);
  return changes?.inTree(tree).every((one) => isDone(one, planned)) === true ? changes : undefined;
}

/** Whether all changes since an entry in a tree, which comes back with a larger one, have been undone or will be. */
async function areAllDone({ history, planned }: StandingParts, entry: JournalEntry, { tree, names }: KeptPlace) {
  const changes = await history.since(entry);
  return changes?.inTree([...tree.path, ...names], tree).every((one) => isDone(one, planned)) === true;
}

const isDone = ({ id, undoneBy, undoes }: JournalEntry, planned: ReadonlySet<string>): boolean =>
  undoneBy !== undefined || undoes !== undefined || planned.has(id);

/** Whether a change that has been undone, or will be, has left something as it is. @param since when the tree was left */
function isLeftByDone(
  changes: ChangesSince,
  { path, isDirectory, version, changed }: Later,
  { planned, since }: Pick<StandingParts, "planned"> & { readonly since: number },
): boolean {
  const isByDone = (found: readonly JournalEntry[], isIt: (one: JournalEntry) => boolean): boolean =>
    found.some((one) => isDone(one, planned) && isIt(one));
  const copied = broughtBackTime(changes, path);
  // A copy has the times of content that its original had.
  const isCopy = copied !== undefined && changed <= copied;
  const modified = Math.floor(modifiedMsIn(version));
  if (isCopy && modified <= since) return true;
  if (isDirectory) {
    return isByDone(changes.ofDirectory(path), ({ time }) => time + SLACK_MS >= (isCopy ? modified : changed));
  }
  return isByDone(
    changes.ofFile(path),
    ({ after }) => after?.version === version || (isCopy && after !== null && Math.floor(after.modified) === modified),
  );
}

/**
 * Time of the last undo that put the entry at a path, or a directory above it, in place.
 * @returns milliseconds since the epoch, by which all that came back was there; `undefined`: never
 */
function broughtBackTime(changes: ChangesSince | undefined, path: readonly string[]): number | undefined {
  const undo = changes?.broughtBackBy(path);
  return undo && undo.time + SLACK_MS;
}

/** Whether an entry in what came back is as a change had left it, and nothing has touched it since. */
const isUntouchedCopy = (after: EntryState, now: EntryState, broughtBack: number): boolean =>
  after.size === now.size &&
  Math.floor(after.modified) === Math.floor(now.modified) &&
  now.version !== undefined &&
  changedMsIn(now.version) <= broughtBack;
