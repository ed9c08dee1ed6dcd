import { escapeText, invalidInput } from "../core/errors/texts.js";
import type { Rendering } from "../core/ports/adapter.js";
import type { JournalEntry, JournalPage, JournalQuery } from "../core/ports/changes/journal.js";
import { type Operation, type PlacesCall, READS } from "../core/ports/operation.js";
import type { HistoryInput, HistoryOutput } from "../schema/types.js";
import {
  answerOf,
  type EntryAnswer,
  type JournalView,
  journalsOf,
  lackPart,
  readIdCursor,
  seesAll,
  visibleRoot,
  writeIdCursor,
} from "./history/visible-entries.js";

const USUAL_LIMIT = 50;

/** Hints by the reason why entries are missing. */
const MISSING: Readonly<Record<string, string>> = {
  damaged: "Entries are missing: the history was damaged",
  lost: "Entries are missing: they could not be written to the state directory",
  waiting: "The newest entries could not be written to the state directory yet. They are lost if the process ends",
};

/** `history`: what was changed in one root or in all of them, by whom, newest first. */
export const history: Operation<HistoryInput, HistoryOutput> = {
  name: "history",
  on: "places",
  ...READS,
  check({ root, path }) {
    if (path !== undefined && root === undefined) throw invalidInput("'path' needs 'root'", "/path", "root beside it");
  },
  async run(input, call) {
    const { cursor, limit = USUAL_LIMIT, root, path, ...filters } = input;
    const all = call.roots();
    const asked = root === undefined ? undefined : visibleRoot(call, root, path);
    const wanted = asked === undefined ? all.filter(({ isVisible }) => isVisible) : [asked.view];
    const journals = await journalsOf(wanted, all);
    const lack = await lackPart(wanted, root !== undefined);
    const place = asked?.segments ?? [];
    const binding = ["history", call.caller, root, place, Object.entries(filters).sort()];
    const before = readIdCursor(binding, cursor);
    const { foldsCase: folds } = asked?.view.root.backend ?? {};
    const query = { ...filters, path: place, folds, limit: limit + 1, ...(before === undefined ? {} : { before }) };
    const { found, horizon, lacks } = await mergeNewest(journals, query);
    const page = found.slice(0, limit);
    const why = lack ?? (found.length === 0 && before === undefined ? movedPart(journals) : undefined);
    const lacking = lacks ?? unseenReason(page) ?? why?.reason;
    const hint = why?.hint ?? MISSING[lacking ?? ""];
    const last = found.length > limit ? page.at(-1)?.entry.id : horizon;
    return {
      entries: await answersOf(page, journals, call),
      ...(hint && { hint }),
      ...endOf({ isLimit: found.length > limit, horizon, lacks: lacking }),
      ...(last === undefined ? {} : { nextCursor: writeIdCursor(binding, last) }),
    };
  },
  render({ entries, ...rest }): Rendering {
    const older = rest.nextCursor === undefined ? undefined : `Older ones: pass cursor: "${rest.nextCursor}"`;
    const notes = [rest.hint, older].filter((one) => one !== undefined);
    const note = notes.length === 0 ? undefined : notes.join("; ");
    return { kind: "json", value: entries, rest, ...(note === undefined ? {} : { note }) };
  },
};

/** The part of an answer about a moved root, whose older entries are in the journal of its former path. */
function movedPart(journals: readonly JournalView[]): Pick<HistoryOutput, "complete" | "reason" | "hint"> | undefined {
  const moved = journals.find(({ journal }) => journal.isMoved === true);
  if (moved === undefined) return undefined;
  const name = escapeText(moved.view.root.name);
  const hint = `Root "${name}" was moved: what was changed before is listed again once it is back at its former path`;
  return { complete: false, reason: "moved", hint };
}

interface Found {
  readonly entry: JournalEntry;
  readonly of: JournalView;
}

interface Newest {
  readonly found: readonly Found[];
  /** Oldest entry up to which every journal was looked through; `undefined`: all entries were. */
  readonly horizon: string | undefined;
  /** Why entries may be missing before the horizon. */
  readonly lacks: JournalPage["reason"];
}

/** Merges the newest entries of several journals. */
async function mergeNewest(journals: readonly JournalView[], query: Omit<JournalQuery, "sees">): Promise<Newest> {
  const pages = await Promise.all(
    journals.map(async (of) => ({ of, page: await of.journal.query({ ...query, sees: of.sees }) })),
  );
  const horizon = pages.reduce<string | undefined>((found, { page }) => laterOf(found, page), undefined);
  const all = pages.flatMap(({ of, page }) => page.entries.map((entry) => ({ entry, of })));
  const found = all
    .filter(({ entry }) => horizon === undefined || entry.id >= horizon)
    .sort((a, b) => (a.entry.id < b.entry.id ? 1 : -1));
  const [lacking] = pages.filter(
    ({ page }) => !page.complete && (page.next === undefined || (page.reason ?? "visited") !== "visited"),
  );
  return { found, horizon, lacks: lacking?.page.reason };
}

const laterOf = (id: string | undefined, { next }: JournalPage): string | undefined =>
  next !== undefined && (id === undefined || next > id) ? next : id;

function endOf(
  end: { isLimit: boolean; lacks: HistoryOutput["reason"] | undefined } & Pick<Newest, "horizon">,
): Pick<HistoryOutput, "complete" | "reason"> {
  if (end.isLimit) return { complete: false, reason: "limit" };
  if (end.lacks !== undefined) return { complete: false, reason: end.lacks };
  return end.horizon === undefined ? { complete: true } : { complete: false, reason: "visited" };
}

/** A command was run in a tree that was too large to see all that it has changed. */
const unseenReason = (page: readonly Found[]): "visited" | undefined =>
  page.some(({ entry }) => entry.reason === "visited") ? "visited" : undefined;

async function answersOf(
  page: readonly Found[],
  journals: readonly JournalView[],
  { terms }: Pick<PlacesCall, "terms">,
): Promise<EntryAnswer[]> {
  const partial = await partialGroups(page, journals);
  const answers: EntryAnswer[] = [];
  for (const { entry: known, of } of page) {
    // An undone entry has left the trash, and is not lost.
    const entry = known.undoneBy === undefined ? ((await of.journal.asKept?.(known)) ?? known) : known;
    answers.push(answerOf(entry, of.view, { isPartial: partial.has(entry.group ?? ""), terms }));
  }
  return answers;
}

/** Groups of which the caller may not know every member. */
async function partialGroups(page: readonly Found[], journals: readonly JournalView[]): Promise<ReadonlySet<string>> {
  const limited = journals.filter(({ view }) => !seesAll(view));
  const partial = new Set<string>();
  if (limited.length === 0) return partial;
  for (const group of new Set(page.map(({ entry }) => entry.group))) {
    if (group === undefined) continue;
    for (const of of limited) {
      const members = await of.journal.group(group);
      if (members.some((member) => !of.sees(member))) partial.add(group);
    }
  }
  return partial;
}
