// The forms in which clients and libraries write tokens. Shares no code with the package, so that neither hides a fault of
// the other.
import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";
import { base32nopad, base58 } from "@scure/base";
import * as ucans from "ucans";

export const NOW = 1_790_000_000;
export const HOUR = NOW + 3600;
export const DAY = NOW + 86_400;
export const VENUE_DID = "did:web:venue.example";
function makeKey(name) {
  const seed = createHash("sha256").update(`venue-files vector ${name}`).digest();
  const header = Buffer.from("302e020100300506032b657004220420", "hex");
  const privateKey = createPrivateKey({ key: Buffer.concat([header, seed]), format: "der", type: "pkcs8" });
  const publicKey = createPublicKey(privateKey).export({ format: "der", type: "spki" }).subarray(-32);
  const multikey = `z${base58.encode(Uint8Array.from([0xed, 0x01, ...publicKey]))}`;
  return { seed, privateKey, publicKey, multikey, did: `did:key:${multikey}` };
}

export const keys = Object.fromEntries(
  ["venue", "owner", "lead", "worker", "helper", "stranger"].map((n) => [n, makeKey(n)]),
);

const { owner, lead } = keys;

export const text64 = (part) =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");
const nonce = (text) => createHash("sha256").update(text).digest("hex").slice(0, 24);

/** Strings are taken as they are. */
export function jwt(header, payload, by) {
  const text = `${text64(header)}.${text64(payload)}`;
  return `${text}.${sign(null, Buffer.from(text), by.privateKey).toString("base64url")}`;
}

export const kidHeader = (by) => ({ alg: "EdDSA", typ: "JWT", kid: by.multikey });

/** As the TypeScript SDK: no nonce. */
export const sdk = (by, { aud, att, exp = DAY, prf = [] }) =>
  jwt(kidHeader(by), { iss: by.did, aud, ucv: "0.10.0", att, prf, exp }, by);

/** As the Java client, whose maps are written in the order of the hashes of their keys. */
export const java = (by, { aud, att, exp = DAY, prf = [] }, version = { ucv: "0.10.0" }) =>
  jwt(
    javaOrder(kidHeader(by)),
    javaOrder({ iss: by.did, aud, exp, nnc: nonce(aud), att: att.map(javaOrder), prf, ...version }),
    by,
  );

export function javaOrder(map) {
  const hash = (key) =>
    createHash("sha3-256")
      .update(Uint8Array.from([0x30, key.length, ...Buffer.from(key)]))
      .digest("hex");
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (hash(a) < hash(b) ? -1 : 1)));
}

/** By the library of UCAN 0.8. */
export async function ucan08(by, { aud, att, exp = DAY, prf = [], ...rest }) {
  const secret = Buffer.concat([by.seed, by.publicKey]).toString("base64");
  const issuer = ucans.EdKeypair.fromSecretKey(secret);
  const capabilities = att.map((entry) => ucans.capability.parse(entry));
  const payload = ucans.buildPayload({ issuer: by.did, audience: aud, capabilities, expiration: exp, proofs: prf });
  return ucans.encode(await ucans.signWithKeypair({ ...payload, ...rest }, issuer));
}

/** UCAN 0.9: proofs by CID. */
export const ucan09 = (by, { aud, att, exp = DAY, prf = [], ...rest }) =>
  jwt(
    { alg: "EdDSA", typ: "JWT", ucv: "0.9.1" },
    { iss: by.did, aud, exp, nnc: nonce(aud), fct: [], att, prf: prf.map(cidOf), ...rest },
    by,
  );

/** UCAN 0.10: capabilities and facts are maps, proofs are CIDs. */
export const ucan010 = (by, { aud, cap, exp = DAY, prf = [], ...rest }) =>
  jwt(
    { alg: "EdDSA", typ: "JWT" },
    { ucv: "0.10.0", iss: by.did, aud, exp, nnc: nonce(aud), fct: {}, cap, prf: prf.map(cidOf), ...rest },
    by,
  );

export function cidOf(token) {
  const digest = createHash("sha256").update(token).digest();
  const bytes = Uint8Array.from([1, 0x55, 0x12, 0x20, ...digest]);
  return `b${base32nopad.encode(bytes).toLowerCase()}`;
}

export const READ_DOCS = { with: "file://docs/", can: "crud/read" };
export const ALL_DOCS = { with: "file://docs/", can: "crud" };
export const READ_OUT = { with: "file://docs/out/", can: "crud/read" };
export const WRITE_OUT = { with: "file://docs/out/", can: "crud/write" };
export const asMap = (...entries) =>
  Object.fromEntries(entries.map(({ with: resource, can }) => [resource, { [can]: [{}] }]));

/** The SDK's token of the owner for the lead, with anything changed; members that are `undefined` are left out. */
export function changed({ header, payload, by = owner } = {}) {
  const claims = { iss: by.did, aud: lead.did, ucv: "0.10.0", att: [READ_DOCS], prf: [], exp: DAY };
  return jwt({ ...kidHeader(by), ...header }, { ...claims, ...payload }, by);
}
