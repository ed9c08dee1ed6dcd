// Filters a journal by the rights of a caller, and turns entries into answers.

import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { escapeText, notSupportedHere, unknownRoot } from "../../core/errors/texts.js";
import { lackText } from "../../core/errors/undo-texts.js";
import { etagOf, hashText } from "../../core/etag.js";
import type { EntryState } from "../../core/ports/changes/change.js";
import type { Journal, JournalEntry, Lack } from "../../core/ports/changes/journal.js";
import type { PlacesCall, RootView } from "../../core/ports/operation.js";
import type { HistoryOutput } from "../../schema/types.js";
import { type Binding, invalidCursor, seal, unseal } from "../../search/cursor.js";

/** Most roots without a history that an answer names. */
const MAX_TOLD = 3;

export type EntryAnswer = HistoryOutput["entries"][number];

/** A root with its journal, as one caller sees it. */
export interface JournalView {
  readonly view: RootView;
  readonly journal: Journal;
  /** Whether the caller may know of an entry: it may read every path that the entry names. */
  sees(entry: JournalEntry): boolean;
}

/**
 * A root that the caller may ask about. A grant on any part of it is enough to ask for what it covers.
 * @param path that it asks about @throws CAPABILITY_DENIED, UNKNOWN_ROOT, NOT_SUPPORTED
 */
export function visibleRoot(
  { roots, at, viewOf }: PlacesCall,
  root: string,
  path?: string,
): { readonly view: RootView; readonly segments: readonly string[] } {
  const found = roots().find((one) => one.isVisible && one.root.name === root);
  const place =
    found === undefined || path !== undefined
      ? at({ root, path: path ?? "", abilities: ["crud/read"], changes: false, isPast: true })
      : undefined;
  const view = found ?? (place && viewOf(place.root));
  if (view !== undefined) return { view, segments: place?.path.segments ?? [] };
  if (place?.root.drive === undefined) throw unknownRoot(root, []);
  throw notSupportedHere("the history of another's drive. Its owner has it");
}

/** The journal of one root; `undefined`: it has none. */
export async function journalIn(view: RootView, call: PlacesCall): Promise<JournalView | undefined> {
  return (await journalsOf([view], call.roots()))[0];
}

/** The journals of roots. Roots without one are left out. @param all roots that entries may name as their source */
export async function journalsOf(some: readonly RootView[], all: readonly RootView[]): Promise<JournalView[]> {
  const found = await Promise.all(some.map((view) => journalOf(view, all)));
  return found.filter((one) => one !== undefined);
}

/** Why roots have no readable history; `undefined`: it has one, or its content never changes. */
const lacksOf = (views: readonly Pick<RootView, "root">[]) =>
  Promise.all(
    views.map(async ({ root }) => ({
      name: root.name,
      lack: (await root.journal?.open()) === undefined ? await root.lack?.() : undefined,
    })),
  );

/** Part of an answer about roots without a history. @param isNamed the caller asks for one root */
export async function lackPart(
  views: readonly RootView[],
  isNamed: boolean,
): Promise<{ readonly complete: false; readonly reason: Lack["reason"]; readonly hint: string } | undefined> {
  const found = await lacksOf(views);
  const lacking = found.flatMap(({ name, lack }) => (lack === undefined ? [] : [{ name, lack }]));
  // A root without a history by configuration is named only if no root has one, or the caller asks for it.
  const isNews = isNamed || lacking.length === views.length;
  const told = lacking.filter(({ lack }) => isNews || lack.reason !== "off");
  const [first] = told;
  if (first === undefined) return undefined;
  const hint = told.slice(0, MAX_TOLD).map(({ name, lack }) => lackText(name, lack));
  return { complete: false, reason: first.lack.reason, hint: hint.join(". ") };
}

/** @throws NOT_SUPPORTED if none of these roots has a history */
export async function requireHistory(views: readonly Pick<RootView, "root">[]): Promise<void> {
  const found = await lacksOf(views);
  const [first] = found;
  if (first?.lack === undefined || found.some(({ lack }) => lack === undefined)) return;
  const { name: root, lack } = first;
  throw adapterError("NOT_SUPPORTED", lackText(root, lack), { root, reason: lack.reason });
}

/** The same whether there never was such an entry, or the caller may not know of it. */
export const unknownEntry = (id: string): FileAdapterError =>
  adapterError("NOT_FOUND", `No change ${escapeText(id)} in the history. Take an id from file:history`, {
    id,
    next: { tool: "file:history" },
  });

async function journalOf(view: RootView, all: readonly RootView[]): Promise<JournalView | undefined> {
  const journal = await view.root.journal?.open();
  if (journal === undefined) return undefined;
  const sees = ({ path, from, fromRoot = view.root.name }: JournalEntry): boolean => {
    if (!view.allows(path, "crud/read")) return false;
    if (from === undefined) return true;
    const source = fromRoot === view.root.name ? view : all.find(({ root }) => root.name === fromRoot);
    return source?.allows(from, "crud/read") === true;
  };
  return { view, journal, sees };
}

/** Whether nothing in a root can be hidden from the caller, so that no entry needs to be looked at to know it. */
export const seesAll = ({ root, allows }: RootView): boolean => root.policy === undefined && allows([], "crud/read");

/**
 * An entry as it is answered.
 * @param facts `isPartial`: its group has members that the caller may not know; `terms`: of the call
 */
export function answerOf(
  entry: JournalEntry,
  { root }: RootView,
  { isPartial, terms }: { readonly isPartial: boolean } & Pick<PlacesCall, "terms">,
): EntryAnswer {
  const stateOf = (state: EntryState | null) => stateIn(state, terms?.details === true);
  const { id, time, op, path, from, fromRoot, kind, actor, via, surface, group, made, files } = entry;
  const { undoable, reason, undoneBy, undoes, mayInclude } = entry;
  return {
    ...{ id, time, op, root: root.name, path: path.join("/") },
    ...(from === undefined ? {} : { from: from.join("/") }),
    ...(fromRoot === undefined || fromRoot === root.name ? {} : { fromRoot }),
    ...{ kind, actor, via, surface },
    ...(group === undefined ? {} : { group }),
    ...(isPartial ? { partial: true } : {}),
    ...(made === undefined || made.length === 0 ? {} : { made: made.map((one) => one.join("/")) }),
    ...(files === undefined ? {} : { files }),
    ...{ before: stateOf(entry.before), after: stateOf(entry.after), undoable },
    ...(reason === undefined ? {} : { reason }),
    ...(undoneBy === undefined ? {} : { undoneBy }),
    ...(undoes === undefined ? {} : { undoes: [...undoes] }),
    ...(mayInclude === undefined ? {} : { mayInclude }),
  };
}

function stateIn(state: EntryState | null, isDetailed: boolean): EntryAnswer["before"] {
  if (state === null) return null;
  const { size, modified, mode, sha256 } = state;
  return {
    ...(sha256 === undefined ? {} : { etag: etagOf(sha256) }),
    ...(sha256 === undefined || !isDetailed ? {} : { hash: hashText(sha256) }),
    ...{ size, modified },
    ...(mode === undefined ? {} : { mode }),
  };
}

/** @param id the last entry that has been answered */
export const writeIdCursor = (binding: Binding, id: string): string => seal(binding, Buffer.from(id, "latin1"));

/** @returns the id to go on before @throws INVALID_INPUT unless it was made for the same call */
export function readIdCursor(binding: Binding, cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const body = unseal(binding, cursor);
  if (body === undefined || body.length === 0) throw invalidCursor();
  return body.toString("latin1");
}
