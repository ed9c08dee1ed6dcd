import { etagOf, hashText } from "../core/etag.js";
import { type Io, runIo, wait } from "../core/io.js";
import type { FileStat } from "../core/ports/backend.js";
import type { FileCall, Operation } from "../core/ports/operation.js";
import { LOOKS } from "../core/ports/operation.js";
import type { StatInput, StatOutput } from "../schema/types.js";
import { etagFor, hashOf } from "./content/file-etag.js";
import { mimeByName } from "./content/mime.js";
import { atVersion } from "./history/version.js";

/** `stat`: the metadata of the entry at a path, or that there is none. */
export const stat: Operation<StatInput, StatOutput> = {
  name: "stat",
  on: "path",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  async run(input, call) {
    const past = input.version === undefined ? call : await atVersion(call, input.version);
    const { root, path, access } = past;
    const found = await root.backend.stat(path, access);
    if (found === undefined) return { exists: false };
    const isFile = found.type === "file";
    const mime = isFile ? mimeByName(path.segments.at(-1) ?? "") : undefined;
    return {
      exists: true,
      type: found.type,
      size: found.size,
      modified: found.modified,
      readOnly: root.readOnly || found.readOnly,
      ...(mime === undefined ? {} : { mime }),
      ...(found.symlink ? { symlink: true } : {}),
      ...(call.terms?.details === true ? { created: found.created ?? found.modified } : {}),
      ...(isFile ? await versionOf(found, past, input.hash === true) : {}),
    };
  },
};

function versionOf(found: FileStat, call: FileCall, hashed: boolean) {
  return hashed ? runIo(hashNow(call)) : etagFor(call, found.stamp);
}

/** Size and time are those of the hashed file, since it may have been replaced after the stat. */
function* hashNow(call: FileCall): Io<Pick<StatOutput, "size" | "modified" | "etag" | "hash">> {
  const file = yield* wait(call.root.backend.open(call.path, call.access));
  try {
    const { sha256, size } = yield* hashOf(file, call);
    return { size, modified: file.modified, etag: etagOf(sha256), hash: hashText(sha256) };
  } finally {
    file.close();
  }
}
