import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  defaultStateDir,
  openLocalToken,
  openSecretFile,
  openStateDir,
  readSecretFile,
} from "../../../../src/venue/start/state/state-dir.js";
import { configErrorOf } from "../../../config/problems.js";
import { needs } from "../../../needs.js";

const isRoot = process.geteuid?.() === 0;
const isLinux = process.platform === "linux";
const NOBODY = 65534;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "venue-state-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const inside = (...names: string[]): string => join(folder, ...names);
const modeOf = (path: string): number => statSync(path).mode & 0o7777;

function failureOf(run: () => unknown) {
  const error = configErrorOf(run);
  return { exitStatus: error?.exitStatus, problems: error?.problems };
}

const HOME_STATE = "/h/.local/state/venue-files";

describe("the state directory of a user", () => {
  test.each([
    ["below XDG_STATE_HOME", { XDG_STATE_HOME: "/x", HOME: "/h" }, "/x/venue-files"],
    ["below the home directory", { HOME: "/h" }, "/h/.local/state/venue-files"],
    ["there, too, when XDG_STATE_HOME is relative", { XDG_STATE_HOME: "x", HOME: "/h" }, "/h/.local/state/venue-files"],
    ["there, too, when XDG_STATE_HOME is empty", { XDG_STATE_HOME: "", HOME: "/h" }, "/h/.local/state/venue-files"],
    ["where the system says, without a home", {}, join(homedir(), ".local/state/venue-files")],
    ["where the system says, with a relative home", { HOME: "h" }, join(homedir(), ".local/state/venue-files")],
    ["the first of a service's", { STATE_DIRECTORY: "/s/a:/s/b", XDG_STATE_HOME: "/x", HOME: "/h" }, "/s/a"],
    ["what its own variable says", { VENUE_FILES_STATE_DIR: "/v", STATE_DIRECTORY: "/s", XDG_STATE_HOME: "/x" }, "/v"],
    ["not what empty variables say", { VENUE_FILES_STATE_DIR: "", STATE_DIRECTORY: "", HOME: "/h" }, HOME_STATE],
  ])("is %s", (_where, env, path) => {
    expect(defaultStateDir(env)).toBe(path);
  });

  test("is behind the link of a service with a dynamic user", () => {
    mkdirSync(inside("private"));
    symlinkSync("private", inside("link"));
    const found = defaultStateDir({ STATE_DIRECTORY: inside("link") });
    expect(openStateDir(found)).toBe(realpathSync(inside("private")));
  });

  test.each(["VENUE_FILES_STATE_DIR", "STATE_DIRECTORY"])("is not guessed when %s is relative", (variable) => {
    expect(failureOf(() => defaultStateDir({ [variable]: "state", HOME: "/h" }))).toEqual({
      exitStatus: 78,
      problems: [`The environment variable ${variable} must be an absolute path`],
    });
  });

  test("has to be named for a user without a home", () => {
    const homeless = () => {
      throw new Error("no entry");
    };
    expect(failureOf(() => defaultStateDir({}, homeless))).toEqual({
      exitStatus: 78,
      problems: ["'stateDir' must be set: this user has no home directory"],
    });
    expect(defaultStateDir({ HOME: "/h" }, homeless)).toBe("/h/.local/state/venue-files");
  });
});

describe("a state directory", () => {
  test("is made with what is above it, for its owner alone", () => {
    const path = inside("a", "b", "venue-files");
    expect(openStateDir(path)).toBe(path);
    for (const made of [path, inside("a"), inside("a", "b")]) expect(modeOf(made)).toBe(0o700);
  });

  test("is used again as it is", () => {
    mkdirSync(inside("own"));
    chmodSync(inside("own"), 0o755);
    writeFileSync(inside("own", "kept"), "");
    expect(openStateDir(`${inside("own")}/`)).toBe(inside("own"));
    expect(modeOf(inside("own"))).toBe(0o755);
    expect(readdirSync(inside("own"))).toEqual(["kept"]);
  });

  const refused: readonly [string, 66 | 78, string, (path: string) => void][] = [
    ["writable by its group", 78, "others may write in it", (path) => directory(path, 0o720)],
    ["writable by everybody", 78, "others may write in it", (path) => directory(path, 0o1702)],
    ["a link", 78, "it is a link", (path) => symlinkSync(folder, path)],
    ["a link to nothing", 78, "it is a link", (path) => symlinkSync("nowhere", path)],
    ["a file", 78, "it is not a directory", (path) => writeFileSync(path, "")],
  ];
  test.each(refused)("is refused when it is %s", (_what, exitStatus, fault, make) => {
    const path = inside("state");
    make(path);
    const problems = [`'stateDir' cannot be used: ${fault}: ${path}`];
    expect(failureOf(() => openStateDir(path))).toEqual({ exitStatus, problems });
  });

  test("is refused when it is a link, even with a slash behind it", () => {
    symlinkSync(folder, inside("state"));
    expect(failureOf(() => openStateDir(`${inside("state")}/`)).problems).toEqual([
      expect.stringMatching(/^'stateDir' cannot be used: it is a link: /),
    ]);
  });

  test("is refused when it cannot be made", () => {
    writeFileSync(inside("file"), "");
    const path = inside("file", "state");
    const problems = [`'stateDir' cannot be used: its folder does not exist: ${path}`];
    expect(failureOf(() => openStateDir(path))).toEqual({ exitStatus: 66, problems });
  });

  needs(isLinux, "only Linux has /proc")("is refused where the system makes no folders, which is told at once", () => {
    const advice = "Set 'stateDir' to a folder that can be written, or to false";
    const problems = [`'stateDir' cannot be used: no folder can be made there (ENOENT): /proc/a/b/c. ${advice}`];
    expect(failureOf(() => openStateDir("/proc/a/b/c"))).toEqual({ exitStatus: 66, problems });
  });

  needs(isLinux && isRoot, "only root can mount")("on a read-only file system is told as such", () => {
    const advice = "Set 'stateDir' to a folder that can be written, or to false";
    const path = inside("mounted");
    mkdirSync(path);
    execFileSync("mount", ["-t", "tmpfs", "-o", "ro,mode=0700", "none", path]);
    try {
      const made = join(path, "state");
      expect(failureOf(() => openStateDir(made))).toEqual({
        exitStatus: 66,
        problems: [`'stateDir' cannot be used: the file system is read-only: ${made}. ${advice}`],
      });
      expect(failureOf(() => openLocalToken(openStateDir(path)))).toEqual({
        exitStatus: 66,
        problems: [
          `'stateDir' has a local-token that cannot be used: it cannot be made: the file system is read-only: ${path}. ${advice}`,
        ],
      });
    } finally {
      execFileSync("umount", [path]);
    }
  });

  needs(isRoot, "only root can give a file to another user")("is refused when it belongs to another user", () => {
    const path = inside("state");
    directory(path, 0o700);
    chownSync(path, NOBODY, NOBODY);
    const problems = [`'stateDir' cannot be used: it belongs to another user: ${path}`];
    expect(failureOf(() => openStateDir(path))).toEqual({ exitStatus: 78, problems });
  });
});

describe("a local token", () => {
  const file = () => inside("local-token");
  const failure = () => failureOf(() => openLocalToken(folder));

  test("is 256 bits, for its owner alone", () => {
    const token = openLocalToken(folder);
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(readFileSync(file(), "utf8")).toBe(`${token}\n`);
    expect(modeOf(file())).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["local-token"]);
  });

  test("is made once, and another one after the file was deleted", () => {
    const token = openLocalToken(folder);
    expect(openLocalToken(folder)).toBe(token);
    rmSync(file());
    expect(openLocalToken(folder)).not.toBe(token);
  });

  test.each([
    "",
    "\n",
    "a".repeat(42),
    "a".repeat(44),
    `${"a".repeat(42)}=`,
    ` ${"a".repeat(43)}`,
    `${"a".repeat(43)}\nx`,
  ])("is refused when the file holds %j, which is not shown", (content) => {
    writeFileSync(file(), content, { mode: 0o600 });
    expect(failure()).toEqual({
      exitStatus: 78,
      problems: ["'stateDir' has a local-token that cannot be used: it holds no token. Delete it, and another is made"],
    });
  });

  const refused: readonly [string, 66 | 78, string, (path: string) => void][] = [
    ["readable by others", 78, "others may use it. Make its mode 0600, or delete it", (path) => token(path, 0o640)],
    ["a link", 78, "it is a link", (path) => symlinkSync(token(inside("real"), 0o600), path)],
    ["a link to nothing", 78, "it is a link", (path) => symlinkSync("nowhere", path)],
    ["a directory", 78, "it is not a regular file", (path) => mkdirSync(path)],
    ["a pipe, which nobody waits for", 78, "it is not a regular file", (path) => execFileSync("mkfifo", [path])],
    ["too long", 78, "it is too long", (path) => writeFileSync(path, "a".repeat(65), { mode: 0o600 })],
  ];
  test.each(refused)("is refused when it is %s", (_what, exitStatus, fault, make) => {
    make(file());
    const problems = [`'stateDir' has a local-token that cannot be used: ${fault}`];
    expect(failure()).toEqual({ exitStatus, problems });
  });

  needs(isRoot, "only root can give a file to another user")("is refused when it belongs to another user", () => {
    chownSync(token(file(), 0o600), NOBODY, NOBODY);
    const problems = ["'stateDir' has a local-token that cannot be used: it belongs to another user"];
    expect(failure()).toEqual({ exitStatus: 78, problems });
  });

  test("is refused when its directory is gone", () => {
    const problems = ["'stateDir' has a local-token that cannot be used: it cannot be made: its folder does not exist"];
    expect(failureOf(() => openLocalToken(inside("gone")))).toEqual({ exitStatus: 66, problems });
  });

  function token(path: string, mode: number): string {
    writeFileSync(path, "a".repeat(43));
    chmodSync(path, mode);
    return path;
  }
});

describe("a secret file", () => {
  const options = { maxBytes: 10, follow: true };

  test("is whole or not there: the one that was first stays", () => {
    const path = inside("secret");
    const make = () => {
      writeFileSync(path, "first");
      return "second";
    };
    expect(openSecretFile(path, { ...options, make })).toMatchObject({ text: "first" });
    expect(readdirSync(folder)).toEqual(["secret"]);
  });

  test("is read up to its limit, which is no byte more", () => {
    writeFileSync(inside("secret"), "0123456789");
    expect(readSecretFile(inside("secret"), options)).toMatchObject({ text: "0123456789" });
    expect(readSecretFile(inside("secret"), { ...options, maxBytes: 9 })).toEqual({
      fault: "it is too long",
      exitStatus: 78,
    });
  });
});

function directory(path: string, mode: number): void {
  mkdirSync(path);
  chmodSync(path, mode);
}
