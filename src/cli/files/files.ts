// Runs the file commands.

import type { FileRun } from "../arguments/files.js";
import type { FileCommandName } from "../commands/files.js";
import type { CommandContext } from "../context.js";
import { cp, edit, mkdir, mv, patch, rm } from "./change.js";
import { cat, head, read, tail } from "./content.js";
import { grep } from "./grep.js";
import { diff, history, restore } from "./history.js";
import { du, find } from "./search.js";
import { type FileSession, withFileSession } from "./session.js";
import { ls, stat, tree } from "./show.js";
import { get, put } from "./transfer.js";
import { purge, trash, undo } from "./undo.js";
import { watch } from "./watch.js";

const RUNS: { readonly [N in FileCommandName]: (session: FileSession<N>) => Promise<number> } = {
  ...{ ls, tree, stat, watch, cat, read, head, tail, grep, find, du, edit, patch, mkdir, rm, mv, cp, put, get },
  ...{ history, diff, undo, restore, trash, purge },
};

/** `venue-files ls`, `cat` and the other file commands. @returns the exit status */
export const file = <N extends FileCommandName>(run: FileRun<N>, context: CommandContext): Promise<number> =>
  withFileSession(run, context, RUNS[run.name]);
