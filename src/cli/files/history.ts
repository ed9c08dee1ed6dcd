// The commands `history`, `diff` and `restore`.

import { escapeText, invalidInput } from "../../core/errors/texts.js";
import { textDiff } from "../../ops/undoing/diff.js";
import { type FilePlace, numberOf, placeOf, placeText, wordsOf } from "../arguments/files.js";
import { diffLines } from "../output/file-lines.js";
import { type Change, historyLines } from "../output/history-lines.js";
import { filterOf } from "./makers.js";
import { type FileSession, printJson } from "./session.js";

const FAULTS: Readonly<Record<string, string>> = {
  damaged: "a part of the history cannot be read",
  lost: "a part of the history could not be written: the disk of the state directory was full, or failed",
  waiting: "the newest of the history is not written yet: the disk of the state directory is full, or fails",
};
const DIFF_CHARS = 10_000_000;

/** `history` */
export async function history(session: FileSession<"history">): Promise<number> {
  const { values, context, paint } = session;
  const [place] = session.words.length === 0 ? [] : wordsOf(session, "ROOT:PATH").map(placeOf);
  const limit = numberOf("lines", values.lines);
  const output = await session.invoke("file:history", {
    ...{ root: place?.root, path: place?.path || undefined, limit },
    ...(await filterOf(session)),
  });
  if (session.json) {
    await printJson(session, output);
    return 0;
  }
  const { nameOf } = await session.callers();
  const width = session.isTerminal ? session.width : undefined;
  await session.out(historyLines(output.entries, { nameOf, paint, width }));
  if (output.hint !== undefined) context.stderr.write(`venue-files: ${escapeText(output.hint)}\n`);
  else if (output.entries.length === 0) context.stderr.write("venue-files: nothing was recorded here\n");
  const fault = FAULTS[output.reason ?? ""];
  if (fault !== undefined) context.stderr.write(`venue-files: ${fault}\n`);
  else if (output.reason === "visited" && output.nextCursor === undefined)
    context.stderr.write("venue-files: a command was run in a tree too large to see all that it has changed\n");
  else if (output.reason === "limit" || output.nextCursor !== undefined)
    context.stderr.write("venue-files: there are older changes: -n 500, or --since\n");
  return 0;
}

/** `diff`: the difference that one change made, that between two versions, or that of the last change. */
export async function diff(session: FileSession<"diff">): Promise<number> {
  const [word, range = ""] = session.words.length === 2 ? session.words : wordsOf(session, "ROOT:PATH");
  const place = placeOf(word ?? "");
  const [from, to] = range === "" ? await newest(place, session) : sidesOf(range);
  const [old, next] = [await textAt(place, from, session), await textAt(place, to, session)];
  const text = textDiff(old, next, { path: place.path, maxChars: DIFF_CHARS }).diff;
  if (session.json) await printJson(session, { path: place.path, from, to, diff: text });
  else await session.out(diffLines(text, session));
  return 0;
}

function sidesOf(range: string): readonly [string, string] {
  const [first = "", second] = range.split("..", 2);
  return second === undefined ? [`${first}:before`, `${first}:after`] : [`${first}:after`, `${second}:after`];
}

/** Both sides of the last change of a file. */
async function newest(place: FilePlace, session: FileSession): Promise<readonly [string, string]> {
  const { entries } = await session.invoke("file:history", { root: place.root, path: place.path, limit: 1 });
  const [entry] = entries;
  if (entry === undefined) {
    throw invalidInput(`No change of ${placeText(place)} was recorded`, "/path", "a file with a history");
  }
  return sidesOf(entry.id);
}

/** The content of a file at a version; empty where there was none. */
async function textAt(place: FilePlace, version: string, session: FileSession): Promise<string> {
  const [id = "", side] = version.split(":");
  const entry = await entryOf(place, id, session);
  const isThere = entry?.path === place.path;
  if (entry !== undefined && isThere && (side === "before" ? entry.before : entry.after) === null) return "";
  // A move left no file at this path.
  if (entry !== undefined && !isThere && side === "after" && entry.op === "move") return "";
  const { content = "" } = await session.invoke("file:read", {
    ...{ ...place, version, mode: "text" },
    maxBytes: session.maxReadBytes,
  });
  return content;
}

async function entryOf({ root, path }: FilePlace, id: string, session: FileSession): Promise<Change | undefined> {
  const { entries } = await session.invoke("file:history", { root, path, limit: 500 });
  return entries.find((one) => one.id === id);
}

/** `restore` */
export async function restore(session: FileSession<"restore">): Promise<number> {
  const { "if-match": ifMatch } = session.values;
  const [word = "", to = ""] = wordsOf(session, "ROOT:PATH", "ID");
  const output = await session.invoke("file:restore", { ...placeOf(word), to, ifMatch });
  if (session.json) await printJson(session, output);
  return 0;
}
