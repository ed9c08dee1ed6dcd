// What was revoked stays so: when lines go from the list, and on a full disk.

import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { silentLog } from "../../../src/core/ports/log.js";
import { acceptRevocations, openRevocations, type RevocationList } from "../../../src/venue/identity/revocations.js";
import { configErrorOf } from "../../config/problems.js";

const idOf = (index: number): string => `${index}`.padStart(42, "x").concat("A");
const [A, B, C, D] = [1, 2, 3, 4].map(idOf) as [string, string, string, string];
const BEFORE = "before:1000";

let folder: string;
let path: string;
let guard: string;
let errors: string[];
const log = { ...silentLog, error: (_: object, text: string) => void errors.push(text) };

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "venue-guard-")));
  path = join(folder, "revocations");
  guard = join(folder, "revocation-guard");
  errors = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const placeOf = (isConfigured = false) => ({ path, isConfigured, guard });
const opened = (more: object = {}): RevocationList => openRevocations(placeOf(), { log, reserves: true, ...more });
const inForce = (list: RevocationList): string[] => [A, B, C, D].filter((entry) => list.has(entry));
async function next(list: RevocationList): Promise<string[]> {
  await setImmediate();
  return inForce(list);
}
const write = (...lines: readonly string[]) => writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
const replace = (...lines: readonly string[]) => {
  writeFileSync(`${path}.new`, lines.map((line) => `${line}\n`).join(""));
  renameSync(`${path}.new`, path);
};

const CUTS: readonly [string, () => void][] = [
  ["to nothing", () => writeFileSync(path, "")],
  ["by its last line", () => write(A, B)],
  ["to a comment", () => write("# nobody")],
  ["in its middle", () => replace(A, C)],
  ["and made longer by others", () => replace(B, C, D)],
];

describe("a list that is cut", () => {
  test.each(CUTS)("%s stays in force while the venue runs, which is said once", async (_how, cut) => {
    write(A, B, C);
    const list = opened();
    cut();
    expect(await next(list)).toEqual(expect.arrayContaining([A, B, C]));
    expect(await next(list)).toEqual(expect.arrayContaining([A, B, C]));
    expect(errors).toEqual([expect.stringContaining("gone from the revocation list, and stay in force")]);
    await list.add([D]);
    expect(await next(list)).toEqual([A, B, C, D]);
    // What was added does not make up for what is gone.
    expect(configErrorOf(opened)).toBeDefined();
  });

  test.each(CUTS.slice(0, 4))("%s ends the next start, until that is accepted", async (_how, cut) => {
    write(A, B, C);
    const running = opened();
    cut();
    const [problem = ""] = configErrorOf(opened)?.problems ?? [];
    expect(problem).toMatch(/it lacks \d of the 3 entries in force: .*venue-files revoke --accept-list --config FILE$/);
    const left = [A, B, C].filter((id) => readFileSync(path, "utf8").includes(id));
    expect(acceptRevocations(placeOf())).toBe(left.length);
    expect(inForce(opened())).toEqual(left);
    // That is a command, so the venue that runs follows it.
    expect(await next(running)).toEqual(left);
    await running.add([D]);
    expect(await next(running)).toEqual([...left, D]);
    expect(configErrorOf(opened)).toBeUndefined();
  });

  test("is noticed where it is gone altogether", async () => {
    write(A);
    const running = opened();
    rmSync(path);
    expect(await next(running)).toEqual([A]);
    expect(configErrorOf(opened)?.problems[0]).toContain("it lacks 1 of the 1 entry in force");
  });

  test("is noticed of lines that were written by hand, by the command, or revoke by time", async () => {
    write(A);
    const running = opened();
    appendFileSync(path, `${B}\n${BEFORE}\n`);
    expect(await next(running)).toEqual([A, B]);
    await openRevocations(placeOf(), { log, mayBeFewer: true }).add([C]);
    expect(await next(running)).toEqual([A, B, C]);
    write(A, B, C);
    expect(running.notBefore).toBe(1000);
    expect(await next(running)).toEqual([A, B, C]);
    expect(running.notBefore).toBe(1000);
    expect(configErrorOf(opened)).toBeDefined();
  });

  test("may be edited otherwise: comments, order, more lines", async () => {
    write(A, B);
    const list = opened();
    replace("# by hand", `${B} # Bob`, C, A);
    expect(await next(list)).toEqual([A, B, C]);
    expect(errors).toEqual([]);
    expect(inForce(opened())).toEqual([A, B, C]);
  });

  test.each<[string, (list: RevocationList) => unknown, string[]]>([
    ["is read", (list) => list.has(A), [D]],
    ["is added to", (list) => list.add([D]), []],
  ])("that gets more while it %s is read again", async (_when, use, more) => {
    write(A, B);
    // Said between reading the list and noting what is in force.
    const error = () => {
      if (!readFileSync(path, "utf8").includes(C)) appendFileSync(path, `${C}\n`);
    };
    const list = opened({ log: { ...log, error } });
    write(A, ...more);
    await use(list);
    expect(await next(list)).toEqual([A, B, C, D]);
  });

  test("is what was accepted, and no other", async () => {
    write(A, B, C);
    const list = opened();
    write(A, B);
    acceptRevocations(placeOf());
    expect(await next(list)).toEqual([A, B]);
    write(B);
    expect(await next(list)).toEqual([A, B]);
  });
});

describe("the guard", () => {
  const random = Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919) % 256));
  test.each<[string, (whole: Buffer) => Buffer]>([
    ["empty", () => Buffer.alloc(0)],
    ["zeros", () => Buffer.alloc(4096)],
    ["random", () => random],
    ["half", (whole) => whole.subarray(1)],
    ["one bit", (whole) => Buffer.concat([Buffer.from([(whole[0] ?? 0) ^ 64]), whole.subarray(1)])],
  ])("that is damaged (%s) ends nothing, and is made anew", async (_how, damage) => {
    write(A);
    opened();
    writeFileSync(guard, damage(readFileSync(guard)));
    const list = opened();
    expect(inForce(list)).toEqual([A]);
    write();
    expect(await next(list)).toEqual([A]);
    expect(configErrorOf(opened)).toBeDefined();
  });

  test("is not made by looking, nor where there is no state directory", () => {
    write(A);
    openRevocations(placeOf(), { log });
    expect(() => statSync(guard)).toThrow("ENOENT");
    guard = join(folder, "no", "guard");
    expect(inForce(opened())).toEqual([A]);
  });

  test("that is a directory is told, and keeps nobody from revoking", async () => {
    write(A);
    mkdirSync(guard);
    const list = opened();
    await list.add([B]);
    expect(inForce(opened())).toEqual([A, B]);
  });
});

describe("on a full disk", () => {
  /** Half of what is appended to a file fits. */
  async function withFullDisk(work: () => Promise<void>): Promise<void> {
    const probe = await open(join(folder, "probe"), "w");
    const prototype = Object.getPrototypeOf(probe);
    const { appendFile, writeFile } = prototype;
    prototype.appendFile = async function (this: unknown, text: string) {
      await writeFile.call(this, text.slice(0, text.length / 2));
      throw Object.assign(new Error("full"), { code: "ENOSPC", syscall: "write" });
    };
    try {
      await work();
    } finally {
      prototype.appendFile = appendFile;
      await probe.close();
    }
  }

  test("what is revoked holds at once, for others and after a restart, and gets into the list when there is room", async () => {
    write(A);
    const [list, other] = [opened(), opened({ reserves: false })];
    const size = statSync(guard).size;
    await withFullDisk(async () => {
      await list.add([B]);
      await list.add([C]);
      expect(await next(list)).toEqual([A, B, C]);
      expect(await next(other)).toEqual([A, B, C]);
      expect(inForce(opened())).toEqual([A, B, C]);
      expect(readFileSync(path, "utf8")).toBe(`${A}\n`);
      expect(statSync(guard).size).toBe(size);
    });
    await list.add([D]);
    expect(readFileSync(path, "utf8")).toBe(`${A}\n${B}\n${C}\n${D}\n`);
    expect(readFileSync(guard, "latin1")).not.toContain(B);
    expect(inForce(opened())).toEqual([A, B, C, D]);
    expect(errors).toEqual([]);
  });

  test("what does not fit into the reserve either holds in this process, and the caller is told", async () => {
    write(A);
    const list = opened();
    await withFullDisk(async () => {
      const many = Array.from({ length: 200 }, (_, index) => idOf(index + 10));
      const results = await Promise.allSettled(many.map((id) => list.add([id])));
      const kept = results.filter(({ status }) => status === "fulfilled").length;
      expect(kept).toBeGreaterThan(50);
      expect(results.at(-1)).toMatchObject({ reason: { name: "ConfigError", code: "ENOSPC" } });
      await setImmediate();
      expect(many.filter((id) => !list.has(id))).toEqual([]);
      expect(many.filter((id) => opened().has(id))).toHaveLength(kept);
    });
  });

  test("a list without a guard tells its caller", async () => {
    write(A);
    const list = openRevocations({ path, isConfigured: true }, { log, reserves: true });
    await withFullDisk(async () => {
      await expect(list.add([B])).rejects.toMatchObject({ code: "ENOSPC" });
      expect(await next(list)).toEqual([A, B]);
    });
    expect(readFileSync(path, "utf8")).toBe(`${A}\n`);
  });
});
