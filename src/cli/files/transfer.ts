// The commands `put` and `get`.

import { parse, resolve } from "node:path";
import { basename } from "node:path/posix";
import { FileAdapterError } from "../../core/errors/errors.js";
import { isADirectory } from "../../core/errors/texts.js";
import { isWindows } from "../../core/system.js";
import { type FilePlace, placeOf, placeText } from "../arguments/files.js";
import { UsageError } from "../arguments/options.js";
import { STREAM } from "../context.js";
import { isDirectory } from "./change.js";
import { contentOf } from "./content.js";
import { checkFile, contentOfFile, isLocalDirectory, localTarget, openLocalDirectory, saveFile } from "./local.js";
import { type FileSession, forEachItem, printJson } from "./session.js";
import { getTree, putTree, treeName } from "./transfer-tree.js";

/** `put`: each file is a single write, whatever its size, so that it appears atomically. */
export async function put(session: FileSession<"put">): Promise<number> {
  const { values, context, progress } = session;
  const files = session.words.slice(0, -1);
  if (files.length === 0) throw new UsageError("'put' takes FILE… and ROOT:PATH: venue-files put a.txt docs:a.txt");
  const target = placeOf(session.words.at(-1) ?? "");
  const isTree = async (file: string) => values.recursive && file !== STREAM && (await isLocalDirectory(file, context));
  for (const file of files) if (!(await isTree(file))) await checkFile(file, context);
  const into = target.path === "" || target.path.endsWith("/") || (await isDirectory(target, session));
  if (!into && files.length > 1) throw new UsageError(`'${placeText(target)}' is no directory for several files`);
  return forEachItem(files, session, async (file) => {
    const place = into ? fileInside(target, file === STREAM ? file : resolve(context.cwd, file)) : target;
    if (await isTree(file)) return putTree(file, place, session);
    const content = progress.through(contentOfFile(file, context));
    const condition = values["no-clobber"] ? { ifNoneMatch: "*" } : {};
    const output = await session.upload({ ...place, parents: values.parents, ...condition }, content);
    return session.json ? printJson(session, output) : undefined;
  });
}

function fileInside(directory: FilePlace, file: string): FilePlace {
  if (file === STREAM) throw new UsageError("Standard input has no name: say which file it is to be");
  const name = basename(file.replaceAll("\\", "/"));
  return { root: directory.root, path: `${directory.path.replace(/\/+$/, "")}/${name}` };
}

/** `get` */
export async function get(session: FileSession<"get">): Promise<number> {
  const { values, context, progress } = session;
  const { places, local } = parseGetWords(session.words);
  return forEachItem(places, session, async (place) => {
    if (values.recursive && (await isDirectory(place, session))) {
      if (local === STREAM) throw new UsageError("'get -r' writes directories, not standard output");
      const into = local === undefined || (await isLocalDirectory(local, context));
      const { dir, base } = into ? { dir: local ?? ".", base: treeName(place) } : parse(local);
      const parent = openLocalDirectory(dir, context);
      try {
        return await getTree(place, [parent, base], session);
      } finally {
        parent.close();
      }
    }
    const content = progress.through(fileContent(place, session));
    if (local === STREAM) {
      for await (const piece of content) await session.out(piece);
      return undefined;
    }
    const target = await localTarget(local ?? ".", place.path, context);
    await saveFile(target, content, { path: resolve(context.cwd, target), replace: values.force });
    return session.json ? printJson(session, { path: place.path, file: target }) : undefined;
  });
}

/** The content of a file. @throws IS_A_DIRECTORY, with how to have all of it */
async function* fileContent(place: FilePlace, session: FileSession): AsyncGenerator<Buffer> {
  try {
    yield* contentOf(place, session);
  } catch (error) {
    const isOfDirectory = error instanceof FileAdapterError && error.code === "IS_A_DIRECTORY";
    throw isOfDirectory ? isADirectory(place, "It is a directory: say -r to copy it", { option: "recursive" }) : error;
  }
}

/** On Windows: `C:\out.txt`, which no root is meant by. */
const isOnDrive = (word: string): boolean => isWindows() && /^[a-z]:[\\/]/i.test(word);

/** Splits the words into places in roots, and an optional local target at the end. */
function parseGetWords(words: readonly string[]): { places: readonly FilePlace[]; local: string | undefined } {
  const last = words.at(-1);
  const isLocal = words.length > 1 && last !== undefined && (isOnDrive(last) || !/^[^/.]+:/.test(last));
  const places = (isLocal ? words.slice(0, -1) : words).map(placeOf);
  if (places.length === 0) throw new UsageError("'get' takes ROOT:PATH… and FILE: venue-files get docs:a.txt a.txt");
  return { places, local: isLocal ? last : undefined };
}
