// The commands `mkdir`, `rm`, `edit` and `patch`.

import { basename } from "node:path/posix";
import { FileAdapterError } from "../../core/errors/errors.js";
import { alreadyExists, notFound } from "../../core/errors/texts.js";
import type { FileInputs } from "../../schema/types.js";
import { type FilePlace, numberOf, placeOf, placesOf, wordsOf } from "../arguments/files.js";
import { UsageError } from "../arguments/options.js";
import { diffLines } from "../output/file-lines.js";
import { textOfFile } from "./local.js";
import { type FileSession, forEachItem, printJson } from "./session.js";

/** `mkdir` */
export async function mkdir(session: FileSession<"mkdir">): Promise<number> {
  const { parents } = session.values;
  return forEachItem(placesOf(session), session, async (place) => {
    const output = await session.invoke("file:mkdir", { ...place, parents });
    if (session.json) await printJson(session, output);
    if (!output.created && !parents) throw alreadyExists(place);
  });
}

/** `rm` */
export async function rm(session: FileSession<"rm">): Promise<number> {
  const { recursive, force } = session.values;
  return forEachItem(placesOf(session), session, async (place) => {
    const output = await session.invoke("file:delete", { ...place, recursive });
    if (session.json) await printJson(session, output);
    if (!output.existed && !force) throw notFound(place);
  });
}

/** `edit` */
export async function edit(session: FileSession<"edit">): Promise<number> {
  const { values } = session;
  const [word = ""] = wordsOf(session, "ROOT:PATH");
  const output = await session.invoke("file:edit", {
    ...{ ...placeOf(word), ...(await editsOf(session)) },
    ...{ dryRun: values["dry-run"] || undefined, encoding: values.encoding, ifMatch: values["if-match"] },
  });
  return showDifference(session, output);
}

/** `patch` */
export async function patch(session: FileSession<"patch">): Promise<number> {
  const { in: folder, encoding, "dry-run": isDry } = session.values;
  const [file = ""] = wordsOf(session, "FILE");
  if (folder === undefined) throw new UsageError("'patch' needs --in ROOT:[PATH], the folder that its paths are in");
  const output = await session.invoke("file:patch", {
    ...placeOf(folder),
    patch: await textOfFile(file, session.context, encoding),
    ...{ encoding, dryRun: isDry || undefined },
  });
  return showDifference(session, output);
}

async function showDifference(
  session: FileSession,
  output: { readonly diff?: string; readonly diffTruncated?: boolean },
): Promise<number> {
  if (session.json) await printJson(session, output);
  else await session.out(diffLines(output.diff ?? "", session));
  if (output.diffTruncated === true) session.context.stderr.write("venue-files: the difference is longer\n");
  return 0;
}

/** @throws UsageError, ConfigError */
async function editsOf({ values, context }: FileSession<"edit">) {
  const { edits: file, old: oldText, new: newText } = values;
  const expect = numberOf("expect", values.expect);
  if (file === undefined) {
    if (oldText === undefined || newText === undefined) {
      throw new UsageError("'edit' needs --old and --new, or --edits FILE");
    }
    return { oldText, newText, expect, replaceAll: values.all || undefined };
  }
  if (oldText !== undefined || newText !== undefined || expect !== undefined || values.all) {
    throw new UsageError("'edit' takes either --edits, or --old and --new");
  }
  return { edits: parseEdits(await textOfFile(file, context)) };
}

/** Parses a JSON list of edits; its items are validated by the operation. */
function parseEdits(text: string): NonNullable<FileInputs["file:edit"]["edits"]> {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError('--edits needs JSON: [{ "oldText": "a", "newText": "b" }]');
  }
}

/** Whether a place is a directory; false also if the caller may not know. */
export async function isDirectory(place: FilePlace, session: FileSession): Promise<boolean> {
  try {
    return (await session.invoke("file:stat", place)).type === "directory";
  } catch (error) {
    if (!(error instanceof FileAdapterError) || error.code !== "CAPABILITY_DENIED") throw error;
    return false;
  }
}

/** `mv` */
export const mv = (session: FileSession<"mv">): Promise<number> =>
  transfer(session, (input) => session.invoke("file:move", input));

/** `cp` */
export const cp = (session: FileSession<"cp">): Promise<number> =>
  transfer(session, (input) => session.invoke("file:copy", { ...input, recursive: session.values.recursive }));

interface Transfer {
  readonly root: string;
  readonly path: string;
  readonly to: string;
  readonly toRoot: string;
  readonly overwrite: boolean;
  readonly parents: boolean;
}

/** As mv(1) and cp(1): an existing file is replaced; an existing directory becomes the parent of the target. */
async function transfer(
  session: FileSession<"mv" | "cp">,
  run: (input: Transfer) => Promise<unknown>,
): Promise<number> {
  const { values } = session;
  const [from = "", to = ""] = wordsOf(session, "ROOT:PATH", "ROOT:PATH");
  const source = placeOf(from);
  const target = placeOf(to);
  const output = await run({
    ...source,
    to: await pathAt(target, source, session),
    toRoot: target.root,
    overwrite: !values["no-clobber"],
    parents: values.parents,
  });
  if (session.json) await printJson(session, output);
  return 0;
}

async function pathAt(target: FilePlace, source: FilePlace, session: FileSession): Promise<string> {
  const isInto = target.path === "" || target.path.endsWith("/") || (await isDirectory(target, session));
  return isInto ? `${target.path.replace(/\/+$/, "")}/${basename(source.path)}` : target.path;
}
