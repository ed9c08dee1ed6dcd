import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { FileTaker } from "../../../src/backend/host/read-whole.js";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import type { Name } from "../../../src/jail/directory.js";
import type { EngineName } from "../../../src/jail/handles.js";
import { Jail } from "../../../src/jail/jail.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { type Arena, expectClosedSoon, inArena, openDescriptors } from "../../jail/arena.js";

/** Not in the constants of Node. */
const O_PATH = 0x200000;

afterEach(() => {
  jest.restoreAllMocks();
});

/** Takes entries of the root as a search does that read their types a moment ago. */
async function taking(
  engine: EngineName,
  work: (
    take: (raw: string, type?: Name["type"], maxBytes?: number) => Promise<unknown>,
    arena: Arena,
    jail: Jail,
  ) => Promise<void>,
): Promise<void> {
  await inArena(async (arena) => {
    const jail = new Jail({ path: arena.root, readOnly: true, crossDevice: false, io: "sync", engine }, new Locks());
    const scope = new CallScope({ clock: systemClock, timeoutMs: 10_000 });
    const taker = new FileTaker(jail, { scope, exhausted: undefined });
    // Loads what is loaded at first use.
    await runIo(taker.take(jail.top, { name: "file.txt", raw: "file.txt", type: "file" }, 1000));
    const before = openDescriptors();
    await work(
      async (raw, type = "file", maxBytes = 1000) => {
        const content = await runIo(taker.take(jail.top, { name: raw, raw, type }, maxBytes));
        return Buffer.isBuffer(content) ? content.toString() : content;
      },
      arena,
      jail,
    );
    await expectClosedSoon(before);
    await jail.close();
  });
}

describe.each<EngineName>(["openat2", "handle walk", "real-path check"])("the content of files, %s", (engine) => {
  test("is that of regular files, up to a size", () =>
    taking(engine, async (take, { file, root }) => {
      file("one", "content");
      file("empty", "");
      expect([await take("one"), await take("one", undefined, 7), await take("empty")]).toEqual([
        "content",
        "content",
        "",
      ]);
      expect([await take("one", "file", 6), await take("missing")]).toEqual(["too large", undefined]);
      file("large", "x".repeat(700_000));
      expect(await take("large", "file", 700_000)).toBe("x".repeat(700_000));
      fs.truncateSync(join(root, "large"), 3);
      expect(await take("large")).toBe("xxx");
    }));

  test("is not that of what has taken the place of a file since it was listed", () =>
    taking(engine, async (take, { link, root, outside }) => {
      execFileSync("mkfifo", [join(root, "fifo")]);
      fs.mkdirSync(join(root, "directory"));
      link("inside", "file.txt");
      link("out", join(outside, "canary.txt"));
      link("null", "/dev/null");
      for (const name of ["fifo", "directory", "inside", "out", "null"]) {
        expect([name, await take(name)]).toEqual([name, undefined]);
      }
    }));
});

test("what has taken the place of a listed file is pinned, and never opened", () =>
  taking("openat2", async (take, { file, root }, jail) => {
    file("one", "content");
    execFileSync("mkfifo", [join(root, "fifo")]);
    const calls = jail.sys.native?.load();
    const native = calls === undefined ? undefined : jest.spyOn(calls, "open");
    const own = jest.spyOn(fs, "openSync");
    expect(await take("fifo")).toBeUndefined();
    const flags = [
      ...(native?.mock.calls ?? []).map(([, , one]) => one),
      ...own.mock.calls.map(([, one]) => Number(one)),
    ];
    expect(flags.map((one) => (one & O_PATH) !== 0)).toEqual([true]);
    expect(await take("one")).toBe("content");
    expect(own).toHaveBeenCalledTimes(native === undefined ? 3 : 0);
  }));
