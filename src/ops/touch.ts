import type { Operation } from "../core/ports/operation.js";

export interface TouchInput {
  readonly root: string;
  readonly path: string;
  /** Milliseconds since the epoch. Absent: nothing is set, and the answer says whether it could be. */
  readonly modified?: number;
}

/** `touch`: sets the time of a file or directory that exists. */
export const touch: Operation<TouchInput, { path: string }> = {
  name: "touch",
  on: "path",
  ability: "crud/write",
  changes: true,
  internal: true,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  async run({ modified }, { root, path, access }) {
    await root.backend.touch(path, { modified }, access);
    return { path: path.text };
  },
};
