import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { base58 } from "@scure/base";

/** The names of a key pair and what its clients sign with it. */
export interface KeyPair {
  readonly did: string;
  /** The token that authenticates a request; without an audience as the Java client sends it. */
  identity(audience?: string): string;
  /** A delegation as the SDK mints it. */
  delegation(audience: string, att: readonly { with: string; can: string }[]): string;
}

export function newKeyPair(): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const spki = publicKey.export({ format: "der", type: "spki" });
  const multikey = `z${base58.encode(Uint8Array.from([0xed, 0x01, ...spki.subarray(-32)]))}`;
  const did = `did:key:${multikey}`;
  const token = (claims: Record<string, unknown>) => signed(privateKey, multikey, claims);
  return {
    did,
    identity: (aud) => {
      const iat = now();
      return token({ sub: did, iss: did, iat, exp: iat + 300, ...(aud === undefined ? {} : { aud }) });
    },
    delegation: (aud, att) => token({ iss: did, aud, ucv: "0.10.0", att, prf: [], exp: now() + 300 }),
  };
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}

function signed(key: KeyObject, kid: string, claims: Record<string, unknown>): string {
  const text = `${encoded({ alg: "EdDSA", typ: "JWT", kid })}.${encoded(claims)}`;
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
