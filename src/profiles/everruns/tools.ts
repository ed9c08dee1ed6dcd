// The file tools of both variants and their arguments.

import type { JsonObject } from "../../core/ports/adapter.js";
import { READS } from "../../core/ports/operation.js";
import { type ProfileTool, renderJson } from "../profile.js";
import { describeTool } from "./describe-tool.js";
import { type EditForm, editFile } from "./edit-file.js";
import { deleteFile, grepFiles, listDirectory, listPage, readFile, renderRead, statFile, writeFile } from "./files.js";
import { type ReadWish, readMany, readWindow } from "./reading.js";
import { globFiles, searchFiles } from "./searching.js";
import { contentIn, numberIn, on, pathIn, type Session, type SessionCall, textIn } from "./session-call.js";

const CHANGES = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };

/** A tool that reads. @param folder of its schema */
const looking = (
  session: Session,
  name: string,
  run: (args: JsonObject, call: SessionCall) => Promise<JsonObject>,
  folder?: string,
): ProfileTool => ({
  ...describeTool(name, session.paths, folder),
  ...READS,
  render: renderJson,
  run: (args, root) => run(args, on(root, session)),
});

/** @param form of edits, which tells the variants apart */
function sharedTools(
  session: Session,
  form: EditForm,
): Readonly<Record<"write" | "edit" | "remove" | "stat", ProfileTool>> {
  return {
    write: {
      ...describeTool("write_file", session.paths),
      annotations: { ...CHANGES, idempotentHint: true },
      ...{ ability: "crud/write", changes: true, hidden: ["content"] },
      run: (args, root) => writeFile(pathIn(args, session), contentIn(args), on(root, session)),
    },
    edit: {
      ...describeTool("edit_file", session.paths, form.isStrict ? undefined : "everruns-0.50"),
      ...{ annotations: CHANGES, ability: "crud/write", changes: true, render: renderJson },
      hidden: ["old_text", "new_text", "edits"],
      run: (args, root) => editFile(args, pathIn(args, session), { ...on(root, session), form }),
    },
    remove: {
      ...describeTool("delete_file", session.paths),
      ...{ annotations: CHANGES, ability: "crud/delete", changes: true },
      run: (args, root) => deleteFile(pathIn(args, session), args["recursive"] === true, on(root, session)),
    },
    stat: {
      ...describeTool("stat_file", session.paths),
      ...READS,
      run: (args, root) => statFile(pathIn(args, session), on(root, session)),
    },
  };
}

/** The seven file tools of the strict variant. */
export function strictTools(session: Session): readonly ProfileTool[] {
  const { write, edit, remove, stat } = sharedTools(session, { isStrict: true, rebases: false });
  return [
    { ...looking(session, "read_file", (args, call) => readFile(pathIn(args, session), call)), render: renderRead },
    write,
    edit,
    looking(session, "list_directory", (args, call) => listDirectory(pathIn(args, session), call)),
    looking(session, "grep_files", (args, call) =>
      grepFiles(
        pathIn(args, session),
        { pattern: textIn(args, "pattern"), pathPattern: textIn(args, "path_pattern") },
        call,
      ),
    ),
    remove,
    stat,
  ];
}

const FOLDER = "everruns-0.50";
const USUAL_LIMIT = 200;
const MAX_LIMIT = 1000;

/** The ten file tools of variant 0.50. @param rebases edits of a file that has changed are applied where they still can be */
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
  const [offset, limit] = [args["offset"], args["limit"]].map((one) => (one === undefined ? one : Number(one)));
  return { offset, limit };
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
