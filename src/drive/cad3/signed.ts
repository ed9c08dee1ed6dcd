// Ed25519-signed values.

import {
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from "node:crypto";
import { Composite, cellOf, type Encoder } from "./encoding/cell.js";
import { parseCell } from "./encoding/parse-cell.js";
import { LazyValue } from "./lazy.js";
import { type Cell, cellFrom } from "./ref.js";
import { PUBLIC_KEY_BYTES, SIGNATURE_BYTES, SIGNED_TAG } from "./scalar.js";
import type { Value } from "./value.js";

const SEED_BYTES = 32;

/** DER prefixes of a 32-byte Ed25519 seed and public key (RFC 8410). */
const PKCS8_HEADER = Buffer.from("302e020100300506032b657004220420", "hex");
const SPKI_HEADER = Buffer.from("302a300506032b6570032100", "hex");

/** A value with a signature. The signature has not been checked; see {@link verify}. */
export class Signed extends Composite {
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  /** 64 bytes. */
  readonly signature: Uint8Array;
  readonly value: Value;
  #cell: Cell | undefined;

  /** @throws RangeError for a key or a signature of another length */
  constructor(publicKey: Uint8Array, signature: Uint8Array, value: Value) {
    super();
    if (publicKey.length !== PUBLIC_KEY_BYTES) throw new RangeError(`A public key has ${PUBLIC_KEY_BYTES} bytes`);
    if (signature.length !== SIGNATURE_BYTES) throw new RangeError(`A signature has ${SIGNATURE_BYTES} bytes`);
    this.publicKey = publicKey;
    this.signature = signature;
    this.value = value;
  }

  /** @internal */
  override knownCell(): Cell | undefined {
    return this.#cell;
  }

  /** @internal */
  override parts(): Iterable<Value> {
    return [this.value];
  }

  /** @internal */
  override toCell({ cellOf: of }: Encoder): Cell {
    const { ref } = of(this.value);
    this.#cell ??= cellFrom(Buffer.concat([Uint8Array.of(SIGNED_TAG), this.publicKey, this.signature, ref]));
    return this.#cell;
  }
}

/** The message that a signature covers: the value's Ref. */
export const signedMessage = (value: Value): Uint8Array => new Uint8Array(cellOf(value).ref);

/**
 * Signs a value with pure Ed25519 (RFC 8032). The message has no domain separation, so the key must not be used for
 * anything else.
 *
 * @param seed 32 bytes
 * @throws RangeError for another length; the message never contains the seed
 */
export const sign = (value: Value, seed: Uint8Array): Signed => createSigner(seed)(value);

/**
 * Like {@link sign}, for many values: deriving a key from a seed is slower than signing. The key is kept, the seed is
 * not.
 */
export function createSigner(seed: Uint8Array): (value: Value) => Signed {
  const { key, publicKey } = keysOfSeed(seed);
  return (value) => new Signed(publicKey, new Uint8Array(signBytes(null, cellOf(value).ref, key)), value);
}

/** The keys that a seed of 32 bytes stands for. The seed is not kept. @throws RangeError */
export function keysOfSeed(seed: Uint8Array): { readonly key: KeyObject; readonly publicKey: Uint8Array } {
  if (seed.length !== SEED_BYTES) throw new RangeError(`A seed has ${SEED_BYTES} bytes, not ${seed.length}`);
  const der = Buffer.concat([PKCS8_HEADER, seed]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  der.fill(0);
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  return { key, publicKey: new Uint8Array(spki.subarray(-PUBLIC_KEY_BYTES)) };
}

/** Whether the signature is valid for the key it names. Never throws. */
export function verify(signed: Signed | LazyValue): boolean {
  try {
    const { publicKey, message, signature } = claimOf(signed);
    if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false;
    const key = createPublicKey({ key: Buffer.concat([SPKI_HEADER, publicKey]), format: "der", type: "spki" });
    return verifyBytes(null, message, key, signature);
  } catch {
    // Not a signed value, or the key is not a point of the curve.
    return false;
  }
}

function claimOf(signed: Signed | LazyValue) {
  if (!(signed instanceof LazyValue)) return { ...signed, message: cellOf(signed.value).ref };
  const cell = parseCell(signed.bytes);
  const [part] = cell.refs;
  if (cell.kind !== "signed" || part === undefined) throw new TypeError("Not a signed value");
  return { publicKey: cell.publicKey, signature: cell.signature, message: part.bytes };
}
