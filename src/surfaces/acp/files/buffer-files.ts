// Opens and saves editor buffers against the files on disk.

import type { FileSession } from "../protocol/session.js";
import type { ShownPlace } from "../review/modified.js";
import { allowedCalls, hashAt, hashOfText, putContent } from "./files.js";

/** Opens a buffer over the current file. @throws FileAdapterError */
export async function openBuffer(
  { buffers, calls }: FileSession,
  place: ShownPlace,
  { text, dirty }: { text: string; dirty: boolean | undefined },
): Promise<void> {
  const baseHash = (await hashAt(calls, place)) ?? null;
  buffers.open(place.key, text, { baseHash, dirty: dirty ?? hashOfText(text) !== baseHash });
}

/**
 * Writes a buffer over the content that it was opened from.
 * @throws CONFLICT if the file has changed; FileAdapterError; Error if no buffer is open
 */
export function saveBuffer({ buffers, calls, host }: FileSession, place: ShownPlace): Promise<void> {
  const { key } = place;
  return host.turns.run(key, async () => {
    const open = buffers.get(key);
    if (open === undefined) throw new Error("There is no open buffer of that path");
    const { text, baseHash } = open;
    const hash = hashOfText(text);
    // The editor may already have saved the file itself.
    if ((await hashAt(calls, place)) !== hash) {
      const expected =
        baseHash === null ? ({ kind: "missing" } as const) : ({ kind: "large", hash: baseHash } as const);
      // The user saves it, not the agent.
      await putContent(allowedCalls(calls), place, { content: text, expected });
    }
    buffers.saved(key, text, hash);
  });
}
