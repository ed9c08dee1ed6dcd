import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { TempHome } from "../../../src/backend/host/temp.js";
import { ownIdentity, type ProcessIdentity } from "../../../src/process/identity.js";
import { needs } from "../../needs.js";
import { ROOT } from "../files.js";
import { type Child, type ChildOptions, isRoot, NOBODY, startChild, withChild } from "../start-child.js";

const asRoot = needs(isRoot, "only root can hand a process other rights");
const HOME = `venue-files-${process.geteuid?.() ?? "user"}`;

/** The system's temp directory, as the processes of these tests see it. */
let temp: string;
beforeEach(() => {
  temp = realpathSync(mkdtempSync(join(tmpdir(), "venue-temp-")));
  chmodSync(temp, 0o777);
});
afterEach(() => rmSync(temp, { recursive: true, force: true }));

const options = (more: Partial<ChildOptions> = {}): ChildOptions => ({
  config: { roots: { [ROOT]: { temp: true } } },
  env: { TMPDIR: temp },
  ...more,
});

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);
const instances = (): string[] => readdirSync(join(temp, HOME)).sort();

/** Makes what a process of that identity would have left behind. */
function leave(instance: string, change: Partial<ProcessIdentity> = {}): string {
  const path = join(temp, HOME, instance);
  mkdirSync(join(path, "covia-r-abc/deep"), { recursive: true });
  chmodSync(join(temp, HOME), 0o700);
  writeFileSync(join(path, "covia-r-abc/deep/file"), "x");
  writeFileSync(`${path}.json`, JSON.stringify({ ...ownIdentity(), ...change }));
  return path;
}

async function rootPath(child: Child): Promise<string> {
  const { output } = await child.invoke("roots", {});
  const roots = (output?.["roots"] ?? []) as readonly { path: string }[];
  return String(roots[0]?.path);
}

const hex = (n: number): string => n.toString(16).padStart(16, "0");
const deadPid = (): number => spawnSync("true").pid;

describe("a temp root", () => {
  test("stands in two directories that only we may enter, and is gone after close", async () => {
    await withChild(options(), async (child) => {
      const path = await rootPath(child);
      const [home, instance, name] = path.slice(temp.length + 1).split("/");
      expect(home).toBe(HOME);
      expect(instance).toMatch(/^[0-9a-f]{16}$/);
      expect(name).toMatch(/^covia-r-.{6}$/);
      for (const part of [home, `${home}/${instance}`, `${home}/${instance}/${name}`]) {
        expect(modeOf(join(temp, String(part)))).toBe("700");
      }
      const record = `${HOME}/${instance}.json`;
      expect(modeOf(join(temp, record))).toBe("600");
      expect(JSON.parse(readFileSync(join(temp, record), "utf8"))).toEqual({
        ...ownIdentity(),
        pid: child.pid,
        start: expect.any(Number),
      });
      await child.invoke("write", { path: "a/b/c", content: "x", parents: true });
      expect(readFileSync(join(path, "a/b/c"), "utf8")).toBe("x");
    });
    expect(instances()).toEqual([]);
  });

  test("keeps its private directories private under a lax umask", async () => {
    await withChild(options({ umask: 0 }), async (child) => {
      const path = await rootPath(child);
      expect(modeOf(path)).toBe("700");
      expect(modeOf(join(path, ".."))).toBe("700");
      expect(modeOf(join(path, "../.."))).toBe("700");
    });
  });

  test("is removed however deep it is, and whatever links it holds", async () => {
    const outside = join(temp, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "canary"), "x");
    await withChild(options(), async (child) => {
      const path = await rootPath(child);
      symlinkSync(outside, join(path, "link"));
      // A path to the bottom would be too long for any call.
      let built = join(path, "0");
      mkdirSync(built);
      for (let level = 1; level < 1500; level++) {
        mkdirSync(join(path, String(level)));
        renameSync(built, join(path, String(level), "d".repeat(20)));
        built = join(path, String(level));
      }
    });
    expect(instances()).toEqual([]);
    expect(readdirSync(outside)).toEqual(["canary"]);
  });
});

describe("what dead processes left", () => {
  test("is removed at the next start", async () => {
    leave(hex(1), { pid: deadPid() });
    leave(hex(2), { boot: "0123abcd" });
    leave(hex(3), { start: 1 });
    await withChild(options(), async () => {});
    expect(instances()).toEqual([]);
  });

  test("goes while others have their turns", async () => {
    const many = join(leave(hex(1), { pid: deadPid() }), "covia-r-abc");
    for (let at = 0; at < 1000; at += 1) writeFileSync(join(many, String(at)), "");
    const home = new TempHome(temp);
    const root = home.create("covia-r-");
    expect(instances()).toContain(hex(1));
    expect(existsSync(root)).toBe(true);
    await home.remove();
    expect(instances()).toEqual([]);
  });

  test("of a killed process is removed at the next start", async () => {
    const child = await startChild(options());
    await child.invoke("write", { path: "a/b", content: "x", parents: true });
    await child.kill();
    expect(instances()).toHaveLength(2);
    await withChild(options(), async () => {});
    expect(instances()).toEqual([]);
  });

  test("does not keep a start from serving when it cannot be read or removed", async () => {
    if (isRoot) chmodSync(temp, 0o777);
    const rights = isRoot ? NOBODY : {};
    const home = join(temp, isRoot ? `venue-files-${NOBODY.uid}` : HOME);
    mkdirSync(join(home, hex(1), "closed/below"), { recursive: true });
    writeFileSync(`${join(home, hex(1))}.json`, JSON.stringify({ ...ownIdentity(), pid: deadPid() }));
    if (isRoot) {
      for (const path of ["", hex(1), `${hex(1)}.json`]) chownSync(join(home, path), NOBODY.uid, NOBODY.gid);
      // Somebody else's, and full: nobody can remove it.
      writeFileSync(join(home, hex(1), "closed/below/file"), "x");
    } else chmodSync(join(home, hex(1), "closed"), 0o000);
    chmodSync(home, 0o700);
    await withChild(options(rights), async (child) => {
      expect((await child.invoke("write", { path: "a", content: "x" })).code).toBe("ok");
    });
    expect(existsSync(join(home, `${hex(1)}.json`))).toBe(isRoot);
  });

  test("stays if the process may be alive", async () => {
    leave(hex(1));
    leave(hex(2), { namespace: 1, pid: deadPid() });
    leave(hex(3), { boot: "00000000", pid: deadPid() });
    leave(hex(4));
    writeFileSync(join(temp, HOME, `${hex(4)}.json`), "{ not a record");
    mkdirSync(join(temp, HOME, hex(5)));
    await withChild(options(), async () => {});
    expect(instances()).toEqual([1, 2, 3, 4].flatMap((n) => [hex(n), `${hex(n)}.json`]).concat(hex(5)));
  });

  test("is not searched for under other names", async () => {
    mkdirSync(join(temp, HOME), { mode: 0o700 });
    const dead = JSON.stringify({ ...ownIdentity(), pid: deadPid() });
    for (const name of [".json", "...json", "kept.json", `${hex(1)}.JSON`]) writeFileSync(join(temp, HOME, name), dead);
    mkdirSync(join(temp, HOME, "kept"));
    await withChild(options(), async (child) => {
      expect((await child.invoke("list", {})).code).toBe("ok");
    });
    expect(instances()).toEqual([".json", "...json", "kept", "kept.json", `${hex(1)}.JSON`].sort());
  });

  test("is removed itself if it is a link, never its target", async () => {
    const outside = join(temp, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "canary"), "x");
    leave(hex(1), { pid: deadPid() });
    rmSync(join(temp, HOME, hex(1)), { recursive: true });
    symlinkSync(outside, join(temp, HOME, hex(1)));
    const second = leave(hex(2), { pid: deadPid() });
    symlinkSync(outside, join(second, "covia-r-link"));
    await withChild(options(), async () => {});
    expect(readdirSync(outside)).toEqual(["canary"]);
    expect(instances().filter((name) => name.startsWith(hex(2)))).toEqual([]);
  });
});

describe("the directory of all our temp roots", () => {
  const refusal = `Root 'r' cannot be made: .* is in the way. Remove it, or set TMPDIR to a directory of your own`;

  test("is not taken when it is a link", async () => {
    mkdirSync(join(temp, "elsewhere"), { mode: 0o700 });
    symlinkSync("elsewhere", join(temp, HOME));
    await expect(startChild(options())).rejects.toThrow(new RegExp(refusal));
    expect(readdirSync(join(temp, "elsewhere"))).toEqual([]);
  });

  test("is not taken when it is a file", async () => {
    writeFileSync(join(temp, HOME), "x");
    await expect(startChild(options())).rejects.toThrow(new RegExp(refusal));
  });

  // Root lets others pass on to directories that it has given to them, but not see what there is.
  const modes = ["777", "755", "733", "710"];
  test.each(process.geteuid?.() === 0 ? modes.slice(0, 3) : modes)("is not taken when its mode is %s", async (mode) => {
    mkdirSync(join(temp, HOME));
    chmodSync(join(temp, HOME), Number.parseInt(mode, 8));
    await expect(startChild(options())).rejects.toThrow(new RegExp(refusal));
  });

  asRoot("is not taken when it belongs to somebody else", async () => {
    mkdirSync(join(temp, HOME), { mode: 0o700 });
    chownSync(join(temp, HOME), NOBODY.uid, NOBODY.gid);
    await expect(startChild(options())).rejects.toThrow(new RegExp(refusal));
  });
});
