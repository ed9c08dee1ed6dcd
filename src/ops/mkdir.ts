import type { Operation } from "../core/operation.js";
import type { MkdirInput, MkdirOutput } from "../schema/types.js";

/** Makes a directory. */
export const mkdir: Operation<MkdirInput, MkdirOutput> = {
  name: "mkdir",
  on: "path",
  ability: "crud/write",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run(input, { root, path, access }) {
    const { created } = await root.backend.mkdir(path, { parents: input.parents ?? false }, access);
    return { created, path: path.text };
  },
};
