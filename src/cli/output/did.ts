/** The method with the first characters behind it, and the last ones: enough to tell a few apart. */
const HEAD = 8;
const TAIL = 4;

/** A DID for people, without the middle of a long key. */
export function shortDid(did: string): string {
  const start = did.indexOf(":", "did:".length) + 1 + HEAD;
  return did.length <= start + TAIL + 1 ? did : `${did.slice(0, start)}…${did.slice(-TAIL)}`;
}
