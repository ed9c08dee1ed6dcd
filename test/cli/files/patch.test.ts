import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { useFileCommands } from "./file-stage.js";

const { on, ok, inFolder } = useFileCommands({
  "docs/a.txt": "one\ntwo\n",
  "work.diff":
    "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n--- a/a.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
  "binary.diff": "diff --git a/p b/p\nBinary files a/p and b/p differ\n",
});
const bytesOf = (path: string): Buffer => readFileSync(join(inFolder("docs"), path));

test("patch takes a unified diff, and shows first what it would do", async () => {
  expect(await ok("patch", "work.diff", "--in", "d:", "-n")).toContain("rename to b.txt");
  expect(bytesOf("a.txt").toString()).toBe("one\ntwo\n");
  await ok("patch", "work.diff", "--in", "d:");
  expect(bytesOf("b.txt").toString()).toBe("one\n2\n");
});

test("patch refuses binary content with its line", async () => {
  const { status, stderr } = await on(["patch", "binary.diff", "--in", "d:"]);
  expect([status, stderr]).toEqual([1, expect.stringMatching(/Line 2 of the patch: binary content/)]);
});

test("patch is itself in the encoding of the files", async () => {
  writeFileSync(join(inFolder("docs"), "l.txt"), Buffer.from("Stra\xdfe\nalt\n", "latin1"));
  const diff = "--- a/l.txt\n+++ b/l.txt\n@@ -1,2 +1,2 @@\n Stra\xdfe\n-alt\n+f\xfcr\n";
  writeFileSync(inFolder("l.diff"), Buffer.from(diff, "latin1"));
  await ok("patch", "l.diff", "--in", "d:", "--encoding", "latin1");
  expect(bytesOf("l.txt")).toEqual(Buffer.from("Stra\xdfe\nf\xfcr\n", "latin1"));
});
