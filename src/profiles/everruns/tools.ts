// The seven file tools of the Everruns profile and their arguments.

import type { JsonObject } from "../../core/ports/adapter.js";
import { LOOKS } from "../../core/ports/operation.js";
import { type BoundRoot, type ProfileTool, renderJson } from "../profile.js";
import { describeTool } from "./describe-tool.js";
import { editFile } from "./edit-file.js";
import { deleteFile, listDirectory, type Session, type SessionCall, statFile, writeFile } from "./files.js";
import { grepFiles } from "./grep-files.js";
import { readFile, renderRead } from "./read-file.js";

const CHANGES = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };

export const fileTools = (session: Session): readonly ProfileTool[] => [
  {
    ...describeTool("read_file", session.paths),
    ...{ annotations: LOOKS, ability: "crud/read", changes: false, render: renderRead },
    run: (args, root) => readFile(pathIn(args, session), on(root, session)),
  },
  {
    ...describeTool("write_file", session.paths),
    annotations: { ...CHANGES, idempotentHint: true },
    ...{ ability: "crud/write", changes: true, hidden: ["content"] },
    run: (args, root) => writeFile(pathIn(args, session), contentIn(args), on(root, session)),
  },
  {
    ...describeTool("edit_file", session.paths),
    ...{ annotations: CHANGES, ability: "crud/write", changes: true, render: renderJson },
    hidden: ["old_text", "new_text", "edits"],
    run: (args, root) => editFile(args, pathIn(args, session), on(root, session)),
  },
  {
    ...describeTool("list_directory", session.paths),
    ...{ annotations: LOOKS, ability: "crud/read", changes: false, render: renderJson },
    run: (args, root) => listDirectory(pathIn(args, session), on(root, session)),
  },
  {
    ...describeTool("grep_files", session.paths),
    ...{ annotations: LOOKS, ability: "crud/read", changes: false, render: renderJson },
    run: (args, root) =>
      grepFiles(
        pathIn(args, session),
        { pattern: textIn(args, "pattern"), pathPattern: textIn(args, "path_pattern") },
        on(root, session),
      ),
  },
  {
    ...describeTool("delete_file", session.paths),
    ...{ annotations: CHANGES, ability: "crud/delete", changes: true },
    run: (args, root) => deleteFile(pathIn(args, session), args["recursive"] === true, on(root, session)),
  },
  {
    ...describeTool("stat_file", session.paths),
    ...{ annotations: LOOKS, ability: "crud/read", changes: false },
    run: (args, root) => statFile(pathIn(args, session), on(root, session)),
  },
];

const on = (root: BoundRoot, { paths, files, monotonicMs }: Session): SessionCall => ({
  paths,
  files,
  monotonicMs,
  root,
});

const textIn = (args: JsonObject, field: string): string => String(args[field] ?? "");

/** Session path of a call; the session's root if the path is absent. */
const pathIn = (args: JsonObject, { paths }: Session): string => paths.parse(textIn(args, "path"));

const contentIn = (args: JsonObject): { readonly content: string } | { readonly bytes: string } =>
  args["encoding"] === "base64" ? { bytes: textIn(args, "content") } : { content: textIn(args, "content") };
