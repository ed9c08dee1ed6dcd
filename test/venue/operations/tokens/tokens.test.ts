import { describe, expect, test } from "@jest/globals";
import { endOfToken, type WantedLifetime } from "../../../../src/venue/operations/tokens/lifetime.js";

const NOW = 1_790_000_000;
const end = (wanted: WantedLifetime, restsUntil: number | null = null, maxLifetime = 86_400) =>
  endOfToken(wanted, { now: NOW, maxLifetime, restsUntil });

describe("the end of a token", () => {
  test.each<[string, WantedLifetime, number | null, number | undefined]>([
    ["an hour, unless said", {}, null, NOW + 3600],
    ["less where what it rests on ends before", {}, NOW + 60, NOW + 60],
    ["what was asked for", { exp: NOW + 7200 }, null, NOW + 7200],
    ["what was asked for as a lifetime", { lifetimeSeconds: 1 }, null, NOW + 1],
    ["that of what it rests on, at most", { exp: NOW + 60 }, NOW + 60, NOW + 60],
    ["none, when it was asked for beyond that", { exp: NOW + 61 }, NOW + 60, undefined],
    ["none, when a lifetime leads beyond that", { lifetimeSeconds: 61 }, NOW + 60, undefined],
    ["none, when what it rests on is over but for the skew of clocks", {}, NOW - 10, undefined],
  ])("is %s", (_what, wanted, restsUntil, expected) => {
    expect(end(wanted, restsUntil)).toBe(expected);
  });

  test("is not later by default than may be asked for", () => {
    expect(end({}, null, 600)).toBe(NOW + 600);
  });

  test.each<[WantedLifetime, string]>([
    [{ exp: NOW }, `'exp' must be between ${NOW + 1} and ${NOW + 86_400}`],
    [{ exp: NOW + 86_401 }, `'exp' must be between ${NOW + 1} and ${NOW + 86_400}`],
    [{ exp: NOW * 1000 }, `'exp' must be between ${NOW + 1} and ${NOW + 86_400}`],
    [{ lifetimeSeconds: 0 }, "'lifetimeSeconds' must be between 1 and 86400"],
    [{ lifetimeSeconds: 86_401 }, "'lifetimeSeconds' must be between 1 and 86400"],
    [{ exp: NOW + 1, lifetimeSeconds: 1 }, "Only one of 'exp' and 'lifetimeSeconds' may be supplied"],
  ])("cannot be %j", (wanted, text) => {
    expect(() => end(wanted)).toThrow(text);
  });
});
