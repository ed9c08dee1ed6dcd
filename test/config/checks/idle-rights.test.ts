import { describe, expect, test } from "@jest/globals";
import { parseGrant } from "../../../src/authz/grant.js";
import { parseConfig, parseConfigs } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";

const KEY = `did:key:z6Mk${"k".repeat(44)}`;
const options = { baseDir: "/base", isGrant: (value: unknown) => parseGrant(value) !== undefined };
const warningsOf = (config: VenueConfigInput, others: object = {}) =>
  parseConfig(config, { ...options, ...others }).warnings;
const grant = (resource: string, did = KEY) => ({ did, with: resource, can: "crud/read" });
const nobody = (place: string) =>
  `'${place}' is neither the did:key of an Ed25519 key nor the DID of a token: nobody can prove to be it`;

describe("a grant for a root that does not exist is pointed out", () => {
  test.each<[string, string]>([
    ["file://docs/", "docs"],
    ["file://docs/a/b", "docs"],
    ["file://Tmp", "Tmp"],
    ["file://t\u{9b}mp/", "t\\u{9b}mp"],
  ])("%s", (resource, name) => {
    expect(warningsOf({ auth: { grants: [grant("file://tmp/"), grant(resource)] } })).toEqual([
      `'auth.grants[1]' names root '${name}', which does not exist`,
    ]);
  });

  test("but not one for every root, or for one of the command line", () => {
    const config = { auth: { grants: [grant("file://"), grant("file://docs/a")] } };
    expect(warningsOf(config, { extraRoots: { docs: { path: "/docs" } } })).toEqual([]);
  });

  test("with its place among several venues", () => {
    const [, second] = parseConfigs({ venues: [{}, { port: 1, auth: { grants: [grant("file://a/")] } }] }, options);
    expect(second?.warnings).toEqual(["'venues[1].auth.grants[0]' names root 'a', which does not exist"]);
  });
});

describe("what is misspelt in a capability is pointed out", () => {
  const roots = { docs: { path: "/docs" }, drive: { dlfs: "drive" } };
  const open = { file: { roots }, drives: { store: "memory" } } as const;
  const CAPS = [
    { with: "file://docs/", can: "crud/raed" },
    { with: "file://docs/", can: "read" },
    { with: "file://dosc/", can: "crud/read" },
  ];
  const ability = (can: string) =>
    `gives nothing: no operation needs '${can}'. Use crud/read, crud/write, crud/delete, crud (all three), exec/run or approve`;
  const told = (place: string, at = "") => [
    `'${place}[0]${at}' ${ability("crud/raed")}`,
    `'${place}[1]${at}' ${ability("read")}`,
    `'${place}[2]${at}' names root 'dosc', which does not exist`,
  ];

  test("of everybody, of a token, and of a grant", () => {
    expect(warningsOf({ ...open, auth: { public: { caps: CAPS } } })).toEqual(told("auth.public.caps"));
    const tokens = [{ name: "ci", token: { env: "CI" }, caps: CAPS }];
    expect(warningsOf({ ...open, auth: { tokens } })).toEqual(told("auth.tokens[0].caps"));
    const grants = CAPS.map((capability) => ({ did: KEY, ...capability }));
    expect(warningsOf({ ...open, auth: { grants } })).toEqual(told("auth.grants"));
  });

  test("and nothing of what means something", () => {
    const all = [
      "*",
      "crud",
      "crud/*",
      "crud/read",
      "crud/read/*",
      "crud/write",
      "crud/delete",
      "exec",
      "exec/run",
      "approve",
    ];
    const caps = ["file://", "file://docs", "file://docs/a/b", "file://drive/x", "dlfs://notes/"].flatMap((resource) =>
      all.map((can) => ({ with: resource, can })),
    );
    const tokens = [{ name: "ci", token: { env: "CI" }, caps }];
    expect(warningsOf({ ...open, auth: { public: { caps }, tokens } })).toEqual([]);
  });
});

describe("a grant for somebody whom nobody can prove to be is pointed out", () => {
  const token = (name: string, did?: string) => ({
    name,
    token: { env: "A" },
    caps: [],
    ...(did === undefined ? {} : { did }),
  });
  const tokens = [token("ci"), token("backup", "did:web:backup.example")];
  test.each<[string, VenueConfigInput]>([
    ["did:web:elsewhere.example", {}],
    ["did:key:z6Mkx", {}],
    [`${KEY}k`, {}],
    [KEY.slice(0, -1), {}],
    [`${KEY.slice(0, -1)}0`, {}],
    ["did:web:v:token:cd", { did: "did:web:v" }],
    ["did:web:w:token:ci", { did: "did:web:v" }],
    ["did:web:v:token:backup", { did: "did:web:v" }],
  ])("%s", (did, config) => {
    expect(warningsOf({ ...config, auth: { tokens, grants: [grant("file://", did)] } })).toEqual([
      nobody("auth.grants[0].did"),
    ]);
  });

  test.each<[string, VenueConfigInput]>([
    [KEY, {}],
    ["did:web:backup.example", {}],
    ["did:web:v:token:ci", { did: "did:web:v" }],
    // Whose DID the venue's will be is not known yet.
    [`${KEY}:token:ci`, {}],
    ["did:web:o", { operator: "did:web:o" }],
    ["did:web:v", { did: "did:web:v" }],
  ])("but not %s", (did, config) => {
    expect(warningsOf({ ...config, auth: { tokens, grants: [grant("file://", did)] } })).toEqual([]);
  });
});

describe("an owner whom nobody can prove to be is pointed out", () => {
  const rooted = (owner: string): VenueConfigInput => ({ file: { roots: { docs: { path: "a", owner } } } });
  test.each<[string, VenueConfigInput]>([
    ["did:web:elsewhere.example", {}],
    ["did:key:z6Mkx", {}],
    ["did:web:v", {}],
  ])("%s", (owner, config) => {
    expect(warningsOf({ ...config, ...rooted(owner) })).toEqual([
      "'file.roots.docs.owner' is not the did:key of an Ed25519 key: nobody can prove to be it",
    ]);
  });

  test("with the type of its key, where that is not taken", () => {
    const is = (type: string) => `is ${type} did:key, and only Ed25519 keys are taken: nobody can prove to be it`;
    const [rsa, p384] = [
      "did:key:zgghBUVkqmWS8e1ioRVp2WN9Vw6x",
      "did:key:z82Lm1MpAkeJcix9K8TMiLd5NMAhnwkjjCBeWHXyu3U4oT2MVJJKXkcVBgjGhnLBn2Kaau9",
    ];
    expect(warningsOf(rooted(rsa))).toEqual([`'file.roots.docs.owner' ${is("an RSA")}`]);
    expect(warningsOf({ auth: { grants: [grant("file://", p384)] } })).toEqual([
      `'auth.grants[0].did' ${is("a P-384")}`,
    ]);
  });

  test.each<[string, VenueConfigInput]>([
    [KEY, {}],
    ["did:web:v", { did: "did:web:v" }],
    ["did:web:o", { operator: "did:web:o" }],
  ])("but not %s", (owner, config) => {
    expect(warningsOf({ ...config, ...rooted(owner) })).toEqual([]);
  });
});

describe("public access that ends at owners is pointed out", () => {
  const owned = { temp: true, owner: KEY } as const;
  const free = { temp: true } as const;
  const warnings = (caps: readonly string[], roots: Record<string, typeof owned | typeof free>, enabled?: boolean) =>
    warningsOf({
      auth: {
        public: {
          caps: caps.map((resource) => ({ with: resource, can: "crud" })),
          ...(enabled === undefined ? {} : { enabled }),
        },
      },
      file: { roots },
    });

  test("where every root has one", () => {
    const expected = ["'auth.public.caps' reach no root: public access ends at an owner, and every root has one"];
    expect(warnings(["file://"], { a: owned })).toEqual(expected);
    expect(warnings(["file://", "file://a/"], { a: owned, b: owned }, true)).toEqual(expected);
  });

  test("where a capability is for one that has one", () => {
    expect(warnings(["file://", "file://free/", "file://mine/in/"], { free, mine: owned })).toEqual([
      "'auth.public.caps[2]' gives nothing: root 'mine' has an owner, and public access ends there",
    ]);
  });

  test.each<[string, readonly string[], boolean | undefined]>([
    ["nothing is given", [], undefined],
    ["it is switched off", ["file://", "file://a/"], false],
  ])("but not where %s", (_, caps, enabled) => {
    expect(warnings(caps, { a: owned }, enabled)).toEqual([]);
  });

  test("and not where it is only the default", () => {
    expect(warningsOf({ file: { roots: { a: owned } } })).toEqual([]);
  });
});
