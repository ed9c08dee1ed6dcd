import type { Operation } from "../core/operation.js";
import type { DeleteInput, DeleteOutput } from "../schema/types.js";

/** Removes a file, a link or a directory. */
export const deleteEntry: Operation<DeleteInput, DeleteOutput> = {
  name: "delete",
  on: "path",
  ability: "crud/delete",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  async run(input, { root, path, access }) {
    const { existed } = await root.backend.remove(path, { recursive: input.recursive ?? false }, access);
    return { deleted: existed, existed };
  },
};
