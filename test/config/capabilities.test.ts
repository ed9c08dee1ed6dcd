import { describe, expect, test } from "@jest/globals";
import { parseGrant } from "../../src/authz/grant.js";
import { configProblems, venueProblems } from "./problems.js";

/** Where a list of capabilities can stand: a config with one there, and its key path. */
const PLACES: readonly [string, (...entries: unknown[]) => object][] = [
  ["auth.public.caps", (...caps) => ({ auth: { public: { caps } } })],
  ["auth.grants", (...caps) => ({ auth: { grants: caps.map(withDid) } })],
  [
    "auth.issuers[0].map[0].caps",
    (...caps) => ({ auth: { issuers: [{ issuer: "https://i.example", map: [{ when: {}, caps }] }] } }),
  ],
  ["auth.tokens[0].caps", (...caps) => ({ auth: { tokens: [{ name: "ci", token: { env: "CI" }, caps }] } })],
];

function withDid(entry: unknown): unknown {
  return typeof entry === "object" ? { did: "did:key:z6Mkx", ...entry } : entry;
}

describe.each(PLACES)("a capability in %s", (keyPath, configWith) => {
  test.each([
    [5, `'${keyPath}[0]' must be an object, not 5`],
    [{ with: "file://" }, `'${keyPath}[0].can' is missing: expected a string`],
    [{ with: null, can: "crud" }, `'${keyPath}[0].with' must be a string, not null`],
    [{ with: "file://", can: "crud", nb: {} }, `Unknown config key '${keyPath}[0].nb'`],
  ])("has to be {with, can}: %j", (entry, message) => {
    expect(venueProblems(configWith(entry))).toEqual([message]);
    // What is said about its form is enough.
    const isGrant = (value: unknown) => typeof value === "object" && value !== null;
    expect(venueProblems(configWith(entry), { isGrant })).toEqual([message]);
  });

  test("with several faults has all of them reported", () => {
    expect(venueProblems(configWith({ nb: {}, colour: "red" }))).toEqual([
      `Unknown config key '${keyPath}[0].nb'`,
      `Unknown config key '${keyPath}[0].colour'`,
      expect.stringMatching(/\.with' is missing: expected a string\. '[^']+' means: A (?:resource|capability)/),
      `'${keyPath}[0].can' is missing: expected a string`,
    ]);
  });

  test("with a misspelt key has only the other one reported as missing", () => {
    expect(venueProblems(configWith({ cann: "crud" }))).toEqual([
      `Unknown config key '${keyPath}[0].cann' - did you mean 'can'?`,
      `'${keyPath}[0].with' is missing: expected a string`,
    ]);
  });

  test("has to grant something, as the given parser sees it", () => {
    const value = configWith({ with: "file://docs", can: "crud" }, { with: "docs", can: "crud" });
    const isGrant = (capability: unknown) => parseGrant(capability) !== undefined;
    const message = (place: string) =>
      `'${place}' grants nothing: expected 'with' to be a resource such as "file://docs/" and 'can' an ability such as "crud/read"`;
    expect(venueProblems(value, { isGrant })).toEqual([message(`${keyPath}[1]`)]);
    expect(configProblems({ venues: [value] }, { isGrant })).toEqual([message(`venues[0].${keyPath}[1]`)]);
    expect(venueProblems(value)).toEqual([]);
  });
});
