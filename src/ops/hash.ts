import { etagOf, hashText } from "../core/etag.js";
import { type Io, runIo, wait } from "../core/io.js";
import { type Operation, type PathCall, READS } from "../core/ports/operation.js";
import type { HashInput, HashOutput } from "../schema/types.js";
import { hashOf } from "./content/file-etag.js";

/** `hash`: SHA-256 and etag of a file of any size. */
export const hash: Operation<HashInput, HashOutput> = {
  name: "hash",
  on: "path",
  ...READS,
  looksInArchives: true,
  run: (_input, call) => runIo(hashFile(call)),
};

function* hashFile(call: PathCall): Io<HashOutput> {
  const file = yield* wait(call.root.backend.open(call.path, call.access));
  try {
    const { sha256, size } = yield* hashOf(file, call);
    return { path: call.path.text, hash: hashText(sha256), etag: etagOf(sha256), size };
  } finally {
    file.close();
  }
}
