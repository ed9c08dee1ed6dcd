import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { stagedIn } from "../../staged.js";
import { useGround } from "../ground.js";

const ground = useGround();
const git = (...args: readonly string[]): string =>
  execFileSync("git", ["-C", ground.dir, "-c", "user.name=a", "-c", "user.email=a@example.org", ...args], {
    encoding: "utf8",
  });
const stage = (): string => join(ground.dir, ".venue-files");

beforeEach(() => {
  git("init", "-q");
  ground.put("src/a.txt", "one\n");
  git("add", "-A");
  git("commit", "-qm", "first");
});
afterEach(() => rmSync(stage(), { recursive: true, force: true }));

/** Changes that follow each other leave the mark of the holder of a lock in the staging directory for a while. */
async function conditionalEdits(): Promise<void> {
  for (const [oldText, newText] of [
    ["one", "two"],
    ["two", "three"],
  ] as const) {
    const { etag = "" } = await ground.run("read", { path: "src/a.txt" });
    await ground.run("edit", { path: "src/a.txt", edits: [{ oldText, newText }], ifMatch: etag });
  }
  expect(readdirSync(stage())).toEqual(expect.arrayContaining([expect.stringMatching(/^holder-/)]));
}

test("Git sees the change and nothing else, while files are staged too", async () => {
  await conditionalEdits();
  writeFileSync(join(stage(), "patch-left-by-a-killed-process"), "x");
  mkdirSync(join(stage(), "patch-x"));
  writeFileSync(join(stage(), "patch-x", "after-0"), "x");
  expect(git("status", "--porcelain", "--untracked-files=all")).toBe(" M src/a.txt\n");
  git("add", "-A");
  expect(git("diff", "--cached", "--name-only")).toBe("src/a.txt\n");
});

test("Mercurial takes the staging directory for another repository", async () => {
  await conditionalEdits();
  expect(statSync(join(stage(), ".hg")).isDirectory()).toBe(true);
});

test.each([
  ["none", () => rmSync(stage(), { recursive: true, force: true })],
  ["an empty file", () => writeFileSync(join(stage(), ".gitignore"), "")],
])("a staging directory of an earlier process is hidden: rules: %s", async (_, leave) => {
  mkdirSync(stage(), { mode: 0o700 });
  leave();
  await conditionalEdits();
  expect(git("status", "--porcelain", "--untracked-files=all")).toBe(" M src/a.txt\n");
});

test("nothing is left in the root when it is closed", async () => {
  await conditionalEdits();
  expect(stagedIn(ground.dir)).not.toEqual([]);
  await ground.adapter.close();
  expect(existsSync(stage())).toBe(false);
});
