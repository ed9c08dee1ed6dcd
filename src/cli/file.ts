import type { FileRun } from "../surfaces/cli/file-line.js";
import type { FileCommandName } from "../surfaces/cli/file-options.js";
import type { CommandContext } from "./context.js";
import { edit, mkdir, rm } from "./file-change.js";
import { cat, head, tail } from "./file-content.js";
import { grep } from "./file-grep.js";
import { cp, mv } from "./file-move.js";
import { du, find } from "./file-search.js";
import { type FileSession, inFileSession } from "./file-session.js";
import { ls, stat, tree } from "./file-show.js";
import { get, put } from "./file-transfer.js";

const RUNS: Readonly<Record<FileCommandName, (session: FileSession) => Promise<number>>> = {
  ...{ ls, tree, stat, cat, head, tail, grep, find, du, edit, mkdir, rm, mv, cp, put, get },
};

/** `venue-files ls` and its like: operations on files for people. @returns the exit status */
export const file = (run: FileRun, context: CommandContext): Promise<number> =>
  inFileSession(run, context, RUNS[run.command.name]);
