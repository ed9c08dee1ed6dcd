import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
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
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../../src/config/load.js";
import type { VenueConfigInput } from "../../../../src/config/types.js";
import { type Log, silentLog } from "../../../../src/core/ports/log.js";
import { ConfigError, createVenue, type Venue } from "../../../../src/index.js";
import { openAccess } from "../../../../src/venue/identity/open-access.js";
import { openVenue } from "../../../../src/venue/start/open-venue.js";
import { openState, withOwnStateDirs } from "../../../../src/venue/start/state/place.js";
import { announceRunning, runningFile, runningVenues } from "../../../../src/venue/start/state/running.js";
import { checkSecretsOutside } from "../../../../src/venue/start/state/secrets.js";
import {
  defaultStateDir,
  openLocalToken,
  openSecretFile,
  openStateDir,
  readSecretFile,
} from "../../../../src/venue/start/state/state-dir.js";
import { configErrorOf } from "../../../config/problems.js";
import { needs } from "../../../needs.js";

function failureOf(run: () => unknown) {
  const error = configErrorOf(run);
  return { exitStatus: error?.exitStatus, problems: error?.problems };
}

describe("the state folder", () => {
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

  const HOME_STATE = "/h/.local/state/venue-files";

  describe("the state directory of a user", () => {
    test.each([
      ["below XDG_STATE_HOME", { XDG_STATE_HOME: "/x", HOME: "/h" }, "/x/venue-files"],
      ["below the home directory", { HOME: "/h" }, "/h/.local/state/venue-files"],
      [
        "there, too, when XDG_STATE_HOME is relative",
        { XDG_STATE_HOME: "x", HOME: "/h" },
        "/h/.local/state/venue-files",
      ],
      ["there, too, when XDG_STATE_HOME is empty", { XDG_STATE_HOME: "", HOME: "/h" }, "/h/.local/state/venue-files"],
      ["where the system says, without a home", {}, join(homedir(), ".local/state/venue-files")],
      ["where the system says, with a relative home", { HOME: "h" }, join(homedir(), ".local/state/venue-files")],
      ["the first of a service's", { STATE_DIRECTORY: "/s/a:/s/b", XDG_STATE_HOME: "/x", HOME: "/h" }, "/s/a"],
      [
        "what its own variable says",
        { VENUE_FILES_STATE_DIR: "/v", STATE_DIRECTORY: "/s", XDG_STATE_HOME: "/x" },
        "/v",
      ],
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

    needs(isLinux, "only Linux has /proc")(
      "is refused where the system makes no folders, which is told at once",
      () => {
        const advice = "Set 'stateDir' to a folder that can be written, or to false";
        const problems = [`'stateDir' cannot be used: no folder can be made there (ENOENT): /proc/a/b/c. ${advice}`];
        expect(failureOf(() => openStateDir("/proc/a/b/c"))).toEqual({ exitStatus: 66, problems });
      },
    );

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
        problems: [
          "'stateDir' has a local-token that cannot be used: it holds no token. Delete it, and another is made",
        ],
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
      const problems = [
        "'stateDir' has a local-token that cannot be used: it cannot be made: its folder does not exist",
      ];
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
});

describe("its place", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "venue-files-test-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const inside = (...names: string[]): string => join(folder, ...names);
  const parse = (given: VenueConfigInput) => parseConfig({ port: 0, ...given }, { baseDir: folder });
  const state = (given: VenueConfigInput = {}) => parse({ stateDir: "state", ...given });
  const open = (config = state(), env = {}) => openState(config, env, "auth.localToken");

  describe("the format of a state directory", () => {
    const refused = (fault: string, exitStatus = 78) => ({
      exitStatus,
      problems: [`'stateDir' cannot be used: ${fault}: ${inside("state")}`],
    });

    const NO_NUMBER =
      "its file 'format' holds no number. Write 1 into it, unless a newer version has used this directory";

    test("is the first where its file is empty", () => {
      mkdirSync(inside("state"), { mode: 0o700 });
      writeFileSync(inside("state", "format"), "");
      expect(open()).toBe(inside("state"));
    });

    test("is written when it is opened, and nothing that is there is touched", () => {
      mkdirSync(inside("state"), { mode: 0o700 });
      writeFileSync(inside("state", "revocations"), "did:web:gone\n");
      expect(open()).toBe(inside("state"));
      expect(readFileSync(inside("state", "format"), "utf8")).toBe("1\n");
      expect(readFileSync(inside("state", "revocations"), "utf8")).toBe("did:web:gone\n");
      expect(open()).toBe(inside("state"));
    });

    test.each([
      ["2\n", "it is of format 2, and this version knows 1. Use a newer version"],
      ["1>2\n", "it is on the way to format 2, and this version knows 1. Use a newer version"],
      ["999999999", "it is of format 999999999, and this version knows 1. Use a newer version"],
      ["0\n", NO_NUMBER],
      ["1.5\n", NO_NUMBER],
      ["\0", NO_NUMBER],
      ["1".repeat(17), "its file 'format' cannot be read: it is too long"],
    ])("is not believed when it is %j", (content, fault) => {
      mkdirSync(inside("state"), { mode: 0o700 });
      writeFileSync(inside("state", "format"), content);
      expect(failureOf(() => open())).toEqual(refused(fault));
      // Also by who only reads there: what is revoked may stand elsewhere in a newer one.
      const reader = state({ auth: { localToken: false } });
      expect(failureOf(() => openAccess(reader, { env: {}, log: silentLog, url: () => "" }))).toEqual(refused(fault));
      expect(readFileSync(inside("state", "format"), "utf8")).toBe(content);
    });
  });

  describe("without a state directory", () => {
    const none = (given: VenueConfigInput = {}) => parse({ stateDir: false, ...given });

    test("a key that needs it is refused", () => {
      const s3 = { bucket: "drives" } as const;
      const error = () => none({ seed: "01".repeat(32), auth: { localToken: true }, drives: { store: { s3 } } });
      expect(failureOf(error)).toEqual({
        exitStatus: 78,
        problems: [
          "'auth.localToken' needs a state directory, but 'stateDir' is false",
          "'drives.store.s3' needs a state directory, but 'stateDir' is false",
        ],
      });
      expect(failureOf(() => open(none()))).toEqual({
        exitStatus: 78,
        problems: ["'auth.localToken' needs 'stateDir', which is false"],
      });
    });

    test("a venue runs with a passing identity, of which it warns once, and drives in memory", async () => {
      const roots = { mine: { dlfs: "mine" } };
      expect(none({ file: { roots } }).warnings).toEqual([
        `Drives are kept in memory and will not survive: set 'drives.store' to a path, or to "memory" if that is meant`,
        "The identity of this venue ends with its process: set 'seed' or 'seedFile' to keep one",
      ]);
      const config = none({ seed: "01".repeat(32), drives: { store: "memory" }, file: { roots } });
      expect(config.warnings).toEqual([]);
      const env = { VENUE_FILES_STATE_DIR: inside("env"), HOME: inside("home") };
      const venue = await openVenue(config, { listens: true, env, log: silentLog });
      try {
        expect(venue.access.localToken).toBeUndefined();
        await expect(venue.access.revocations.add(["did:web:gone"])).rejects.toThrow(
          "There is no revocation list: 'stateDir' is false. Set 'auth.ucan.revocations' to a file",
        );
      } finally {
        await venue.close();
      }
      expect([existsSync(inside("env")), existsSync(inside("home"))]).toEqual([false, false]);
    });
  });

  test("a state directory that nothing needs is not made", async () => {
    writeFileSync(inside("revoked"), "");
    const auth = { localToken: false, ucan: { revocations: "revoked" } };
    const config = state({ auth, seed: "01".repeat(32), drives: { store: "memory" } });
    const venue = await openVenue(config, { listens: true, env: {}, log: silentLog });
    await venue.close();
    expect(existsSync(inside("state"))).toBe(false);
  });

  describe("several venues of a process", () => {
    const dirs = (...venues: VenueConfigInput[]) =>
      withOwnStateDirs(venues.map(parse), { VENUE_FILES_STATE_DIR: "/env" }).map(({ stateDir }) => stateDir);

    test("have each a state directory of their own, and one alone has the whole", () => {
      expect(dirs({ name: "a" })).toEqual([undefined]);
      expect(dirs({ name: "a", stateDir: "s" })).toEqual([inside("s")]);
      expect(dirs({ name: "a" }, { name: "b" })).toEqual(["/env/a", "/env/b"]);
      expect(dirs({ name: "a" }, { name: "a", stateDir: "s" }, { stateDir: false })).toEqual([
        "/env/a",
        inside("s/a"),
        false,
      ]);
    });

    test.each([
      ["../up", "%2E.%2Fup"],
      ["..", "%2E%2E"],
      [".", "%2E"],
      ["a/b\\c", "a%2Fb%5Cc"],
      ["100%", "100%25"],
      ["Ümläut 2", "Ümläut 2"],
      ["end. ", "end.%20"],
      ["a\0b", "a%00b"],
    ])("never have one elsewhere: %j", (name, own) => {
      expect(dirs({ name }, { name: "other" })[0]).toBe(`/env/${own}`);
    });

    test("cannot have the same", () => {
      const advice = (second: number) => `Set 'venues[${second}].name' or 'venues[${second}].stateDir' to another`;
      expect(failureOf(() => dirs({}, {}, { name: "x" }, { name: "X" }, { stateDir: "/env" }))).toEqual({
        exitStatus: 78,
        problems: [
          `'venues[0]' and 'venues[1]' have the same name and the same 'stateDir'. ${advice(1)}`,
          `'venues[2]' and 'venues[3]' have the same name and the same 'stateDir'. ${advice(3)}`,
          `'venues[0]' and 'venues[4]' have the same name and the same 'stateDir'. ${advice(4)}`,
        ],
      });
      expect(failureOf(() => dirs({ name: "a" }, { name: "Keys" })).problems).toEqual([
        "'venues[1].name' must not be 'Keys': 'stateDir' has something else of that name",
      ]);
    });

    const both = () =>
      withOwnStateDirs(
        ["a", "b"].map((name) => state({ name })),
        {},
      );

    test("share neither the operator's token nor the revocation list", async () => {
      const warnings: string[] = [];
      const log: Log = { ...silentLog, warn: (_fields, text) => void warnings.push(text) };
      mkdirSync(inside("state"), { mode: 0o700 });
      writeFileSync(inside("state", "revocations"), "did:web:old\n");
      const [a, b] = both().map((config) => openAccess(config, { env: {}, log, url: () => "" }));
      if (a === undefined || b === undefined) throw new Error("There are two");
      expect(a.localToken).not.toBe(b.localToken);
      expect(b.authenticate(`Bearer ${a.localToken}`)).toEqual({ refused: "invalid_token" });
      await a.revocations.add(["did:web:gone"]);
      expect([a.revocations.has("did:web:gone"), b.revocations.has("did:web:gone")]).toEqual([true, false]);
      expect(readFileSync(inside("state", "revocations"), "utf8")).toBe("did:web:old\n");
      for (const place of [[], ["a"], ["b"]]) {
        expect(readFileSync(inside("state", ...place, "format"), "utf8")).toBe("1\n");
      }
      const list = inside("state", "revocations");
      expect(warnings).toEqual(
        ["a", "b"].map((name) => {
          const own = inside("state", name, "revocations");
          return `This venue does not follow ${list} any more. Copy it to ${own} if it should`;
        }),
      );
    });

    test("do not trust a folder above theirs that others may write", () => {
      mkdirSync(inside("state"));
      chmodSync(inside("state"), 0o777);
      const [a] = both();
      expect(failureOf(() => open(a)).problems).toEqual([
        `'stateDir' cannot be used: others may write in it: ${inside("state")}`,
      ]);
    });
  });
});

describe("secrets", () => {
  let base: string;
  beforeAll(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
    mkdirSync(join(base, "docs/sub"), { recursive: true });
    mkdirSync(join(base, "home/.local/state"), { recursive: true });
    writeFileSync(join(base, "elsewhere.seed"), "");
    symlinkSync(join(base, "elsewhere.seed"), join(base, "docs/seed"));
    symlinkSync(join(base, "docs"), join(base, "way-in"));
    symlinkSync(join(base, "docs"), join(base, "other-name"));
    symlinkSync("docs/not-yet", join(base, "audit-link"));
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  const token = { name: "ci", caps: [] };
  const check = (config: VenueConfigInput, root = "docs") =>
    checkSecretsOutside(
      parseConfig({ file: { roots: { r: root, tmp: { temp: true } } }, ...config }, { baseDir: base }),
      {
        HOME: join(base, "home"),
      },
    );

  const BECOME = "whose readers could act as this venue or its operator";

  describe("a root with a secret of the venue in it is refused:", () => {
    test.each<[string, VenueConfigInput, string, string]>([
      ["the seed", { seedFile: "docs/sub/venue.seed" }, "seedFile", BECOME],
      ["the name of the seed, which is a link", { seedFile: "docs/seed" }, "seedFile", BECOME],
      ["the state directory", { stateDir: "docs/state/not/yet/there" }, "stateDir", BECOME],
      ["the state directory, which is the root", { stateDir: "docs" }, "stateDir", BECOME],
      ["a way to it by a link", { stateDir: "way-in/state" }, "stateDir", BECOME],
      [
        "the file of a token",
        { auth: { tokens: [{ ...token, token: { file: "docs/ci.token" } }] } },
        "auth.tokens[0].token.file",
        BECOME,
      ],
      [
        "stored assets",
        { storage: { content: "file", path: "docs/assets" } },
        "storage.path",
        "whose writers could change what assets hold",
      ],
      [
        "the audit",
        { audit: { file: "docs/audit.jsonl" } },
        "audit.file",
        "whose writers could change what it records",
      ],
      [
        "the audit, which a link makes there",
        { audit: { file: "audit-link" } },
        "audit.file",
        "whose writers could change what it records",
      ],
      ["the log", { log: { file: "docs/sub/log" } }, "log.file", "whose writers could change what it records"],
      [
        "the revocation list",
        { auth: { ucan: { revocations: "docs/revoked.txt" } } },
        "auth.ucan.revocations",
        "whose writers could take revocations back",
      ],
    ])("%s", (_what, config, key, danger) => {
      expect(() => check(config)).toThrow(`'${key}' lies inside root 'r', ${danger}. Choose a place outside`);
      expect(() => check(config, "other-name")).toThrow(`'${key}' lies inside root 'r'`);
    });

    test("the URL of the database that instances share", () => {
      const config: VenueConfigInput = {
        ...{ seed: "ab".repeat(32), drives: { store: { s3: { bucket: "drives" } } } },
        storage: { content: "s3", s3: { bucket: "drives" } },
        file: { roots: { r: { path: "docs", shared: true } } },
        shared: { postgres: { url: { file: "docs/url" } } },
      };
      const danger = "whose readers could reach what the instances of this venue share";
      expect(() => check(config)).toThrow(`'shared.postgres.url.file' lies inside root 'r', ${danger}`);
    });

    test("the state directory nobody wrote down, whatever it is used for", () => {
      expect(() => check({}, "home")).toThrow("'stateDir' lies inside root 'r'");
      expect(() => check({ auth: { localToken: false } }, "home")).toThrow("'stateDir' lies inside root 'r'");
    });
  });

  test.each<[string, VenueConfigInput]>([
    [
      "elsewhere",
      {
        seedFile: "venue.seed",
        stateDir: "state",
        storage: { content: "file", path: "assets" },
        audit: { file: "audit.jsonl" },
        log: { file: "docs.log" },
        auth: { ucan: { revocations: "revoked.txt" } },
      },
    ],
    ["in a directory whose name starts alike", { seedFile: "docs2/venue.seed", stateDir: "docs-state" }],
  ])("secrets %s are no problem", (_where, config) => {
    expect(() => check(config)).not.toThrow();
  });
});

const SEED = "11".repeat(32);
const venues: Venue[] = [];

async function refusalOf(opening: Promise<Venue>): Promise<unknown> {
  const error = await opening.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConfigError)) throw new Error("It was not refused as a mistake of the configuration");
  return { exitStatus: error.exitStatus, problems: error.problems };
}

const shared = (path: string) => ({
  exitStatus: 78,
  problems: [
    "'stateDir' cannot be used: another venue of this process has it, and would share its local token and revocation " +
      `list: ${path}. Give this one a 'stateDir' of its own, or close the other first`,
  ],
});

describe("two venues in one process", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "venue-files-test-"));
  });
  afterEach(async () => {
    await Promise.all(venues.splice(0).map((venue) => venue.close()));
    rmSync(folder, { recursive: true });
  });

  async function open(config: VenueConfigInput = {}, env: Record<string, string> = {}): Promise<Venue> {
    const given = { port: 0, seed: SEED, stateDir: "state", ...config };
    const venue = await createVenue(given, { baseDir: folder, env });
    venues.push(venue);
    return venue;
  }

  test("never share a state directory, whoever names it in whichever way", async () => {
    const first = await open();
    const token = first.localToken;
    expect(token).toHaveLength(43);
    const state = join(folder, "state");
    symlinkSync("state", join(folder, "link"));
    expect(await refusalOf(open())).toEqual(shared(state));
    expect(await refusalOf(open({ name: "other" }))).toEqual(shared(state));
    expect(await refusalOf(open({ stateDir: "./x/../state/" }))).toEqual(shared(state));
    expect(await refusalOf(open({ stateDir: "link" }))).toEqual(shared(join(folder, "link")));
    const { stateDir: _none, ...byEnvironment } = { port: 0, seed: SEED, stateDir: "" };
    const opening = createVenue(byEnvironment, { baseDir: folder, env: { VENUE_FILES_STATE_DIR: state } });
    expect(await refusalOf(opening)).toEqual(shared(state));
    // One that takes no token from it, but the list, would share that.
    expect(await refusalOf(open({ auth: { localToken: false } }))).toEqual(shared(state));
    const second = await open({ stateDir: "state/second" });
    expect(second.localToken).toHaveLength(43);
    expect(second.localToken).not.toBe(token);
  });

  test("may have the same one after the other, also after a start that failed", async () => {
    writeFileSync(join(folder, "file"), "");
    const first = await open();
    await first.close();
    await expect(open({ audit: { file: "file/audit.jsonl" } })).rejects.toThrow("'audit.file' cannot be opened");
    const second = await open();
    expect(second.localToken).toBe(first.localToken);
    await first.close();
    expect(await refusalOf(open())).toEqual(shared(join(folder, "state")));
  });

  test("may name one that neither token nor list is taken from, or none", async () => {
    writeFileSync(join(folder, "revoked"), "");
    const elsewhere = { auth: { localToken: false, ucan: { revocations: "revoked" } } };
    await open();
    await open(elsewhere);
    await open(elsewhere);
    await open({ stateDir: false });
    await open({ stateDir: false });
    expect(venues.map(({ localToken }) => localToken !== undefined)).toEqual([true, false, false, false, false]);
  });

  test("do not keep commands from reading there that serve nothing", async () => {
    await open();
    const config = parseConfig({ seed: SEED, stateDir: "state" }, { baseDir: folder });
    const options = { env: {}, log: silentLog };
    const calling = await openVenue(config, { ...options, listens: false });
    const reading = await openVenue(config, { ...options, listens: false, filesOnly: true });
    expect([calling.access.revocations.size, reading.access.localToken]).toEqual([0, undefined]);
    await Promise.all([calling.close(), reading.close()]);
  });
});

const RUNNING = { pid: process.pid, url: "http://localhost:1", did: "did:key:z6Mk" };

describe("the file by which commands find a venue", () => {
  const base = mkdtempSync(join(tmpdir(), "running-"));
  afterAll(() => rmSync(base, { recursive: true }));

  test("is there while it runs", () => {
    const takeAway = announceRunning(runningFile(base, "one"), RUNNING);
    expect([...runningVenues(base).values()]).toEqual([RUNNING]);
    takeAway();
    expect(runningVenues(base).size).toBe(0);
  });

  test("that cannot be written is a mistake in 'stateDir' that says what to do, and leaves nothing behind", () => {
    const taken = runningFile(base, "two");
    mkdirSync(taken, { recursive: true });
    const below = join(base, "file");
    writeFileSync(below, "x");
    for (const [path, code] of [
      [taken, "EISDIR"],
      [runningFile(below, "three"), "ENOTDIR"],
    ] as const) {
      const announce = () => announceRunning(path, RUNNING);
      expect(announce).toThrow(ConfigError);
      expect(announce).toThrow(`'stateDir' cannot be used: running.json cannot be written there (${code}): `);
      expect(announce).toThrow("Make room, or set 'stateDir' to another folder");
    }
    expect(readdirSync(join(taken, ".."))).toEqual(["running.json"]);
    expect(readFileSync(below, "utf8")).toBe("x");
  });
});
