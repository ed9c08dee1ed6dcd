// Signs JWTs with Ed25519.

import { sign } from "node:crypto";
import type { JsonObject } from "../../core/ports/adapter.js";
import type { SigningKey } from "./signing-key.js";

/** Signs with an Ed25519 key. @returns 64 bytes */
export const signBytes = (bytes: Uint8Array, key: SigningKey): Uint8Array => sign(null, bytes, key.privateKey);

/** Signs a JWT in compact form, with the header of Covia clients, which includes the key as `kid`. */
export function signToken(payload: JsonObject, key: SigningKey): string {
  const header = { alg: "EdDSA", typ: "JWT", kid: key.multikey };
  const text = `${encode(header)}.${encode(payload)}`;
  return `${text}.${Buffer.from(signBytes(Buffer.from(text), key)).toString("base64url")}`;
}

const encode = (part: JsonObject): string => Buffer.from(JSON.stringify(part)).toString("base64url");
