// Runs the file commands, each loaded when it is called.

import type { FileRun } from "../arguments/files/line.js";
import type { FileCommandName } from "../commands/files.js";
import type { CommandContext } from "../context.js";
import { type FileSession, withFileSession } from "./session.js";

const show = () => import("./show.js");
const content = () => import("./content.js");
const change = () => import("./change.js");
const search = () => import("./search.js");
const transfer = () => import("./transfer.js");
const history = () => import("./history.js");
const undo = () => import("./undo.js");

type Runs = { readonly [N in FileCommandName]: (session: FileSession<N>) => Promise<number> };

const RUNS: { readonly [N in FileCommandName]: () => Promise<Pick<Runs, N>> } = {
  ...{ ls: show, tree: show, stat: show, cat: content, head: content, tail: content },
  ...{ grep: () => import("./grep.js"), find: search, du: search, watch: () => import("./watch.js") },
  ...{ edit: change, patch: change, mkdir: change, rm: change, mv: change, cp: change, put: transfer, get: transfer },
  ...{ history, diff: history, restore: history, undo, trash: undo, purge: undo },
};

/** `venue-files ls`, `cat` and the other file commands. @returns the exit status */
export async function file<N extends FileCommandName>(run: FileRun<N>, context: CommandContext): Promise<number> {
  const { name } = run;
  const { [name]: work } = await RUNS[name]();
  return withFileSession(run, context, work);
}
