import { etagOf, expectedOf } from "../core/etag.js";
import type { Operation, PathCall } from "../core/ports/operation.js";
import type { AppendInput, AppendOutput } from "../schema/types.js";
import { addedBodyOf, CONTENT_FIELDS, checkOneSource, encodingOf, givesText, textOf } from "./content/content.js";
import { otherEncoding } from "./content/encoding.js";
import { isAscii, knownEncoding } from "./content/known-encoding.js";
import { refuseTwinFolders } from "./searching/alike.js";

/** `append`: adds content to the end of a file. */
export const append: Operation<AppendInput, AppendOutput> = {
  name: "append",
  on: "path",
  ability: "crud/write",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  hidden: CONTENT_FIELDS,
  check(input) {
    checkOneSource(input);
    expectedOf(input);
  },
  async run(input, call) {
    const { parents = false, expectedSize } = input;
    const body = addedBodyOf(input, call);
    await refuseTwinFolders(call, parents);
    await requireSameEncoding(input, call);
    const options = { parents, expectedSize, expected: expectedOf(input, call.tagOf) };
    const written = await call.root.backend.append(call.path, body, options, call.access);
    const { bytes, created, sha256, isRepeated } = written;
    const size = written.size ?? (await call.root.backend.stat(call.path, call.access))?.size ?? bytes;
    // The etag is a hash of the whole file: a caller that may not read it must learn nothing about its content.
    const isTold = sha256 !== undefined && call.access.holds("crud/read");
    return {
      ...{ appended: bytes, created, size },
      ...(isTold ? { etag: etagOf(sha256) } : {}),
      ...(isRepeated === true ? { alreadyApplied: true } : {}),
    };
  },
  bytes: ({ appended }) => appended,
};

/** Refuses text beyond ASCII behind text of unknown encoding. @throws NOT_TEXT */
async function requireSameEncoding(input: AppendInput, call: PathCall): Promise<void> {
  if (!givesText(input) || (input.encoding ?? encodingOf(call)) !== undefined) return;
  // Invalid text is refused later: faults of the place come first.
  if (isAscii(input.content ?? textOf(input))) return;
  if ((await knownEncoding(call)) === "other") throw otherEncoding(call.access.place);
}
