// The commands `ls`, `tree` and `stat`.

import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { humanSize } from "../../ops/content/human-size.js";
import { type FilePlace, numberOf, placeOf, placeText, wordsOf } from "../arguments/files.js";
import { UsageError } from "../arguments/options.js";
import { columnLines, factLines, longLines, nameLines, type ShownEntry, treeLines } from "../output/file-lines.js";
import { escapeMatch as escapeLine } from "../output/grep-lines.js";
import { timeText } from "../output/time.js";
import { entryPages, type FileSession, forEachItem, printJson } from "./session.js";

const DEEPEST = 10;
const MAX_ENTRIES = 5_000;

/** `ls` */
export async function ls(session: FileSession<"ls">): Promise<number> {
  if (session.words.length === 0) return listRoots(session);
  const places = session.words.map(placeOf);
  return forEachItem(places, session, async (place) => {
    const entries = await entriesOf(place, session);
    if (places.length > 1 && !session.json) {
      await session.out(`${place === places[0] ? "" : "\n"}${placeText(place)}:\n`);
    }
    if (!session.json) await session.out(formatEntries(entries, session));
  });
}

async function listRoots(session: FileSession): Promise<number> {
  const output = await session.invoke("file:roots", {});
  if (session.json) await printJson(session, output);
  else await session.out(output.roots.map(({ name }) => `${escapeText(name)}:\n`).join(""));
  return 0;
}

/** All entries of a directory, or the entry itself if it is not one. */
async function entriesOf(place: FilePlace, session: FileSession<"ls">): Promise<readonly ShownEntry[]> {
  const entries: ShownEntry[] = [];
  try {
    for await (const page of entryPages(place, session)) {
      if (session.json) await printJson(session, page);
      else entries.push(...page.entries);
    }
  } catch (error) {
    if (!(error instanceof FileAdapterError) || error.code !== "NOT_A_DIRECTORY") throw error;
    const stat = await session.invoke("file:stat", place);
    if (session.json) await printJson(session, stat);
    const { type = "file", size = 0, modified = 0 } = stat;
    return [{ name: place.path, type, size, modified }];
  }
  const { values } = session;
  const visible = values.all ? entries : entries.filter(({ name }) => !name.startsWith("."));
  return values.time ? visible.toSorted((one, other) => other.modified - one.modified) : visible;
}

function formatEntries(
  entries: readonly ShownEntry[],
  { values, isTerminal, width, paint }: FileSession<"ls">,
): string {
  if (values.long) {
    return longLines(entries, paint, values["human-readable"] ? humanSize : String);
  }
  return isTerminal && !values.one ? columnLines(entries, width, paint) : nameLines(entries, paint);
}

/** `tree` */
export async function tree(session: FileSession<"tree">): Promise<number> {
  const { values } = session;
  const [word = ""] = wordsOf(session, "ROOT:PATH");
  const level = numberOf("level", values.level);
  if (level !== undefined && (level < 1 || level > DEEPEST)) throw new UsageError(`-L takes 1 to ${DEEPEST}`);
  const output = await session.invoke("file:tree", {
    ...{ ...placeOf(word), maxEntries: MAX_ENTRIES, maxDepth: level },
    info: values.size || values["human-readable"] ? "size" : undefined,
  });
  if (session.json) await printJson(session, output);
  else await session.out(treeLines(escapeLines(output.tree), session.paint));
  const { stderr } = session.context;
  if (output.truncated) stderr.write(`venue-files: cut at ${output.entries} entries; name a deeper path\n`);
  // A caller that asks for fewer levels knows that there may be more.
  else if (output.depthLimited && (level ?? DEEPEST) === DEEPEST) {
    stderr.write(
      `venue-files: there is more below; ${level === undefined ? "pass -L 10, or" : "name"} a deeper path\n`,
    );
  }
  return 0;
}

/** A venue elsewhere might send what moves the cursor; names in a tree of ours are escaped already. */
const escapeLines = (tree: string): string => tree.split("\n").map(escapeLine).join("\n");

/** `stat` */
export async function stat(session: FileSession<"stat">): Promise<number> {
  const places = session.words.length === 0 ? wordsOf(session, "ROOT:PATH") : session.words;
  let isMissing = false;
  const status = await forEachItem(places.map(placeOf), session, async (place) => {
    const output = await session.invoke("file:stat", place);
    if (session.json) return printJson(session, output);
    const { exists, type = "", size = 0, modified = 0, readOnly, symlink, mime } = output;
    if (!exists) {
      isMissing = true;
      session.context.stderr.write(`venue-files: Not found: ${placeText(place)}\n`);
      return;
    }
    await session.out(
      factLines([
        ["path", placeText(place)],
        ["type", symlink === true ? `${type}, by a link` : type],
        ["size", String(size)],
        ["modified", timeText(modified)],
        ...(mime === undefined ? [] : ([["mime", mime]] as const)),
        ["writable", readOnly === true ? "no" : "yes"],
      ]),
    );
  });
  return isMissing ? 1 : status;
}
