import { expectedOf } from "../core/etag.js";
import type { Operation, PathCall } from "../core/ports/operation.js";
import type { WriteInput, WriteOutput } from "../schema/types.js";
import { bodyOf, CONTENT_FIELDS, checkOneSource, encodingOf, givesText, textOf } from "./content/content.js";
import { bareName } from "./content/encoding.js";
import { versionOf } from "./content/file-etag.js";
import { isAscii, knownEncoding } from "./content/known-encoding.js";
import { findAlike, refuseTwinFolders } from "./searching/alike.js";

/** `write`: creates a file or replaces its content, atomically. */
export const write: Operation<WriteInput, WriteOutput> = {
  name: "write",
  on: "path",
  ability: "crud/write",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  hidden: CONTENT_FIELDS,
  check(input) {
    checkOneSource(input);
    expectedOf(input);
  },
  async run(input, call) {
    const body = bodyOf(input, call);
    await refuseTwinFolders(call, input.parents === true);
    const options = { parents: input.parents ?? false, expected: expectedOf(input, call.tagOf) };
    const change = await changeOfEncoding(input, call);
    const { bytes, created, sha256 } = await call.root.backend.write(call.path, body, options, call.access);
    const version = sha256 === undefined ? {} : versionOf(sha256, call);
    const hint = created ? await twinOf(input, call) : change;
    return { written: bytes, created, ...version, ...(hint === undefined ? {} : { hint }) };
  },
  bytes: ({ written }) => written,
};

/** Plain names: their folder is not searched for names that look the same. */
const USUAL_NAME = /^[\w.+@-]+$/;

/** Hint for a new file beside one whose name looks the same. Assets come in numbers: their folders are not searched. */
async function twinOf({ asset }: WriteInput, call: PathCall): Promise<string | undefined> {
  if (asset !== undefined || call.terms !== undefined || USUAL_NAME.test(call.path.segments.at(-1) ?? ""))
    return undefined;
  try {
    return (await findAlike(call))?.hint;
  } catch {
    // A failed look at its folder does not stop the write.
    return undefined;
  }
}

/** Hint for text that changes the encoding of its file, where the call names none. */
async function changeOfEncoding(input: WriteInput, call: PathCall): Promise<string | undefined> {
  if (!givesText(input) || input.encoding !== undefined) return undefined;
  const before = await knownEncoding(call);
  if (before === undefined || before === "ascii") return undefined;
  const now = encodingOf(call) ?? "utf-8";
  const isWide = before.startsWith("utf-16");
  if (bareName(now) === bareName(before) || (isWide ? bareName(now) === "utf16" : isAscii(textOf(input))))
    return undefined;
  if (before === "other" && bareName(now) !== "utf8") return undefined;
  const was = before === "other" ? "in another encoding (latin1?)" : before;
  return `The file was ${was} and is ${now} now. Pass encoding to keep it`;
}
