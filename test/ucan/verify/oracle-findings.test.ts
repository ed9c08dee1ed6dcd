import { describe, expect, test } from "@jest/globals";
import type { Capability } from "../../../src/core/call/capability.js";
import { createPublicKeys } from "../../../src/ucan/verify/public-keys.js";
import { ALL_DOCS, lead, owner, READ_DOCS, READ_OUT, worker } from "../mint/fixture.js";
import { encode, signed } from "../tokens.js";
import {
  askLibrary,
  askUs,
  HOUR,
  isSignedBy,
  libraryTakes,
  libraryToken,
  libraryWith,
  NOW,
  type Question,
  WHOLE,
} from "./oracle-fixture.js";

/*
 * Why the library never sees a token of anybody else's: what it makes of those that we refuse, and the other way round.
 * Where a row no longer holds, a new version of it has changed its mind, and its decision note wants another look.
 */

const DELETE_DOCS: Capability = { with: "file://docs/", can: "crud/delete" };
const HEADER = { alg: "EdDSA", typ: "JWT", ucv: "0.8.1" };
const CLAIMS = { iss: owner.did, aud: lead.did, exp: HOUR, att: [READ_DOCS], prf: [] };
/** Order of the group of Ed25519. */
const GROUP_ORDER = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;

/** The owner's token for the lead, with changes. */
const token = ({ header = {}, claims = {} } = {}): string =>
  signed({ header: { ...HEADER, ...header }, payload: { ...CLAIMS, ...claims } }, owner.privateKey);
/** The lead's for the worker, on the strength of the owner's. */
const below = (claims: object, prf: readonly string[] = [token()]): string =>
  signed(
    { header: HEADER, payload: { iss: lead.did, aud: worker.did, exp: HOUR, att: [READ_OUT], prf, ...claims } },
    lead.privateKey,
  );
const ofText = (payload: string): string => signed({ header: HEADER, payload }, owner.privateKey);

function withOtherScalar(text: string): string {
  const [header, payload, signature = ""] = text.split(".");
  const bytes = Buffer.from(signature, "base64url");
  const scalar = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString("hex")}`) + GROUP_ORDER;
  const reversed = Buffer.from(scalar.toString(16).padStart(64, "0"), "hex").reverse();
  return `${header}.${payload}.${Buffer.concat([bytes.subarray(0, 32), reversed]).toString("base64url")}`;
}

const read = (needs: Capability, audience = lead.did): Question => ({ audience, root: owner.did, needs });
const toWorker = (needs: Capability): Question => read(needs, worker.did);

describe("the library takes, and we refuse:", () => {
  test.each<[string, Question, () => string, readonly string[]]>([
    [
      "'my:*' with 'crud/read', to delete",
      read(DELETE_DOCS),
      () => token({ claims: { att: [{ with: "my:*", can: "crud/read" }] } }),
      [],
    ],
    [
      "'prf:0' with 'crud/read', to delete",
      toWorker(DELETE_DOCS),
      () => below({ att: [{ with: "prf:0", can: "crud/read" }] }, [token({ claims: { att: [ALL_DOCS] } })]),
      [],
    ],
    [
      "'prf:0', where that proof is bad and the next one is not",
      toWorker(READ_DOCS),
      () => below({ att: [{ with: "prf:0", can: "ucan/DELEGATE" }] }, ["a.b.c", token()]),
      [],
    ],
    [
      "fields of version 0.3, to delete",
      read(DELETE_DOCS),
      () =>
        signed(
          {
            header: { alg: "EdDSA", typ: "JWT", uav: "1.0.0" },
            payload: { iss: owner.did, aud: lead.did, exp: HOUR, rsc: "x", ptc: "APPEND" },
          },
          owner.privateKey,
        ),
      ["malformed"],
    ],
    ["an end in milliseconds", read(READ_DOCS), () => token({ claims: { exp: HOUR * 1000 } }), ["bad_exp"]],
    [
      "an end at infinity",
      read(READ_DOCS),
      () => ofText(JSON.stringify(CLAIMS).replace(`"exp":${HOUR}`, '"exp":1e999')),
      ["bad_exp"],
    ],
    [
      "an end in a thousand years",
      read(READ_DOCS),
      () => token({ claims: { exp: NOW + 31_536_000_000 } }),
      ["bad_exp"],
    ],
    ["caveats", read(READ_DOCS), () => token({ claims: { att: [{ ...READ_DOCS, nb: { day: "monday" } }] } }), []],
    ["version 99", read(READ_DOCS), () => token({ header: { ucv: "99.0.0" } }), ["bad_version"]],
    [
      "a member twice",
      read(READ_DOCS),
      () => ofText(JSON.stringify(CLAIMS).replace("{", `{"aud":"${worker.did}",`)),
      ["malformed"],
    ],
    [
      "an unknown header that would change the signature",
      read(READ_DOCS),
      () => token({ header: { crit: ["x"] } }),
      ["bad_header"],
    ],
  ])("%s", async (_what, question, make, reasons) => {
    const text = make();
    expect(await libraryTakes(question, text)).toBe(true);
    expect(askUs(text, owner.did)).toEqual({ grants: [], reasons });
  });
});

describe("the library takes more than one text of a token, and we refuse all but one:", () => {
  test.each<[string, (text: string) => string, string]>([
    ["a signature with S + L", withOtherScalar, "bad_signature"],
    ["a fourth part", (text) => `${text}.${encode({})}`, "malformed"],
    ["padding", (text) => `${text}==`, "malformed"],
  ])("%s", async (_what, change, reason) => {
    const text = change(token());
    expect(await libraryTakes(read(READ_DOCS), text, WHOLE)).toBe(true);
    expect(askUs(text, owner.did)).toEqual({ grants: [], reasons: [reason] });
  });
});

describe("we take, and the library refuses:", () => {
  test("a parent that began before its child ends", async () => {
    const parent = await libraryToken({ by: owner, to: lead.did, att: [READ_DOCS], nbf: NOW - 60 });
    expect(await libraryTakes(read(READ_DOCS), parent)).toBe(true);
    const child = below({}, [parent]);
    expect(await libraryTakes(toWorker(READ_OUT), child)).toBe(false);
    expect(askUs(child, owner.did).grants).toHaveLength(1);
  });

  test("tokens of Covia, whose version is in the payload", async () => {
    const text = token({ header: { ucv: undefined }, claims: { ucv: "0.10.0" } });
    const answer = await askLibrary(read(READ_DOCS), text);
    expect(answer.ok ? [] : answer.error.map(({ message }) => message)).toEqual([
      expect.stringContaining("Missing version indicator"),
    ]);
    expect(askUs(text, owner.did).grants).toHaveLength(1);
  });
});

describe("an error of the library", () => {
  test("holds the whole token", async () => {
    const text = token({ claims: { exp: NOW - 60 } });
    const answer = await askLibrary(read(READ_DOCS), text);
    expect(answer.ok ? "" : answer.error[0]?.message).toContain(text);
  });

  test("is none at all where nothing covers what is needed", async () => {
    expect(await askLibrary(read(DELETE_DOCS), token())).toEqual({ ok: false, error: [] });
  });
});

test("of a chain whose tokens hold the same few capabilities, the library checks signatures by their power, we once", async () => {
  const [width, depth] = [3, 5];
  const att = Array<Capability>(width).fill(READ_DOCS);
  let text = "";
  for (let i = 0; i < depth; i++) {
    const [by, to] = i % 2 === 0 ? [owner, lead] : [lead, owner];
    text = await libraryToken({ by, to: to.did, att, prf: text === "" ? [] : [text], quick: true });
  }
  let theirs = 0;
  const counting = libraryWith((...signed) => {
    theirs++;
    return isSignedBy(...signed);
  });
  expect((await askLibrary(read(DELETE_DOCS), text, counting)).ok).toBe(false);
  let ours = 0;
  const keys = createPublicKeys();
  askUs(text, worker.did, {
    of(did) {
      ours++;
      return keys.of(did);
    },
  });
  // 1 + 1 + 3 + 9 + 27: each capability of a token looks anew at all that is below it.
  expect(theirs).toBe(41);
  expect(ours).toBe(depth);
});
