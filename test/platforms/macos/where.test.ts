/** @jest-environment ./test/platforms/macos/environment.mjs */
// What the system says of where an opened file is (F_GETPATH), with its answers replaced.
import "./as-macos.js";
import { readlinkSync, renameSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { useGround } from "../../ops/ground.js";

const F_GETPATH = 50;
/** As the system does; the name of procfs is written so that the emulation does not hide it. */
const trueAnswer = (fd: number): string | undefined => readlinkSync(`//proc/self/fd/${fd}`);

let answer = trueAnswer;
let asked = 0;
const koffi: { load: unknown } = createRequire(import.meta.url)("koffi");
koffi.load = () => ({
  func: () => (fd: number, command: number, _type: string, into: Buffer) => {
    const path = command === F_GETPATH ? answer(fd) : undefined;
    if (path === undefined) return -1;
    asked++;
    into.write(`${path}\0`);
    return 0;
  },
});

const ground = useGround({ journal: true });
const { run, fail } = ground;
const STORED = "Dossi\u00e9s/Cafe\u0301.md";
const SPELLINGS = [STORED, "dossie\u0301s/caf\u00e9.md", "DOSSI\u00c9S/CAFE\u0301.MD"];

beforeEach(() => {
  ground.put(STORED, "one\n");
  ground.put("../outside/secret", "secret");
});
afterEach(() => {
  answer = trueAnswer;
});

async function worksBy(path: string): Promise<void> {
  const before = asked;
  expect(await run("read", { path })).toMatchObject({ content: "one\n" });
  expect(asked).toBeGreaterThan(before);
  await run("append", { path, content: "two\n" });
  await run("edit", { path, oldText: "two", newText: "2" });
  await run("write", { path: `${path}.new`, content: "new" });
  const folder = path.split("/")[0] ?? "";
  expect((await run("list", { path: folder })).entries).toHaveLength(2);
  expect((await run("grep", { pattern: "2", path: folder })).matches).toHaveLength(1);
  await run("copy", { path: folder, to: "copy", recursive: true });
  await run("delete", { path });
  await run("undo", { last: 1 });
  expect(ground.get(STORED).toString()).toBe("one\n2\n");
}

test.each(SPELLINGS)("inside of the root, %j is used", worksBy);

describe.each(["NFC", "NFD"])("answers in another composition (%s) are of the same place", (form) => {
  test.each(SPELLINGS)("by %j", async (path) => {
    answer = (fd) => trueAnswer(fd)?.normalize(form);
    await worksBy(path);
  });
});

test("a root that gets another spelling while it is open is the same one, and stays closed", async () => {
  const respelled = ground.dir.replace(/root$/, "ROOT");
  renameSync(ground.dir, respelled);
  try {
    await worksBy(STORED);
    answer = (fd) => trueAnswer(fd)?.replace(/Caf\S+$/, "other.md");
    expect(await fail("read", { path: STORED })).toMatchObject({ code: "SYMLINK_ESCAPE" });
    answer = (fd) => trueAnswer(fd)?.replace(/\/ROOT(?=\/.*\.md$)/, "/outside");
    expect(await fail("read", { path: STORED })).toMatchObject({ code: "SYMLINK_ESCAPE" });
  } finally {
    renameSync(respelled, ground.dir);
  }
});

test.each([
  ["out of the root", () => join(ground.outside, "secret")],
  ["in a folder beside it whose name begins like the root's", () => `${ground.dir}-2/${STORED}`],
  ["at another place in it", () => join(ground.dir, "other.md")],
])("what is %s is neither read nor changed", async (_where, place) => {
  answer = (fd) => (trueAnswer(fd)?.endsWith(".md") ? place() : trueAnswer(fd));
  const refused = { code: "SYMLINK_ESCAPE" };
  for (const path of SPELLINGS) {
    for (const name of ["read", "hash"]) expect(await fail(name, { path })).toMatchObject(refused);
    expect(await fail("append", { path, content: "x" })).toMatchObject(refused);
    expect(await fail("edit", { path, oldText: "one", newText: "x" })).toMatchObject(refused);
    expect(await fail("copy", { path, to: "copy.txt" })).toMatchObject(refused);
  }
  expect((await run("grep", { pattern: "one" })).matches).toEqual([]);
  expect(ground.get(STORED).toString()).toBe("one\n");
  expect(ground.get("../outside/secret").toString()).toBe("secret");
});

test("a folder that is elsewhere when it is opened is not listed", async () => {
  symlinkSync("nowhere", join(ground.dir, "Dossi\u00e9s/link"));
  answer = (fd) => (trueAnswer(fd)?.endsWith("Dossi\u00e9s") ? ground.outside : trueAnswer(fd));
  for (const path of ["Dossi\u00e9s", "DOSSI\u00c9S"])
    for (const name of ["list", "tree"]) expect(await fail(name, { path })).toMatchObject({ code: "SYMLINK_ESCAPE" });
});

test("what has lost its name is gone, not an escape", async () => {
  answer = (fd) => (trueAnswer(fd)?.endsWith(".md") ? undefined : trueAnswer(fd));
  for (const path of SPELLINGS) {
    const failed = await fail("read", { path });
    expect(failed.code).not.toBe("SYMLINK_ESCAPE");
    expect(failed.code).not.toBe("INTERNAL_ERROR");
  }
  answer = trueAnswer;
  expect(await run("read", { path: STORED })).toMatchObject({ content: "one\n" });
});
