import { adapterError, FileAdapterError } from "../core/errors/errors.js";
import { escapeText, invalidInput } from "../core/errors/texts.js";
import { unkeptText } from "../core/errors/undo-texts.js";
import { counted } from "../core/errors/wording.js";
import { etagOf, type Sha256 } from "../core/etag.js";
import type { Rendering } from "../core/ports/adapter.js";
import type { At, GroupChange } from "../core/ports/backend.js";
import type { Operation } from "../core/ports/operation.js";
import type { UndoInput, UndoOutput } from "../schema/types.js";
import { mostDiffChars } from "./editing/unified-diff.js";
import { diffOfTurns } from "./undoing/diff.js";
import { type Blocked, planUndo, type UndoPlan } from "./undoing/plan.js";
import { chooseEntries } from "./undoing/select-entries.js";

const MAX_FILES = 1000;
const MAX_BLOCKED = 100;
/** Most plans of one call: a plan is made anew if others change its entries before the commit. */
const ATTEMPTS = 3;
const PATIENCE_MS = 300_000;
/** Error codes of a commit that others' changes after the plan prevent. */
const OVERTAKEN: ReadonlySet<string> = new Set([
  "CONFLICT",
  "NOT_FOUND",
  "NOT_EMPTY",
  "ALREADY_EXISTS",
  "IS_A_DIRECTORY",
]);

const FORMS = ["id", "ids", "last", "group"] as const;

/** `undo`: takes back recorded changes, as long as nothing has changed since what they left. */
export const undo: Operation<UndoInput, UndoOutput> = {
  name: "undo",
  on: "places",
  ability: "crud/write",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  patienceMs: () => PATIENCE_MS,
  check(input) {
    if (FORMS.filter((form) => input[form] !== undefined).length !== 1) {
      throw invalidInput("Exactly one of 'id', 'ids', 'last' or 'group' is required", "/id", "id, ids, last or group");
    }
    if (input.via !== undefined && input.last === undefined) {
      throw invalidInput("'via' goes with 'last'", "/via", "last beside it");
    }
  },
  async run(input, call) {
    const chosen = await chooseEntries(input, call);
    for (let attempt = 1; ; attempt++) {
      const plans: UndoPlan[] = [];
      for (const { of, entries } of chosen) plans.push(await planUndo(of, entries, call.at));
      const turns = plans.flatMap((plan) => plan.turns);
      const diff = await diffOfTurns(turns, mostDiffChars(call));
      if (input.dryRun === true) {
        for (const { backend, changes, blockedCount } of plans)
          if (blockedCount === 0) await backend.checkAll?.(changes);
        return { ...answerOf(plans), ...blockedPart(plans), ...diff, dryRun: true };
      }
      requireFree(plans);
      try {
        return { ...(await commit(plans)), ...diff };
      } catch (error) {
        const isOvertaken = error instanceof FileAdapterError && OVERTAKEN.has(error.code);
        if (!isOvertaken || error instanceof HalfDone || attempt === ATTEMPTS) throw error;
      }
    }
  },
  render,
};

/** A later root failed, after an earlier one was changed. */
class HalfDone extends FileAdapterError {}

function requireFree(plans: readonly UndoPlan[]): void {
  const { blocked } = blockedPart(plans);
  if (blocked === undefined) return;
  const root = plans.find(({ blockedCount }) => blockedCount > 0)?.of.view.root.name ?? "";
  const count = plans.reduce((sum, { blockedCount }) => sum + blockedCount, 0);
  const [first] = blocked;
  const more = count > 1 ? ` (and ${count - 1} more)` : "";
  const what =
    first === undefined ? "" : ` "${escapeText(first.path)}"${more} changed since, by ${escapeText(first.by)}`;
  const advice =
    first?.laterId === undefined ? "Look at it, and change it by hand" : `Undo ${first.laterId} first, or both by ids`;
  throw adapterError("CONFLICT", `Cannot undo:${what}. Nothing was changed. ${advice}`, { root, blocked });
}

function blockedPart(plans: readonly UndoPlan[]): { blocked?: Blocked[] } {
  const blocked = plans.flatMap((plan) => [...plan.blocked]).slice(0, MAX_BLOCKED);
  return blocked.length === 0 ? {} : { blocked };
}

/** One atomic group for each root. */
async function commit(plans: readonly UndoPlan[]): Promise<Omit<UndoOutput, "diff" | "diffTruncated">> {
  const hashes = new Map<string, Sha256>();
  const [first] = plans.flatMap(({ changes }) => changes.map(placeOf));
  if (plans.length > 1) first?.access.beginGroup?.();
  const done: UndoPlan[] = [];
  for (const plan of plans) {
    try {
      const effects = await plan.backend.changeAll(plan.changes);
      for (const [index, { sha256 }] of effects.entries()) {
        const change = plan.changes[index];
        if (change !== undefined && sha256 !== undefined) hashes.set(keyIn(plan, placeOf(change).path.text), sha256);
      }
    } catch (error) {
      if (done.length === 0) throw error;
      await noteAll(done, first);
      if (!(error instanceof FileAdapterError)) throw error;
      const undone = done.flatMap(({ entries }) => entries.map(({ id }) => id));
      const text = `${error.message}. Undone before in other roots: ${counted(undone.length, "change")}`;
      throw new HalfDone(error.code, text, { ...error.data, undone });
    }
    done.push(plan);
  }
  return { ...answerOf(plans, hashes), ...(await noteAll(plans, first)) };
}

interface UndoKey {
  readonly group?: string;
  readonly id?: string;
}

/** Marks the entries of what was done as undone. @returns the id by which the undo itself can be undone */
async function noteAll(plans: readonly UndoPlan[], first: At | undefined): Promise<UndoKey> {
  let key: UndoKey = {};
  try {
    key = await undoEntryId(plans, first);
    for (const plan of plans) await noteUndone(plan, Object.values(key)[0]);
  } catch {
    first?.access.behind?.("It is undone, but the history could not be told so");
  }
  return key;
}

/** A path among those of all roots. */
const keyIn = ({ of }: UndoPlan, path: string): string => `${of.view.root.name}/${path}`;

const placeOf = (change: GroupChange): At => (change.kind === "move" ? change.from : change.at);

async function undoEntryId(plans: readonly UndoPlan[], first: At | undefined): Promise<UndoKey> {
  const group = first?.access.origin?.group;
  if (group !== undefined) return { group };
  const [plan] = plans;
  const [entry] = plan?.entries ?? [];
  if (plan === undefined || entry === undefined) return {};
  const sees = ({ undoes }: { undoes?: readonly string[] }): boolean => undoes?.includes(entry.id) === true;
  const { journal } = plan.of;
  const made = journal.waiting?.(sees) ?? (await journal.query({ since: entry.time, limit: 1, sees })).entries[0];
  return made === undefined ? {} : { id: made.id };
}

/** Marks the entries as undone. Entries that undos among them had undone stand again. */
async function noteUndone({ of, entries }: UndoPlan, by: string | undefined): Promise<void> {
  if (by === undefined) return;
  await of.journal.note(
    entries.map(({ id }) => id),
    { undoneBy: by },
  );
  const again = entries.flatMap(({ undoes = [] }) => undoes);
  if (again.length > 0) await of.journal.note(again, {});
}

function answerOf(plans: readonly UndoPlan[], hashes: ReadonlyMap<string, Sha256> = new Map()) {
  const isMany = plans.length > 1;
  const files = plans.flatMap((plan) =>
    plan.turns.map(({ path, next }) => {
      const text = path.join("/");
      const sha256 = hashes.get(keyIn(plan, text)) ?? (typeof next === "object" ? next.sha256 : undefined);
      return {
        ...(isMany ? { root: plan.of.view.root.name } : {}),
        path: text,
        ...(next === undefined ? { etag: null } : sha256 === undefined ? {} : { etag: etagOf(sha256) }),
      };
    }),
  );
  return {
    undone: plans.flatMap(({ entries }) => entries.map(({ id }) => id)),
    files: files.slice(0, MAX_FILES),
    ...(files.length > MAX_FILES ? { filesTruncated: true as const } : {}),
    ...(isMany ? { atomic: false as const } : {}),
  };
}

function render(output: UndoOutput): Rendering {
  const { diff, ...rest } = output;
  const count = counted(output.undone.length, "change");
  const key = output.group ?? output.id;
  const blocked = (output.blocked ?? []).map(({ path, by }) => `blocked: ${path} changed since, by ${by}\n`);
  const files = output.files.map(({ path, etag }) => `${etag === null ? "gone" : (etag ?? "back")} ${path}\n`);
  const more = [unkeptText(output), output.hint].map((one) => (one === undefined ? "" : `; ${one}`)).join("");
  const note = output.dryRun
    ? `Dry run: would undo ${count}${blocked.length > 0 ? `, but ${blocked.length} blocked` : ""}`
    : `Undone: ${count}${key === undefined ? "" : `. To redo: id "${key}"`}${more}`;
  return { kind: "text", text: [...blocked, ...files, diff].join(""), rest, note };
}
