// Folders that commands write into, and files that get their name once they are whole, while somebody else moves things about.
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { HeldFolder } from "../../../src/cli/output/held-folder.js";
import { openNewFile, writeNewFile } from "../../../src/cli/output/new-file.js";
import { hasProcHandles } from "../../../src/jail/mounts.js";
import { cleanUp, makeFolder } from "../process.js";

afterAll(cleanUp);

const put = (path: string, text: string, replaces: boolean) =>
  writeNewFile(path, { mode: 0o600, replaces }, (handle) => handle.writeFile(text));

test("a folder whose name is given to a link meanwhile is still the one that is written into", async () => {
  if (!hasProcHandles()) return;
  const top = makeFolder({ "a/b/old": "", "evil/x": "" });
  const outer = HeldFolder.open(top);
  const middle = await outer.enter("a", false);
  const inner = await middle?.enter("b", false);
  renameSync(join(top, "a"), join(top, "moved"));
  symlinkSync("evil", join(top, "a"));
  await put(join(inner?.path ?? "", "new"), "text", false);
  expect(readFileSync(join(top, "moved/b/new"), "utf8")).toBe("text");
  expect(readdirSync(join(top, "evil"))).toEqual(["x"]);
  await expect(outer.enter("a", true)).rejects.toThrow(`is a link to ${join(top, "evil")}`);
  await expect(outer.enter("none", false)).resolves.toBeUndefined();
  for (const folder of [inner, middle, outer]) folder?.close();
});

describe("a new file", () => {
  test("does not take a name that somebody else took while it was written", async () => {
    const top = makeFolder();
    const file = await openNewFile(join(top, "x"), { mode: 0o600 });
    symlinkSync("target", join(top, "x"));
    await file.handle.writeFile("mine");
    await expect(file.publish()).rejects.toMatchObject({ code: "EEXIST" });
    await file.close();
    expect(readdirSync(top)).toEqual(["x"]);
  });

  test("does not publish what somebody else put in place of its draft", async () => {
    const top = makeFolder();
    const draft = join(top, "x.part");
    const file = await openNewFile(join(top, "x"), { mode: 0o600, draft });
    renameSync(draft, join(top, "aside"));
    writeFileSync(draft, "other");
    await expect(file.publish()).rejects.toMatchObject({ code: "EEXIST" });
    await file.close();
    expect(readdirSync(top).sort()).toEqual(["aside", "x.part"]);
  });

  test("that fails leaves what was there, and no draft", async () => {
    const top = makeFolder({ x: "old" });
    const failing = writeNewFile(join(top, "x"), { mode: 0o600, replaces: true }, () =>
      Promise.reject(new Error("no")),
    );
    await expect(failing).rejects.toThrow("no");
    mkdirSync(join(top, "folder"));
    await expect(put(join(top, "folder"), "new", true)).rejects.toMatchObject({ code: "EISDIR" });
    expect(readdirSync(top).sort()).toEqual(["folder", "x"]);
    expect(readFileSync(join(top, "x"), "utf8")).toBe("old");
  });
});
