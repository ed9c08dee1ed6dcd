// The commands `mv` and `cp`.

import { basename } from "node:path/posix";
import { type FilePlace, placeOf, wordsOf } from "../arguments/files/options.js";
import { isDirectory } from "./change.js";
import { type FileSession, printJson } from "./session.js";

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
