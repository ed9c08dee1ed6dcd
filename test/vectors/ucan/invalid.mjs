import { createHash } from "node:crypto";
import { base58 } from "@scure/base";
import {
  ALL_DOCS,
  asMap,
  changed,
  cidOf,
  DAY,
  HOUR,
  jwt,
  keys,
  kidHeader,
  NOW,
  READ_DOCS,
  READ_OUT,
  sdk,
  text64,
  ucan09,
} from "./forms.mjs";

const { venue, owner, lead, worker, helper, stranger } = keys;
/** Order of the group of Ed25519, least significant byte first. */
const GROUP_ORDER = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;

const withSignature = (token, change) => {
  const [header, payload, signature] = token.split(".");
  return `${header}.${payload}.${change(Buffer.from(signature, "base64url"))}`;
};

/** Another scalar that fits the same equation. */
function addOrder(signature) {
  const scalar = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString("hex")}`) + GROUP_ORDER;
  const bytes = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse();
  return Buffer.concat([signature.subarray(0, 32), bytes]).toString("base64url");
}

const refusedForms = () => [
  { name: "a fourth part", tokens: [`${changed()}.e30`], reasons: ["malformed"] },
  { name: "padding", tokens: [`${changed()}==`], reasons: ["malformed"] },
  {
    name: "a character that base64 has and base64url has not",
    tokens: [`${changed().slice(0, -2)}+A`],
    reasons: ["malformed"],
  },
  { name: "a member twice", tokens: [duplicated()], reasons: ["malformed"] },
  { name: "att and cap", tokens: [changed({ payload: { cap: asMap(READ_DOCS) } })], reasons: ["malformed"] },
  { name: "no audience", tokens: [changed({ payload: { aud: undefined } })], reasons: ["malformed"] },
  { name: "an audience that is a list", tokens: [changed({ payload: { aud: [lead.did] } })], reasons: ["malformed"] },
  { name: "a proof that is no text", tokens: [changed({ payload: { prf: [{}] } })], reasons: ["malformed"] },
  { name: "alg none", tokens: [changed({ header: { alg: "none" } })], reasons: ["bad_header"] },
  { name: "alg HS256", tokens: [changed({ header: { alg: "HS256" } })], reasons: ["bad_header"] },
  { name: "crit", tokens: [changed({ header: { crit: ["b64"], b64: false } })], reasons: ["bad_header"] },
  { name: "the kid of another key", tokens: [changed({ header: { kid: lead.multikey } })], reasons: ["kid_mismatch"] },
  { name: "an issuer that is a did:web", tokens: [issuedAs("did:web:owner.example")], reasons: ["bad_did"] },
  { name: "an issuer with a P-256 key", tokens: [issuedAs(p256Did())], reasons: ["bad_did"] },
  {
    name: "an issuer with a key of small order",
    tokens: [issuedAs(didOfBytes(Buffer.alloc(32)))],
    reasons: ["bad_did"],
  },
  { name: "no version", tokens: [changed({ payload: { ucv: undefined } })], reasons: ["bad_version"] },
  { name: "a version in both places", tokens: [changed({ header: { ucv: "0.8.1" } })], reasons: ["bad_version"] },
  { name: "version 99", tokens: [versioned("99.0.0")], reasons: ["bad_version"] },
  { name: "version 0.10 in the header", tokens: [versioned("0.10.0")], reasons: ["bad_version"] },
  {
    name: "version 1.0 in the payload",
    tokens: [changed({ payload: { ucv: "1.0.0-rc.1" } })],
    reasons: ["bad_version"],
  },
  { name: "fields of version 0.3", tokens: [versionThree()], reasons: ["malformed"] },
  {
    name: "33 capabilities",
    tokens: [changed({ payload: { att: Array(33).fill(READ_DOCS) } })],
    reasons: ["too_large"],
  },
  { name: "more than 8192 bytes", tokens: [tooLong()], reasons: ["too_large"] },
  { name: "five proofs", tokens: [changed({ payload: { prf: Array(5).fill("b") } })], reasons: ["too_many_proofs"] },
  { name: "six tokens, one above the other", tokens: chainOf(6), reasons: ["too_deep"] },
];

const refusedTimes = () => [
  { name: "no end", tokens: [changed({ payload: { exp: undefined } })], reasons: ["no_exp"] },
  { name: "an end that is null", tokens: [changed({ payload: { exp: null } })], reasons: ["no_exp"] },
  { name: "an end in milliseconds", tokens: [changed({ payload: { exp: DAY * 1000 } })], reasons: ["bad_exp"] },
  { name: "an end that is a text", tokens: [changed({ payload: { exp: String(DAY) } })], reasons: ["bad_exp"] },
  { name: "an end at infinity", tokens: [infinite()], reasons: ["bad_exp"] },
  { name: "an end in two years", tokens: [changed({ payload: { exp: NOW + 2 * 31_622_400 } })], reasons: ["bad_exp"] },
  { name: "an end an hour ago", tokens: [changed({ payload: { exp: NOW - 3600 } })], reasons: ["expired"] },
  { name: "a beginning in an hour", tokens: [changed({ payload: { nbf: HOUR } })], reasons: ["not_yet_valid"] },
  { name: "a beginning that is a text", tokens: [changed({ payload: { nbf: "now" } })], reasons: ["bad_nbf"] },
];

const WIDENED = ["widened_or_unrooted"];

const refusedChains = () => [
  { name: "the signature of another key", tokens: [signedBy(lead)], reasons: ["bad_signature"] },
  { name: "a claim changed afterwards", tokens: [tampered()], reasons: ["bad_signature"] },
  { name: "a signature with S + L", tokens: [withSignature(changed(), addOrder)], reasons: ["bad_signature"] },
  { name: "signed by a stranger", tokens: [changed({ by: stranger })], reasons: ["issuer_not_owner"] },
  { name: "rooted in the owner of another root", owner: venue.did, tokens: [changed()], reasons: ["issuer_not_owner"] },
  { name: "a proof for somebody else", tokens: [child({ by: worker })], reasons: ["broken_chain"] },
  { name: "a wider resource", tokens: [child({ att: [{ with: "file://", can: "crud/read" }] })], reasons: WIDENED },
  { name: "a wider ability", tokens: [child({ att: [ALL_DOCS] })], reasons: WIDENED },
  {
    name: "a sibling whose name begins alike",
    tokens: [child({ att: [{ with: "file://docs2/", can: "crud/read" }] })],
    reasons: WIDENED,
  },
  { name: "a bad proof", tokens: [child({ prf: [withSignature(changed(), addOrder)] })], reasons: ["bad_signature"] },
  {
    name: "a proof that has expired",
    tokens: [child({ exp: NOW - 3600, prf: [changed({ payload: { exp: NOW - 3600 } })] })],
    reasons: ["expired"],
  },
  { name: "a CID that is not there", tokens: [child({ prf: [cidOf(changed())] })], reasons: ["proof_not_found"] },
  {
    name: "a CID in upper case",
    tokens: [child({ prf: [cidOf(changed()).toUpperCase()] }), changed()],
    reasons: ["proof_not_found"],
  },
  {
    name: "an id in place of a CID",
    tokens: [child({ prf: [idOf(changed())] }), changed()],
    reasons: ["proof_not_found"],
  },
];

/** Well-formed and well signed, but nothing in the list counts for files. */
const emptyLists = () =>
  [
    ["caveats in att", { att: [{ ...READ_DOCS, nb: {} }] }],
    ["a capability of ownership", { att: [{ with: "my:*", can: "*" }] }],
    ["a capability of another's ownership", { att: [{ with: `as:${owner.did}:*`, can: "*" }] }],
    ["a capability of all that a proof gives", { att: [{ with: "prf:0", can: "ucan/DELEGATE" }] }],
    ["resources of a Covia venue", { att: [{ with: `${owner.did}/w/`, can: "crud" }] }],
    ["a star for every resource", { att: [{ with: "*", can: "*" }] }],
    ["three slashes", { att: [{ with: "file:///etc", can: "crud/read" }] }],
    ["dots", { att: [{ with: "file://docs/../etc", can: "crud/read" }] }],
    ["an escaped slash", { att: [{ with: "file://docs%2Fout", can: "crud/read" }] }],
    ["an ability in capitals", { att: [{ with: "file://docs/", can: "CRUD/READ" }] }],
    ["no caveat that is none", { att: undefined, cap: { "file://docs/": { "crud/read": [] } } }],
    ["entries that are no objects", { att: ["file://docs/", null, 7, ["crud"]] }],
  ].map(([name, payload]) => ({ name, tokens: [changed({ payload })], reasons: [] }));

const child = ({ by: signer = lead, ...claims } = {}) =>
  sdk(signer, { aud: helper.did, att: [READ_OUT], exp: DAY, prf: [changed()], ...claims });
const versioned = (ucv) => changed({ header: { ucv, kid: undefined }, payload: { ucv: undefined } });
const issuedAs = (iss) => changed({ header: { kid: undefined }, payload: { iss } });
const didOfBytes = (bytes) => `did:key:z${base58.encode(Uint8Array.from([0xed, 0x01, ...bytes]))}`;
/** The point that the curve is generated by. */
const p256Did = () => {
  const x = Buffer.from("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296", "hex");
  return `did:key:z${base58.encode(Uint8Array.from([0x80, 0x24, 0x03, ...x]))}`;
};
const idOf = (token) =>
  createHash("sha256")
    .update(token.slice(0, token.lastIndexOf(".")))
    .digest("base64url");
const signedBy = (signer) =>
  jwt(kidHeader(owner), { iss: owner.did, aud: lead.did, ucv: "0.10.0", att: [READ_DOCS], prf: [], exp: DAY }, signer);

function tampered() {
  const [header, payload, signature] = changed().split(".");
  const claims = Buffer.from(payload, "base64url").toString().replace("crud/read", "crud");
  return [header, text64(claims), signature].join(".");
}

function duplicated() {
  const claims = JSON.stringify({ iss: owner.did, aud: lead.did, ucv: "0.10.0", att: [READ_DOCS], prf: [], exp: DAY });
  return jwt(kidHeader(owner), claims.replace("{", `{"aud":"${worker.did}",`), owner);
}

function infinite() {
  const claims = JSON.stringify({ iss: owner.did, aud: lead.did, ucv: "0.10.0", att: [READ_DOCS], prf: [], exp: DAY });
  return jwt(kidHeader(owner), claims.replace(String(DAY), "1e999"), owner);
}

const versionThree = () =>
  jwt(
    { alg: "EdDSA", typ: "JWT", uav: "1.0.0" },
    { iss: owner.did, aud: lead.did, exp: DAY, rsc: "*", ptc: "SUPER_USER" },
    owner,
  );

/** The shortest that is too long; not every length exists. */
function tooLong() {
  for (let size = 5000; ; size++) {
    const token = changed({ payload: { fct: ["x".repeat(size)] } });
    if (token.length > 8192) return token;
  }
}

/** By CID, so that the size is not what is wrong. */
function chainOf(length) {
  const tokens = [];
  for (let i = 0; i < length; i++) {
    const above = tokens.slice(0, 1);
    const [from, to] = i % 2 === 0 ? [owner, lead] : [lead, owner];
    tokens.unshift(ucan09(from, { aud: to.did, att: [READ_DOCS], prf: above }));
  }
  return tokens;
}

export const invalidChains = () => [...refusedForms(), ...refusedTimes(), ...refusedChains(), ...emptyLists()];
