// Whole directories, in and out: `put -r` and `get -r`. The whole source is listed before the first byte is written, so that
// a copy ends whatever it adds to its own source, and a copy into itself is refused: the target gets a folder that the list
// of the source must not show, whatever links, mounts or venues lead to it.

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { basename } from "node:path/posix";
import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText, invalidInput, invalidPath } from "../../core/errors/texts.js";
import { attempt } from "../../core/io.js";
import { isWindows } from "../../core/system.js";
import { isReachableName } from "../../path/grammar.js";
import { type FilePlace, placeText } from "../arguments/files.js";
import { EXIT } from "../context.js";
import type { HeldFolder } from "../output/held-folder.js";
import { contentOf } from "./content.js";
import { contentOfFile, localEntries, makeLocalDirectory, saveFile } from "./local.js";
import { entryPages, type FileSession, printJson } from "./session.js";

/** Deeper than any path of a root. */
const DEEPEST = 512;

interface Entry {
  readonly name: string;
  readonly type: string;
}

/** An entry, and what is in it. */
interface Listed extends Entry {
  readonly entries: readonly Listed[];
}

/** How a directory of one of the two sides is listed. */
interface Source<Place> {
  entriesOf(place: Place): Promise<readonly Entry[]>;
  below(place: Place, name: string): Place;
  tooDeep(place: Place): Error;
}

const placeBelow = ({ root, path }: FilePlace, name: string): FilePlace => ({
  root,
  path: `${path.replace(/\/+$/, "")}/${name}`.replace(/^\//, ""),
});

/** Copies a local directory into a root. Links are left out, since what they name may lie anywhere. */
export async function putTree(local: string, place: FilePlace, session: FileSession<"put">): Promise<number> {
  const { values, context } = session;
  const { created } = await session.invoke("file:mkdir", { ...place, parents: values.parents });
  const marker = await markRemote(place, session);
  let listed: Listing;
  try {
    listed = await listAll(local, session, {
      entriesOf: (folder) => localEntries(folder, context),
      below: join,
      tooDeep: () => invalidPath(place, "too deep"),
    });
  } finally {
    if (marker !== undefined) await removeRemote(placeBelow(place, marker), session);
  }
  if (holds(listed.entries, marker)) {
    if (created) await removeRemote(place, session);
    throw intoItself(local, placeText(place));
  }
  return Math.max(listed.status, await putAll(listed.entries, [local, place], session));
}

async function putAll(
  entries: readonly Listed[],
  [local, place]: readonly [string, FilePlace],
  session: FileSession<"put">,
): Promise<number> {
  const { values, context } = session;
  return forEachEntry(entries, session, async ({ name, type, entries: inside }) => {
    const [from, to] = [join(local, name), placeBelow(place, name)];
    if (type === "directory") {
      await session.invoke("file:mkdir", { ...to, path: `./${to.path}` });
      return putAll(inside, [from, to], session);
    }
    if (type !== "file") return warnLeftOut(from, session);
    const condition = values["no-clobber"] ? { ifNoneMatch: "*" } : {};
    const output = await session.upload(
      { ...to, ...condition },
      session.progress.through(contentOfFile(from, context)),
    );
    session.progress.file();
    if (session.json) await printJson(session, output);
    return EXIT.ok;
  });
}

/** Copies a directory of a root to one of that name in a local one. */
export async function getTree(
  place: FilePlace,
  [parent, name]: readonly [HeldFolder, string],
  session: FileSession<"get">,
): Promise<number> {
  const before = await parent.enter(name, false);
  before?.close();
  const folder = await makeLocalDirectory(parent, name);
  try {
    const marker = markerName();
    (await makeLocalDirectory(folder, marker)).close();
    let listed: Listing;
    try {
      listed = await listAll(place, session, {
        entriesOf: (one) => entriesOf(one, session),
        below: placeBelow,
        tooDeep: (one) => invalidPath(one, "too deep"),
      });
    } finally {
      folder.drop(marker);
    }
    if (holds(listed.entries, marker)) {
      // The folder was made for this copy alone.
      if (before === undefined) attempt(() => parent.drop(name));
      throw intoItself(placeText(place), folder.shown);
    }
    return Math.max(listed.status, await getAll(listed.entries, [place, folder], session));
  } finally {
    folder.close();
  }
}

async function getAll(
  entries: readonly Listed[],
  [place, folder]: readonly [FilePlace, HeldFolder],
  session: FileSession<"get">,
): Promise<number> {
  const { values } = session;
  return forEachEntry(entries, session, async ({ name, type, entries: inside }) => {
    // A venue elsewhere is not trusted with where files are written here.
    if (!isPlainName(name)) return warnLeftOut(`${placeText(place)}/${escapeText(name)}`, session);
    const from = placeBelow(place, name);
    if (type === "directory") {
      const made = await makeLocalDirectory(folder, name);
      try {
        return await getAll(inside, [from, made], session);
      } finally {
        made.close();
      }
    }
    if (type !== "file") return warnLeftOut(placeText(from), session);
    const content = session.progress.through(contentOf(from, session));
    const to = join(folder.shown, name);
    await saveFile(to, content, { path: join(folder.path, name), replace: values.force });
    session.progress.file();
    if (session.json) await printJson(session, { path: from.path, file: to });
    return EXIT.ok;
  });
}

interface Listing {
  readonly entries: readonly Listed[];
  readonly status: number;
}

/** Lists a directory with all that is in it. A directory that cannot be listed is reported, and counts as empty. */
async function listAll<Place>(place: Place, session: FileSession, source: Source<Place>, depth = 0): Promise<Listing> {
  if (depth > DEEPEST) throw source.tooDeep(place);
  const entries: Listed[] = [];
  const status = await forEachEntry(await source.entriesOf(place), session, async ({ name, type }) => {
    const isFolder = type === "directory" && isPlainName(name);
    const inside: Listed[] = [];
    entries.push({ name, type, entries: inside });
    if (!isFolder) return EXIT.ok;
    const found = await listAll(source.below(place, name), session, source, depth + 1);
    for (const one of found.entries) inside.push(one);
    return found.status;
  });
  return { entries, status };
}

const markerName = (): string => `copy-check-${randomBytes(8).toString("hex")}`;

/** Makes a folder in the target that the source must not show. @returns its name; `undefined`: the caller could not remove it */
async function markRemote(place: FilePlace, session: FileSession): Promise<string | undefined> {
  const name = markerName();
  const marker = placeBelow(place, name);
  try {
    // The folder does not exist yet: this delete only tests that the caller could remove it.
    await session.invoke("file:delete", marker);
    await session.invoke("file:mkdir", marker);
    return name;
  } catch (error) {
    if (!(error instanceof FileAdapterError) || session.signal.aborted) throw error;
    return undefined;
  }
}

async function removeRemote(place: FilePlace, session: FileSession): Promise<void> {
  await session.invoke("file:delete", { ...place, recursive: true, permanent: true });
}

const holds = (entries: readonly Listed[], name: string | undefined): boolean =>
  name !== undefined && entries.some((one) => one.name === name || holds(one.entries, name));

const intoItself = (from: string, to: string): FileAdapterError =>
  invalidInput(
    `${escapeText(to)} lies in ${escapeText(from)}, which cannot be copied into itself. Choose a target outside of it`,
    "/to",
    "a target outside of the source",
  );

/** Name of the local directory for one of a root; that of the root itself is called like the root. */
export const treeName = ({ root, path }: FilePlace): string => {
  const name = basename(path);
  return isPlainName(name) ? name : root;
};

/** On Windows a device, a stream and another spelling are none. */
const isPlainName = (name: string): boolean =>
  name !== "" && !/^\.\.?$|[/\\\0]/.test(name) && (!isWindows() || isReachableName(name, false));

/** Works on all entries; a failure does not stop the others, but a signal does. */
async function forEachEntry<One>(
  entries: readonly One[],
  session: FileSession,
  work: (entry: One) => Promise<number>,
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
  for await (const page of entryPages(place, session)) entries.push(...page.entries);
  return entries;
}
