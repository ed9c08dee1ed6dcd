import { describe, expect, test } from "@jest/globals";
import { tokenCid } from "../../../src/ucan/token/id.js";
import { createIssuerMemory } from "../../../src/ucan/verify/verifier.js";
import { badlySigned, gives, helper, lead, owner, stranger, worker } from "../chains.js";
import { verifierBy } from "./judge.js";

type Verifier = ReturnType<typeof verifierBy>;

const issuers = (verifier: Verifier, id: string | undefined) => {
  const known = verifier.issuersOf(id ?? "");
  return known === undefined ? undefined : [...known].sort();
};
const dids = (...signers: readonly { did: string }[]) => signers.map(({ did }) => did).sort();

describe("the issuers of a token", () => {
  const root = gives(owner, lead);
  const middle = gives(lead, worker, { prf: [root] });

  test("are known when it and its chain were found right", () => {
    const verifier = verifierBy();
    const [top] = verifier.read([gives(worker, helper, { prf: [middle] })]);
    expect(issuers(verifier, top?.id)).toBeUndefined();
    top?.verdict(owner.did);
    expect(issuers(verifier, top?.id)).toEqual(dids(worker, lead, owner));
    const [below] = verifier.read([middle]);
    expect(issuers(verifier, below?.id)).toEqual(dids(lead, owner));
  });

  test("is its own alone as long as only it was looked at", () => {
    const verifier = verifierBy();
    const [token] = verifier.read([middle]);
    expect(token?.check()).toBeUndefined();
    expect(issuers(verifier, token?.id)).toEqual(dids(lead));
  });

  test("are not those whose name somebody put there", () => {
    const verifier = verifierBy();
    const prf = [badlySigned(gives(owner, lead)), gives(stranger, worker), root];
    const [token] = verifier.read([gives(lead, worker, { prf })]);
    expect(token?.verdict(owner.did).grants).toHaveLength(1);
    expect(issuers(verifier, token?.id)).toEqual(dids(lead, owner));
    const [forged] = verifier.read([badlySigned(root)]);
    forged?.verdict(owner.did);
    expect(issuers(verifier, forged?.id)).toEqual(dids(owner));
    const [unknown] = verifier.read([badlySigned(gives(owner, helper))]);
    unknown?.verdict(owner.did);
    expect(issuers(verifier, unknown?.id)).toBeUndefined();
  });

  test("are also those of proofs by CID", () => {
    const verifier = verifierBy();
    const [token] = verifier.read([gives(lead, worker, { prf: [tokenCid(root)] }), root]);
    token?.verdict(owner.did);
    expect(issuers(verifier, token?.id)).toEqual(dids(lead, owner));
  });

  test("have the DID that they have here", () => {
    const verifier = verifierBy({ canonicalDid: (did) => (did === owner.did ? "did:web:files" : did) });
    const [token] = verifier.read([middle]);
    token?.verdict("did:web:files");
    expect(issuers(verifier, token?.id)).toEqual([lead.did, "did:web:files"].sort());
  });

  test("are remembered of the 10,000 tokens seen last", () => {
    const memory = createIssuerMemory();
    for (let n = 0; n < 10_000; n++) memory.add(`${n}`, ["did:x:y"]);
    memory.add("0", ["did:x:z"]);
    memory.add("new", ["did:x:y"]);
    expect([...(memory.of("0") ?? [])]).toEqual(["did:x:y", "did:x:z"]);
    expect(memory.of("1")).toBeUndefined();
    expect(memory.of("2")).toBeDefined();
  });
});
