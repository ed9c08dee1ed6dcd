import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import * as ucans from "ucans";
import type { Capability } from "../../../../src/core/call/capability.js";
import { loadOperationSchema } from "../../../../src/schema/load.js";
import { decodeToken } from "../../../../src/ucan/token/decode.js";
import { basic, send } from "../../../surfaces/http/client.js";
import { type Answer, type CallOptions, newPerson, now, type Person, READ_DOCS, useGround } from "../fixture.js";

const ground = useGround();
const IN_SUB: Capability = { with: "file://docs/sub/", can: "crud/read" };
const HERS: Capability = { with: "file://hers/sub/", can: "crud/read" };

describe("ucan:issue", () => {
  /** As a denial prints it. */
  const PRINTED: Capability = { with: "file://docs/sub", can: "crud/read" };

  const issue = (att: readonly unknown[], more: object = {}, options: CallOptions = {}): Promise<Answer> =>
    ground.call("ucan:issue", { aud: ground.carol.did, att, ...more }, options);
  const byOperator = (att: readonly unknown[], more: object = {}, options: CallOptions = {}): Promise<Answer> =>
    issue(att, more, { ...options, bearer: ground.venue.localToken });

  const payloadOf = ({ output }: Answer) => {
    const decoded = decodeToken(String(output["token"]));
    if ("fault" in decoded) throw new Error(decoded.fault);
    return decoded.payload;
  };
  const tokenOf = ({ output }: Answer): string => String(output["token"]);
  const reads = (answer: Answer, person: Person = ground.carol) => ground.reads(person, tokenOf(answer));

  describe("a token issued", () => {
    test("to the operator works for its audience, and for nobody else", async () => {
      await ground.open();
      const answer = await byOperator([IN_SUB], { lifetimeSeconds: 60 });
      expect(answer).toMatchObject({
        status: "COMPLETE",
        output: { id: expect.stringMatching(/^[\w-]{43}$/), expires: expect.any(Number) },
      });
      expect(answer.output).not.toHaveProperty("note");
      const { iss, aud, att, prf, exp, fct } = payloadOf(answer);
      expect({ iss, aud, att, prf, exp, fct }).toEqual({
        ...{ iss: ground.venue.did, aud: ground.carol.did, att: [IN_SUB], prf: [] },
        exp: answer.output["expires"],
      });
      expect(await reads(answer)).toMatchObject({ status: "COMPLETE", output: { content: "docs" } });
      expect(await reads(answer, ground.bob)).toMatchObject({ errorData: { reasons: ["wrong_audience"] } });
      const above = { root: "docs", path: "b" };
      const other = await ground.call("file:stat", above, { as: ground.carol, ucans: [tokenOf(answer)] });
      expect(other).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    });

    test("to whom the configuration gives it ends with its DID, and says so in its facts", async () => {
      await ground.open({ auth: { grants: [{ did: ground.bob.did, ...READ_DOCS }] } });
      const answer = await issue([IN_SUB], {}, { as: ground.bob });
      expect(payloadOf(answer)["fct"]).toEqual([{ "venue-files": { for: ground.bob.did, via: [] } }]);
      expect(await reads(answer)).toMatchObject({ status: "COMPLETE" });
      await ground.byOperator("ucan:revoke", { id: ground.bob.did });
      expect(await reads(answer)).toMatchObject({ errorData: { reasons: ["revoked"] } });
    });

    test("to the owner of a root that the venue owns too is no question: the owner is the venue's own DID", async () => {
      const roots = { docs: { path: "docs", owner: ground.key.did } };
      await ground.open({ operator: ground.alice.did, file: { roots } });
      const answer = await issue([IN_SUB], {}, { as: ground.key });
      expect(await reads(answer)).toMatchObject({ status: "COMPLETE" });
      // The operator may do everything there, too, and has nothing that could be revoked.
      const operators = await issue([IN_SUB], {}, { as: ground.alice });
      expect(payloadOf(operators)).not.toHaveProperty("fct");
      expect(await reads(operators)).toMatchObject({ status: "COMPLETE" });
    });

    test.each<[string, (token: string) => [object, CallOptions]]>([
      ["sent with the call", (token) => [{}, { ucans: [token] }]],
      ["given as prf", (token) => [{ prf: [token] }, {}]],
      ["given twice", (token) => [{ prf: [token] }, { ucans: [token] }]],
    ])("on the strength of proofs %s never outlives them, and ends when they are revoked", async (_how, sent) => {
      await ground.open();
      const lead = await ground.key.grant(ground.alice, [READ_DOCS], { lifetimeSeconds: 900 });
      const given = await ground.alice.grant(ground.bob, [IN_SUB], { proofs: [lead.token], lifetimeSeconds: 600 });
      const [input, options] = sent(given.token);
      const answer = await issue([IN_SUB], input, { as: ground.bob, ...options });
      expect(answer.output["expires"]).toBe(given.expiresAt);
      expect(payloadOf(answer)["fct"]).toEqual([
        { "venue-files": { for: ground.bob.did, via: [given.id, ground.alice.did, lead.id] } },
      ]);
      expect(await reads(answer)).toMatchObject({ status: "COMPLETE" });
      await ground.byOperator("ucan:revoke", { id: lead.id });
      expect(await reads(answer)).toMatchObject({ errorData: { reasons: ["revoked"] } });
    });

    test("on the strength of one that was issued ends with what that rests on", async () => {
      await ground.open();
      const lead = await ground.key.grant(ground.alice, [READ_DOCS]);
      const first = await issue([READ_DOCS], { aud: ground.bob.did, prf: [lead.token] }, { as: ground.alice });
      const passedOn = await ground.bob.grant(ground.alice, [IN_SUB], {
        proofs: [tokenOf(first)],
        lifetimeSeconds: 60,
      });
      const second = await issue([IN_SUB], { prf: [passedOn.token] }, { as: ground.alice });
      expect(await reads(second)).toMatchObject({ status: "COMPLETE" });
      await ground.byOperator("ucan:revoke", { id: lead.id });
      expect(await reads(second)).toMatchObject({ errorData: { reasons: ["revoked"] } });
    });

    test("on the strength of proofs ends when whoever passed them on is revoked", async () => {
      await ground.open();
      const lead = await ground.key.grant(ground.alice, [READ_DOCS], { lifetimeSeconds: 900 });
      const given = await ground.alice.grant(ground.bob, [IN_SUB], { proofs: [lead.token], lifetimeSeconds: 600 });
      const answer = await issue([IN_SUB], { prf: [given.token] }, { as: ground.bob });
      await ground.byOperator("ucan:revoke", { id: ground.alice.did });
      expect(await reads(answer)).toMatchObject({ errorData: { reasons: ["revoked"] } });
    });

    test("to somebody known by a UCAN gives no more than that one, and ends with it", async () => {
      await ground.open();
      const session = await ground.key.grant(ground.venue.did, [IN_SUB], { lifetimeSeconds: 120 });
      expect(await issue([READ_DOCS], {}, { bearer: session.token })).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
      const answer = await issue([IN_SUB], {}, { bearer: session.token });
      expect(answer.output["expires"]).toBe(session.expiresAt);
      expect(await reads(answer)).toMatchObject({ status: "COMPLETE" });
      await ground.byOperator("ucan:revoke", { id: session.id });
      expect(await reads(answer)).toMatchObject({ errorData: { reasons: ["revoked"] } });
    });

    test("rests on several proofs as long as the first of them", async () => {
      await ground.open();
      const short = await ground.key.grant(ground.bob, [IN_SUB], { lifetimeSeconds: 100 });
      const long = await ground.key.grant(ground.bob, [{ with: "file://tmp/", can: "crud" }], { lifetimeSeconds: 200 });
      const both = [{ with: "file://tmp/x", can: "crud/write" }, IN_SUB];
      for (const att of [both, both.toReversed()]) {
        const answer = await issue(att, { prf: [long.token, short.token] }, { as: ground.bob });
        expect(answer.output["expires"]).toBe(short.expiresAt);
        expect(payloadOf(answer)["fct"]).toEqual([
          { "venue-files": { for: ground.bob.did, via: [long.id, short.id] } },
        ]);
      }
    });

    test("in the older form is one for the library of that", async () => {
      await ground.open();
      const answer = await byOperator([IN_SUB], { profile: "ucan-0.8" });
      expect(ucans.parse(tokenOf(answer))).toMatchObject({ header: { ucv: { major: 0, minor: 8, patch: 1 } } });
      expect(await reads(answer)).toMatchObject({ status: "COMPLETE" });
    });

    test("by a venue whose key ends with it says so", async () => {
      await ground.open({}, { freshKey: true });
      const answer = await byOperator([IN_SUB]);
      expect(answer.output["note"]).toMatch(/^The venue makes a new key at each start/);
      expect(await reads(answer)).toMatchObject({ status: "COMPLETE" });
    });
  });

  describe("nothing is issued", () => {
    const denied = { status: "FAILED", errorCode: "CAPABILITY_DENIED" };

    test("to a caller without credentials, whatever it may do itself", async () => {
      await ground.open();
      const att = [{ with: "file://tmp/", can: "crud/read" }];
      expect(await issue(att)).toMatchObject({
        ...denied,
        error:
          "Capability denied: ucan:issue requires an authenticated caller. " +
          "Retrying the same call will not succeed - the denial is structural.",
        errorData: { structural: true, retryable: false, operation: "ucan:issue", denied_by: ["authority"] },
      });
      // What everybody may do is nobody's to pass on.
      expect(await issue(att, {}, { as: ground.bob })).toMatchObject(denied);
    });

    test("of what a static token gives", async () => {
      const bearer = "static-token-static-token-static-token";
      const tokens = [{ name: "ci", token: { file: ground.secret("ci.token", bearer) }, caps: [READ_DOCS] }];
      await ground.open({ auth: { tokens } });
      // It holds the right, so the text must not say that it lacks it.
      expect(await issue([IN_SUB], {}, { bearer })).toMatchObject({
        ...denied,
        error: expect.stringMatching(
          /You may use this right, not pass it on: a static token or public access gives it\.$/,
        ),
        errorData: { denied_by: ["authority"], required: PRINTED },
      });
      expect((await issue([{ with: "file://docs/", can: "crud/write" }], {}, { bearer })).error).not.toContain(
        "pass it on",
      );
    });

    test("that the caller's proofs do not cover, or that are for somebody else", async () => {
      await ground.open();
      const { token } = await ground.key.grant(ground.bob, [IN_SUB]);
      const covered = await issue([IN_SUB, READ_DOCS], { prf: [token] }, { as: ground.bob });
      expect(covered).toMatchObject({ ...denied, errorData: { required: READ_DOCS, reasons: ["not_covered"] } });
      const stolen = await issue([IN_SUB], { prf: [token] }, { as: ground.alice });
      expect(stolen).toMatchObject({ ...denied, errorData: { required: PRINTED, reasons: ["wrong_audience"] } });
    });

    test("beyond the caps of the call, by the operator neither", async () => {
      await ground.open();
      expect(await byOperator([READ_DOCS], {}, { caps: [IN_SUB] })).toMatchObject({
        ...denied,
        errorData: { denied_by: ["agent_caps"] },
      });
      expect(await byOperator([IN_SUB], {}, { caps: [IN_SUB] })).toMatchObject({ status: "COMPLETE" });
      expect(await byOperator([IN_SUB], {}, { caps: [] })).toMatchObject(denied);
    });

    test.each<[string, (options: CallOptions) => CallOptions]>([
      ["its owner", () => ({ as: ground.alice })],
      ["the operator", (options) => options],
    ])("for a root of somebody else: %s is told that the owner must sign", async (_who, by) => {
      await ground.open();
      const answer = await issue([HERS], {}, by({ bearer: ground.venue.localToken }));
      expect(answer).toMatchObject({
        ...denied,
        errorData: { required: { ...HERS, with: "file://hers/sub" }, reasons: ["issuer_not_owner"] },
      });
      expect(answer.error).toMatch(/Only the owner of that root can sign for it, with 'venue-files grant'\.$/);
    });

    test("for a root in which the caller holds nothing, as for one that is not there", async () => {
      await ground.open();
      const { token } = await ground.key.grant(ground.bob, [{ with: "file://", can: "crud/read" }]);
      const texts = await Promise.all(
        ["hers", "none"].flatMap((root) => {
          const att = [{ with: `file://${root}/x`, can: "crud/read" }];
          return [ground.bob, ground.carol].map((as) => issue(att, { prf: [token] }, { as }));
        }),
      );
      const shown = texts.map(({ error, errorCode, errorData }) =>
        JSON.stringify({ error, errorCode, errorData }).replaceAll(/hers|none/g, "ROOT"),
      );
      expect(shown.slice(0, 2)).toEqual(shown.slice(2));
      expect(texts.map(({ errorCode }) => errorCode)).toEqual([
        ...["UNKNOWN_ROOT", "CAPABILITY_DENIED"],
        ...["UNKNOWN_ROOT", "CAPABILITY_DENIED"],
      ]);
    });

    test("that would outlive what it rests on, which is said", async () => {
      await ground.open();
      const { token, expiresAt } = await ground.key.grant(ground.bob, [READ_DOCS], { lifetimeSeconds: 120 });
      for (const more of [{ exp: expiresAt + 1 }, { lifetimeSeconds: 130 }]) {
        expect(await issue([IN_SUB], { prf: [token], ...more }, { as: ground.bob })).toMatchObject({
          ...denied,
          error:
            `Capability denied: ucan:issue requires an end of at most ${expiresAt}, when what it rests on ends. ` +
            "Retrying the same call will not succeed - the denial is structural.",
          errorData: { reasons: ["bad_exp"], required: PRINTED, latest: expiresAt },
        });
      }
      const exact = await issue([IN_SUB], { prf: [token], exp: expiresAt }, { as: ground.bob });
      expect(exact).toMatchObject({ status: "COMPLETE", output: { expires: expiresAt } });
    });

    test("for the venue itself: its bearer would be the venue", async () => {
      await ground.open({ did: "did:web:example.com" });
      for (const aud of ["did:web:example.com", ground.key.did]) {
        expect(await byOperator([IN_SUB], { aud })).toMatchObject({
          errorCode: "INVALID_INPUT",
          error: "'aud' must not be this venue. Name whoever is to use the token",
          errorData: { pointer: "/aud" },
        });
      }
    });

    test("for a name that is not a root's", async () => {
      mkdirSync(join(ground.base, "more"));
      await ground.open();
      expect(await byOperator([{ with: "file://more/", can: "crud" }])).toMatchObject({ errorCode: "UNKNOWN_ROOT" });
    });

    const ATT = [READ_DOCS];
    test.each<[string, object, string, string]>([
      ["without an audience", { aud: undefined }, "'aud' is required", "/aud"],
      ["for no DID", { aud: "carol" }, "The audience is not a DID", "/aud"],
      ["for a key that proves nothing", { aud: "did:key:z6Mkcarol" }, "The audience is not a DID", "/aud"],
      ["without capabilities", { att: [] }, "'att' must hold 1 to 32 capabilities", "/att"],
      ["with too many", { att: Array(33).fill(READ_DOCS) }, "'att' must hold 1 to 32 capabilities", "/att"],
      [
        "with one that grants nothing",
        { att: [...ATT, { with: "file:///etc", can: "*" }] },
        "'att[1]' grants nothing here",
        "/att/1",
      ],
      ["with caveats", { att: [{ ...READ_DOCS, nb: {} }] }, "'att[0]' grants nothing here", "/att/0"],
      ["with one of another kind", { att: [{ with: "my:*", can: "*" }] }, "'att[0]' grants nothing here", "/att/0"],
      ["with one that is no object", { att: ["crud"] }, "'att.0' must be a JSON object", "/att/0"],
      ["with an end in milliseconds", { exp: Date.now() + 60_000 }, "'exp' must be between", "/exp"],
      ["with an end in the past", { exp: 1 }, "'exp' must be between", "/exp"],
      [
        "for longer than any token may live",
        { lifetimeSeconds: 1e9 },
        "'lifetimeSeconds' must be between 1 and",
        "/lifetimeSeconds",
      ],
      ["with two ends", { exp: now() + 60, lifetimeSeconds: 60 }, "Only one of 'exp' and 'lifetimeSeconds'", "/exp"],
      [
        "with a misspelt field",
        { lifetime: 60 },
        "Unknown field 'lifetime' - did you mean 'lifetimeSeconds'?",
        "/lifetime",
      ],
      ["in a form nobody knows", { profile: "ucan-1.0" }, "'profile' must be one of: covia, ucan-0.8", "/profile"],
      ["with proofs that are no texts", { prf: [1] }, "'prf.0' must be a string", "/prf/0"],
      ["with too many proofs", { prf: Array(9).fill("x") }, "'prf' is too_large", "/prf"],
    ])("%s", async (_what, more, text, pointer) => {
      await ground.open();
      const answer = await byOperator(ATT, more);
      expect(answer).toMatchObject({ status: "FAILED", errorCode: "INVALID_INPUT", errorData: { pointer } });
      expect(answer.error.slice(0, text.length)).toBe(text);
    });
  });

  describe("what remains of an issue", () => {
    test("is a record without its proofs, and one of the audit without any token", async () => {
      await ground.open();
      const given = await ground.key.grant(ground.bob, [READ_DOCS]);
      const answer = await issue([IN_SUB], { prf: [given.token] }, { as: ground.bob });
      expect(answer.input).toEqual({ aud: ground.carol.did, att: [IN_SUB], prf: "HIDDEN" });
      const records = await ground.auditRecords();
      expect(records.find(({ operation }) => operation === "ucan:issue")).toMatchObject({
        caller: ground.bob.did,
        resource: `ucan:${answer.output["id"]}`,
        outcome: "OK",
        proofs: [{ id: given.id, issuer: ground.venue.did }],
      });
      for (const token of [given.token, tokenOf(answer)]) {
        expect(JSON.stringify(records)).not.toContain(token.split(".")[2]);
      }
    });

    test("is shown to nobody but its caller and the operator", async () => {
      await ground.open();
      const { id } = await byOperator([IN_SUB]);
      const job = await fetch(`${ground.venue.url}/api/v1/jobs/${id}`);
      expect(job.status).toBe(403);
      expect(await job.text()).not.toContain("eyJ");
    });
  });

  describe("a drive of the caller's own", () => {
    test.each(["dlfs/notes/out/", "dlfs://notes/out", "own"])("is delegated by the venue: %s", async (written) => {
      await ground.open();
      const own = `${ground.bob.did}/dlfs/notes/out`;
      const path = `${own}/a`;
      const by = { as: ground.bob };
      await ground.call("file:write", { path: "dlfs/notes/out/a", content: "x", parents: true }, by);
      const answer = await issue([{ with: written === "own" ? own : written, can: "crud/read" }], {}, by);
      expect(payloadOf(answer)).toMatchObject({
        att: [{ with: own, can: "crud/read" }],
        fct: [{ "venue-files": { for: ground.bob.did } }],
      });
      const ucans = [tokenOf(answer)];
      expect(await ground.call("file:read", { path }, { as: ground.carol, ucans })).toMatchObject({
        status: "COMPLETE",
        output: { content: "x" },
      });
      expect(await ground.call("ucan:verify", { token: tokenOf(answer) })).toMatchObject({
        output: { valid: true, grants: [{ with: own, can: "crud/read" }] },
      });
      for (const other of [{ as: ground.alice }, { as: ground.carol }]) {
        const denied = await ground.call("file:read", { path: `${ground.bob.did}/dlfs/notes/b` }, { ...other, ucans });
        expect(denied).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
      }
      await ground.byOperator("ucan:revoke", { id: ground.bob.did });
      expect(await ground.call("file:read", { path }, { as: ground.carol, ucans })).toMatchObject({
        errorCode: "CAPABILITY_DENIED",
      });
    });

    test("is delegated by its owner alone, whoever the token says it is for", async () => {
      await ground.open();
      const att = [{ with: `${ground.bob.did}/dlfs/notes`, can: "crud/read" }];
      for (const by of [{ as: ground.alice }, { bearer: ground.venue.localToken }]) {
        expect(await issue(att, {}, by)).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
      }
      await ground.call("file:write", { path: "dlfs/notes/a", content: "x" }, { as: ground.bob });
      const fct = [{ "venue-files": { for: ground.bob.did } }];
      const forged = ground.says(ground.alice, { aud: ground.carol.did, att, fct });
      const read = { path: `${ground.bob.did}/dlfs/notes/a` };
      expect(await ground.call("file:read", read, { as: ground.carol, ucans: [forged] })).toMatchObject({
        errorCode: "CAPABILITY_DENIED",
        errorData: { reasons: ["issuer_not_owner"] },
      });
    });
  });

  test("binary files read by references say where WebDAV has them", async () => {
    await ground.open({ webdav: true });
    const by = { as: ground.bob };
    const bytes = Buffer.of(0, 255, 1).toString("base64");
    for (const [path, at] of [
      ["dlfs/notes/a%b.bin", "dlfs/notes/a%25b.bin"],
      [`${ground.bob.did}/dlfs/notes/c`, "dlfs/notes/c"],
    ] as const) {
      await ground.call("file:write", { path, bytes }, by);
      const { output } = await ground.call("file:read", { path }, by);
      expect(output).toMatchObject({ encoding: "binary", size: 3, mime: expect.any(String) });
      expect(output["url"]).toBe(`${ground.venue.url}/${at}`);
      expect(output).not.toHaveProperty("content");
      for (const more of [{ mode: "bytes" }, { offset: 0, length: 2, mode: "bytes" }])
        expect((await ground.call("file:read", { path, ...more }, by)).output).toMatchObject({ encoding: "base64" });
    }
  });

  test("what is no text and too large for an answer has its URL all the same", async () => {
    const roots = { docs: "docs", tmp: { temp: true as const } };
    await ground.open({ webdav: true, file: { roots, limits: { maxReadBytes: 10_000 } } });
    const write = (path: string, content: Buffer) =>
      ground.byOperator("file:write", { root: "tmp", path, bytes: content.toString("base64") });
    await write("large", Buffer.alloc(20_000));
    await write("small", Buffer.alloc(100));
    await write("text", Buffer.alloc(20_000, "text "));
    const read = async (path: string, more: object = {}) => ground.byOperator("file:read", { path, ...more });
    for (const [name, size, more] of [
      ["large", 20_000, {}],
      ["large", 20_000, { mode: "auto" }],
      ["small", 100, { maxBytes: 50 }],
    ] as const) {
      const { output } = await read(`file://tmp/${name}`, more);
      expect(output).toEqual({
        ...{ encoding: "binary", size, mime: "application/octet-stream", url: `${ground.venue.url}/dav/tmp/${name}` },
        ...(output["etag"] === undefined ? {} : { etag: expect.any(String) }),
      });
      const found = await send(String(output["url"]), { headers: basic(ground.venue.localToken) });
      const body = await found.arrayBuffer();
      expect(body.byteLength).toBe(size);
    }
    for (const more of [{ mode: "bytes" }, { mode: "text" }, { lineNumbers: true, mode: "text" }])
      expect((await read("file://tmp/large", more)).errorCode).toBe("TOO_LARGE");
    expect((await read("file://tmp/text")).errorCode).toBe("TOO_LARGE");
    expect((await ground.byOperator("file:read", { root: "tmp", path: "large" })).errorCode).toBe("TOO_LARGE");
  });

  test("entries with conditions grant nothing, and ucan:verify says which", async () => {
    await ground.open();
    for (const [nb, named] of [
      [{ gate: { ref: "x" } }, "nb.gate"],
      [{ url: "https://example.com" }, "nb.url"],
      [{ url: "x", colour: "red" }, "nb.colour"],
      [true, "nb"],
    ] as const) {
      const token = ground.says(ground.key, { aud: ground.carol.did, att: [{ ...READ_DOCS, nb }, IN_SUB] });
      const { output } = await ground.call("ucan:verify", { token });
      const text = expect.stringContaining(`'${named}'`);
      expect(output["grants"]).toEqual([IN_SUB, { ...READ_DOCS, nb, applies: false, reason: "constrained", text }]);
    }
  });
});

describe("ucan:revoke", () => {
  const NOT_YOURS = {
    status: "FAILED",
    errorCode: "CAPABILITY_DENIED",
    error:
      "Capability denied: ucan:revoke requires an issuer in the token's chain, or the operator, without narrower capabilities. " +
      "Retrying the same call will not succeed - the denial is structural.",
    errorData: { structural: true, operation: "ucan:revoke" },
  };

  const revoke = (input: object, options: CallOptions = {}) => ground.call("ucan:revoke", input, options);
  const byOperator = (input: object, options: CallOptions = {}) =>
    revoke(input, { ...options, bearer: ground.venue.localToken });
  const list = () =>
    readFileSync(join(ground.base, "state/revocations"), "utf8")
      .split("\n")
      .filter((line) => line !== "");

  /** The operator gives to Alice, who gives to Bob. */
  async function chain() {
    const lead = await ground.key.grant(ground.alice, [READ_DOCS], { lifetimeSeconds: 900 });
    const given = await ground.alice.grant(ground.bob, [IN_SUB], { proofs: [lead.token] });
    return { lead, given };
  }

  const isOver = async (token: string, root = "docs") => {
    expect(await ground.reads(ground.bob, token, root)).toMatchObject({ errorData: { reasons: ["revoked"] } });
  };
  const works = async (token: string, root = "docs") => {
    expect(await ground.reads(ground.bob, token, root)).toMatchObject({ status: "COMPLETE" });
  };

  describe("a token is revoked, also where it was used before,", () => {
    test("by the operator, who names it or what it rests on", async () => {
      await ground.open();
      const { lead, given } = await chain();
      const other = await ground.alice.grant(ground.bob, [IN_SUB], { proofs: [lead.token] });
      await works(given.token);
      await works(other.token);
      expect(await byOperator({ id: given.id })).toMatchObject({ output: { revoked: true, id: given.id } });
      await isOver(given.token);
      await works(other.token);
      expect(await byOperator({ id: lead.id })).toMatchObject({ status: "COMPLETE" });
      await isOver(other.token);
      expect(list()).toEqual([given.id, lead.id]);
    });

    test("by the operator, who shows it", async () => {
      await ground.open();
      const { given } = await chain();
      expect(await byOperator({ token: given.token })).toMatchObject({ output: { revoked: true, id: given.id } });
      await isOver(given.token);
    });

    test("by the operator, who names whoever signed it", async () => {
      await ground.open();
      const { given } = await chain();
      expect(await byOperator({ id: ground.alice.did })).toMatchObject({ output: { id: ground.alice.did } });
      await isOver(given.token);
      // What was given to Alice is still the operator's word, but she cannot show who she is any more.
      expect(list()).toEqual([ground.alice.did]);
    });

    test.each<[string, "id" | "token"]>([
      ["names it", "id"],
      ["shows it", "token"],
    ])("by each issuer in its chain, who %s", async (_how, how) => {
      await ground.open();
      const { given } = await chain();
      await works(given.token);
      const input = { [how]: given[how] };
      expect(await revoke(input, { as: ground.alice })).toMatchObject({ output: { revoked: true, id: given.id } });
      await isOver(given.token);
    });

    test("by the owner of a root, who gave away a part of it", async () => {
      await ground.open();
      const lead = await ground.alice.grant(ground.carol, [HERS], { lifetimeSeconds: 900 });
      const given = await ground.carol.grant(ground.bob, [HERS], { proofs: [lead.token] });
      await works(given.token, "hers");
      expect(await revoke({ token: given.token }, { as: ground.alice })).toMatchObject({ status: "COMPLETE" });
      await isOver(given.token, "hers");
    });

    test.each<[string, "id" | "token"]>([
      ["names it", "id"],
      ["shows it", "token"],
    ])("by whom the venue signed it for, who %s", async (_how, how) => {
      await ground.open({ auth: { grants: [{ did: ground.carol.did, ...READ_DOCS }] } });
      const issued = await ground.call("ucan:issue", { aud: ground.bob.did, att: [IN_SUB] }, { as: ground.carol });
      const { id, token } = issued.output;
      expect(await revoke({ [how]: issued.output[how] }, { as: ground.bob })).toMatchObject(NOT_YOURS);
      expect(await revoke({ [how]: issued.output[how] }, { as: ground.carol })).toMatchObject({ output: { id } });
      await isOver(String(token));
    });

    test("by who signed a proof on whose strength the venue signed it", async () => {
      await ground.open();
      const { given } = await chain();
      const to = { aud: ground.carol.did, att: [IN_SUB], prf: [given.token] };
      const issued = await ground.call("ucan:issue", to, { as: ground.bob });
      const { id } = issued.output;
      expect(await revoke({ id }, { as: ground.alice })).toMatchObject({ output: { revoked: true, id } });
      const token = String(issued.output["token"]);
      expect(await ground.reads(ground.carol, token)).toMatchObject({ errorData: { reasons: ["revoked"] } });
    });

    test("once, however often it is said", async () => {
      await ground.open();
      const { given } = await chain();
      for (const who of [ground.alice, ground.key, ground.alice]) {
        expect(await revoke({ token: given.token }, { as: who })).toMatchObject({ status: "COMPLETE" });
      }
      expect(list()).toEqual([given.id]);
    });

    test.each<[string, () => object]>([
      ["before it begins", () => ({ nbf: now() + 50 })],
      ["after its end", () => ({ exp: now() - 50 })],
      ["when it lives too long", () => ({ exp: now() + 1e9 })],
    ])("%s, since only the signature says whose it is", async (_when, claims) => {
      await ground.open();
      const token = ground.says(ground.alice, { aud: ground.bob.did, att: [HERS], ...claims() });
      expect(await revoke({ token }, { as: ground.alice })).toMatchObject({ status: "COMPLETE" });
      expect(list()).toHaveLength(1);
    });
  });

  describe("a token is not revoked", () => {
    test("by its audience, a stranger or nobody in particular; of one that is unknown they are told the same", async () => {
      await ground.open();
      const { given } = await chain();
      await works(given.token);
      const unknown = "A".repeat(43);
      for (const who of [{ as: ground.bob }, { as: ground.carol }, {}]) {
        for (const input of [{ id: given.id }, { token: given.token }, { id: unknown }, { id: ground.alice.did }]) {
          const { error, errorCode, errorData } = await revoke(input, who);
          expect({ status: "FAILED", error, errorCode, errorData }).toEqual({
            ...NOT_YOURS,
            errorData: {
              ...{ structural: true, retryable: false, operation: "ucan:revoke" },
              ...{ denied_by: ["authority"], reasons: ["not_covered"] },
            },
          });
        }
      }
      await works(given.token);
    });

    test("by a DID, except by the operator, not even by whose it is", async () => {
      await ground.open();
      expect(await revoke({ id: ground.alice.did }, { as: ground.alice })).toMatchObject(NOT_YOURS);
    });

    test("by an issuer of a proof that is not for whoever shows it", async () => {
      await ground.open();
      const { given } = await chain();
      const strangers = await ground.carol.grant(newPerson(), [READ_DOCS], { lifetimeSeconds: 900 });
      const prf = [given.token, strangers.token];
      const token = ground.says(ground.bob, { aud: ground.alice.did, att: [IN_SUB], prf });
      expect(await revoke({ token }, { as: ground.carol })).toMatchObject(NOT_YOURS);
      expect(await revoke({ token }, { as: ground.bob })).toMatchObject({ status: "COMPLETE" });
    });

    test("by whom somebody else than the venue says it was signed for", async () => {
      await ground.open();
      const { given } = await chain();
      const fct = [{ "venue-files": { for: ground.carol.did, via: [] } }];
      const token = ground.says(ground.bob, { aud: ground.alice.did, att: [IN_SUB], prf: [given.token], fct });
      expect(await revoke({ token }, { as: ground.carol })).toMatchObject(NOT_YOURS);
    });

    test("by who claims to have signed it", async () => {
      await ground.open();
      const { given } = await chain();
      const [header, payload] = given.token.split(".");
      const forged = `${header}.${payload}.${Buffer.alloc(64, 1).toString("base64url")}`;
      expect(await revoke({ token: forged }, { as: ground.alice })).toMatchObject(NOT_YOURS);
      await works(given.token);
    });

    test("when it gives nothing here, so that strangers cannot fill the list", async () => {
      await ground.open();
      const { token } = await ground.carol.grant(ground.bob, [READ_DOCS]);
      expect(await revoke({ token }, { as: ground.carol })).toMatchObject(NOT_YOURS);
    });

    test("by others than the operator once the list is long", async () => {
      await ground.open();
      const { given } = await chain();
      await byOperator({ id: "A".repeat(43) });
      const entries = Array.from({ length: 10_000 }, (_, index) => `did:web:host-${index}.example.com\n`);
      appendFileSync(join(ground.base, "state/revocations"), entries.join(""));
      expect(await revoke({ token: given.token }, { as: ground.alice })).toMatchObject({
        errorCode: "CAPABILITY_DENIED",
        errorData: { reasons: ["too_large"] },
      });
      expect(await byOperator({ token: given.token })).toMatchObject({ status: "COMPLETE" });
      await isOver(given.token);
    });

    test("by an agent that was given less than its principal has", async () => {
      await ground.open();
      const { given } = await chain();
      const caps = [{ with: "file://", can: "crud" }];
      expect(await byOperator({ id: given.id }, { caps })).toMatchObject(NOT_YOURS);
      expect(await byOperator({ id: given.id }, { caps: [] })).toMatchObject(NOT_YOURS);
      expect(await revoke({ token: given.token }, { as: ground.alice, caps })).toMatchObject(NOT_YOURS);
      const session = await ground.key.grant(ground.venue.did, [READ_DOCS]);
      expect(await revoke({ id: given.id }, { bearer: session.token })).toMatchObject(NOT_YOURS);
      expect(await byOperator({ id: given.id }, { caps: [{ with: "file://", can: "*" }] })).toMatchObject({
        status: "COMPLETE",
      });
    });

    test.each<[string, object, string, string]>([
      ["when neither is given", {}, "Exactly one of 'id' and 'token' is required", "/id"],
      [
        "when both are given",
        { id: "A".repeat(43), token: "x" },
        "Only one of 'id' and 'token' may be supplied",
        "/token",
      ],
      ["by what is no id", { id: "A".repeat(42) }, "'id' must be the id of a token, or a DID", "/id"],
      [
        "by more than one line",
        { id: `did:x:y\n${"A".repeat(43)}` },
        "'id' must be the id of a token, or a DID",
        "/id",
      ],
      ["by half a megabyte", { id: `did:x:${"y".repeat(500_000)}` }, "'id' must be the id of a token, or a DID", "/id"],
      ["by what is no token", { token: "x" }, "'token' cannot be read: malformed", "/token"],
    ])("%s", async (_what, input, error, pointer) => {
      await ground.open();
      expect(await byOperator(input)).toMatchObject({ errorCode: "INVALID_INPUT", error, errorData: { pointer } });
    });
  });

  test("a revocation outlives the venue", async () => {
    await ground.open();
    const { given } = await chain();
    await byOperator({ id: given.id });
    await ground.venue.close();
    await ground.open();
    await isOver(given.token);
  });

  test("the record of ucan:revoke hides the token, and its audit says who revoked what", async () => {
    await ground.open();
    const { given } = await chain();
    const answer = await revoke({ token: given.token }, { as: ground.alice });
    expect(answer.input).toEqual({ token: "HIDDEN" });
    await revoke({ id: given.id }, { as: ground.bob });
    const said = (await ground.auditRecords()).map(({ caller, resource, outcome }) => [caller, resource, outcome]);
    expect(said).toEqual([
      [ground.alice.did, `ucan:${given.id}`, "OK"],
      [ground.bob.did, `ucan:${given.id}`, "CAPABILITY_DENIED"],
    ]);
  });
});

const ALL_HERS: Capability = { with: "file://hers/", can: "crud/read" };
const EVERYWHERE: Capability = { with: "file://", can: "crud/read" };

const verify = async (input: object, options: CallOptions = {}) => {
  const answer = await ground.call("ucan:verify", input, options);
  return answer.output ?? answer;
};
const bearer = () => ({ bearer: ground.venue.localToken });

describe("ucan:verify tells", () => {
  test("anybody what a token is worth, each link", async () => {
    await ground.open();
    const lead = await ground.key.grant(ground.alice, [READ_DOCS], { lifetimeSeconds: 900 });
    const { token, id, expiresAt } = await ground.alice.grant(ground.bob, [IN_SUB], { proofs: [lead.token] });
    const report = {
      valid: true,
      reasons: [],
      grants: [IN_SUB],
      expires: expiresAt,
      chain: [
        {
          ...{ id, issuer: ground.alice.did, audience: ground.bob.did, expires: expiresAt },
          ...{ grants: [IN_SUB], depth: 0, reasons: [] },
        },
        {
          ...{ id: lead.id, issuer: ground.venue.did, audience: ground.alice.did, expires: lead.expiresAt },
          ...{ grants: [READ_DOCS], depth: 1, reasons: [] },
        },
      ],
    };
    for (const who of [bearer(), { as: ground.alice }, { as: ground.bob }, { as: ground.carol }, {}]) {
      expect(await verify({ token }, who)).toEqual(report);
    }
    const validate = new Ajv({ strict: true }).compile(loadOperationSchema("verify", "ucan").output);
    expect([validate(report), validate.errors]).toEqual([true, null]);
  });

  test("what was asked: this on that, for whom", async () => {
    await ground.open();
    const { token } = await ground.key.grant(ground.bob, [IN_SUB]);
    const ask = (more: object) => verify({ token, ...more }, { as: ground.bob });
    expect(await ask({ with: "file://docs/sub/a.txt", can: "crud/read" })).toMatchObject({ valid: true });
    expect(await ask({ with: "file://docs/", can: "crud/read" })).toMatchObject({
      valid: false,
      reasons: ["not_covered"],
    });
    expect(await ask({ aud: ground.bob.did })).toMatchObject({ valid: true });
    expect(await ask({ aud: ground.alice.did })).toMatchObject({ valid: false, reasons: ["wrong_audience"] });
  });

  test("that it has been revoked", async () => {
    await ground.open();
    const { token, id } = await ground.alice.grant(ground.bob, [ALL_HERS]);
    expect(await verify({ token }, { as: ground.carol })).toMatchObject({ valid: true, grants: [ALL_HERS] });
    await ground.byOperator("ucan:revoke", { id });
    expect(await verify({ token }, { as: ground.carol })).toMatchObject({
      valid: false,
      reasons: ["revoked"],
      grants: [],
    });
  });

  test("that a grant on every root, by somebody who owns only one, is one on theirs", async () => {
    await ground.open();
    const { token } = await ground.alice.grant(ground.bob, [EVERYWHERE]);
    expect(await verify({ token })).toMatchObject({ valid: true, grants: [EVERYWHERE] });
    expect(await verify({ token, ...ALL_HERS })).toMatchObject({ valid: true });
    expect(await verify({ token, ...READ_DOCS })).toMatchObject({ valid: false, reasons: ["issuer_not_owner"] });
  });

  test("that a signature is wrong", async () => {
    await ground.open();
    const { token } = await ground.alice.grant(ground.bob, [ALL_HERS], { lifetimeSeconds: 600 });
    const [header, payload] = token.split(".");
    const forged = `${header}.${payload}.${Buffer.alloc(64, 1).toString("base64url")}`;
    const wrong = { valid: false, reasons: ["bad_signature"], grants: [] };
    expect(await verify({ token: forged }, { as: ground.bob })).toMatchObject(wrong);
  });

  test("of a root that Alice owns nothing but what one says that is not there", async () => {
    await ground.open();
    const { token } = await ground.key.grant(ground.bob, [EVERYWHERE]);
    const reports = await Promise.all(
      ["hers", "none"].map((root) => verify({ token, with: `file://${root}/`, can: "crud/read" }, { as: ground.bob })),
    );
    expect(reports[0]).toEqual(reports[1]);
    expect(reports[0]).toMatchObject({ valid: false, reasons: ["issuer_not_owner"] });
    expect(await verify({ token, ...READ_DOCS }, { as: ground.bob })).toMatchObject({ valid: true });
  });
});

describe("ucan:verify refuses", () => {
  test.each<[string, object, string, string]>([
    ["no token", {}, "'token' is required", "/token"],
    [
      "a resource without an ability",
      { with: "file://docs/" },
      "'can' is required: 'with' and 'can' are asked",
      "/can",
    ],
    ["an ability without a resource", { can: "crud" }, "'with' is required: 'with' and 'can' are asked", "/with"],
    [
      "what is no capability",
      { with: "docs", can: "crud" },
      "'with' and 'can' must be a resource (file://, dlfs/) and an",
      "/with",
    ],
    ["an audience that is no DID", { aud: "bob" }, "'aud' must be a DID", "/aud"],
    ["a misspelt field", { audience: "did:x:y" }, "Unknown field 'audience'", "/audience"],
  ])("%s", async (what, input, text, pointer) => {
    await ground.open();
    const given = what === "no token" ? input : { token: "x", ...input };
    const answer = await ground.byOperator("ucan:verify", given);
    expect(answer).toMatchObject({ errorCode: "INVALID_INPUT", errorData: { pointer } });
    expect(answer.error.slice(0, text.length)).toBe(text);
  });

  test("to take what is no token for one, which is an answer", async () => {
    await ground.open();
    const none = { valid: false, grants: [], expires: null };
    expect(await verify({ token: "x" }, bearer())).toMatchObject({ ...none, reasons: ["malformed"] });
    expect(await verify({ token: "x".repeat(10_000) }, {})).toMatchObject({
      ...none,
      reasons: ["too_large"],
    });
  });
});

test("neither the record nor the audit of ucan:verify holds the token", async () => {
  await ground.open();
  const { token, id } = await ground.key.grant(ground.bob, [IN_SUB]);
  const answer = await ground.byOperator("ucan:verify", { token });
  expect(answer.input).toEqual({ token: "HIDDEN" });
  const records = await ground.auditRecords();
  expect(records).toEqual([
    expect.objectContaining({ operation: "ucan:verify", resource: `ucan:${id}`, outcome: "OK" }),
  ]);
  for (const text of [JSON.stringify(answer), JSON.stringify(records)]) {
    expect(text).not.toContain(token.split(".")[2]);
  }
});
