// Names the types of `did:key` that are not taken, by how they begin.

/** How multikeys of keys that are not taken begin, by the did:key method. */
const OTHER_KEYS: readonly (readonly [beginning: string, type: string])[] = [
  ["z4MX", "an RSA"],
  ["zgg", "an RSA"],
  ["zQ3s", "a secp256k1"],
  ["zDn", "a P-256"],
  ["z82", "a P-384"],
  ["z2J9", "a P-521"],
  ["z6LS", "an X25519"],
  ["zUC7", "a BLS12-381"],
];

/** A `did:key` of another type than is taken, in words: `an RSA did:key`. `undefined`: it is of no type that is known. */
export function otherDidKey(did: string): string | undefined {
  const [, type] = OTHER_KEYS.find(([beginning]) => did.startsWith(`did:key:${beginning}`)) ?? [];
  return type && `${type} did:key, and only Ed25519 keys are taken`;
}
