import { expectedOf } from "../core/etag.js";
import type { Operation } from "../core/ports/operation.js";
import type { MkdirInput, MkdirOutput } from "../schema/types.js";
import { refuseTwinFolders } from "./searching/alike.js";

/** `mkdir`: creates a directory. */
export const mkdir: Operation<MkdirInput, MkdirOutput> = {
  name: "mkdir",
  on: "path",
  ability: "crud/write",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  check(input) {
    expectedOf(input);
  },
  async run(input, call) {
    const { root, path, access } = call;
    await refuseTwinFolders(call, input.parents === true);
    const options = { parents: input.parents ?? false, expected: expectedOf(input) };
    const { created } = await root.backend.mkdir(path, options, access);
    return { created, path: path.text };
  },
};
