import { expectedOf } from "../core/etag.js";
import type { Operation } from "../core/ports/operation.js";
import type { DeleteInput, DeleteOutput } from "../schema/types.js";

/** `delete`: removes a file, a link or a directory. */
export const deleteEntry: Operation<DeleteInput, DeleteOutput> = {
  name: "delete",
  on: "path",
  ability: "crud/delete",
  changes: true,
  anyName: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  check(input) {
    expectedOf(input);
  },
  async run(input, { root, path, access, tagOf }) {
    const { recursive = false, permanent } = input;
    const { existed, ...kept } = await root.backend.remove(
      path,
      { recursive, permanent, expected: expectedOf(input, tagOf) },
      access,
    );
    return { deleted: existed, existed, ...kept };
  },
};
