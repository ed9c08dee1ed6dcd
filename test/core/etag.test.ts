import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { base32nopad } from "@scure/base";
import fc from "fast-check";
import { etagOf, expectedOf, hashText, isExpected } from "../../src/core/etag.js";
import { VersionCache } from "../../src/core/etag-cache.js";

const sha = (text: string) => createHash("sha256").update(text).digest("hex");

describe("an etag", () => {
  test("is the first 40 bits of the hash in base32", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const hash = createHash("sha256").update(text).digest();
        expect(etagOf(hash.toString("hex"))).toBe(base32nopad.encode(hash.subarray(0, 5)).toLowerCase());
      }),
    );
  });
});

describe("what a change expects", () => {
  test.each([
    [{ content: etagOf(sha("a")) }, sha("a"), true],
    [{ content: hashText(sha("a")) }, sha("a"), true],
    [{ content: etagOf(sha("a")) }, sha("b"), false],
    [{ content: hashText(sha("a")) }, sha("b"), false],
    [{ content: etagOf(sha("a")) }, undefined, false],
    ["nothing" as const, undefined, true],
    ["nothing" as const, sha("a"), false],
  ])("is judged by the content found: %j, %s: %s", (expected, found, answer) => {
    expect(isExpected(expected, found)).toBe(answer);
  });

  test.each([
    [{}, undefined],
    [{ ifMatch: "k3v5x2aq" }, { content: "k3v5x2aq" }],
    [{ ifMatch: hashText(sha("a")) }, { content: hashText(sha("a")) }],
    [{ ifNoneMatch: "*" }, "nothing"],
  ])("is read from %j", (input, expected) => {
    expect(expectedOf(input)).toEqual(expected);
  });

  test.each([
    [{ ifMatch: "K3V5X2AQ" }, "/ifMatch"],
    [{ ifMatch: "k3v5x2a1" }, "/ifMatch"],
    [{ ifMatch: "" }, "/ifMatch"],
    [{ ifMatch: `sha256:${"A".repeat(64)}` }, "/ifMatch"],
    [{ ifMatch: "*" }, "/ifMatch"],
    [{ ifNoneMatch: "k3v5x2aq" }, "/ifNoneMatch"],
    [{ ifMatch: "k3v5x2aq", ifNoneMatch: "*" }, "/ifNoneMatch"],
  ])("is refused in %j", (input, pointer) => {
    expect(() => expectedOf(input)).toThrow(
      expect.objectContaining({ code: "INVALID_INPUT", data: expect.objectContaining({ pointer }) }),
    );
  });
});

describe("hashes that are known", () => {
  test("are known by root and stamp, and not for a file that may still change unseen", () => {
    const cache = new VersionCache(() => createHash("sha256"));
    cache.put("a", "1:2", "x");
    cache.put("a", undefined, "y");
    expect([cache.get("a", "1:2"), cache.get("b", "1:2"), cache.get("a", undefined)]).toEqual([
      "x",
      undefined,
      undefined,
    ]);
  });

  test("are bounded in number; the oldest go first", () => {
    const cache = new VersionCache(() => createHash("sha256"));
    for (let index = 0; index <= 50_000; index += 1) cache.put("a", String(index), "x");
    expect([cache.get("a", "0"), cache.get("a", "1"), cache.get("a", "50000")]).toEqual([undefined, "x", "x"]);
  });
});
