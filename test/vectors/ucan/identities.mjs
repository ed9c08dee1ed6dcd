import { changed, java, javaOrder, jwt, keys, kidHeader, NOW, READ_DOCS, sdk, VENUE_DID } from "./forms.mjs";

const { owner, lead } = keys;

/** Tokens that say who somebody is, for the venue. */
export function identities() {
  const claims = (by, more) => ({ sub: by.did, iss: by.did, iat: NOW, exp: NOW + 300, ...more });
  const plain = (more, by = lead, header = kidHeader(by)) => jwt(header, claims(by, more), by);
  const aud = VENUE_DID;
  const did = lead.did;
  const unbound = jwt(javaOrder(kidHeader(lead)), javaOrder(claims(lead)), lead);
  return [
    { name: "SDK: a key pair's token", token: plain({ aud }), did },
    { name: "SDK: an identity as UCAN", token: sdk(lead, { aud, att: [], exp: NOW + 300 }), did },
    { name: "Java: an identity as UCAN", token: java(lead, { aud, att: [], exp: NOW + 300 }), did },
    { name: "an invocation", token: sdk(lead, { aud, att: [READ_DOCS], exp: NOW + 300, prf: [changed()] }), did },
    { name: "Java: a key pair's token, without audience", token: unbound, acceptUnbound: true, did },
    { name: "the same where it is not taken", token: unbound, refused: "wrong_audience" },
    {
      name: "without audience for longer than 300 s",
      token: plain({ exp: NOW + 301 }),
      acceptUnbound: true,
      refused: "bad_exp",
    },
    { name: "signed by another", token: jwt(kidHeader(lead), claims(lead, { aud }), owner), refused: "bad_signature" },
    { name: "for another venue", token: plain({ aud: "did:web:other.example" }), refused: "wrong_audience" },
    { name: "for a fragment of the venue", token: plain({ aud: `${aud}#key` }), refused: "wrong_audience" },
    { name: "without sub", token: plain({ aud, sub: undefined }), refused: "malformed" },
    { name: "with another's sub", token: plain({ aud, sub: owner.did }), refused: "malformed" },
    { name: "with another's kid", token: plain({ aud }, lead, kidHeader(owner)), refused: "kid_mismatch" },
    { name: "of longer than an hour", token: plain({ aud, exp: NOW + 3700 }), refused: "bad_exp" },
    { name: "that has expired", token: plain({ aud, iat: NOW - 600, exp: NOW - 300 }), refused: "expired" },
    { name: "with proofs", token: plain({ aud, prf: [] }), refused: "malformed" },
    {
      name: "a grant as bearer",
      token: changed(),
      refused: "wrong_audience",
      delegatedTo: lead.did,
    },
  ];
}
