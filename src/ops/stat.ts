import type { Operation } from "../core/operation.js";
import { LOOKS } from "../core/operation.js";
import type { StatInput, StatOutput } from "../schema/types.js";
import { mimeByName } from "./mime.js";

/** What stands at a path. */
export const stat: Operation<StatInput, StatOutput> = {
  name: "stat",
  on: "path",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  async run(_input, { root, path, access }) {
    const found = await root.backend.stat(path, access);
    if (found === undefined) return { exists: false };
    const mime = found.type === "file" ? mimeByName(path.segments.at(-1) ?? "") : undefined;
    return {
      exists: true,
      type: found.type,
      size: found.size,
      modified: found.modified,
      readOnly: root.readOnly || found.readOnly,
      ...(mime === undefined ? {} : { mime }),
      ...(found.symlink ? { symlink: true } : {}),
    };
  },
};
