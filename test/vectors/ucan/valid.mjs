import {
  ALL_DOCS,
  asMap,
  changed,
  HOUR,
  java,
  keys,
  NOW,
  READ_DOCS,
  READ_OUT,
  sdk,
  ucan08,
  ucan09,
  ucan010,
  VENUE_DID,
  WRITE_OUT,
} from "./forms.mjs";

const { venue, owner, lead, worker, helper, stranger } = keys;

/** `chain`: who signed the links of the first grant, from the top. */
const by = (...signers) => signers.map(({ did }) => did);

function clients() {
  const grant = sdk(owner, { aud: lead.did, att: [ALL_DOCS] });
  const narrowed = sdk(lead, { aud: worker.did, att: [READ_OUT], exp: HOUR, prf: [grant] });
  const relay = [{ with: owner.did, can: "venue/relay" }, READ_DOCS];
  const javaGrant = java(owner, { aud: lead.did, att: [ALL_DOCS] });
  const javaChild = java(lead, { aud: worker.did, att: [WRITE_OUT], exp: HOUR, prf: [javaGrant] });
  const oldGrant = java(owner, { aud: lead.did, att: [ALL_DOCS] }, {});
  const oldChild = java(lead, { aud: worker.did, att: [READ_OUT], exp: HOUR, prf: [oldGrant] }, {});
  return [
    { name: "SDK: a grant", tokens: [grant], grants: [ALL_DOCS], chain: by(owner) },
    { name: "SDK: a delegation with its proof", tokens: [narrowed], grants: [READ_OUT], chain: by(lead, owner) },
    {
      name: "SDK: an invocation, for the venue",
      tokens: [sdk(worker, { aud: VENUE_DID, att: [READ_OUT], exp: NOW + 300, prf: [narrowed] })],
      grants: [READ_OUT],
      chain: by(worker, lead, owner),
    },
    {
      name: "SDK: a relay delegation",
      tokens: [sdk(owner, { aud: VENUE_DID, att: relay, exp: HOUR })],
      grants: [READ_DOCS],
      chain: by(owner),
    },
    { name: "SDK: an identity as UCAN", tokens: [sdk(owner, { aud: VENUE_DID, att: [], exp: NOW + 300 })], grants: [] },
    { name: "Java: a grant", tokens: [javaGrant], grants: [ALL_DOCS], chain: by(owner) },
    { name: "Java: a delegation with its proof", tokens: [javaChild], grants: [WRITE_OUT], chain: by(lead, owner) },
    {
      name: "Java, old: a delegation without version",
      rules: { acceptUnversionedCovia: true },
      tokens: [oldChild],
      grants: [READ_OUT],
      chain: by(lead, owner),
    },
  ];
}

async function standards() {
  const old = await ucan08(owner, { aud: lead.did, att: [ALL_DOCS], fct: [{ reason: "release" }], nnc: "a1B2c3" });
  const oldChild = await ucan08(lead, { aud: worker.did, att: [READ_OUT, WRITE_OUT], exp: HOUR, prf: [old] });
  const oldTop = await ucan08(worker, { aud: helper.did, att: [READ_OUT], exp: HOUR, prf: [oldChild] });
  const nine = ucan09(owner, { aud: lead.did, att: [ALL_DOCS] });
  const nineChild = ucan09(lead, { aud: worker.did, att: [WRITE_OUT], prf: [nine] });
  const nineTop = ucan09(worker, { aud: helper.did, att: [WRITE_OUT], exp: HOUR, prf: [nineChild] });
  const ten = ucan010(owner, { aud: lead.did, cap: asMap(ALL_DOCS), fct: { reason: "release" } });
  const tenChild = ucan010(lead, { aud: worker.did, cap: asMap(READ_OUT), exp: HOUR, prf: [ten] });
  const caveats = { "file://docs/": { "crud/read": [{ day: "monday" }, {}], "crud/write": [{ day: "monday" }] } };
  return [
    { name: "0.8: one token, with facts and nonce", tokens: [old], grants: [ALL_DOCS], chain: by(owner) },
    { name: "0.8: a chain of two", tokens: [oldChild], grants: [READ_OUT, WRITE_OUT], chain: by(lead, owner) },
    { name: "0.8: a chain of three", tokens: [oldTop], grants: [READ_OUT], chain: by(worker, lead, owner) },
    {
      name: "0.8: a parent that says when it begins",
      tokens: [
        await ucan08(lead, {
          aud: worker.did,
          att: [READ_OUT],
          exp: HOUR,
          prf: [await ucan08(owner, { aud: lead.did, att: [READ_DOCS], nbf: NOW - 60 })],
        }),
      ],
      grants: [READ_OUT],
      chain: by(lead, owner),
    },
    { name: "0.9: one token", tokens: [nine], grants: [ALL_DOCS], chain: by(owner) },
    {
      name: "0.9: a chain of three, by CID",
      tokens: [nineTop, nine, nineChild],
      grants: [WRITE_OUT],
      chain: by(worker, lead, owner),
    },
    { name: "0.10: one token", tokens: [ten], grants: [ALL_DOCS], chain: by(owner) },
    { name: "0.10: a chain of two, by CID", tokens: [tenChild, ten], grants: [READ_OUT], chain: by(lead, owner) },
    {
      name: "0.10: of several caveats, one that is none",
      tokens: [ucan010(owner, { aud: lead.did, cap: caveats })],
      grants: [READ_DOCS],
      chain: by(owner),
    },
  ];
}

async function mixed() {
  const old = await ucan08(owner, { aud: lead.did, att: [ALL_DOCS] });
  const covia = sdk(lead, { aud: worker.did, att: [READ_DOCS, WRITE_OUT], prf: [old] });
  const ten = ucan010(owner, { aud: lead.did, cap: asMap(ALL_DOCS) });
  const nine = ucan09(lead, { aud: worker.did, att: [READ_DOCS], prf: [ten] });
  const byVenue = sdk(venue, { aud: lead.did, att: [ALL_DOCS] });
  const leadOwn = sdk(stranger, { aud: lead.did, att: [{ with: "file://other/", can: "crud" }] });
  return [
    {
      name: "mixed: 0.8 in Covia under 0.10",
      tokens: [ucan010(worker, { aud: helper.did, cap: asMap(READ_OUT), exp: HOUR, prf: [covia] }), covia],
      grants: [READ_OUT],
      chain: by(worker, lead, owner),
    },
    {
      name: "mixed: 0.10 under 0.9 in Java",
      tokens: [java(worker, { aud: helper.did, att: [READ_OUT], exp: HOUR, prf: [nine] }), ten],
      grants: [READ_OUT],
      chain: by(worker, lead, owner),
    },
    {
      name: "mixed: Java in 0.8",
      tokens: [
        await ucan08(lead, {
          aud: worker.did,
          att: [WRITE_OUT],
          exp: HOUR,
          prf: [java(owner, { aud: lead.did, att: [ALL_DOCS] })],
        }),
      ],
      grants: [WRITE_OUT],
      chain: by(lead, owner),
    },
    {
      name: "the venue signs with its key for its other DID",
      owner: VENUE_DID,
      tokens: [byVenue],
      grants: [ALL_DOCS],
      chain: by(venue),
    },
    {
      name: "two proofs, each for a part",
      tokens: [
        sdk(lead, {
          aud: worker.did,
          att: [READ_OUT, WRITE_OUT],
          exp: HOUR,
          prf: [
            leadOwn,
            sdk(owner, { aud: lead.did, att: [WRITE_OUT] }),
            await ucan08(owner, { aud: lead.did, att: [READ_OUT] }),
          ],
        }),
      ],
      grants: [READ_OUT, WRITE_OUT],
      chain: by(lead, owner),
    },
    {
      name: "what is not covered is left out",
      tokens: [sdk(lead, { aud: worker.did, att: [ALL_DOCS, READ_OUT], prf: [changed()] })],
      grants: [READ_OUT],
      chain: by(lead, owner),
      reasons: ["widened_or_unrooted"],
    },
    {
      name: "without end, where that is allowed",
      rules: { allowNoExpiry: true },
      tokens: [changed({ payload: { exp: null } })],
      grants: [READ_DOCS],
      chain: by(owner),
    },
  ];
}

export const validChains = async () => [...clients(), ...(await standards()), ...(await mixed())];
