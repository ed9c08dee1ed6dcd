import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import { createFileAdapter } from "../../src/index.js";
import { failureOf, useGround } from "../ops/ground.js";

const ground = useGround({
  root: { deny: ["secret*", "private/**"] },
  roots: { work: { temp: true } },
});

const hintOf = async (path: string, context?: SurfaceContext, name = "read"): Promise<unknown> => {
  const { code, message, data } = await ground.fail(name, { path }, context);
  expect(code).toBe("NOT_FOUND");
  // Suggestions never change the text, by which programs may know an error.
  expect(message).toBe(`Not found: r:${path.replace(/^\//, "")}`);
  return data["hint"];
};

const may = (can: string, ...paths: string[]): SurfaceContext => ({
  caps: paths.map((path) => ({ with: `file://r/${path}`, can })),
});

describe("a path that does not exist suggests", () => {
  test("the same name in another case, in folders too", async () => {
    ground.put("README.md");
    ground.put("Src/Lib/Index.ts");
    expect(await hintOf("readme.md")).toBe('Did you mean "README.md"?');
    expect(await hintOf("src/lib/index.ts")).toBe('Did you mean "Src/Lib/Index.ts"?');
    expect(await hintOf("src/lib", undefined, "list")).toBe('Did you mean "Src/Lib"?');
  });

  test("the path without the name of its root, or of another root", async () => {
    ground.put("src/cli.ts");
    await ground.adapter.invoke("file:write", { root: "work", path: "notes.md", content: "n" });
    // Where a folder is called as the root, the path means what it says.
    ground.mkdir("r");
    expect(await hintOf("r/src/cli.ts")).toBe('Did you mean "src/cli.ts"?');
    expect(await hintOf("work/notes.md")).toBe('Did you mean "notes.md" in root "work"?');
    expect(await hintOf("work/none.md")).toBeUndefined();
    const { data } = await ground.fail("read", { path: "work/notes.md" });
    expect(data["suggestions"]).toEqual([{ root: "work", path: "notes.md" }]);
  });

  test("the path below another root for a host path, where these are disclosed", async () => {
    const adapter = await createFileAdapter({ roots: { r: ground.dir, lib: ground.outside } });
    const hintAt = async (path: string) =>
      (await failureOf(adapter.invoke("file:read", { root: "r", path }))).data["hint"];
    writeFileSync(join(ground.outside, "cli.ts"), "");
    expect(await hintAt(join(ground.outside, "cli.ts"))).toBe('Did you mean "cli.ts" in root "lib"?');
    expect(await hintAt(`file://${join(ground.outside, "cli.ts")}`)).toBe('Did you mean "cli.ts" in root "lib"?');
    expect(await hintAt(join(ground.outside, "none-of-them.ts"))).toBeUndefined();
    await adapter.close();
  });

  test("near names, the nearest first, at most three", async () => {
    for (const name of ["config.json", "config.jsn", "config.jsno", "confog.jsno"]) ground.put(name);
    expect(await hintOf("config.jso")).toMatch(
      /^Did you mean "config\.js\w+" or "config\.js\w+" or "config\.js\w+"\?$/,
    );
    ground.put("cli.ts");
    expect(await hintOf("cli")).toBe('Did you mean "cli.ts"?');
    expect(await hintOf("quite-different")).toBeUndefined();
  });

  test("a folder with a near name only if the rest of the path is in it", async () => {
    ground.put("components/button.ts");
    expect(await hintOf("component/button.ts")).toBe('Did you mean "components/button.ts"?');
    expect(await hintOf("component/other.ts")).toBeUndefined();
  });

  test("names as they are, with controls escaped", async () => {
    ground.put("a\u202eb.txt");
    expect((await ground.fail("read", { path: "A\u202eb.txt" })).data["hint"]).toBe('Did you mean "a\\u{202e}b.txt"?');
  });
});

describe("no suggestion tells", () => {
  test("of what a deny pattern covers, whatever the way to it", async () => {
    ground.put("secret.txt");
    ground.put("private/key");
    expect(await hintOf("SECRET.txt")).toBeUndefined();
    expect(await hintOf("ecret.txt")).toBeUndefined();
    expect(await hintOf("Private/key")).toBeUndefined();
    expect(await hintOf("privat/key")).toBeUndefined();
  });

  test("of links that lead out of the root, to nothing, or to what is denied", async () => {
    writeFileSync(join(ground.outside, "file"), "x");
    symlinkSync(join(ground.outside, "file"), join(ground.dir, "Outside"));
    symlinkSync("nothing", join(ground.dir, "Dangling"));
    ground.put("secret-one");
    symlinkSync("secret-one", join(ground.dir, "Hidden"));
    for (const path of ["outside", "dangling", "hidden"]) expect(await hintOf(path)).toBeUndefined();
  });

  test("of folders and files that the caller may not read", async () => {
    ground.put("mine/One.txt");
    ground.put("theirs/One.txt");
    expect(await hintOf("mine/one.txt", may("crud/read", "mine/"))).toBe('Did you mean "mine/One.txt"?');
    // The way back to a folder of others, by their root or by case, is not looked at.
    expect(await hintOf("mine/r/theirs/One.txt", may("crud/read", "mine/"))).toBeUndefined();
    expect(await hintOf("THEIRS/One.txt", may("crud/read", "THEIRS/"))).toBeUndefined();
    // A file alone: its folder cannot be listed.
    expect(await hintOf("theirs/one.txt", may("crud/read", "theirs/one.txt"))).toBeUndefined();
  });

  test("anything to a caller that may write, but not read", async () => {
    ground.put("One.txt", "a");
    const input = { path: "one.txt", oldText: "a", newText: "b" };
    const [blind, seeing] = [
      await ground.fail("edit", input, may("crud/write", "")),
      await ground.fail("edit", input, may("*", "")),
    ];
    expect([blind.code, blind.data["hint"]]).toEqual(["NOT_FOUND", undefined]);
    expect([seeing.code, seeing.data["hint"]]).toEqual(["NOT_FOUND", 'Did you mean "One.txt"?']);
  });

  test("of folders with more than 10,000 entries", async () => {
    ground.put("many/README.md");
    for (let index = 0; index < 9_999; index++) writeFileSync(join(ground.dir, `many/${index}`), "");
    expect(await hintOf("many/readme.md")).toBe('Did you mean "many/README.md"?');
    writeFileSync(join(ground.dir, "many/one-more"), "");
    expect(await hintOf("many/readme.md")).toBeUndefined();
  });
});

test("looking for suggestions leaves no trace in the audit", async () => {
  ground.put("README.md");
  await hintOf("readme.md");
  expect(ground.audit).toHaveLength(1);
  expect(ground.audit[0]).toMatchObject({ outcome: "NOT_FOUND", resource: "file://r/readme.md" });
  expect(JSON.stringify(ground.audit)).not.toContain("README");
});

test("a profile or a command is told nothing more", async () => {
  ground.put("README.md");
  expect(await hintOf("readme.md", { tool: "x:read" } as SurfaceContext)).toBeUndefined();
  expect(await hintOf("readme.md", { within: [["r"]] } as SurfaceContext)).toBeUndefined();
});
