// The ten file tools of variant 0.50 and their arguments.

import type { JsonObject } from "../../core/ports/adapter.js";
import type { ProfileTool } from "../profile.js";
import { listPage, renderRead } from "./files.js";
import { type ReadWish, readMany, readWindow } from "./reading.js";
import { globFiles, searchFiles } from "./searching.js";
import { numberIn, pathIn, type Session, textIn } from "./session-call.js";
import { looking, sharedTools } from "./shared-tools.js";

const FOLDER = "everruns-0.50";
const USUAL_LIMIT = 200;
const MAX_LIMIT = 1000;

/** @param rebases edits of a file that has changed are applied where they still can be */
export function newTools(session: Session, rebases: boolean): readonly ProfileTool[] {
  const reading = (name: string, run: Parameters<typeof looking>[2]): ProfileTool =>
    looking(session, name, run, FOLDER);
  const { write, edit, remove, stat } = sharedTools(session, { isStrict: false, rebases });
  return [
    {
      ...reading("read_file", (args, call) => readWindow(pathIn(args, session), readWishIn(args), call)),
      render: renderRead,
    },
    reading("read_many_files", (args, call) => readMany(pathsIn(args), readWishIn(args), call)),
    // The system that is imitated tells no overwrite apart.
    { ...write, run: async (args, root) => ({ ...(await write.run(args, root)), created: true }) },
    edit,
    reading("glob", (args, call) => globFiles(textIn(args, "pattern"), limitIn(args), call)),
    reading("grep", (args, call) => searchFiles({ ...searchIn(args, "grep", "glob"), path: "/" }, call)),
    reading("list_directory", (args, call) =>
      listPage(pathIn(args, session), { offset: numberIn(args, "offset", 0), limit: limitIn(args) }, call),
    ),
    reading("grep_files", (args, call) =>
      searchFiles({ ...searchIn(args, "grep_files", "path_pattern"), path: pathIn(args, session) }, call),
    ),
    remove,
    stat,
  ];
}

const readWishIn = (args: JsonObject): ReadWish => {
  const { offset, limit }: { offset?: unknown; limit?: unknown } = args;
  return {
    offset: offset === undefined ? undefined : Number(offset),
    limit: limit === undefined ? undefined : Number(limit),
  };
};

/** The tool's schema guarantees the type. */
const pathsIn = (args: JsonObject): readonly string[] => args["paths"] as readonly string[];

const limitIn = (args: JsonObject): number => Math.min(numberIn(args, "limit", USUAL_LIMIT), MAX_LIMIT);

/** @param glob name of the argument that selects files */
const searchIn = (args: JsonObject, tool: string, glob: string) => ({
  ...{ tool, pattern: textIn(args, "pattern"), glob: textIn(args, glob) },
  globFault: glob === "glob" ? "Invalid glob" : undefined,
  before: numberIn(args, "before_context", 0),
  after: numberIn(args, "after_context", 0),
  offset: numberIn(args, "offset", 0),
  limit: limitIn(args),
});
