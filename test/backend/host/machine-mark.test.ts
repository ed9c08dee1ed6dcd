import { mkdtempSync, readdirSync, realpathSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { MachineMark } from "../../../src/backend/host/machine-mark.js";
import { parseConfig } from "../../../src/config/load.js";
import { Jail } from "../../../src/jail/jail.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { openRoots } from "../../../src/roots/open.js";

let dir = "";
const jails: Jail[] = [];
const marks: MachineMark[] = [];
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "machine-")));
});
afterEach(async () => {
  for (const mark of marks.splice(0)) mark.close();
  for (const jail of jails.splice(0)) await jail.close();
  rmSync(dir, { recursive: true, force: true });
});

function markOf(boot: string, io: "sync" | "pool" = "sync"): MachineMark {
  const jail = new Jail({ path: dir, readOnly: false, crossDevice: false, io }, new Locks());
  jails.push(jail);
  const mark = new MachineMark(jail, boot);
  marks.push(mark);
  return mark;
}
const named = (): string[] => readdirSync(join(dir, ".venue-files")).filter((name) => name.startsWith("machine-"));
const age = (name: string, seconds: number): void => {
  const at = Date.now() / 1000 - seconds;
  utimesSync(join(dir, ".venue-files", name), at, at);
};

test.each(["sync", "pool"] as const)(
  "processes of one machine share a root, another machine is refused (%s)",
  async (io) => {
    await markOf("one", io).claim();
    await markOf("one", io).claim();
    await expect(markOf("two", io).claim()).rejects.toThrow(/another machine.*60 s/);
    expect(named()).toEqual(["machine-one"]);
    age("machine-one", 50);
    await expect(markOf("two", io).claim()).rejects.toThrow(/another machine/);
  },
);

test("after 60 s the mark of a machine that has stopped counts for nothing, and goes", async () => {
  await markOf("one").claim();
  age("machine-one", 61);
  await markOf("two").claim();
  expect(named()).toEqual(["machine-two"]);
  expect(Date.now() - statSync(join(dir, ".venue-files", "machine-two")).mtimeMs).toBeLessThan(30_000);
  await expect(markOf("one").claim()).rejects.toThrow(/another machine/);
});

test("only roots that say that they are shared are marked, and none that are read-only", async () => {
  const sub = (name: string) => mkdtempSync(join(dir, `${name}-`));
  const [shared, own, fixed] = [sub("shared"), sub("own"), sub("fixed")];
  const { file } = parseConfig(
    {
      file: {
        roots: {
          shared: { path: shared, shared: true },
          own: { path: own },
          fixed: { path: fixed, shared: true, readOnly: true },
        },
      },
    },
    { baseDir: dir },
  );
  const roots = openRoots(file);
  await roots.claim();
  expect([shared, own, fixed].map((path) => readdirSync(path))).toEqual([[".venue-files"], [], []]);
  await roots.close();
});
