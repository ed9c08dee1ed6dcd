import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import type { Clock } from "../../src/core/clock.js";
import { didKeyFromPublicKey } from "../../src/ucan/token/did-key.js";

/** Seconds; what {@link clock} says. */
export const NOW = 1_790_000_000;
export const clock: Clock = { nowMs: () => NOW * 1000, monotonicMs: () => 0 };

export interface Signer {
  readonly did: string;
  readonly multikey: string;
  readonly publicKey: Uint8Array;
  readonly privateKey: KeyObject;
}

/** @param fill byte that the seed consists of, so that each name is always the same key */
export function signer(fill: number): Signer {
  const header = Buffer.from("302e020100300506032b657004220420", "hex");
  const privateKey = createPrivateKey({
    key: Buffer.concat([header, Buffer.alloc(32, fill)]),
    format: "der",
    type: "pkcs8",
  });
  const publicKey = createPublicKey(privateKey).export({ format: "der", type: "spki" }).subarray(-32);
  const did = didKeyFromPublicKey(publicKey);
  return { did, multikey: did.slice("did:key:".length), publicKey, privateKey };
}

export const venue = signer(1);
export const alice = signer(2);
export const bob = signer(3);

export const encode = (part: unknown): string =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");

/** Strings are taken as they are, as JSON that no object can be made to. */
export interface TokenParts {
  readonly header: unknown;
  readonly payload: unknown;
}

/** A token with a right signature, whatever it says. */
export function signed({ header, payload }: TokenParts, key: KeyObject = alice.privateKey): string {
  const text = `${encode(header)}.${encode(payload)}`;
  return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`;
}

type Claims = Readonly<Record<string, unknown>>;

/** Members that are `undefined` are left out of the token. */
export interface Changes {
  readonly header?: Claims;
  readonly claims?: Claims;
  readonly by?: Signer;
}

/** The identity token of Alice for the venue, as the TypeScript client makes it, with changes. */
export function identityToken({ header, claims, by = alice }: Changes = {}): string {
  return signed(
    {
      header: { alg: "EdDSA", typ: "JWT", kid: by.multikey, ...header },
      payload: { sub: by.did, iss: by.did, iat: NOW, exp: NOW + 300, aud: venue.did, ...claims },
    },
    by.privateKey,
  );
}

/** A grant from Alice to Bob, with changes. */
export function delegation({ header, claims, by = alice }: Changes = {}): string {
  const list = [{ with: "file://docs/", can: "crud/read" }];
  return signed(
    {
      header: { alg: "EdDSA", typ: "JWT", kid: by.multikey, ...header },
      payload: { iss: by.did, aud: bob.did, ucv: "0.10.0", att: list, prf: [], exp: NOW + 86_400, ...claims },
    },
    by.privateKey,
  );
}
