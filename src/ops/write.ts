import { expectedOf } from "../core/etag.js";
import type { Operation } from "../core/ports/operation.js";
import type { WriteInput, WriteOutput } from "../schema/types.js";
import { bodyOf, CONTENT_FIELDS, checkOneSource } from "./content/content.js";
import { versionOf } from "./content/file-etag.js";

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
    const options = { parents: input.parents ?? false, expected: expectedOf(input) };
    const { bytes, created, sha256 } = await call.root.backend.write(
      call.path,
      bodyOf(input, call),
      options,
      call.access,
    );
    return { written: bytes, created, ...(sha256 === undefined ? {} : versionOf(sha256, call)) };
  },
  bytes: ({ written }) => written,
};
