import { sign, verify } from "node:crypto";
import type { Capability as Parsed } from "ucans";
import * as ucans from "ucans";
import type { Grant } from "../../../src/authz/grant.js";
import type { Capability } from "../../../src/core/call/capability.js";
import { systemClock } from "../../../src/core/clock.js";
import type { MintRules } from "../../../src/ucan/mint/mint.js";
import type { SigningKey } from "../../../src/ucan/mint/signing-key.js";
import { createPublicKeys, type PublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { createUcanVerifier } from "../../../src/ucan/verify/verifier.js";
import { rules as fixedRules } from "../mint/fixture.js";

/** Seconds. The library looks at the clock of the machine, so everything here does. */
export const NOW = Math.floor(Date.now() / 1000);
export const HOUR = NOW + 3600;

export const rules: MintRules<Grant> = { ...fixedRules, clock: systemClock };

/** What files mean, in the library's terms: prefixes by segment and by word. */
const SEMANTICS: ucans.DelegationSemantics = {
  canDelegateResource: (parent, child) =>
    parent.scheme === child.scheme && isPrefix(segmentsOf(parent.hierPart), segmentsOf(child.hierPart)),
  canDelegateAbility: (parent, child) => isPrefix(wordsOf(parent), wordsOf(child)),
};

const segmentsOf = (hierPart: string): string[] =>
  hierPart
    .slice(2)
    .split("/")
    .filter((segment) => segment !== "");
const wordsOf = (ability: Parsed["can"]): string[] =>
  ability === ucans.SUPERUSER ? [] : [ability.namespace, ...ability.segments].filter((word) => word !== "*");
const isPrefix = (short: readonly string[], long: readonly string[]): boolean =>
  short.length <= long.length && short.every((part, index) => part === long[index]);

export const parse = (capability: Capability): Parsed => ucans.capability.parse({ ...capability });

export interface Question {
  readonly audience: string;
  /** DID that must have issued the first token of the chain. */
  readonly root: string;
  readonly needs: Capability | readonly Capability[];
}

export type Verify = typeof ucans.verify;

const keysOfDids = createPublicKeys();

export function isSignedBy(did: string, text: Uint8Array, signature: Uint8Array): boolean {
  const key = keysOfDids.of(did);
  return key !== undefined && verify(null, text, key, signature);
}

/**
 * The library with Node's own check of signatures in place of its own, which takes many times as long: for questions
 * that are about anything else.
 */
export function libraryWith(check: typeof isSignedBy): Verify {
  const plugin = {
    ...ucans.ed25519Plugin,
    verifySignature: async (...signed: Parameters<typeof isSignedBy>) => check(...signed),
  };
  return ucans.getPluginInjectedApi(new ucans.Plugins([plugin], {})).verify;
}

const QUICK: Verify = libraryWith(isSignedBy);
export const WHOLE: Verify = ucans.verify;

/** What the library says of a token, with everything supplied that it needs to be asked well. */
export function askLibrary({ audience, root, needs }: Question, token: string, verifyToken = QUICK) {
  const requiredCapabilities = [needs].flat().map((one) => ({ capability: parse(one), rootIssuer: root }));
  return verifyToken(token, { audience, requiredCapabilities, semantics: SEMANTICS });
}

export const libraryTakes = async (question: Question, token: string, verifyToken = QUICK): Promise<boolean> =>
  (await askLibrary(question, token, verifyToken)).ok;

export interface TheirToken {
  readonly by: SigningKey;
  readonly to: string;
  readonly att: readonly Capability[];
  readonly exp?: number;
  readonly nbf?: number;
  readonly facts?: readonly Record<string, unknown>[];
  readonly nonce?: boolean;
  readonly prf?: readonly string[];
  /** Node signs in place of the library. */
  readonly quick?: boolean;
}

function issuerOf({ by, quick }: TheirToken): ucans.DidableKey {
  if (quick) return { did: () => by.did, jwtAlg: "EdDSA", sign: async (text) => sign(null, text, by.privateKey) };
  const seed = Buffer.from(by.privateKey.export({ format: "jwk" }).d ?? "", "base64url");
  return ucans.EdKeypair.fromSecretKey(Buffer.concat([seed, by.publicKey]).toString("base64"));
}

/** A token that the library makes and signs by itself, with a key of its own kind. */
export async function libraryToken(token: TheirToken): Promise<string> {
  const { to, att, exp = HOUR, nbf, facts, nonce, prf = [] } = token;
  const ucan = await ucans.build({
    issuer: issuerOf(token),
    audience: to,
    capabilities: att.map(parse),
    expiration: exp,
    ...(nbf === undefined ? {} : { notBefore: nbf }),
    ...(facts === undefined ? {} : { facts: [...facts] }),
    proofs: [...prf],
    addNonce: nonce === true,
  });
  return ucans.encode(ucan);
}

/** What our verifier says of a token with `root` as the owner. */
export function askUs(token: string, root: string, keys: PublicKeys = createPublicKeys()) {
  const verifier = createUcanVerifier({
    keys,
    revocations: { has: () => false },
    canonicalDid: (did) => did,
    allowNoExpiry: false,
    acceptUnversionedCovia: false,
    ...rules,
  });
  const { grants, faults } = verifier.read([token])[0]?.verdict(root) ?? { grants: [], faults: [] };
  return { grants: grants.map(({ grant }) => grant), reasons: [...new Set(faults.map(({ reason }) => reason))] };
}
