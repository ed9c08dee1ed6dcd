// The limits of approvals and of questions to users of clients, by a clock that the test turns.

import { describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import type { ApprovalRequest } from "../../../src/core/ports/approval.js";
import { newSeed, signingKeyFromSeed } from "../../../src/ucan/mint/signing-key.js";
import { Approvals } from "../../../src/venue/approvals/approvals.js";
import { createQuestionSeal } from "../../../src/venue/approvals/question-seal.js";

const MINUTE = 60_000;
let now = 1_790_000_000_000;
const { privateKey } = signingKeyFromSeed(newSeed());
const open = (key: typeof privateKey | undefined = privateKey) =>
  new Approvals({
    clock: { nowMs: () => now, monotonicMs: () => now },
    callerOf: ({ callerDID = "did:key:z6MkAgent" }) => callerDID,
    driveOwnerOf: () => "did:key:z6MkAgent",
    credentialsOf: () => ["agent"],
    maySee: () => false,
    seal: createQuestionSeal(key),
  });

const CONTEXT: SurfaceContext = {};
const part = (before = "one", root = "docs") => ({ root, before, after: "two" });
const request = (digest = "write a.txt", parts = [part()]): ApprovalRequest => ({
  ...{ operation: "file:write", digest, context: CONTEXT, parts, minutes: 10 },
  effects: [{ root: "docs", path: "a.txt", action: "overwrite" }],
});
const use = (approvals: Approvals, id: string) =>
  approvals.use(id, { digest: "write a.txt", context: CONTEXT, part: part() }, false);
const asked = (approvals: Approvals, one = request()): string => approvals.ask(one)?.id ?? "none";

describe("an approval", () => {
  test("can be decided until its time, and used for as long again", () => {
    const approvals = open();
    const [late, early] = [asked(approvals), asked(approvals, request("another"))];
    now += 10 * MINUTE - 1;
    expect(approvals.find(late)?.state).toBe("pending");
    expect(approvals.decide(late, { allows: true, by: "person" })).toBe(true);
    now += 1;
    expect(approvals.decide(early, { allows: true, by: "person" })).toBe(false);
    expect(approvals.find(early)?.state).toBe("expired");
    now += 10 * MINUTE - 2;
    expect(use(approvals, late)).toBeUndefined();
    expect(use(approvals, late)).toBe("used");
  });

  test("that was not used in time is worth nothing", () => {
    const approvals = open();
    const id = asked(approvals);
    approvals.decide(id, { allows: true, by: "person" });
    now += 10 * MINUTE;
    expect(use(approvals, id)).toBe("expired");
  });

  test("is not kept beyond a hundred of a caller, nor a thousand of all", () => {
    const approvals = open();
    const of = (callerDID: string, index: number) => ({ ...request(`write ${index}`), context: { callerDID } });
    const made = Array.from({ length: 101 }, (_, index) => approvals.ask(of("did:key:z6MkOne", index)));
    expect(made.filter((one) => one === undefined)).toHaveLength(1);
    for (let caller = 0; caller < 9; caller += 1) {
      for (let index = 0; index < 100; index += 1) approvals.ask(of(`did:key:z6Mk${caller}`, index));
    }
    expect(approvals.ask(of("did:key:z6MkLast", 1))).toBeUndefined();
    now += 10 * MINUTE;
    expect(approvals.ask(of("did:key:z6MkLast", 1))).toBeDefined();
  });
});

describe("a question to the user of a client", () => {
  const question = (approvals: Approvals, id: string): string => approvals.question(id) ?? "none";

  test("is answered within five minutes, once", () => {
    const approvals = open();
    const id = asked(approvals);
    const [first, second] = [question(approvals, id), question(approvals, id)];
    now += 5 * MINUTE;
    expect(approvals.answer(first, "allowed", CONTEXT)).toBeUndefined();
    now -= 1;
    expect(approvals.answer(first, "dismissed", CONTEXT)).toBeUndefined();
    expect(approvals.answer(first, "allowed", CONTEXT)).toBeUndefined();
    expect(approvals.answer(second, "allowed", CONTEXT)).toBe(id);
    expect(approvals.answer(second, "allowed", CONTEXT)).toBeUndefined();
    expect(approvals.find(id)).toMatchObject({ state: "once", by: "client" });
  });

  test("takes no answer that was made up or changed, in any of its bytes", () => {
    const approvals = open();
    const id = asked(approvals);
    const text = question(approvals, id);
    const sealed = Buffer.from(text, "base64url");
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(approvals.answer(changed.toString("base64url"), "allowed", CONTEXT)).toBeUndefined();
    }
    for (const other of ["", id, `${text}A`, text.slice(1), "A".repeat(text.length)]) {
      expect(approvals.answer(other, "allowed", CONTEXT)).toBeUndefined();
    }
    expect(approvals.find(id)?.state).toBe("pending");
  });

  test("takes no answer of another caller, of another venue, of another key, or from before a restart", () => {
    const approvals = open();
    const id = asked(approvals);
    const text = question(approvals, id);
    expect(approvals.answer(text, "allowed", { callerDID: "did:key:z6MkOther" })).toBeUndefined();
    const restarted = open();
    asked(restarted);
    expect(restarted.answer(text, "allowed", CONTEXT)).toBeUndefined();
    for (const key of [signingKeyFromSeed(newSeed()).privateKey, undefined]) {
      const foreign = createQuestionSeal(key);
      expect(foreign.open(text)).toBeUndefined();
      const forged = foreign.seal({ id, until: now + MINUTE, facts: Buffer.alloc(32) });
      expect(approvals.answer(forged, "allowed", CONTEXT)).toBeUndefined();
    }
    expect(approvals.find(id)?.state).toBe("pending");
  });

  test("shows nothing of what it is about, and is never the same twice", () => {
    const approvals = open();
    const id = asked(approvals);
    const texts = [question(approvals, id), question(approvals, id)];
    expect(texts[0]).not.toBe(texts[1]);
    for (const text of texts) expect(Buffer.from(text, "base64url").toString("hex")).not.toContain(id);
  });
});
