import { describe, expect, test } from "@jest/globals";
import { parseConfig, parseConfigs } from "../../src/config/load.js";
import type { VenueConfigInput } from "../../src/config/types.js";
import { configErrorOf, configProblems, venueProblems } from "./problems.js";

const parse = (value: VenueConfigInput | { readonly venues: readonly VenueConfigInput[] }) =>
  parseConfigs(value, { baseDir: "/base" });

describe("a config", () => {
  test("of one venue gives that one", () => {
    expect(parse({ name: "a" })).toEqual([parseConfig({ name: "a" }, { baseDir: "/base" })]);
  });

  test("of several gives each as it would be alone, in their order", () => {
    const venues = [{ name: "b" }, { name: "a", port: 0, file: { roots: { docs: "docs" } } }, { port: 1 }];
    expect(parse({ venues })).toEqual(venues.map((venue) => parseConfig(venue, { baseDir: "/base" })));
  });

  test("in the form of several may hold only one", () => {
    expect(parse({ venues: [{ name: "a" }] })).toEqual(parse({ name: "a" }));
  });
});

describe("a list of venues is refused", () => {
  test.each<[unknown, ...string[]]>([
    [{ venues: [] }, "'venues' must be an array that is not empty"],
    [{ venues: {} }, "'venues' must be an array that is not empty, not an object"],
    [{ venues: null }, "'venues' must be an array that is not empty, not null"],
    [{ venues: "a" }, "'venues' must be an array that is not empty, not a string"],
    [
      { venues: [5, "a", null] },
      ...["5", "a string", "null"].map((it, i) => `'venues[${i}]' must be an object, not ${it}`),
    ],
    [{ venues: [{}], name: "a" }, "Unknown config key 'name'"],
    [{ venues: [{}], venue: {} }, "Unknown config key 'venue' - did you mean 'venues'?"],
    [{ venues: [{}], store: {} }, "Unknown config key 'store'"],
    [{ venues: [{ venues: [] }] }, "Unknown config key 'venues[0].venues'"],
    [{ venue: [{}] }, "Unknown config key 'venue' - did you mean 'venues'?"],
    [{ file: { venue: {} } }, "Unknown config key 'file.venue'"],
    [[{}], "Config must be an object, not an array"],
  ])("%j", (value, ...problems) => {
    expect(configProblems(value)).toEqual(problems);
  });
});

describe("a problem in one of several venues", () => {
  test.each<[unknown, ...string[]]>([
    [{ file: { rootz: {} } }, "Unknown config key 'venues[1].file.rootz' - did you mean 'roots'?"],
    [
      { did: "did:web:v", auth: { grants: [{ did: "did:web:v:public", with: "file://", can: "crud" }] } },
      "'venues[1].auth.grants[0].did' must not be the DID of callers without credentials",
    ],
    [
      {
        auth: { tokens: [{ name: "a", token: { env: "A" }, did: "did:web:o", caps: [] }] },
        file: { roots: { a: { path: "a", owner: "did:web:o" } } },
      },
      "'venues[1].auth.tokens[0].did' must not be that of 'venues[1].file.roots.a.owner'",
    ],
    [
      { drives: { store: { path: "d" } }, profiles: 1 },
      "'venues[1].profiles' must be an object, not 1",
      `'venues[1].drives.store' outlasts the key of the venue: set 'venues[1].seed' or 'venues[1].seedFile', or make it "memory"`,
    ],
    [{ a2a: true }, "'venues[1].a2a' is not supported by this venue"],
    [{ port: "a" }, "'venues[1].port' must be an integer from 0 to 65535, not a string"],
    [{ file: { roots: { a: {} } } }, "'venues[1].file.roots.a' must have exactly one of 'path', 'temp' and 'dlfs'"],
    [{ seed: "0a".repeat(32), seedFile: "a" }, "'venues[1].seed' and 'venues[1].seedFile' cannot both be set"],
    [
      { did: "did:key:z6Mkx" },
      "'venues[1].did' is a did:key, so its key must be known: set 'venues[1].seed' or 'venues[1].seedFile'",
    ],
    [{ storage: { content: "file" } }, `'venues[1].storage.path' is missing: content "file" needs it`],
    [
      { mcp: { maxReadBytes: 9_000_000 } },
      "'venues[1].mcp.maxReadBytes' must be at most 'venues[1].file.limits.maxReadBytes' (8388608), not 9000000",
    ],
    [
      { corsOrigins: "*" },
      "'venues[1].corsOrigins' must not be \"*\" where callers without credentials are served, unless 'venues[1].auth.public.caps' says what they may do",
    ],
    [
      { auth: { tokens: [1, 2].map(() => ({ name: "a", token: { env: "A" }, caps: [] })) } },
      "'venues[1].auth.tokens[0].name' and 'venues[1].auth.tokens[1].name' are the same",
    ],
  ])("is named with its place: %j", (venue, ...problems) => {
    expect(configProblems({ venues: [{ port: 1 }, venue] })).toEqual(problems);
    expect(venueProblems(venue)).toEqual(problems.map((problem) => problem.replaceAll("venues[1].", "")));
  });

  test("is reported with those of all others, and with what they cannot both have", () => {
    const error = configErrorOf(() =>
      parseConfigs({ venues: [{ prot: 1 }, { name: 5 }, { hostname: "a b" }], nmae: 1 }, { baseDir: "/base" }),
    );
    expect(error?.exitStatus).toBe(78);
    expect(error?.problems).toEqual([
      "Unknown config key 'nmae'",
      "Unknown config key 'venues[0].prot' - did you mean 'port'?",
      "'venues[1].name' must be a string that is not empty, not a number",
      "'venues[2].hostname' must be a host name or an IP address",
      "'venues[0]' and 'venues[1]' both listen on localhost:8080",
    ]);
  });

  test("that is only a warning stays with its venue", () => {
    const configs = parse({ venues: [{ port: 1 }, { store: "a" } as object] });
    expect(configs.map(({ warnings }) => warnings)).toEqual([
      [],
      ["Config key 'venues[1].store' has no function in this venue and is ignored"],
    ]);
  });
});

describe("two venues", () => {
  test.each<[unknown[], ...string[]]>([
    [[{}, {}], "'venues[0]' and 'venues[1]' both listen on localhost:8080"],
    [[{ port: 1 }, {}, { port: 1 }], "'venues[0]' and 'venues[2]' both listen on localhost:1"],
    [[{ hostname: "LocalHost" }, { port: 8080 }], "'venues[0]' and 'venues[1]' both listen on localhost:8080"],
    [[{ hostname: "[::1]" }, { hostname: "::1" }], "'venues[0]' and 'venues[1]' both listen on [::1]:8080"],
    [
      [{}, {}, {}],
      "'venues[0]' and 'venues[1]' both listen on localhost:8080",
      "'venues[0]' and 'venues[2]' both listen on localhost:8080",
    ],
    [
      [{ listen: { socket: "a/../s" } }, { listen: { socket: "/base/s" } }],
      "'venues[0].listen.socket' and 'venues[1].listen.socket' are the same path",
    ],
    [
      [
        { port: 1, audit: { file: "a" }, storage: { content: "file", path: "b" } },
        { port: 2, audit: { file: "a" }, storage: { content: "file", path: "b" } },
      ],
      "'venues[0].storage.path' and 'venues[1].storage.path' are the same path",
      "'venues[0].audit.file' and 'venues[1].audit.file' are the same path",
    ],
  ])("cannot have the same: %j", (venues, ...problems) => {
    expect(configProblems({ venues })).toEqual(problems);
  });

  test.each<[unknown[]]>([
    [[{ port: 0 }, { port: 0 }]],
    [[{ port: 1 }, { port: 2 }]],
    [[{ hostname: "127.0.0.1" }, { hostname: "::1" }]],
    [[{}, { listen: { socket: "a" } }, { listen: { socket: "b" } }]],
    [
      [
        { seedFile: "a", stateDir: "b", log: { file: "c" } },
        { port: 1, seedFile: "a", stateDir: "b", log: { file: "c" } },
      ],
    ],
  ])("can have %j", (venues) => {
    expect(configProblems({ venues })).toEqual([]);
  });
});

describe("the listener of the command line", () => {
  test("replaces that of the config, a socket too", () => {
    const options = { baseDir: "/base", listener: { hostname: "127.0.0.1", port: 1 } };
    const [config] = parseConfigs({ listen: { socket: "s" }, name: "a" }, options);
    expect(config).toMatchObject({ hostname: "127.0.0.1", port: 1, name: "a" });
    expect(config?.listen).toBeUndefined();
    expect(parseConfigs({ hostname: "::1" }, { ...options, listener: { port: 2 } })).toMatchObject([
      { hostname: "::1", port: 2 },
    ]);
  });

  test("is what else is checked", () => {
    const value = { hostname: "0.0.0.0", corsOrigins: "*" };
    expect(configProblems(value)).toEqual([]);
    expect(configProblems(value, { listener: { hostname: "localhost" } })).toHaveLength(1);
  });

  test("needs a single venue", () => {
    const venues = [{ name: "a" }, { name: "b", port: 1 }];
    expect(configProblems({ venues }, { listener: { port: 2 } })).toContain(
      "--host and --port need a configuration with one venue",
    );
  });
});

describe("roots of the command line", () => {
  const extraRoots = { docs: { path: "/docs" } };

  test("belong to the one venue, in either form", () => {
    for (const value of [{}, { venues: [{}] }]) {
      const [config] = parseConfigs(value, { baseDir: "/base", extraRoots });
      expect(config?.file.roots).toMatchObject({ docs: { kind: "host", path: "/docs" } });
    }
  });

  test("are a problem with several venues, and only one", () => {
    const venues = [{ file: { roots: { docs: "a" } } }, { port: 1 }];
    expect(configProblems({ venues }, { extraRoots })).toEqual(["--root needs a configuration with one venue"]);
    expect(configProblems({ venues }, { extraRoots: {} })).toEqual([]);
  });

  test("say nothing of a list that is empty itself", () => {
    expect(configProblems({ venues: [] }, { extraRoots })).toEqual(["'venues' must be an array that is not empty"]);
  });
});
