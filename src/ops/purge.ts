import { adapterError } from "../core/errors/errors.js";
import { escapeText, invalidInput } from "../core/errors/texts.js";
import type { JournalEntry } from "../core/ports/changes/journal.js";
import type { Operation, PlacesCall } from "../core/ports/operation.js";
import { isFull } from "../core/unknown.js";
import { isWithin } from "../path/grammar.js";
import type { PurgeInput, PurgeOutput } from "../schema/types.js";
import { type JournalView, journalIn, requireHistory, unknownEntry, visibleRoot } from "./history/visible-entries.js";

const PAGE = 500;
const OPERATOR = "operator";
const FORMS = ["ids", "path", "all"] as const;

/** `purge`: removes what was kept of changes and deletions, for good. */
export const purge: Operation<PurgeInput, PurgeOutput> = {
  name: "purge",
  on: "places",
  ability: "crud/delete",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  check(input) {
    if (FORMS.filter((form) => input[form] !== undefined).length !== 1) {
      throw invalidInput("Exactly one of 'ids', 'path' or 'all' is required", "/ids", "ids, path or all");
    }
  },
  async run(input, call) {
    const { root, path } = input;
    const { view } = visibleRoot(call, root);
    const of = await journalIn(view, call);
    if (of === undefined) {
      // The journal cannot be opened, but content that it kept is still there.
      if (view.root.journal !== undefined) await requireHistory([view]);
      return { purged: 0 };
    }
    const at = call.at({
      root,
      path: path ?? "",
      abilities: input.ids ? [] : ["crud/delete"],
      changes: true,
      isPast: true,
    });
    const { access } = at;
    const { segments } = at.path;
    if (of.journal.keepsDeleted === true && call.origin.actor !== OPERATOR) {
      const told = `Cannot purge root "${escapeText(root)}": it keeps everything deleted, so that only the operator may purge it`;
      throw adapterError("DENIED_BY_POLICY", told, { root });
    }
    const ids = input.all === true ? "all" : await idsOf(input, of, { call, segments });
    // Kept content counts as the paths it belongs to.
    const paths = ids === "all" ? [""] : await pathsOf(ids, of, path === undefined ? undefined : at.path.text);
    if (paths.length > 0) at.root.askToPurge?.(paths);
    const { origin } = access;
    if (origin === undefined) throw new TypeError("A call on a root with a journal has an origin");
    try {
      const { purged } = await of.journal.purge(ids, { ...origin, path: segments });
      return { purged: purged.length };
    } catch (error) {
      if (!isFull(error)) throw error;
      const told = `What was kept in root "${escapeText(root)}" may still be in the files of its journal: the disk of the state directory is full. Free some space, and purge again`;
      throw adapterError("NO_SPACE", told, { root });
    }
  },
};

async function idsOf(
  { root, ids }: PurgeInput,
  of: JournalView,
  { call, segments }: { readonly call: PlacesCall; readonly segments: readonly string[] },
): Promise<readonly string[]> {
  if (ids === undefined) return idsBelow(of, segments);
  for (const id of ids) {
    const entry = await of.journal.entry(id);
    if (entry === undefined || !of.sees(entry)) throw unknownEntry(id);
    call.at({ root, path: entry.path.join("/"), abilities: ["crud/delete"], changes: true, isExact: true });
  }
  return ids;
}

/** Paths of entries, each once; of a whole path that path and what is kept below it. */
async function pathsOf(ids: readonly string[], of: JournalView, path: string | undefined): Promise<readonly string[]> {
  if (path !== undefined) return ids.length === 0 ? [] : [path];
  const entries = await Promise.all(ids.map((id) => of.journal.entry(id)));
  return [...new Set(entries.flatMap((entry) => (entry === undefined ? [] : [entry.path.join("/")])))];
}

/** Ids of entries at or below a path. Entries of another spelling need the right to delete at their own path. */
async function idsBelow({ journal, view }: JournalView, path: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  const { foldsCase: folds } = view.root.backend;
  const isBelow = (entry: JournalEntry): boolean =>
    isWithin(entry.path, path) || (isWithin(entry.path, path, folds) && view.allows(entry.path, "crud/delete"));
  let before: string | undefined;
  do {
    const query = { path, folds, limit: PAGE, sees: isBelow, ...(before === undefined ? {} : { before }) };
    const { entries, next } = await journal.query(query);
    ids.push(...entries.map(({ id }) => id));
    before = next;
  } while (before !== undefined);
  return ids;
}
