import { contentTooLarge } from "../core/errors/texts.js";
import { expectedOf } from "../core/etag.js";
import type { AppendOptions } from "../core/ports/backend.js";
import type { Operation, PathCall } from "../core/ports/operation.js";
import type { BodyRoom, UploadBody } from "../core/ports/streams.js";
import { PART_BYTES, type Uploaded, type UploadInput } from "../core/ports/transfer.js";
import { refuseTwinFolders } from "./searching/alike.js";

/** A sender must bring at least so many bytes within each operation timeout; each time the deadline is renewed. */
const PROGRESS_BYTES = 65_536;
const NOTHING = Buffer.alloc(0);

/** `upload`: streams a whole file in, and puts it in place when it is complete; or adds a part, with an offset. */
export const upload: Operation<UploadInput, Uploaded> = {
  name: "upload",
  on: "path",
  ability: "crud/write",
  changes: true,
  streams: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  check: (input) => void expectedOf(input),
  async run(input, call) {
    const body = bodyOf(call);
    const { parents = false, modified, offset, length } = input;
    const { root, path, access, tagOf, versions } = call;
    const expected = expectedOf(input, tagOf);
    await refuseTwinFolders(call, parents);
    if (offset !== undefined) return addPart(call, body, { parents, expected, expectedSize: offset, length });
    const options = { parents, expected, modified, stamps: true };
    const load = () => limitBody(body, call, call.limits.maxUploadBytes);
    const content = { load, length: body.length };
    const { bytes, created, sha256, stamp } = await root.backend.write(path, content, options, access);
    if (sha256 !== undefined) versions.put(root.name, stamp, sha256);
    const tag = stamp === undefined ? undefined : tagOf?.(stamp);
    const version = { ...(sha256 === undefined ? {} : { sha256 }), ...(tag === undefined ? {} : { tag }) };
    return { written: bytes, created, ...version };
  },
  bytes: ({ written }) => written,
};

interface PartPlace {
  readonly expectedSize: number;
  /** Bytes of the whole file. */
  readonly length?: number | undefined;
}

/** Adds a part of a file, which is held in memory. A part that is there already is not added again. */
async function addPart(
  call: PathCall,
  body: UploadBody,
  { expectedSize, length, parents, expected }: AppendOptions & PartPlace,
): Promise<Uploaded> {
  const { access, limits, path, root } = call;
  const options = { parents, expected, expectedSize, whole: length ?? Number.POSITIVE_INFINITY };
  const read = (room?: BodyRoom) => readWhole(body.length, limitBody(body, call, PART_BYTES), room);
  const content = { load: () => read(), borrow: () => read(body.room) };
  const whole = Math.max(length ?? 0, expectedSize + (body.length ?? 0));
  if (whole > limits.maxUploadBytes) throw contentTooLarge(access.place, whole, limits.maxUploadBytes);
  const { bytes, created, size = expectedSize + bytes } = await root.backend.append(path, content, options, access);
  return { written: bytes, created, size };
}

/**
 * A whole body, in a buffer that is made once where its length is announced: a part is megabytes in small pieces.
 * @param room may hold them already
 */
async function readWhole(
  length = PROGRESS_BYTES,
  chunks: AsyncIterable<Uint8Array>,
  room: BodyRoom = { buffer: NOTHING },
): Promise<Buffer> {
  let all = room.buffer.length < length ? Buffer.allocUnsafe(length) : room.buffer;
  let size = 0;
  for await (const chunk of chunks) {
    const needed = size + chunk.length;
    if (needed > all.length) all = Buffer.concat([all.subarray(0, size)], Math.max(needed, 2 * all.length));
    const isThere = chunk.buffer === all.buffer && chunk.byteOffset === all.byteOffset + size;
    if (!isThere) all.set(chunk, size);
    size = needed;
  }
  return all.subarray(0, size);
}

function bodyOf({ transfer }: PathCall): UploadBody {
  if (transfer === undefined || !("body" in transfer)) throw new Error("An upload needs a body");
  return transfer.body;
}

/** The body's chunks, within a limit; an announced length above it fails at once. @throws TOO_LARGE */
function limitBody(body: UploadBody, { access }: PathCall, limit: number): AsyncIterable<Uint8Array> {
  const { length = 0, chunks } = body;
  if (length > limit) throw contentTooLarge(access.place, length, limit);
  return (async function* () {
    let size = 0;
    let renewedAt = 0;
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > limit) throw contentTooLarge(access.place, size, limit);
      if (size - renewedAt >= PROGRESS_BYTES) {
        access.scope.renew();
        renewedAt = size;
      }
      yield chunk;
    }
    // Flush and rename get the full time of a write.
    access.scope.renew();
  })();
}
