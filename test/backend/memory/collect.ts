import type { Access } from "../../../src/core/ports/backend.js";

/** The whole of a stream, as far as it may be. */
export async function collect(
  stream: AsyncIterable<Uint8Array>,
  refuseMoreThanLimit: (size: number) => void,
  access: Access,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    access.scope.checkpoint();
    size += chunk.length;
    refuseMoreThanLimit(size);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks, size);
}
