import { FILE_SEMANTICS, type Grant } from "../../../src/authz/grant.js";
import type { Capability } from "../../../src/core/call/capability.js";
import type { MintError } from "../../../src/ucan/mint/error.js";
import { type MintRequest, type MintRules, mint } from "../../../src/ucan/mint/mint.js";
import { signingKeyFromSeed } from "../../../src/ucan/mint/signing-key.js";
import type { HeldGrant } from "../../../src/ucan/verify/proof.js";
import { createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { createUcanVerifier } from "../../../src/ucan/verify/verifier.js";
import { clock } from "../tokens.js";

const key = (fill: number) => signingKeyFromSeed(new Uint8Array(32).fill(fill));

export const owner = key(11);
export const lead = key(12);
export const worker = key(13);
export const helper = key(14);

export const READ_DOCS: Capability = { with: "file://docs/", can: "crud/read" };
export const ALL_DOCS: Capability = { with: "file://docs/", can: "crud" };
export const READ_OUT: Capability = { with: "file://docs/out/", can: "crud/read" };

export const rules: MintRules<Grant> = {
  semantics: FILE_SEMANTICS,
  clock,
  clockSkewSeconds: 30,
  maxLifetimeSeconds: 31_622_400,
};

export async function tokenOf(request: MintRequest, changed: Partial<MintRules<Grant>> = {}): Promise<string> {
  return (await mint(request, { ...rules, ...changed })).token;
}

/** What keeps a token from being made: its code and its sentence. */
export async function failureOf(request: MintRequest, changed: Partial<MintRules<Grant>> = {}): Promise<MintError> {
  const error: unknown = await mint(request, { ...rules, ...changed }).catch((thrown: unknown) => thrown);
  if (typeof error !== "object" || error === null || !("code" in error))
    throw new Error("It was made", { cause: error });
  return error as MintError;
}

/** What the verifier says a token gives when `root` is the owner. */
export function heldFrom(
  token: string,
  root: string,
  changed: Partial<MintRules<Grant>> = {},
): readonly HeldGrant<Grant>[] {
  const verifier = createUcanVerifier({
    keys: createPublicKeys(),
    revocations: { has: () => false },
    canonicalDid: (did) => did,
    allowNoExpiry: false,
    acceptUnversionedCovia: false,
    ...rules,
    ...changed,
  });
  return verifier.read([token])[0]?.verdict(root).grants ?? [];
}

export const grantsFrom = (token: string, root: string, changed: Partial<MintRules<Grant>> = {}): Capability[] =>
  heldFrom(token, root, changed).map(({ grant }) => grant.written);

/** Header and payload as JSON. */
export const parts = (token: string): [Record<string, unknown>, Record<string, unknown>] => {
  const [header = "", payload = ""] = token.split(".").map((part) => Buffer.from(part, "base64url").toString());
  return [JSON.parse(header), JSON.parse(payload)];
};
