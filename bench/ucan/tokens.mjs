import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { didKeyFromPublicKey } from "../../dist/ucan/token/did-key.js";

/** What stands before the 32 bytes of an Ed25519 seed in PKCS #8. */
const PKCS8_HEADER = Buffer.from("302e020100300506032b657004220420", "hex");

/** Seconds; what the clock says that tokens are judged by. */
export const NOW = 1_790_000_000;
export const DOCS = { with: "file://docs/", can: "crud" };

/** @param number a whole number; each gives always the same key */
export function signer(number) {
  const seed = Buffer.alloc(32);
  seed.writeUInt32LE(number);
  const privateKey = createPrivateKey({ key: Buffer.concat([PKCS8_HEADER, seed]), format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(privateKey);
  const did = didKeyFromPublicKey(publicKey.export({ format: "der", type: "spki" }).subarray(-32));
  return { did, privateKey, publicKey };
}

/** Who owns what is delegated, and who sends the requests. */
export const owner = signer(1);
export const caller = signer(2);

/** A token in which `by` gives to `to` what `list` says, which is `{ att }` or `{ cap }`. @param more other claims */
export function token(by, to, { list = { att: [DOCS] }, prf = [], ...more } = {}) {
  const header = { alg: "EdDSA", typ: "JWT", kid: by.did.slice("did:key:".length) };
  const claims = { iss: by.did, aud: to.did, ucv: "0.10.0", ...list, prf, exp: NOW + 3600, ...more };
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${sign(null, Buffer.from(text), by.privateKey).toString("base64url")}`;
}

/** The same with a signature that is well formed and wrong. */
export const badlySigned = (text) =>
  `${text.slice(0, text.lastIndexOf("."))}.${Buffer.alloc(64, 1).toString("base64url")}`;

const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
