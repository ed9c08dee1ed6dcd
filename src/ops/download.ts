import { createHash } from "node:crypto";
import { ioError } from "../core/errors/texts.js";
import type { Sha256 } from "../core/etag.js";
import { runIo } from "../core/io.js";
import type { OpenFile } from "../core/ports/open-file.js";
import { type FileCall, type Operation, READS } from "../core/ports/operation.js";
import type { ByteSpan, TakeDownload } from "../core/ports/streams.js";
import type { DownloadInput } from "../core/ports/transfer.js";
import { mimeByName } from "./content/mime.js";
import { atVersion } from "./history/version.js";

const CHUNK_BYTES = 262_144;
/** Up to this size a file is hashed in an extra pass before the first byte is sent. */
const MAX_HASHED_BYTES = 8_388_608;

/** `download`: streams a whole file in chunks, at the speed of the reader. */
export const download: Operation<DownloadInput, { sent: number }> = {
  name: "download",
  on: "path",
  ...READS,
  streams: true,
  async run({ version }, given) {
    const call = version === undefined ? given : await atVersion(given, version);
    const { root, path, access } = call;
    const file = await root.backend.open(path, access);
    try {
      const name = path.segments.at(-1) ?? "";
      const mime = mimeByName(name);
      const tag = file.stamp === undefined ? undefined : call.tagOf?.(file.stamp);
      const known = call.versions.get(root.name, file.stamp);
      const isHashed = file.size <= MAX_HASHED_BYTES && (tag === undefined || call.terms?.tags !== true);
      const sha256 = known ?? (isHashed ? await hashOf(file, call) : undefined);
      const sent = await takeOf(call)({
        ...{ name, size: file.size, modified: file.modified },
        ...(mime === undefined ? {} : { mime }),
        ...(sha256 === undefined ? {} : { sha256 }),
        ...(tag === undefined ? {} : { tag }),
        hash: () => hashOf(file, call),
        read: (span) => chunksOf(file, span, call),
      });
      return { sent };
    } finally {
      file.close();
    }
  },
  bytes: ({ sent }) => sent,
};

function takeOf({ transfer }: FileCall): TakeDownload {
  if (transfer === undefined || !("take" in transfer)) throw new Error("A download needs somebody who takes it");
  return transfer.take;
}

async function hashOf(file: OpenFile, call: FileCall): Promise<Sha256> {
  const { root, versions } = call;
  const hash = createHash("sha256");
  for await (const chunk of chunksOf(file, { start: 0, end: file.size }, call)) hash.update(chunk);
  const sha256 = hash.digest("hex");
  versions.put(root.name, file.stamp, sha256);
  return sha256;
}

async function* chunksOf(file: OpenFile, { start, end }: ByteSpan, call: FileCall): AsyncGenerator<Buffer> {
  const { place, scope } = call.access;
  for (let at = start; at < end; ) {
    // The time that the reader took for the last chunk does not count against the deadline.
    scope.renew();
    await runIo(scope.breathe(), scope);
    const chunk = await file.read(at, Math.min(CHUNK_BYTES, end - at));
    if (chunk.length === 0) throw ioError(place, "TRUNCATED");
    at += chunk.length;
    yield chunk;
  }
}
