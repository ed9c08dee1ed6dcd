import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir, uptime } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { simulateSystem } from "../../src/core/system.js";
import { openShared, type SharedDatabase } from "../../src/database/shared-database.js";
import { isBelow, isInside, isSameFolder, namesBelow, realPath } from "../../src/process/host-path.js";
import {
  bootId,
  isDead,
  isEarlierRun,
  isRunning,
  mayRun,
  NO_BOOT_ID,
  ownToken,
  type ProcessIdentity,
  readProc,
  systemStart,
} from "../../src/process/identity.js";
import { letsOthersIn, namesOthers } from "../../src/process/private-folder.js";
import { spawnAlone } from "../../src/process/spawn-alone.js";
import { needs } from "../needs.js";
import { until } from "../until.js";

describe("host paths", () => {
  let base: string;
  let restore = () => {};
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
    mkdirSync(join(base, "docs/sub"), { recursive: true });
    mkdirSync(join(base, "docs-old"));
    symlinkSync("docs", join(base, "way-in"));
  });
  afterEach(() => {
    restore();
    rmSync(base, { recursive: true, force: true });
  });

  describe("a path lies in a folder", () => {
    test.each([
      ["docs", "docs", []],
      ["docs/sub", "docs", ["sub"]],
      ["docs/not/there", "docs", ["not", "there"]],
      ["docs/..name", "docs", ["..name"]],
      // By what they are, whatever they are called: as with a mount, a short name or a name that folds.
      ["docs/sub", "way-in", ["sub"]],
      ["way-in/new", "docs", ["new"]],
    ])("%s in %s", (path, folder, names) => {
      expect(namesBelow(join(base, path), join(base, folder))).toEqual(names);
      expect(isInside(join(base, path), join(base, folder))).toBe(true);
      expect(isBelow(join(base, path), join(base, folder))).toBe(names.length > 0);
    });

    test.each([
      ["docs-old", "docs"],
      ["docs", "docs/sub"],
      ["DOCS/sub", "docs"],
      ["docs/sub", "not there"],
    ])("%s not in %s", (path, folder) => {
      expect(isInside(join(base, path), join(base, folder))).toBe(false);
    });

    test("in the root of the file system", () => {
      expect(namesBelow("/etc/x", "/")).toEqual(["etc", "x"]);
      expect(isBelow("/", "/")).toBe(false);
    });
  });

  describe("where names fold, what does not exist yet is judged by spellings that are alike", () => {
    test.each(["win32", "darwin"] as const)("%s", (system) => {
      restore = simulateSystem(system);
      expect(namesBelow(join(base, "NEU/\u00e4/x"), join(base, "neu/A\u0308"))).toEqual(["x"]);
      expect(isInside(join(base, "neuer"), join(base, "NEU"))).toBe(false);
    });

    test("but what exists, by what it is", () => {
      mkdirSync(join(base, "DOCS/sub"), { recursive: true });
      restore = simulateSystem("darwin");
      expect(isInside(join(base, "DOCS/sub"), join(base, "docs"))).toBe(false);
    });
  });

  test("a real path is that of the closest folder that is there", () => {
    expect(realPath(join(base, "way-in/new/file"))).toBe(join(base, "docs/new/file"));
    expect(isSameFolder(join(base, "way-in"), join(base, "docs"))).toBe(true);
    expect(isSameFolder(join(base, "docs-old"), join(base, "docs"))).toBe(false);
    expect(isSameFolder(join(base, "no"), join(base, "not"))).toBe(false);
  });

  test.each([
    ["a link to a file that is not there yet", "log", "docs/sub/log", "docs/sub/log"],
    ["a link by a link", "log", "way-in/log", "docs/log"],
    ["a folder that is one", "log/deep/file", "docs/new", "docs/new/deep/file"],
    ["an absolute one", "log", "/not/there", "/not/there"],
    ["one that leads to itself", "log", "log", "log"],
  ])("a real path follows %s", (_what, path, target, real) => {
    symlinkSync(target, join(base, "log"));
    expect(realPath(join(base, path))).toBe(resolve(base, real));
  });
});

describe("identities of processes", () => {
  const onLinux = needs(process.platform === "linux", "needs procfs");
  let restore = () => {};
  afterEach(() => restore());

  const DAY = 86_400;

  describe.each(["win32", "darwin"] as const)("on %s, which has no id of a run of the system,", (system) => {
    const own: ProcessIdentity = { boot: NO_BOOT_ID, namespace: 0, pid: process.pid, start: systemStart() };

    test.each([
      ["a process that runs", own.start, false],
      ["one of this run of the system, whose clock was set right since", own.start - 14 * 3600, false],
      ["one of an earlier run, though its number is in use again", own.start - 2 * DAY, true],
      ["one that noted nothing", 0, false],
    ])("the leftovers of %s", (_, start, isOld) => {
      restore = simulateSystem(system);
      expect(isDead({ ...own, start }, own)).toBe(isOld);
      expect(mayRun(`- - ${process.pid} ${start || ""}`)).toBe(!isOld);
      expect(mayRun(`- - 4999999 ${start}`)).toBe(false);
    });

    test("nothing is looked up below /proc, where somebody else may have made it", () => {
      restore = simulateSystem(system);
      expect([bootId(), readProc("/proc/self/stat")]).toEqual([undefined, undefined]);
    });
  });

  test("a process of another user runs, what is no number does not", () => {
    const kill = jest.spyOn(process, "kill").mockImplementation(() => {
      throw Object.assign(new Error("refused"), { code: "EPERM" });
    });
    restore = simulateSystem("win32");
    expect([isRunning(4), mayRun(`- - 4 ${systemStart()}`)]).toEqual([true, true]);
    kill.mockRestore();
    expect([isRunning(process.pid), isRunning(Number.NaN), isRunning(4_999_999)]).toEqual([true, false, false]);
  });

  test("elsewhere an id decides, whatever the clock says", () => {
    const other: ProcessIdentity = { boot: "0badc0de", namespace: 1, pid: process.pid, start: 7 };
    expect(isDead({ ...other, namespace: 2 }, other)).toBe(false);
    expect(isDead({ ...other, boot: "12345678" }, other)).toBe(true);
  });

  test("the start of the system is now without the time since", () => {
    expect(Math.abs(systemStart() + uptime() - Date.now() / 1000)).toBeLessThan(60);
    expect(isEarlierRun(systemStart() - 2 * DAY)).toBe(true);
  });

  onLinux("a process that has ended runs no more, though its parent has not looked at it", async () => {
    // What has become of the shell asks after none of its children.
    const parent = spawn("sh", ["-c", "sleep 61 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      const [line] = (await once(parent.stdout, "data")) as [Buffer];
      const pid = line.toString().trim();
      await until(() => readFileSync(`/proc/${parent.pid}/cmdline`, "latin1").startsWith("sleep\0"));
      const fields = () => readFileSync(`/proc/${pid}/stat`, "latin1").split(" ");
      const token = ownToken().replace(/\d+ \d+$/, `${pid} ${fields()[21]}`);
      expect(mayRun(token)).toBe(true);
      process.kill(Number(pid), "SIGKILL");
      await until(() => fields()[2] === "Z");
      expect(mayRun(token)).toBe(false);
    } finally {
      parent.kill("SIGKILL");
    }
  });
});

const OWN = "(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;FA;;;S-1-5-21-1004336348-1177238915-682003330-1001)";

describe("an access list", () => {
  test.each([
    ["of the user, the system and administrators", `x\nD:AI${OWN}`, false],
    ["that denies everyone", `x\nD:P(D;;FA;;;WD)${OWN}`, false],
    ["of the owner", "x\nD:P(A;OICI;FA;;;OW)(A;OICIIO;GA;;;CO)", false],
    ["of users who may read", `x\nD:AI(A;OICIID;0x1200a9;;;BU)${OWN}`, true],
    ["of authenticated users, for what comes into it", `x\nD:AI${OWN}(A;OICIIOID;SDGXGWGR;;;AU)`, true],
    ["of everyone, by a number", `x\nD:AI${OWN}(A;;FA;;;S-1-1-0)`, true],
    ["of all users of a domain", `x\nD:AI(A;;FA;;;S-1-5-21-1-2-3-513)`, true],
    ["with a condition", `x\nD:AI(XA;;FR;;;WD;(Member_of {SID(BA)}))`, true],
  ])("%s", (_, list, is) => {
    expect(namesOthers(list)).toBe(is);
  });
});

describe("a new folder is asked by a program", () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "venue-files-test-"));
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  /** A program in the place of icacls, which gets `FOLDER /save FILE /q`. */
  function program(script: string): string {
    const path = join(base, "icacls");
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
    return path;
  }
  const folder = () => mkdtempSync(join(base, "state-"));
  const saving = (list: string) =>
    program(`printf '%s' '${list}' | sed 's/./&\\x00/g' > "$3"; test "$2 $4" = "/save /q"`);

  test("and nothing of that stays", () => {
    const [open, own] = [folder(), folder()];
    expect(letsOthersIn(open, saving("D:AI(A;;FA;;;BU)"))).toBe(true);
    expect(letsOthersIn(own, saving("D:AI(A;;FA;;;BA)"))).toBe(false);
    expect([...readdirSync(open), ...readdirSync(own)]).toEqual([]);
  });

  test.each([
    ["is missing", () => join(base, "none")],
    ["fails", () => program("exit 5")],
    ["writes something else", () => program('echo nonsense > "$3"')],
  ])("where it %s, that is told", (_, icacls) => {
    const told = jest.spyOn(process, "emitWarning").mockImplementation(() => {});
    const path = folder();
    expect(letsOthersIn(path, icacls())).toBe(false);
    expect(told).toHaveBeenCalledWith(expect.stringContaining(`Who may read ${path} could not be found out`));
    told.mockRestore();
    expect(existsSync(join(path, ".access-list"))).toBe(false);
  });
});

let folder: string;
let database: SharedDatabase;

const LIST = ["-c", "ls -l /proc/$$/fd; echo listed"];

async function textOf({ stdout }: ChildProcess): Promise<string> {
  let text = "";
  stdout?.on("data", (chunk) => {
    text += String(chunk);
  });
  if (stdout !== null) await once(stdout, "close");
  return text;
}

describe("a program", () => {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "venue-files-process-"));
    // LMDB opens its files so that children inherit them.
    database = openShared(join(folder, "index"), { maxTables: 1, flush: false });
  });

  afterEach(async () => {
    await database.close();
    rmSync(folder, { recursive: true });
  });

  const linuxTest = needs(process.platform === "linux", "it looks into /proc");

  linuxTest("inherits no file of a database", async () => {
    expect(await plainList()).toContain(join(folder, "index", "data.mdb"));
    const alone = await textOf(spawnAlone("/bin/sh", LIST, { stdio: ["ignore", "pipe", "ignore"] }));
    expect(alone).toContain("listed");
    expect(alone).not.toContain(folder);
  });

  linuxTest("has the descriptors that are given to it, also where one is inherited besides", async () => {
    const given = openSync(folder, "r");
    try {
      const inherited = Number(/(\d+) -> \S*data\.mdb/.exec(await plainList())?.[1]);
      expect(inherited).toBeGreaterThan(2);
      const stdio = Array.from({ length: inherited + 1 }, (_, number) =>
        number === 1 ? ("pipe" as const) : number === inherited ? given : ("ignore" as const),
      );
      const text = await textOf(spawnAlone("/bin/sh", LIST, { stdio }));
      expect(text).toMatch(new RegExp(`${inherited} -> ${folder}\\n`));
      expect(text).not.toContain("mdb");
    } finally {
      closeSync(given);
    }
  });

  test("that is not there is told as spawn tells it", async () => {
    const child = spawnAlone(join(folder, "nothing"), [], { stdio: ["ignore", "ignore", "ignore"] });
    expect(await once(child, "error")).toMatchObject([{ code: "ENOENT" }]);
  });
});

const plainList = () => textOf(spawn("/bin/sh", LIST, { stdio: ["ignore", "pipe", "ignore"] }));
