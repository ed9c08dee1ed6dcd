// The `edit_file` tool: exact replacements, applied only if the file still has the expected hash.

import type { EditedText, TextChange } from "../../core/call/terms.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { hashText } from "../../core/etag.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import type { FileOutputs } from "../../schema/types.js";
import { reportEdit } from "./edit-diff.js";
import { type EditArguments, parseEdits, type RequestedEdit } from "./edit-input.js";
import { planEdits } from "./edit-plan.js";
import { changeOptions, hashIn, type SessionCall } from "./files.js";
import { notTextToEdit } from "./texts.js";
import { isTold, toolFault } from "./tool-fault.js";

/** Leading bytes in which a NUL marks a file as binary. */
const NUL_WINDOW = 8192;
/** Maximum attempts when the file changes between reading and writing. */
const MAX_TRIES = 5;

interface EditRequest {
  readonly path: string;
  readonly edits: readonly RequestedEdit[];
  readonly expected: string;
}

/** An applied edit: the text it was planned on, and the operation's result. */
interface Made {
  readonly output: FileOutputs["file:edit"];
  readonly file: EditedText;
  readonly changes: readonly TextChange[];
}

export async function editFile(args: JsonObject, path: string, call: SessionCall): Promise<JsonObject> {
  const request = { path, edits: parseEdits(parseEditArguments(args)), expected: String(args["expected_hash"]) };
  const { output, file, changes } = await editWithRetries(request, call);
  const shown = call.paths.show(path);
  const hash = hashIn(output);
  const about = { path: shown, size_bytes: output.size };
  // A caller without read access learns nothing about the content.
  if (!file.mayRead || hash === undefined) return { ...about, applied_edits: changes.length };
  return {
    ...about,
    ...{ content_hash: hash, previous_content_hash: request.expected, applied_edits: changes.length },
    ...reportEdit({ text: file.text, changes, path: shown }, call.monotonicMs),
  };
}

/** The tool's schema guarantees the types. */
const parseEditArguments = (args: JsonObject): EditArguments => args as EditArguments;

/** Retries after a concurrent change, so that the answer reflects the file's current state. */
async function editWithRetries(request: EditRequest, call: SessionCall): Promise<Made> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await tryEdit(request, call);
    } catch (error) {
      const isRace = error instanceof FileAdapterError && error.code === "CONFLICT" && !isTold(error);
      if (!isRace) throw error;
      if (attempt === MAX_TRIES) throw staleFault(request, call, undefined);
    }
  }
}

async function tryEdit(request: EditRequest, call: SessionCall): Promise<Made> {
  let seen: Omit<Made, "output"> | undefined;
  const plan = async (file: EditedText): Promise<readonly TextChange[]> => {
    if (!isText(file.text)) throw toolFault("NOT_TEXT", notTextToEdit(shownPath(request, call)));
    const found = hashText(file.sha256);
    if (found !== request.expected) throw staleFault(request, call, file.mayRead ? found : undefined);
    const changes = await planEdits(request.edits, file);
    seen = { file, changes };
    return changes;
  };
  const { terms } = changeOptions(call);
  const { path, edits } = request;
  const input = { path, edits: [...edits], encoding: "utf-8" };
  const output = await call.root.invoke("file:edit", input, { terms: { ...terms, edits: { plan } } });
  if (seen === undefined) throw new Error("The edit was made without its plan");
  return { output, ...seen };
}

/** @param found current hash; `undefined`: unknown, or hidden from the caller */
function staleFault(request: EditRequest, call: SessionCall, found: string | undefined): FileAdapterError {
  const { expected } = request;
  const hashes = `Expected ${escapeText(expected.slice(0, 100))}${found === undefined ? "" : `, found ${found}`}`;
  return toolFault(
    "CONFLICT",
    `File '${shownPath(request, call)}' changed since the last read. ${hashes}. Read the file again before editing.`,
  );
}

const shownPath = ({ path }: EditRequest, { paths }: SessionCall): string => escapeText(paths.show(path));

function isText(text: string): boolean {
  const at = text.indexOf("\0");
  return at < 0 || at >= NUL_WINDOW || Buffer.byteLength(text.slice(0, at)) >= NUL_WINDOW;
}
