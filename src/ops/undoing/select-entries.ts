// Selection of the journal entries that a call of `undo` means.

import { adapterError } from "../../core/errors/errors.js";
import { nothingToUndo } from "../../core/errors/undo-texts.js";
import type { JournalEntry } from "../../core/ports/changes/journal.js";
import type { PlacesCall, RootView } from "../../core/ports/operation.js";
import type { UndoInput } from "../../schema/types.js";
import { notUndoable } from "../history/past-content.js";
import { type JournalView, journalsOf, requireHistory, unknownEntry, visibleRoot } from "../history/visible-entries.js";

const PAGE = 100;
/** Most pages that are looked at for the newest changes of a caller. */
const MAX_PAGES = 50;
const OPERATOR = "operator";

/** Entries of one root to undo, newest first. */
export interface Chosen {
  readonly of: JournalView;
  readonly entries: readonly JournalEntry[];
}

/** @throws NOT_FOUND, NOT_SUPPORTED, CAPABILITY_DENIED; INVALID_INPUT, UNKNOWN_ROOT for the root */
export async function chooseEntries(input: UndoInput, call: PlacesCall): Promise<readonly Chosen[]> {
  const { root, id, ids, group, last } = input;
  const roots = call.roots();
  const named = root === undefined ? undefined : visibleRoot(call, root).view;
  const isNamed = ({ root: { name } }: RootView): boolean => name === (named?.root.name ?? name);
  const all = named === undefined || roots.some(isNamed) ? roots : [...roots, named];
  await requireHistory(all.filter((view) => view.isVisible && isNamed(view)));
  // Several roots may be of one drive: the first that may be changed stands for it.
  const journals = (await journalsOf(all, all)).sort((a, b) => rankOf(a) - rankOf(b));
  const wanted = journals.filter(({ view }) => view.isVisible && isNamed(view));
  if (last !== undefined) return chooseNewest(wanted, journals, { last, ...makerOf(input, call) });
  if (ids !== undefined) return chooseByIds(wanted, ids);
  const one = group ?? id ?? "";
  return one.startsWith("g") ? chooseByGroup(journals, one, new Set(wanted)) : chooseByIds(wanted, [one]);
}

const rankOf = ({ view }: JournalView): number => Number(view.root.readOnly);

/** Changes of the caller through the same session; of others for the operator. */
function makerOf({ via }: UndoInput, { origin }: PlacesCall): { actor?: string; via?: string } {
  if (via === undefined || via === origin.via) return origin;
  if (origin.actor !== OPERATOR) {
    const told = "Only the operator may undo changes made by other sessions with 'via'. Leave it out";
    throw adapterError("CAPABILITY_DENIED", told);
  }
  return via === "*" ? {} : { via };
}

async function chooseByIds(journals: readonly JournalView[], ids: readonly string[]): Promise<readonly Chosen[]> {
  for (const of of journals) {
    const found: JournalEntry[] = [];
    for (const id of new Set(ids)) {
      const entry = await of.journal.entry(id);
      if (entry !== undefined && of.sees(entry)) found.push(entry);
    }
    if (found.length === 0) continue;
    const missing = ids.find((id) => !found.some((entry) => entry.id === id));
    if (missing !== undefined) throw unknownEntry(missing);
    return [{ of, entries: found.sort(compareNewestFirst) }];
  }
  throw unknownEntry(ids[0] ?? "");
}

/** @param all of every root, since a member that the caller may not see keeps the others from being undone as a group */
async function chooseByGroup(
  all: readonly JournalView[],
  group: string,
  wanted: ReadonlySet<JournalView>,
): Promise<readonly Chosen[]> {
  const chosen: Chosen[] = [];
  const known = new Set<string>();
  let isPartial = false;
  const isWanted = (of: JournalView): number => Number(wanted.has(of));
  for (const of of [...all].sort((a, b) => isWanted(b) - isWanted(a))) {
    const members = (await of.journal.group(group)).filter(({ id }) => !known.has(id));
    for (const { id } of members) known.add(id);
    const seen = members.filter(of.sees);
    isPartial ||= seen.length < members.length;
    if (seen.length > 0) chosen.push({ of, entries: [...seen].sort(compareNewestFirst) });
  }
  if (!chosen.some(({ of }) => wanted.has(of))) throw unknownEntry(group);
  if (isPartial) throw notUndoable(group, "partial");
  // An entry that was undone by itself needs nothing more.
  const standing = chosen.map(({ of, entries }) => ({ of, entries: entries.filter(isInForce) }));
  const left = standing.filter(({ entries }) => entries.length > 0);
  return (left.length === 0 ? chosen : left).sort((a, b) => compareNewestFirst(newestOf(a), newestOf(b)));
}

const newestOf = ({ entries: [first] }: Chosen): { readonly id: string } => first ?? { id: "" };

const isInForce = ({ undoneBy }: JournalEntry): boolean => undoneBy === undefined;

/** A group counts as one change. */
async function chooseNewest(
  journals: readonly JournalView[],
  all: readonly JournalView[],
  { last, ...maker }: { readonly last: number; readonly actor?: string; readonly via?: string },
): Promise<readonly Chosen[]> {
  const units = new Map<string, { readonly of: JournalView; readonly entry: JournalEntry }>();
  for (const of of journals) {
    for (const entry of await newestEntries(of, last, maker)) {
      const unit = entry.group ?? entry.id;
      if (!units.has(unit)) units.set(unit, { of, entry });
    }
  }
  const picked = [...units].sort(([, a], [, b]) => compareNewestFirst(a.entry, b.entry)).slice(0, last);
  if (picked.length === 0) throw nothingToUndo();
  const chosen = new Map<JournalView, JournalEntry[]>();
  for (const [key, { of, entry }] of picked) {
    const parts =
      entry.group === undefined ? [{ of, entries: [entry] }] : await chooseByGroup(all, key, new Set(journals));
    for (const part of parts) chosen.set(part.of, [...(chosen.get(part.of) ?? []), ...part.entries]);
  }
  return [...chosen].map(([of, entries]) => ({ of, entries: entries.sort(compareNewestFirst) }));
}

/** The newest entries that stand and are no undos, of at most `most` units. */
async function newestEntries(
  { journal, sees }: JournalView,
  most: number,
  maker: { readonly actor?: string; readonly via?: string },
): Promise<readonly JournalEntry[]> {
  const found: JournalEntry[] = [];
  const units = new Set<string>();
  const counts = (entry: JournalEntry): boolean =>
    isInForce(entry) && entry.undoes === undefined && entry.op !== "purge" && sees(entry);
  let before: string | undefined;
  for (let page = 0; page < MAX_PAGES && units.size < most; page++) {
    // One more than needed may lie behind thousands that were undone.
    const limit = page === 0 ? Math.min(most, PAGE) : PAGE;
    const query = { ...maker, limit, sees: counts, ...(before === undefined ? {} : { before }) };
    const { entries, next } = await journal.query(query);
    for (const entry of entries) {
      const unit = entry.group ?? entry.id;
      if (units.size === most && !units.has(unit)) return found;
      if (!units.has(unit)) found.push(entry);
      units.add(unit);
    }
    if (next === undefined) break;
    before = next;
  }
  return found;
}

const compareNewestFirst = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? 1 : -1);
