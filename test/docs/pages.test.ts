import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { runHere } from "../cli/in-process.js";
import { CLI, cleanUp, makeFolder, start } from "../cli/process.js";
import { needs } from "../needs.js";
import { hasShellTools, readPage, runPage } from "./page.js";

afterAll(cleanUp);

// The commands of docs/operating.md, as an operator would type them one after another.
const COMMANDS = [...readPage("operating.md").matchAll(/```sh\n([\s\S]*?)```/g)]
  .flatMap(([, block = ""]) => block.split("\n"))
  .filter((line) => line.startsWith("venue-files "))
  .map((line) => line.replace(/ +#.*/, ""));

needs(hasShellTools, "the page's commands need bash")("every command of the page runs as it stands there", async () => {
  const bin = makeFolder({ "venue-files": `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n` });
  chmodSync(join(bin, "venue-files"), 0o755);
  const folder = makeFolder({ "docs/a.txt": "alpha" });
  const elsewhere = makeFolder({ "docs/a.txt": "alpha" });
  const ran = COMMANDS.map((command) => command.split(" ").slice(1, 3).join(" "));
  for (const [at, command] of COMMANDS.entries()) {
    const isRestore = ran[at] === "backup restore";
    const cwd = isRestore ? elsewhere : folder;
    const env = { PATH: `${bin}:${process.env["PATH"]}`, HOME: cwd, PASSPHRASE: "correct horse battery" };
    if (isRestore) copyFileSync(join(folder, "venue.backup"), join(elsewhere, "venue.backup"));
    if (ran[at] === "serve --config") {
      const venue = start(command.split(" ").slice(1), { cwd, env });
      await venue.until(/Stop with Ctrl-C/);
      expect(await venue.stop()).toMatchObject({ status: 0 });
      continue;
    }
    const { status, stderr } = spawnSync("bash", ["-c", command], { cwd, env, encoding: "utf8" });
    expect({ command, status, stderr }).toEqual({ command, status: 0, stderr: "" });
    if (ran[at] !== "init --root") continue;
    // Any free port, and drives that last.
    const config = readFileSync(join(folder, "venue.json5"), "utf8");
    writeFileSync(join(folder, "venue.json5"), config.replace("// port: 8080,", 'port: 0, seedFile: "./seed",'));
    copyFileSync(join(folder, "venue.json5"), join(elsewhere, "venue.json5"));
  }
  expect(ran).toEqual(
    expect.arrayContaining(["init --root", "check --config", "serve --config", "backup create", "backup restore"]),
  );
});

const page = readPage("recipes.md");
const recipes = page.split(/^## /m).slice(1);

describe("the page of recipes", () => {
  test("has sixteen, each with something to paste or a program", () => {
    expect(recipes.length).toBe(16);
    for (const text of recipes) expect(text).toMatch(/```|\.\.\/examples\/[\w-]+\.mjs/);
  });

  const configurations = recipes.flatMap((text) => {
    const [title = ""] = text.split("\n");
    return [...text.matchAll(/```json5\n([\s\S]*?)```/g)].map(([, json = ""]) => [title, json] as const);
  });

  test.each(configurations)("%s: the configuration is valid", async (_, json) => {
    const folder = makeFolder();
    mkdirSync(join(folder, "docs"));
    const local = json.replaceAll("/path/to/project", makeFolder());
    writeFileSync(join(folder, "venue.json5"), local.startsWith("{") ? local : `{${local}}`);
    const state = join(folder, "state");
    const env = { CI_TOKEN: "x".repeat(40), VENUE_FILES_STATE_DIR: state };
    const { status, stdout, stderr } = await runHere(["check", "--config", "venue.json5"], { cwd: folder, env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("the configuration is valid");
  });
});

describe("pages that lead through a task show commands that work, and what they answer", () => {
  const tested = needs(hasShellTools, "the pages' commands need bash, curl and sed");

  tested("the tutorial", async () => {
    const ran = await runPage(readPage("tutorial.md"), "5I6K-f8v6s2JvveX_6zJNfq4pTcSBe1UQBXr89oP80I");
    expect(ran).toBeGreaterThan(7);
  });

  tested("delegation", async () => {
    const ran = await runPage(readPage("delegation.md"), "sY1v0ChcC2WdX5F-YlTF19zn6Ryyyv16XbKUQdRwwwk");
    expect(ran).toBeGreaterThan(11);
  });

  tested("two agents over HTTP", async () => {
    expect(await runPage(readPage("two-agents.md"))).toBeGreaterThan(11);
  });

  tested("a token, its events, an approval and the audit", async () => {
    const [, section = ""] = readPage("approvals.md").split(/^## A token, its events.*$/m);
    expect(await runPage(section)).toBeGreaterThan(20);
  });
});
