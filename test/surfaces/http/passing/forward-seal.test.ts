import { randomBytes } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { Caller } from "../../../../src/core/call/caller.js";
import { createForwardSeal, type Forward } from "../../../../src/surfaces/http/passing/forward-seal.js";

const KEY = randomBytes(32);
const ALICE: Caller = {
  did: "did:key:zAlice",
  authentication: "ucan",
  isOperator: false,
  narrowedTo: "did:key:zAlice one",
};
const CANCEL: Forward = {
  method: "PUT",
  path: "/api/v1/jobs/00ff/cancel?x=1",
  body: Buffer.from('{"reason":"enough"}'),
  target: 2,
  caller: ALICE,
  requestId: "request-1",
};

const clock = { now: 1_790_000_000_000 };
const sealOf = (number: number, key = KEY, skewMs = 0) =>
  createForwardSeal({ key, number: () => number, nowMs: () => clock.now + skewMs });

test("an instance takes what another one of its venue passes on, with the caller as it was judged", () => {
  const passedOn = sealOf(2).open(sealOf(1).seal(CANCEL), CANCEL);
  expect(passedOn?.caller).toEqual(ALICE);
  expect(passedOn?.requestId).toBe("request-1");
  expect(passedOn?.isBody(CANCEL.body)).toBe(true);
  expect(passedOn?.isBody(Buffer.from("{}"))).toBe(false);
});

test("a header holds once, for as long as it must be kept", () => {
  const header = sealOf(1).seal(CANCEL);
  const seal = sealOf(2);
  expect(seal.open(header, CANCEL)).toBeDefined();
  expect(seal.open(header, CANCEL)).toBeUndefined();
  // Others come in between, and time passes.
  for (let at = 0; at < 10; at++) seal.open(sealOf(1).seal(CANCEL), CANCEL);
  clock.now += 29_000;
  seal.open(sealOf(1).seal(CANCEL), CANCEL);
  expect(seal.open(header, CANCEL)).toBeUndefined();
});

describe("is refused", () => {
  const header = () => sealOf(1).seal(CANCEL);

  test.each<[string, () => unknown]>([
    ["by another instance", () => sealOf(3).open(header(), CANCEL)],
    ["by another venue", () => sealOf(2, randomBytes(32)).open(header(), CANCEL)],
    ["with another method", () => sealOf(2).open(header(), { ...CANCEL, method: "DELETE" })],
    ["with another path", () => sealOf(2).open(header(), { ...CANCEL, path: "/api/v1/jobs/00fe/cancel?x=1" })],
    ["with another query", () => sealOf(2).open(header(), { ...CANCEL, path: "/api/v1/jobs/00ff/cancel" })],
    ["when it comes late", () => sealOf(2, KEY, 30_001).open(header(), CANCEL)],
    ["where clocks are too far apart", () => sealOf(2, KEY, -31_000).open(header(), CANCEL)],
  ])("%s", (_name, open) => {
    expect(open()).toBeUndefined();
  });

  test("with clocks that are somewhat apart it is taken", () => {
    for (const skewMs of [-20_000, 20_000]) expect(sealOf(2, KEY, skewMs).open(header(), CANCEL)).toBeDefined();
  });

  test.each<[string, (claims: string, mac: string) => string]>([
    ["no MAC", (claims) => claims],
    ["an empty one", (claims) => `${claims}.`],
    ["a short one", (claims, mac) => `${claims}.${mac.slice(1)}`],
    ["another one", (claims, mac) => `${claims}.${mac.replace(/^./, (first) => (first === "A" ? "B" : "A"))}`],
    ["two headers", (claims, mac) => `${claims}.${mac}, ${claims}.${mac}`],
    ["nothing", () => ""],
    ["very much", (claims, mac) => `${claims.repeat(200)}.${mac}`],
    [
      "a caller of the sender's choice",
      (claims, mac) => {
        const facts = JSON.parse(Buffer.from(claims, "base64url").toString());
        return `${Buffer.from(JSON.stringify({ ...facts, isOperator: true })).toString("base64url")}.${mac}`;
      },
    ],
  ])("%s", (_name, forge) => {
    const [claims = "", mac = ""] = header().split(".");
    expect(sealOf(2).open(forge(claims, mac), CANCEL)).toBeUndefined();
  });
});
