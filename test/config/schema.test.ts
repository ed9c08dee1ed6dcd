import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import JSON5 from "json5";
import type { JsonSchema } from "../../src/config/json-schema.js";
import { loadConfigFile, parseConfig, readConfigSchema } from "../../src/config/load.js";
import { DEFAULT_LIMITS } from "../../src/core/limits.js";
import { venueProblems } from "./problems.js";

const schema = readConfigSchema();
const EXAMPLE = new URL("../../config.example.json5", import.meta.url);

/** Every key path of the schema; the members of a map stand under `*`. */
function keyPaths(given: JsonSchema, prefix: readonly string[] = []): string[][] {
  const { $ref, anyOf = [], properties = {}, additionalProperties, items } = given;
  const referred = $ref === undefined ? undefined : schema.$defs?.[$ref.replace("#/$defs/", "")];
  const inner = [referred, ...anyOf, items].filter((part) => part !== undefined);
  const entries = typeof additionalProperties === "object" ? [["*", additionalProperties] as const] : [];
  return [
    ...inner.flatMap((part) => keyPaths(part, prefix)),
    ...[...Object.entries(properties), ...entries].flatMap(([key, property]) => {
      const path = [...prefix, key];
      return [path, ...keyPaths(property, path)];
    }),
  ];
}

/** Every key path of a value, in the same form. */
function usedPaths(value: unknown, prefix: readonly string[] = []): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => usedPaths(item, prefix));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const path = [...prefix, prefix.join(".") === "file.roots" ? "*" : key];
    return [path.join("."), ...usedPaths(member, path)];
  });
}

const documented = [...new Set(keyPaths(schema).map((path) => path.join(".")))].sort();

describe("config.example.json5", () => {
  const text = readFileSync(EXAMPLE, "utf8");
  const everything: unknown = JSON5.parse(text.replace(/^(\s*)\/\/ (\w+: .+,)$/gm, "$1$2"));

  test("loads, and changes nothing", () => {
    expect(loadConfigFile(EXAMPLE.pathname)).toEqual(parseConfig({}, { baseDir: "/base" }));
  });

  test("still loads when all that is commented out is put in", () => {
    expect(venueProblems(everything)).toEqual([]);
  });

  test("shows every supported key", () => {
    expect([...new Set(usedPaths(everything))].sort()).toEqual(documented);
  });
});

describe("schemas/config.json", () => {
  const validate = new Ajv2020({ strict: true, strictRequired: false }).compile(schema);

  test("states the same limits as the core", () => {
    const { maxContentSize: _, ...limits } = DEFAULT_LIMITS;
    expect(parseConfig({}, { baseDir: "/base" }).file.limits).toEqual(limits);
  });

  test("describes every key", () => {
    const described = (given: JsonSchema): boolean =>
      given.description !== undefined ||
      (given.$ref !== undefined && described(schema.$defs?.[given.$ref.slice(8)] ?? {}));
    const bare: string[] = [];
    const visit = (value: unknown): void => {
      if (typeof value !== "object" || value === null) return;
      for (const [key, property] of Object.entries((value as JsonSchema).properties ?? {})) {
        if (!described(property)) bare.push(key);
      }
      Object.values(value).forEach(visit);
    };
    visit(schema);
    expect(bare).toEqual([]);
  });

  test("has the keys of the specification", () => {
    expect(documented).toContain("file.roots.*.durability");
    expect(documented.filter((path) => !path.includes("."))).toEqual(
      ["audit", "auth", "file", "hostname", "jobs", "maxRequestBytes", "mcp", "name", "port"].sort(),
    );
  });

  // Our own check reads the schema, since ajv costs much of the start-up time; it has to read it as ajv does.
  test("means to our own check what it means to ajv", () => {
    const junk = fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      1,
      1.5,
      -1,
      5000,
      70_000,
      "",
      "a",
      "flush",
      "a b",
      [],
      {},
    );
    const some = (members: Record<string, fc.Arbitrary<unknown>>) =>
      fc.oneof(
        { weight: 30, arbitrary: fc.record(members, { requiredKeys: [] }) },
        { weight: 1, arbitrary: junk },
        { weight: 1, arbitrary: fc.record({ ...members, unknown: junk }) },
      );
    const mostly = (...right: unknown[]) => fc.oneof({ weight: 40, arbitrary: fc.constantFrom(...right) }, junk);
    const root = some({
      path: mostly("a"),
      temp: mostly(true),
      prefix: mostly("p-"),
      readOnly: mostly(true),
      durability: mostly("flush", "none"),
      io: mostly("auto", "sync", "pool"),
    });
    const venue = some({
      name: mostly("a"),
      hostname: mostly("::1"),
      port: mostly(0, 65535),
      auth: some({
        public: some({ enabled: mostly(true), caps: fc.array(some({ with: mostly("file://"), can: mostly("*") })) }),
      }),
      jobs: some({ inlineWaitMs: mostly(4999), ttlMs: mostly(5000) }),
      mcp: fc.oneof(fc.constant(false), some({ defaultReadLines: mostly(7) })),
      audit: some({ file: mostly("a") }),
      file: some({
        roots: fc.oneof(
          junk,
          fc.dictionary(fc.constantFrom("a", "b", "a b", "__proto__"), fc.oneof(mostly("dir"), root)),
        ),
        discloseHostPaths: mostly(true),
        limits: some({ timeoutMs: mostly(1) }),
      }),
    });
    const seen = { right: 0, wrong: 0 };
    fc.assert(
      fc.property(venue, (value) => {
        const right = venueProblems(value).length === 0;
        seen[right ? "right" : "wrong"]++;
        expect({ value, right }).toEqual({ value, right: validate(value) });
      }),
      { numRuns: 2000 },
    );
    // Neither verdict came about by chance alone.
    expect(Math.min(seen.right, seen.wrong)).toBeGreaterThan(100);
  });
});
