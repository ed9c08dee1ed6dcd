import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { loadConfigFile } from "../../src/config/load.js";
import type { VenueConfig } from "../../src/config/types.js";
import { configErrorOf, problemsOf } from "./problems.js";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "venue-config-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function only(configs: readonly VenueConfig[]): VenueConfig {
  const [config, ...others] = configs;
  if (config === undefined || others.length > 0) throw new Error(`${configs.length} venues`);
  return config;
}

function file(content: string | Uint8Array, name = "venue.json5"): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe("a config file", () => {
  test("is JSON5", () => {
    const path = file(`\ufeff{ /* mine */ name: 'my venue', port: 0x1F90, }`);
    expect(loadConfigFile(path)).toMatchObject([{ name: "my venue", port: 8080 }]);
  });

  test("has its paths relative to its own folder", () => {
    const path = file(
      `{ audit: { file: "log/audit.jsonl" }, file: { roots: { a: "a", b: { path: "../b" }, c: "/c" } } }`,
    );
    const config = only(loadConfigFile(relative(process.cwd(), path)));
    expect(config.audit.file).toBe(join(folder, "log/audit.jsonl"));
    expect(Object.values(config.file.roots)).toMatchObject([
      { path: join(folder, "a") },
      { path: join(folder, "..", "b") },
      { path: "/c" },
    ]);
  });

  test("can be joined by roots of the command line", () => {
    const path = file(`{ file: { roots: { a: "a" } } }`);
    const config = only(loadConfigFile(path, { extraRoots: { b: { path: "/b", readOnly: true } } }));
    expect(Object.entries(config.file.roots)).toMatchObject([
      ["a", { path: join(folder, "a") }],
      ["b", { kind: "host", path: "/b", readOnly: true }],
    ]);
  });

  test("has its capabilities checked by the given parser", () => {
    const path = file(`{ auth: { public: { caps: [{ with: "docs", can: "crud" }] } } }`);
    expect(problemsOf(() => loadConfigFile(path, { isGrant: () => false }))).toHaveLength(1);
    expect(problemsOf(() => loadConfigFile(path))).toEqual([]);
  });

  test("takes __proto__ as a name", () => {
    expect(problemsOf(() => loadConfigFile(file(`{ __proto__: { port: 1 } }`)))).toEqual([
      expect.stringMatching(/venue\.json5:1:3: Unknown config key '__proto__'$/),
    ]);
    expect(problemsOf(() => loadConfigFile(file(`{ file: { roots: { __proto__: "a" } } }`)))).toEqual([
      expect.stringMatching(/venue\.json5:1:20: 'file\.roots\.__proto__' has an invalid name: expected /),
    ]);
  });
});

describe("a config file of several venues", () => {
  test("gives them in their order, with paths relative to its folder", () => {
    const path = file(`{ venues: [{ name: "a", stateDir: "a" }, { name: "b", port: 1, stateDir: "../b" }] }`);
    expect(loadConfigFile(path)).toMatchObject([
      { name: "a", stateDir: join(folder, "a") },
      { name: "b", stateDir: join(folder, "..", "b") },
    ]);
  });

  test("ends with status 78 when any of them is wrong", () => {
    const error = configErrorOf(() => loadConfigFile(file(`{ venues: [{}, { port: 1, prot: 1 }] }`)));
    expect(error).toMatchObject({ exitStatus: 78, problems: [expect.stringContaining("'venues[1].prot'")] });
  });
});

describe("a file that cannot be read ends with status 66", () => {
  test.each([
    ["missing.json5", 'Cannot read "missing.json5": no such file'],
    ["plain/missing.json5", 'Cannot read "missing.json5": no such file'],
    ["folder", 'Cannot read "folder": it is a directory'],
    ["x".repeat(300), `Cannot read "${"x".repeat(300)}": ENAMETOOLONG`],
  ])("%s", (name, message) => {
    file("{}", "plain");
    mkdirSync(join(folder, "folder"));
    expect(configErrorOf(() => loadConfigFile(join(folder, name)))).toMatchObject({
      name: "ConfigError",
      exitStatus: 66,
      problems: [message],
      message,
    });
  });
});

describe("an invalid file ends with status 78", () => {
  test.each([
    ["{\n  name: 'a',\n  port: }", "FILE:3:9: not valid JSON5: invalid character '}'"],
    ["", "FILE:1:1: not valid JSON5: invalid end of input"],
    [Uint8Array.of(0x27, 0xff, 0x27), 'Cannot read "venue.json5": not valid UTF-8'],
    ["[]", "FILE:1:1: Config must be an object, not an array"],
    ["null", "FILE:1:1: Config must be an object, not null"],
    ["'name'", "FILE:1:1: Config must be an object, not a string"],
    ["7", "FILE:1:1: Config must be an object, not 7"],
  ])("%j", (content, text) => {
    const path = file(content);
    const message = text.replace("FILE", path);
    const error = configErrorOf(() => loadConfigFile(path));
    expect(error).toMatchObject({ exitStatus: 78, problems: [message], message });
  });

  test("with one line for each problem", () => {
    const path = file(`{ port: "8080", nmae: "a" }`);
    const error = configErrorOf(() => loadConfigFile(path));
    expect(error?.exitStatus).toBe(78);
    expect(error?.message.split("\n")).toEqual([
      `${path}:1:3: 'port' must be an integer from 0 to 65535, not a string`,
      `${path}:1:17: Unknown config key 'nmae' - did you mean 'name'?`,
    ]);
  });
});

describe("a key that an object has twice", () => {
  const problemsIn = (text: string) => problemsOf(() => loadConfigFile(file(text)));

  test("is refused with both places", () => {
    expect(
      problemsIn(`{ port: 1,\n  "p\\u006frt": 2, file: { roots: {\n docs: "a",\n d\\u006fcs: "b", 'docs': "c" } } }`),
    ).toEqual([
      expect.stringMatching(/venue\.json5:2:3: 'port' is set at .*venue\.json5:1:3 already\. Remove one of them$/),
      expect.stringMatching(/:4:2: 'file\.roots\.docs' is set at .*:3:2 already/),
      expect.stringMatching(/:4:18: 'file\.roots\.docs' is set at .*:3:2 already/),
    ]);
  });

  test("is not one of another object, nor one with a point in its name", () => {
    expect(problemsIn(`{ auth: { tokens: [] }, audit: {}, log: {}, file: { roots: { a: "a", log: "b" } } }`)).toEqual(
      [],
    );
    expect(problemsIn(`{ log: { level: "info" }, "log.level": 1 }`).join()).toMatch(/Unknown config key/);
  });
});
