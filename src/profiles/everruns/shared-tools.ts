// The tools that both variants have.

import type { JsonObject } from "../../core/ports/adapter.js";
import { READS } from "../../core/ports/operation.js";
import { type ProfileTool, renderJson } from "../profile.js";
import { describeTool } from "./describe-tool.js";
import { type EditForm, editFile } from "./edit-file.js";
import { deleteFile, statFile, writeFile } from "./files.js";
import { contentIn, on, pathIn, type Session, type SessionCall } from "./session-call.js";

const CHANGES = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false };

/** A tool that reads. @param folder of its schema */
export const looking = (
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
export function sharedTools(
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
