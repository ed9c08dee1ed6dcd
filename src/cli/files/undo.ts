// The commands `undo`, `trash` and `purge`.

import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { nothingToUndo } from "../../core/errors/undo-texts.js";
import { counted } from "../../core/errors/wording.js";
import type { FileInputs, FileOutputs, TrashInput } from "../../schema/types.js";
import { createLineAsker } from "../acp/line-asker.js";
import { numberOf, placeOf } from "../arguments/files.js";
import { UsageError } from "../arguments/options.js";
import { codeOf, EXIT } from "../context.js";
import { diffLines } from "../output/file-lines.js";
import { type Change, changeText, type NameOf } from "../output/history-lines.js";
import { timeText } from "../output/time.js";
import { changesOf, filterOf } from "./makers.js";
import { type FileSession, type Given, pagesOf, printJson } from "./session.js";

type UndoInput = FileInputs["file:undo"];
type Undone = FileOutputs["file:undo"];

/** Changes of one actor and session belong together without a pause longer than this. */
const PAUSE_MS = 1_800_000;
const PAGE = 500;
const MAX_IDS = 500;

/** `undo` */
export async function undo(session: FileSession<"undo">): Promise<number> {
  const { values } = session;
  const isDry = values["dry-run"];
  const inputs = await inputsOf(session);
  let status: number = EXIT.ok;
  for (const input of inputs) {
    const mustConfirm = !isDry && input.id === undefined && !values.yes;
    if (mustConfirm && !(await isConfirmed(input, session))) return EXIT.failed;
    const undone = await session.invoke("file:undo", { ...input, dryRun: isDry || undefined });
    if (session.json) await printJson(session, undone);
    else await session.out(resultText(undone, session, (await session.callers()).nameOf));
    if ((undone.blocked ?? []).length > 0) status = EXIT.failed;
  }
  return status;
}

/** @throws UsageError */
async function inputsOf(session: FileSession<"undo">): Promise<readonly UndoInput[]> {
  const { values, words } = session;
  const isSession = values.session;
  const isFiltered = [values.actor, values.via, values.since].some((one) => one !== undefined);
  const isById = words.length > 0 && !isSession;
  if (
    isById
      ? isFiltered || values.last !== undefined
      : isSession && (values.last !== undefined || values.since !== undefined)
  ) {
    throw new UsageError("'undo' takes ids; or --session; or --last or --since, and whose with --actor or --via");
  }
  if (words.length === 1 && isById) return [{ id: words[0] ?? "" }];
  if (isById) return [{ ids: [...words] }];
  if (isSession) return sessionInputs(session);
  const last = numberOf("last", values.last);
  if (!isFiltered) return newestInputs(session, last ?? 1);
  return unitInputs(
    await standingChanges(await filterOf(session), session),
    last ?? (values.since !== undefined ? Infinity : 1),
  );
}

/** The newest changes, whoever made them. Only the operator may ask for them by number; anybody else by their ids. */
async function newestInputs(session: FileSession, last: number): Promise<readonly UndoInput[]> {
  const newest = { last, via: "*" };
  try {
    await session.invoke("file:undo", { ...newest, dryRun: true });
    return [newest];
  } catch (error) {
    if (!(error instanceof FileAdapterError) || error.code !== "CAPABILITY_DENIED") throw error;
  }
  return unitInputs(await standingChanges({}, session), last);
}

function unitInputs(standing: readonly Change[], last: number): readonly UndoInput[] {
  const units = new Set([...new Set(standing.map(unitOf))].slice(0, last));
  if (units.size === 0) throw nothingToUndo();
  return inputsByRoot(standing.filter((one) => units.has(unitOf(one))));
}

/** The unit of undo: a group of changes, or a single one. */
const unitOf = ({ group, id }: Change): string => group ?? id;

/** The newest session, of whom a name means or of all: changes of one actor through one credential, without a long pause. */
async function sessionInputs(session: FileSession<"undo">): Promise<readonly UndoInput[]> {
  const [name, ...more] = session.words;
  if (more.length > 0) throw new UsageError("--session takes one caller: undo --session claude");
  const all = await standingChanges(await filterOf(session), session);
  const callers = await session.callers();
  const { actor, via } = name === undefined ? {} : callers.makerOf(name, all);
  const standing = all.filter((one) => one.actor === (actor ?? one.actor) && one.via === (via ?? one.via));
  const [newest] = standing;
  if (newest === undefined) throw nothingToUndo();
  const own = standing.filter(({ actor, via }) => actor === newest.actor && via === newest.via);
  const end = own.findIndex(({ time }, index) => index > 0 && (own[index - 1]?.time ?? 0) - time > PAUSE_MS);
  return inputsByRoot(withoutPurged(end < 0 ? own : own.slice(0, end), { session, nameOf: callers.nameOf }));
}

/** Past changes that were purged, and what was changed at their places before, which are named. @param changes newest first */
function withoutPurged(
  changes: readonly Change[],
  { session, nameOf }: { readonly session: FileSession; readonly nameOf: NameOf },
): readonly Change[] {
  const left = new Set<string>();
  return changes.filter((change) => {
    const { root, path, from, fromRoot = root, reason } = change;
    const places = [`${root}:${path}`, ...(from === undefined ? [] : [`${fromRoot}:${from}`])];
    if (reason !== "purged" && !places.some((place) => left.has(place))) return true;
    for (const place of places) left.add(place);
    const why =
      reason === "purged" ? "what it replaced was purged" : "its place was changed since by one that was purged";
    session.context.stderr.write(`venue-files: stays as it is: ${why}:\n  ${changeText(change, nameOf)}\n`);
    return false;
  });
}

/** Changes that are still in place, newest first. */
async function standingChanges(
  filter: Parameters<typeof changesOf>[0],
  session: FileSession,
): Promise<readonly Change[]> {
  return (await changesOf(filter, session)).filter(
    (one) => one.undoneBy === undefined && one.undoes === undefined && one.op !== "purge",
  );
}

function inputsByRoot(chosen: readonly Change[]): readonly UndoInput[] {
  const roots = [...new Set(chosen.map(({ root }) => root))];
  return roots.flatMap((root) => {
    const ids = chosen.filter((one) => one.root === root).map(({ id }) => id);
    const starts = Array.from({ length: Math.ceil(ids.length / MAX_IDS) }, (_, index) => index * MAX_IDS);
    return starts.map((start) => ({ root, ids: ids.slice(start, start + MAX_IDS) }));
  });
}

/** Shows what would be undone and by whom it was made, and asks. */
async function isConfirmed(input: UndoInput, session: FileSession): Promise<boolean> {
  const { context, isTerminal } = session;
  const plan = await session.invoke("file:undo", { ...input, dryRun: true });
  const { entries } = await session.invoke("file:history", { limit: PAGE });
  const known = new Map(entries.map((entry) => [entry.id, entry]));
  const { nameOf } = await session.callers();
  const lines = plan.undone.map((id) => `  ${lineOf(known.get(id), id, nameOf)}\n`).join("");
  const blocked = blockedLines(plan, nameOf);
  context.stderr.write(`Would undo ${counted(plan.undone.length, "change")}:\n${lines}${blocked}`);
  if ((plan.blocked ?? []).length > 0) return false;
  if (context.stdin.isTTY !== true || !isTerminal) {
    context.stderr.write("venue-files: pass -y to go on without being asked, or -n to look only\n");
    return false;
  }
  return askToConfirm("Undo? [y/N] ", session);
}

const lineOf = (entry: Change | undefined, id: string, nameOf: NameOf): string =>
  entry === undefined ? escapeText(id) : changeText(entry, nameOf);

async function askToConfirm(question: string, { context }: FileSession): Promise<boolean> {
  const asker = createLineAsker(context);
  try {
    return /^y(es)?$/i.test((await asker.ask(question))?.trim() ?? "");
  } finally {
    asker.close();
  }
}

function resultText(undone: Undone, session: FileSession, nameOf: NameOf): string {
  const { files, diff, diffTruncated, dryRun, group, id } = undone;
  const [removed, restored] = dryRun ? ["would remove ", "would restore"] : ["removed ", "restored"];
  const lines = files.map(({ path, etag }) => `${etag === null ? removed : restored} ${escapeText(path)}\n`).join("");
  const key = group ?? id;
  const end = dryRun
    ? "Nothing was changed.\n"
    : key === undefined
      ? ""
      : `Redo: venue-files undo ${escapeText(key)}\n`;
  const cut = diffTruncated ? "(the difference is longer)\n" : "";
  return `${diffLines(diff, session)}${cut}${lines}${blockedLines(undone, nameOf)}${end}`;
}

const blockedLines = ({ blocked = [] }: Undone, nameOf: NameOf): string =>
  blocked
    .map(
      ({ path, by, laterId }) =>
        `blocked  ${escapeText(path)}: changed since by ${nameOf(by)}${laterId ? ` (${escapeText(laterId)})` : ""}\n`,
    )
    .join("");

/** `trash ls` and `trash empty` */
export async function trash(session: FileSession<"trash">): Promise<number> {
  const [what, word, ...more] = session.words;
  if ((what !== "ls" && what !== "empty") || more.length > 0) {
    throw new UsageError("'trash' takes ls or empty, and a root: venue-files trash ls [ROOT:]");
  }
  const roots = word === undefined ? (await session.invoke("file:roots", {})).roots.map(({ name }) => name) : undefined;
  const places = roots?.map((root) => ({ root, path: "" })) ?? [placeOf(word ?? "")];
  let status: number = EXIT.ok;
  for (const { root, path } of places) {
    const work = what === "ls" ? listTrash : emptyTrash;
    try {
      status = Math.max(status, await work({ root, path: path || undefined }, session));
    } catch (error) {
      // A caller without a drive has no trash in a root of drives; that is an error only if the root was named.
      if (word !== undefined || codeOf(error) !== "DRIVE_REQUIRES_AUTH") throw error;
    }
  }
  return status;
}

async function* trashEntries(place: Given<TrashInput>, session: FileSession) {
  for await (const { entries, hint } of pagesOf(session, "file:trash", place)) {
    yield* entries;
    if (hint !== undefined) session.context.stderr.write(`venue-files: ${escapeText(hint)}\n`);
  }
}

async function listTrash(place: Given<TrashInput>, session: FileSession): Promise<number> {
  const { nameOf } = await session.callers();
  for await (const entry of trashEntries(place, session)) {
    const { id, path, kind, deleted, by } = entry;
    const mark = kind === "directory" ? "/" : "";
    if (session.json) await printJson(session, entry);
    else {
      const what = `${session.paint(escapeText(id), "place")}  ${nameOf(by)}  ${escapeText(`${place.root}:${path}`)}`;
      await session.out(`${timeText(deleted)}  ${what}${mark}\n`);
    }
  }
  return EXIT.ok;
}

async function emptyTrash(place: Given<TrashInput>, session: FileSession<"trash">): Promise<number> {
  const ids: string[] = [];
  for await (const { id } of trashEntries(place, session)) ids.push(id);
  if (ids.length === 0) return EXIT.ok;
  const question = `Remove ${counted(ids.length, "entry", "entries")} of ${place.root} for good? [y/N] `;
  if (!(await mayRemove(question, session))) return EXIT.failed;
  for (let start = 0; start < ids.length; start += MAX_IDS) {
    const output = await session.invoke("file:purge", { root: place.root, ids: ids.slice(start, start + MAX_IDS) });
    if (session.json) await printJson(session, output);
  }
  return EXIT.ok;
}

async function mayRemove(question: string, session: FileSession<"trash" | "purge">): Promise<boolean> {
  const { values, context, isTerminal } = session;
  if (values.yes) return true;
  if (context.stdin.isTTY === true && isTerminal) return askToConfirm(question, session);
  context.stderr.write("venue-files: what is removed cannot be brought back: pass -y to go on\n");
  return false;
}

/** `purge` */
export async function purge(session: FileSession<"purge">): Promise<number> {
  const [word = "", ...ids] = session.words;
  const { root, path } = placeOf(word);
  const input = ids.length > 0 ? { root, ids } : path === "" ? { root, all: true as const } : { root, path };
  const what = ids.length > 0 ? counted(ids.length, "change") : path === "" ? `all of ${root}` : `${root}:${path}`;
  if (!(await mayRemove(`Remove what was kept of ${what} for good? [y/N] `, session))) return EXIT.failed;
  const output = await session.invoke("file:purge", input);
  if (session.json) await printJson(session, output);
  else await session.out(`${counted(output.purged, "content")} removed\n`);
  return EXIT.ok;
}
