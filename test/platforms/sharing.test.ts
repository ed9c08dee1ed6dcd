// Windows refuses what another program has open: EBUSY, and EPERM where a name is replaced or removed.
import fs from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { type Io, runIo } from "../../src/core/io.js";
import { simulateSystem } from "../../src/core/system.js";
import { SharingSys } from "../../src/jail/sharing.js";
import { useGround } from "../ops/ground.js";

let restore: () => void;
beforeAll(() => {
  restore = simulateSystem("win32");
});
afterAll(() => restore());
afterEach(() => {
  jest.restoreAllMocks();
});

const ground = useGround();
const { run, fail } = ground;

/** The first calls on a path that ends so fail; later ones are made. @returns how often it was called */
function refuse(
  call: "renameSync" | "unlinkSync" | "rmdirSync" | "openSync",
  code: string,
  name: string,
  times: number,
) {
  const calls = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
  const original = calls[call] ?? (() => undefined);
  const seen = { count: 0 };
  jest.spyOn(calls, call).mockImplementation((...args) => {
    const isMeant = String(args[call === "renameSync" ? 1 : 0]).endsWith(name) || String(args[0]).endsWith(name);
    if (!isMeant || ++seen.count > times) return original.apply(fs, args);
    throw Object.assign(new Error("refused"), { code, syscall: call });
  });
  return seen;
}

describe("what is open elsewhere for a moment is waited for", () => {
  test.each([
    ["write", "renameSync", "EPERM", { path: "a.txt", content: "new" }, "a.txt"],
    ["edit", "renameSync", "EBUSY", { path: "a.txt", oldText: "old", newText: "new" }, "a.txt"],
    ["move", "renameSync", "EACCES", { path: "a.txt", to: "b.txt" }, "a.txt"],
    ["delete", "unlinkSync", "EBUSY", { path: "a.txt" }, "a.txt"],
    ["delete", "rmdirSync", "EBUSY", { path: "empty" }, "empty"],
    ["append", "openSync", "EBUSY", { path: "a.txt", content: "more" }, "a.txt"],
    ["read", "openSync", "EBUSY", { path: "a.txt" }, "a.txt"],
  ] as const)("%s: %s %s", async (op, call, code, input, name) => {
    ground.put("a.txt", "old");
    ground.put("d/x");
    ground.mkdir("empty");
    const seen = refuse(call, code, name, 3);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    await ground.adapter.invoke(`file:${op}`, { root: "r", ...input });
    clearInterval(timer);
    expect(seen.count).toBeGreaterThan(3);
    // The loop went on meanwhile.
    expect(ticks).toBeGreaterThan(2);
  });
});

describe("what stays open is BUSY, and nothing is made", () => {
  test.each([
    ["write", "renameSync", { path: "a.txt", content: "new" }],
    ["delete", "unlinkSync", { path: "a.txt" }],
    ["read", "openSync", { path: "a.txt" }],
    ["move", "renameSync", { path: "a.txt", to: "b.txt" }],
  ] as const)("%s", async (op, call, input) => {
    ground.put("a.txt", "old");
    const seen = refuse(call, "EBUSY", "a.txt", 100);
    expect(await fail(op, input)).toMatchObject({
      code: "BUSY",
      message: expect.stringMatching(/^In use by another program: 'r:[ab]\.txt'\. Try again, or have it closed there$/),
    });
    expect(seen.count).toBeGreaterThanOrEqual(8);
    jest.restoreAllMocks();
    expect([ground.names(), ground.get("a.txt").toString(), ground.staged()]).toEqual([["a.txt"], "old", []]);
  });
});

describe("many files that stay open", () => {
  const own = useGround();

  test("a search waits for one of them, and but for moments for the others", async () => {
    for (const name of ["1.lock", "2.lock", "3.lock", "a.txt"]) own.put(name, "old");
    const seen = refuse("openSync", "EBUSY", ".lock", Number.POSITIVE_INFINITY);
    expect(await own.run("grep", { pattern: "old" })).toMatchObject({ totalMatches: 1, hidden: { unreadable: 3 } });
    expect(seen.count).toBe(8 + 4 + 4);
  });
});

describe("what is no matter of another program is not waited for", () => {
  test("a file that is read-only", async () => {
    ground.put("a.txt", "old");
    fs.chmodSync(join(ground.dir, "a.txt"), 0o444);
    const seen = refuse("unlinkSync", "EPERM", "a.txt", 100);
    expect(await fail("delete", { path: "a.txt" })).toMatchObject({ code: "PERMISSION_DENIED" });
    expect(seen.count).toBe(1);
  });

  test("a file that may not be opened", async () => {
    ground.put("a.txt", "old");
    const seen = refuse("unlinkSync", "EPERM", "a.txt", 100);
    refuse("openSync", "EPERM", "a.txt", 100);
    expect(await fail("delete", { path: "a.txt", permanent: true })).toMatchObject({ code: "PERMISSION_DENIED" });
    expect(seen.count).toBeLessThan(2);
  });

  test("another system", async () => {
    restore();
    try {
      ground.put("a.txt", "old");
      refuse("unlinkSync", "EBUSY", "a.txt", 100);
      expect(await fail("delete", { path: "a.txt" })).toMatchObject({
        code: "IO_ERROR",
        data: { systemCode: "EBUSY" },
      });
    } finally {
      restore = simulateSystem("win32");
    }
    await run("list", {});
  });
});

describe("a directory", () => {
  const sys = new SharingSys(false);
  const at = (name: string) => join(ground.dir, name);

  test("with something open in it is waited for", async () => {
    ground.put("d/x");
    const seen = refuse("renameSync", "EPERM", "/d", 2);
    await runIo(sys.rename(at("d"), at("e")));
    expect([seen.count > 2, ground.names()]).toEqual([true, ["e"]]);
  });

  test("in the way of a file, or where a file is meant, is told at once", async () => {
    ground.put("a.txt");
    ground.mkdir("d");
    refuse("renameSync", "EPERM", "a.txt", 100);
    refuse("unlinkSync", "EPERM", "/d", 100);
    const codeOf = async (work: () => Io<void>) => {
      try {
        await runIo(work());
      } catch (error) {
        return (error as NodeJS.ErrnoException).code;
      }
      return undefined;
    };
    expect(await codeOf(() => sys.rename(at("a.txt"), at("d")))).toBe("EPERM");
    expect(await codeOf(() => sys.unlink(at("d")))).toBe("EPERM");
  });
});
