// Whole directories, in and out: `put -r` and `get -r`.

import { join } from "node:path";
import { basename } from "node:path/posix";

import { escapeText, invalidPath } from "../../core/errors/texts.js";
import { type FilePlace, placeText } from "../arguments/files/options.js";
import { EXIT } from "../context.js";
import { contentOf } from "./content.js";
import { contentOfFile, localEntries, makeLocalDirectory, saveFile } from "./local.js";
import { type FileSession, printJson } from "./session.js";

const PAGE = 10_000;
/** Deeper than any path of a root. */
const DEEPEST = 512;

const placeBelow = ({ root, path }: FilePlace, name: string): FilePlace => ({
  root,
  path: `${path.replace(/\/+$/, "")}/${name}`.replace(/^\//, ""),
});

/** Copies a local directory into a root. Links are left out, since what they name may lie anywhere. */
export async function putTree(local: string, place: FilePlace, session: FileSession): Promise<number> {
  const { command, context } = session;
  await session.invoke("file:mkdir", { ...place, parents: command.flags.has("parents") });
  return forEachEntry(await localEntries(local, context), session, async ({ name, type }) => {
    const [from, to] = [join(local, name), placeBelow(place, name)];
    if (type === "directory") return putTree(from, to, session);
    if (type !== "file") return warnLeftOut(from, session);
    const condition = command.flags.has("no-clobber") ? { ifNoneMatch: "*" } : {};
    const output = await session.upload(
      { ...to, ...condition },
      session.progress.through(contentOfFile(from, context)),
    );
    session.progress.file();
    if (command.json) await printJson(session, output);
    return EXIT.ok;
  });
}

/** Copies a directory of a root to a local one. */
export async function getTree(place: FilePlace, local: string, session: FileSession, depth = 0): Promise<number> {
  const { command, context } = session;
  if (depth > DEEPEST) throw invalidPath(place, "too deep");
  await makeLocalDirectory(local, context);
  return forEachEntry(await entriesOf(place, session), session, async ({ name, type }) => {
    // A venue elsewhere is not trusted with where files are written here.
    if (!isPlainName(name)) return warnLeftOut(`${placeText(place)}/${escapeText(name)}`, session);
    const [from, to] = [placeBelow(place, name), join(local, name)];
    if (type === "directory") return getTree(from, to, session, depth + 1);
    if (type !== "file") return warnLeftOut(placeText(from), session);
    const content = session.progress.through(contentOf(from, session));
    await saveFile(to, content, { cwd: context.cwd, replace: command.flags.has("force") });
    session.progress.file();
    if (command.json) await printJson(session, { path: from.path, file: to });
    return EXIT.ok;
  });
}

/** Name of the local directory for one of a root; that of the root itself is called like the root. */
export const treeName = ({ root, path }: FilePlace): string => {
  const name = basename(path);
  return isPlainName(name) ? name : root;
};

const isPlainName = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !/[/\\\0]/.test(name);

interface Entry {
  readonly name: string;
  readonly type: string;
}

/** Works on all entries; a failure does not stop the others. */
async function forEachEntry(
  entries: readonly Entry[],
  session: FileSession,
  work: (entry: Entry) => Promise<number>,
): Promise<number> {
  let status: number = EXIT.ok;
  for (const entry of entries) {
    try {
      status = Math.max(status, await work(entry));
    } catch (error) {
      if (session.signal.aborted) throw error;
      session.failed(error);
      status = EXIT.failed;
    }
  }
  return status;
}

function warnLeftOut(shown: string, { context }: FileSession): number {
  context.stderr.write(`venue-files: left out: ${escapeText(shown)}: neither a file nor a directory\n`);
  return EXIT.failed;
}

async function entriesOf(place: FilePlace, session: FileSession): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = await session.invoke("file:list", { ...place, offset, limit: PAGE });
    entries.push(...page.entries);
    if (!page.truncated || page.entries.length === 0) return entries;
  }
}
