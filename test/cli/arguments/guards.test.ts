import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { readFileLine } from "../../../src/cli/arguments/files/line.js";
import { findCommand } from "../../../src/cli/arguments/find-command.js";
import { readLine } from "../../../src/cli/arguments/read.js";
import type { ConfigSource } from "../../../src/cli/arguments/remote.js";
import { checkTypes } from "../../../src/cli/commands/command.js";
import { SOURCE, sourceOf } from "../../../src/cli/commands/shared.js";
import { loadOneConfig } from "../../../src/cli/load-config.js";
import { cleanUp, makeFolder, run } from "../process.js";

afterAll(cleanUp);

function sourceIn(argv: readonly string[]): ConfigSource {
  if (argv[0] === "ls") {
    const run = readFileLine("ls", argv.slice(1));
    if (run !== "help") return run.calls.source;
  }
  const found = findCommand(argv);
  const line = readLine(found.args, found);
  if (typeof line === "string") throw new Error("a command with roots was expected");
  checkTypes(line.values, SOURCE);
  return {
    ...sourceOf(line.values),
    ...(found.name === "mcp" && line.words.length > 0 ? { folders: line.words } : {}),
  };
}

const rootsOf = (cwd: string, ...argv: string[]) => loadOneConfig(sourceIn(argv), cwd).file.roots;

describe("the folders of mcp", () => {
  test("are roots named like them, numbered when alike, and protect .git and settings of clients", () => {
    const cwd = makeFolder();
    for (const path of ["a/work", "b/work"]) mkdirSync(join(cwd, path), { recursive: true });
    expect(rootsOf(cwd, "mcp", "a/work", "b/work", "--root", "docs=a")).toMatchObject({
      docs: { path: join(cwd, "a"), protect: ["@git", "@clients"] },
      work: { path: join(cwd, "a/work"), protect: ["@git", "@clients"] },
      "work-2": { path: join(cwd, "b/work"), protect: ["@git", "@clients"] },
    });
  });

  test("protect nothing by --no-protect but what --protect names", () => {
    const cwd = makeFolder();
    const roots = rootsOf(cwd, "mcp", ".", "--no-protect", "--protect", "*.lock");
    expect(Object.values(roots)).toMatchObject([{ protect: ["*.lock"] }]);
  });

  test("may begin with ~", () => {
    expect(Object.values(rootsOf("/", "mcp", "~/x"))).toMatchObject([{ path: join(homedir(), "x") }]);
    expect(Object.values(rootsOf("/", "mcp", "--root", "w=~"))).toMatchObject([{ path: homedir() }]);
  });
});

test.each([["serve"], ["check"], ["mcp"], ["call", "file:roots"], ["ls", "a:"], ["acp", "agent"]])(
  "roots given by --root protect .git and settings of clients, unless --no-protect: %s",
  (...words) => {
    const cwd = makeFolder();
    const roots = (...flags: string[]) =>
      rootsOf(cwd, ...words.slice(0, 1), "--root", "a=.", ...flags, ...words.slice(1));
    expect(roots()).toMatchObject({ a: { protect: ["@git", "@clients"] } });
    expect(roots("--no-protect")).toMatchObject({ a: { protect: [] } });
    expect(roots("--no-protect", "--protect", "@instructions")).toMatchObject({ a: { protect: ["@instructions"] } });
    writeFileSync(join(cwd, "c.json5"), '{ file: { roots: { mine: "." } } }');
    // What a configuration says of its own roots holds.
    expect(roots("--config", join(cwd, "c.json5"))).toMatchObject({ mine: { protect: [] } });
  },
);

test("mcp warns of a root that holds the keys of venue-files, and of no other", async () => {
  const home = makeFolder({ "state/venue-files/keys/me": "x", "work/a.txt": "" });
  const options = { cwd: home, env: { HOME: home, XDG_STATE_HOME: join(home, "state") }, input: "" };
  const ended = await run(["mcp", ".", "work", "--no-protect"], options);
  const warnings = ended.stderr.split("\n").filter((line) => line.includes("holds keys"));
  expect(ended.status).toBe(0);
  expect(warnings).toEqual([
    expect.stringMatching(/^Warning: root 'venue-files-test-\w+' holds keys and tokens of venue-files/),
  ]);
});

describe("--deny, --protect and --read-only", () => {
  test.each([["serve"], ["check"], ["mcp"], ["call", "file:roots"], ["ls", "a:"], ["acp", "agent"]])(
    "narrow every root, those of the configuration too: %s",
    (...words) => {
      const cwd = makeFolder();
      const file = join(cwd, "c.json5");
      writeFileSync(file, '{ file: { roots: { a: { path: ".", deny: ["x"], protect: ["y"] } } } }');
      const flags = ["--config", file, "--root", "b=.", "--deny", "@secrets", "--protect", "@git", "--read-only"];
      expect(rootsOf(cwd, ...words.slice(0, 1), ...flags, ...words.slice(1))).toMatchObject({
        a: { deny: ["x", "@secrets"], protect: ["y", "@git"], readOnly: true },
        b: { deny: ["@secrets"], protect: ["@git", "@clients", "@git"], readOnly: true },
      });
    },
  );

  test("take no set that there is not", () => {
    expect(() => rootsOf("/", "serve", "--root", "a=/tmp", "--protect", "@gti")).toThrow(
      "--protect must be a glob: there is no set '@gti'",
    );
  });
});
