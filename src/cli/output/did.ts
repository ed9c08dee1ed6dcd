/** Characters kept after the DID method and at the end: enough to distinguish a few DIDs. */
const HEAD = 8;
const TAIL = 4;

/** Abbreviates a DID by omitting the middle of a long key. */
export function shortDid(did: string): string {
  const start = did.indexOf(":", "did:".length) + 1 + HEAD;
  return did.length <= start + TAIL + 1 ? did : `${did.slice(0, start)}…${did.slice(-TAIL)}`;
}
