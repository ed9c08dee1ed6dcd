import type { Operation } from "../core/operation.js";
import type { AppendInput, AppendOutput } from "../schema/types.js";
import { bodyOf, CONTENT_FIELDS, checkOneSource } from "./content.js";

/** Adds to the end of a file. */
export const append: Operation<AppendInput, AppendOutput> = {
  name: "append",
  on: "path",
  ability: "crud/write",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  hidden: CONTENT_FIELDS,
  check: checkOneSource,
  async run(input, call) {
    const options = { parents: input.parents ?? false };
    const { bytes, created } = await call.root.backend.append(call.path, bodyOf(input, call), options, call.access);
    return { appended: bytes, created };
  },
  bytes: ({ appended }) => appended,
};
