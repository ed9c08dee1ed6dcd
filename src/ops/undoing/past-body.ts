// Past content as the body of a change.

import type { PastContent } from "../history/past-content.js";

const CHUNK_BYTES = 262_144;
/** Up to this size the content is loaded at once. */
const WHOLE_BYTES = 1_048_576;

/** The content, small ones as one buffer. @throws as opening it does */
export async function streamOf(content: PastContent): Promise<Buffer | AsyncIterable<Uint8Array>> {
  if (content.size > WHOLE_BYTES) return chunksOf(content);
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(content)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* chunksOf(content: PastContent): AsyncGenerator<Buffer> {
  const file = await content.open();
  try {
    for (let at = 0; at < content.size; ) {
      const chunk = await file.read(at, Math.min(CHUNK_BYTES, content.size - at));
      if (chunk.length === 0) return;
      at += chunk.length;
      yield chunk;
    }
  } finally {
    file.close();
  }
}
