import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import { type Log, silentLog } from "../../../src/core/ports/log.js";
import { revocationPlace } from "../../../src/venue/identity/revocation-place.js";
import { openRevocations, type RevocationList } from "../../../src/venue/identity/revocations.js";
import { configErrorOf } from "../../config/problems.js";
import { needs } from "../../needs.js";

const ALICE = "did:key:zAlice";
const BOB = "did:web:bob.example";
/** Ids of tokens. */
const [A, B, C] = ["A", "B", "C"].map((letter) => `${letter.repeat(42)}A`) as [string, string, string];

/** Seconds; whole, so that a file can have exactly this time twice. */
const LONG_AGO = 1_000_000_000;

let folder: string;
let path: string;
let logged: { level: string; fields: object; text: string }[];
const log: Log = {
  ...silentLog,
  warn: (fields, text) => logged.push({ level: "warn", fields, text }),
  error: (fields, text) => logged.push({ level: "error", fields, text }),
};

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "venue-revocations-")));
  path = join(folder, "revoked.txt");
  logged = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const openConfigured = (): RevocationList => openRevocations({ path, isConfigured: true }, { log });
const openInState = (): RevocationList =>
  openRevocations({ path: join(folder, "state", "revocations"), isConfigured: false }, { log });
const inForce = (list: RevocationList): string[] => [ALICE, BOB, A, B, C].filter((entry) => list.has(entry));
/** What is asked next, by somebody else. */
async function next(list: RevocationList): Promise<string[]> {
  await setImmediate();
  return inForce(list);
}

describe("a revocation list", () => {
  test("has the ids and DIDs that stand in it", () => {
    writeFileSync(path, `# who left\n${ALICE} # in May\n\n  ${A}\r\n${B}`);
    const list = openConfigured();
    expect(inForce(list)).toEqual([ALICE, A, B]);
    expect(list.size).toBe(3);
    expect(logged).toEqual([]);
  });

  test("may be empty", () => {
    writeFileSync(path, "");
    expect(inForce(openConfigured())).toEqual([]);
  });

  test("may be a link, as files are mounted in containers, which is led elsewhere", async () => {
    writeFileSync(join(folder, "one"), `${A}\n`);
    writeFileSync(join(folder, "two"), `${B}\n`);
    symlinkSync("one", path);
    const list = openConfigured();
    expect(inForce(list)).toEqual([A]);
    symlinkSync("two", join(folder, "link"));
    renameSync(join(folder, "link"), path);
    expect(await next(list)).toEqual([A, B]);
  });

  test("is found where the configuration says, else in the state directory", () => {
    const place = (config: object, env = {}) => revocationPlace(parseConfig(config, { baseDir: folder }), env);
    expect(place({ auth: { ucan: { revocations: "revoked.txt" } } })).toMatchObject({ path, isConfigured: true });
    expect(place({ stateDir: "state" })).toEqual({
      ...{ path: join(folder, "state/revocations"), isConfigured: false },
      guard: join(folder, "state/revocation-guard"),
    });
    expect(place({}, { XDG_STATE_HOME: folder })).toMatchObject({ path: join(folder, "venue-files/revocations") });
  });

  const wrong: readonly [string, () => unknown, number, string][] = [
    ["is not there", () => {}, 66, "there is no such file"],
    ["is a directory", () => mkdirSync(path), 78, "it is not a regular file"],
    ["is too long", () => [writeFileSync(path, ""), truncateSync(path, 4_194_305)], 78, "it is too long"],
    ["has a line that says nothing", () => writeFileSync(path, `${A}\n\nbob\n`), 78, lineFault(3)],
    ["has an id that is cut off", () => writeFileSync(path, A.slice(1)), 78, lineFault(1)],
    ["has two entries in a line", () => writeFileSync(path, `${A} ${B}\n`), 78, lineFault(1)],
  ];
  test.each(wrong)("that is configured and %s stops the start", (_what, make, exitStatus, fault) => {
    make();
    const problem = `'auth.ucan.revocations' cannot be used: ${fault}: ${path}`;
    expect(configErrorOf(openConfigured)).toMatchObject({ exitStatus, problems: [problem] });
  });

  test("in the state directory may be missing, the directory too, but not wrong", () => {
    const list = openInState();
    expect(inForce(list)).toEqual([]);
    mkdirSync(join(folder, "state"));
    writeFileSync(join(folder, "state", "revocations"), "?");
    expect(configErrorOf(openInState)).toMatchObject({
      exitStatus: 78,
      problems: [
        `'stateDir' has a list 'revocations' that cannot be used: ${lineFault(1)}: ${folder}/state/revocations`,
      ],
    });
    rmSync(join(folder, "state", "revocations"));
    symlinkSync(path, join(folder, "state", "revocations"));
    writeFileSync(path, "");
    expect(configErrorOf(openInState)?.problems[0]).toContain("it is a link");
  });

  test("that others may write is told of, once", async () => {
    writeFileSync(path, `${A}\n`);
    chmodSync(path, 0o622);
    expect(await next(openConfigured())).toEqual([A]);
    const text = "Others may write the revocation list, and take entries out. Make its mode 0600";
    expect(logged).toEqual([{ level: "warn", fields: {}, text }]);
  });
});

describe("a revocation list that changes", () => {
  const replace = (text: string) => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };

  test.each<[string, () => void, string[]]>([
    ["by an appended line", () => appendFileSync(path, `${B}\n`), [A, B]],
    ["by a new file in its place", () => replace(`${BOB}\n${A}\n`), [BOB, A]],
    [
      "to a text as long, its time set back",
      () => {
        writeFileSync(path, `${C}\n`);
        utimesSync(path, LONG_AGO, LONG_AGO);
      },
      [C],
    ],
  ])("%s is in force at the next look", async (_how, change, expected) => {
    writeFileSync(path, expected.includes(A) ? `${A}\n` : `#${A.slice(1)}\n`);
    utimesSync(path, LONG_AGO, LONG_AGO);
    const list = openConfigured();
    expect(inForce(list)).toEqual(expected.includes(A) ? [A] : []);
    change();
    expect(await next(list)).toEqual(expected);
    expect(logged).toEqual([]);
  });

  test("is not read again for what is asked in one go", () => {
    writeFileSync(path, `${A}\n`);
    const list = openConfigured();
    expect(list.has(B)).toBe(false);
    appendFileSync(path, `${B}\n`);
    expect(list.has(B)).toBe(false);
  });

  test.each<[string, () => void, string]>([
    ["has a malformed line", () => appendFileSync(path, "bob\n"), lineFault(2)],
    ["is gone", () => rmSync(path), "there is no such file"],
    ["is no file any more", () => [rmSync(path), mkdirSync(path)], "it is not a regular file"],
  ])("and %s stays as it was, which is said once", async (_how, change, reason) => {
    writeFileSync(path, `${A}\n`);
    const list = openConfigured();
    change();
    expect(await next(list)).toEqual([A]);
    expect(await next(list)).toEqual([A]);
    const text = "revocation list not read again: the old one stays in force";
    expect(logged).toEqual([{ level: "error", fields: { reason }, text }]);
    rmSync(path, { recursive: true, force: true });
    writeFileSync(path, `${A}\n${B}\n`);
    expect(await next(list)).toEqual([A, B]);
    expect(logged).toHaveLength(1);
  });

  test("that appears in the state directory is taken up", async () => {
    const list = openInState();
    mkdirSync(join(folder, "state"));
    expect(await next(list)).toEqual([]);
    writeFileSync(join(folder, "state", "revocations"), `${A}\n`);
    expect(await next(list)).toEqual([A]);
    expect(logged).toEqual([]);
  });

  needs(process.geteuid?.() !== 0, "root may read every file")(
    "and cannot be read any more stays as it was",
    async () => {
      writeFileSync(path, `${A}\n`);
      const list = openConfigured();
      chmodSync(path, 0);
      expect(await next(list)).toEqual([A]);
      expect(logged).toMatchObject([{ fields: { reason: "permission denied" } }]);
    },
  );
});

describe("what is revoked", () => {
  test("is written as whole lines, and in force at once, here and for others", async () => {
    writeFileSync(path, `# ours\n${A}`);
    const [list, other] = [openConfigured(), openConfigured()];
    await list.add([B, ALICE]);
    expect(inForce(list)).toEqual([ALICE, A, B]);
    expect(await next(other)).toEqual([ALICE, A, B]);
    expect(readFileSync(path, "utf8")).toBe(`# ours\n${A}\n${B}\n${ALICE}\n`);
    expect(logged).toEqual([]);
  });

  test("makes the list and the state directory, for their owner alone", async () => {
    const list = openInState();
    await list.add([A]);
    expect(inForce(list)).toEqual([A]);
    expect(statSync(join(folder, "state")).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "state", "revocations")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, "state", "revocations"), "utf8")).toBe(`${A}\n`);
  });

  test("is not written twice, whoever wrote it", async () => {
    writeFileSync(path, `${A} # by hand\n`);
    const [list, other] = [openConfigured(), openConfigured()];
    await list.add([A, B, B]);
    await other.add([B]);
    expect(readFileSync(path, "utf8")).toBe(`${A} # by hand\n${B}\n`);
  });

  test("is written in whole lines when two write much at once, and none is lost", async () => {
    writeFileSync(path, "");
    const lists = [openConfigured(), openConfigured()];
    const ids = Array.from({ length: 40 }, (_, index) => `${index + 10}`.padStart(42, "x").concat("A"));
    await Promise.all(ids.map((id, index) => lists[index % 2]?.add([id])));
    const lines = readFileSync(path, "utf8").split("\n");
    expect(lines.filter((line) => line !== "").sort()).toEqual(ids);
    expect(ids.every((id) => lists[0]?.has(id))).toBe(true);
  });

  test("keeps what was in force when the list went away", async () => {
    writeFileSync(path, `${A}\n`);
    const list = openConfigured();
    rmSync(path);
    await list.add([B]);
    expect(readFileSync(path, "utf8")).toBe(`${A}\n${B}\n`);
    expect(await next(list)).toEqual([A, B]);
  });

  test("is in force also where the list cannot be understood", async () => {
    writeFileSync(path, `${A}\n`);
    const list = openConfigured();
    writeFileSync(path, "?");
    await list.add([B]);
    expect(readFileSync(path, "utf8")).toBe(`?\n${B}\n`);
    expect(await next(list)).toEqual([A, B]);
  });

  test.each(["", "bob", A.slice(1), `${A}\n${B}`, ` ${A}`, `${ALICE} `, `${ALICE}#key`, "#", `${A} # x`])(
    "is not %j, which would spoil the list",
    async (entry) => {
      writeFileSync(path, `${A}\n`);
      const list = openConfigured();
      await expect(list.add([B, entry])).rejects.toMatchObject({ name: "RangeError" });
      expect(readFileSync(path, "utf8")).toBe(`${A}\n`);
      expect(inForce(list)).toEqual([A]);
      await list.add([B]);
      expect(inForce(list)).toEqual([A, B]);
    },
  );

  test("does not make the list longer than it may be", async () => {
    writeFileSync(path, `#${"x".repeat(4_194_300)}\n`);
    const list = openConfigured();
    await expect(list.add([A])).rejects.toMatchObject({
      exitStatus: 78,
      message: expect.stringContaining("it is full"),
    });
    // Here it holds all the same.
    expect(inForce(list)).toEqual([A]);
  });

  test("cannot be written where that is not a file", async () => {
    writeFileSync(path, "");
    const list = openConfigured();
    rmSync(path);
    mkdirSync(path);
    await expect(list.add([A])).rejects.toMatchObject({ name: "ConfigError", exitStatus: 78 });
    expect(inForce(list)).toEqual([A]);
  });
});

function lineFault(line: number): string {
  return `line ${line} is neither a token id nor a DID`;
}
