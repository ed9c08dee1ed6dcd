import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, run } from "../cli/process.js";
import { readPage } from "./page.js";

afterAll(cleanUp);

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
    const { status, stdout, stderr } = await run(["check", "--config", "venue.json5"], { cwd: folder, env });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("the configuration is valid");
  });
});
