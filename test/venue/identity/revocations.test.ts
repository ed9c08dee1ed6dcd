import { createHash } from "node:crypto";
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
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import { type Log, silentLog } from "../../../src/core/ports/log.js";
import type { VenueConfigInput } from "../../../src/index.js";
import { revocationPlace } from "../../../src/venue/identity/revocation-place.js";
import { acceptRevocations, openRevocations, type RevocationList } from "../../../src/venue/identity/revocations.js";
import { configErrorOf } from "../../config/problems.js";
import { needs } from "../../needs.js";
import { run } from "../../surfaces/http/client.js";
import { alice, bob, type Signer, venue as venueKey } from "../../ucan/tokens.js";
import { DOCS, idOf, operator, UcanVenue } from "./ucan-venue.js";

describe("revocations", () => {
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
});

// What was revoked stays so: when lines go from the list, and on a full disk.
describe("the guard of revocations", () => {
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
      expect(problem).toMatch(
        /it lacks \d of the 3 entries in force: .*venue-files revoke --accept-list --config FILE$/,
      );
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
});

describe("revoked callers", () => {
  let here: UcanVenue;
  beforeEach(() => {
    here = new UcanVenue();
  });
  afterEach(async () => {
    await here.close();
  });

  const ucan: UcanVenue["ucan"] = (...parts) => here.ucan(...parts);
  const identity: UcanVenue["identity"] = (...parts) => here.identity(...parts);

  describe("what is revoked while the venue runs", () => {
    const revoke = (entry: string) => appendFileSync(join(here.base, "revoked.txt"), `${entry}\n`);
    beforeEach(async () => {
      writeFileSync(join(here.base, "revoked.txt"), "");
      await here.open({ auth: { ucan: { revocations: "revoked.txt" } } });
    });

    test.each<[string, (by: Signer) => string]>([
      ["an identity token", identity],
      ["a UCAN", ucan],
    ])("is refused at the next request: %s as bearer, by its id or its issuer's DID", async (_what, make) => {
      const [bearer, other] = [make(alice), identity(alice, { jti: "other" })];
      expect(await here.outcome({ bearer, root: "owned" })).toBe("of owned");
      revoke(idOf(bearer));
      expect(await here.outcome({ bearer, root: "owned" })).toBe(401);
      expect(await here.outcome({ bearer: other, root: "owned" })).toBe("of owned");
      revoke(alice.did);
      expect(await here.outcome({ bearer: other, root: "owned" })).toBe(401);
    });

    test("gives nothing any more, also what rests on it", async () => {
      const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
      const bearer = ucan(bob, { att: [DOCS], prf: [grant] });
      expect(await here.outcome({ bearer })).toBe("of docs");
      revoke(idOf(grant));
      expect(await here.outcome({ bearer })).toEqual(["CAPABILITY_DENIED", "revoked"]);
    });

    test("names nobody", async () => {
      const token = ucan(alice);
      expect(await here.outcome({ ucans: [token], root: "owned" })).toBe("of owned");
      revoke(idOf(token));
      expect((await here.call({ ucans: [token], root: "owned" })).job.caller).toBe(`${here.venue.did}:public`);
    });

    test("stays revoked when the list becomes malformed", async () => {
      const bearer = ucan(alice);
      revoke(idOf(bearer));
      expect(await here.outcome({ bearer })).toBe(401);
      revoke("bob\n#");
      expect(await here.outcome({ bearer })).toBe(401);
    });
  });

  describe("a transfer ticket is judged again when it is redeemed", () => {
    const STATIC = "s".repeat(32);
    const TOKEN = { token: { sha256: createHash("sha256").update(STATIC).digest("hex") }, caps: [DOCS] };
    const revoke = (entry: string) => appendFileSync(join(here.base, "revoked.txt"), `${entry}\n`);
    beforeEach(async () => {
      writeFileSync(join(here.base, "revoked.txt"), "");
      const tokens = [
        { ...TOKEN, name: "ci" },
        {
          ...TOKEN,
          name: "named",
          token: { sha256: createHash("sha256").update(`${STATIC}2`).digest("hex") },
          did: bob.did,
        },
      ];
      await here.open({ auth: { tokens, ucan: { revocations: "revoked.txt" } } });
    });

    async function ticketOf(bearer: string, root: string): Promise<string> {
      const response = await run(
        here.venue.url,
        "file:transfer",
        { root, path: "a.txt", direction: "download" },
        bearer,
      );
      const { href } = (await response.json()) as { href?: unknown };
      expect(href).toEqual(expect.stringContaining("?ticket="));
      return String(href);
    }

    test.each<[string, string, () => readonly [bearer: string, entry?: string]]>([
      ["the DID of an identity token", "owned", () => [identity(alice), alice.did]],
      ["the identity token by its id", "owned", () => [identity(alice)]],
      ["the DID of a UCAN that is the bearer", "owned", () => [ucan(alice), alice.did]],
      ["a UCAN that is the bearer, by its id", "owned", () => [ucan(alice)]],
      ["a static token by its name", "docs", () => [STATIC, `${here.venue.did}:token:ci`]],
      ["a static token by its name, which has a DID", "docs", () => [`${STATIC}2`, `${here.venue.did}:token:named`]],
      ["the DID of a static token", "docs", () => [`${STATIC}2`, bob.did]],
    ])("and is refused once this was revoked: %s", async (_what, root, make) => {
      const [bearer, entry = idOf(bearer)] = make();
      const href = await ticketOf(bearer, root);
      const before = await fetch(href);
      expect([before.status, await before.text()]).toEqual([200, `of ${root}`]);
      revoke(entry);
      const after = await fetch(href);
      expect(after.status).toBe(401);
      expect(await after.text()).not.toContain(`of ${root}`);
    });

    test("and by a grant that its bearer rests on: it gives nothing any more", async () => {
      const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
      const href = await ticketOf(ucan(bob, { att: [DOCS], prf: [grant] }), "docs");
      expect((await fetch(href)).status).toBe(200);
      revoke(idOf(grant));
      expect((await fetch(href)).status).toBe(403);
    });
  });

  test("a venue that is revoked under either of its names is revoked", async () => {
    const did = "did:web:example.org";
    for (const [index, revoked] of [did, venueKey.did].entries()) {
      const list = `revoked-${index}.txt`;
      writeFileSync(join(here.base, list), "");
      await here.open({ seed: "01".repeat(32), did, operator: did, auth: { ucan: { revocations: list } } });
      expect(await here.outcome({ bearer: identity(venueKey) })).toBe("of docs");
      writeFileSync(join(here.base, list), `${revoked}\n`);
      for (const token of [identity(venueKey), ucan(venueKey)]) expect(await here.outcome({ bearer: token })).toBe(401);
    }
  });

  describe("a venue does not start", () => {
    const failure = (config: VenueConfigInput) => here.open(config).catch((error: unknown) => error);

    test("without its revocation list, or with one it cannot understand", async () => {
      const auth = { ucan: { revocations: "revoked.txt" } };
      expect(await failure({ auth })).toMatchObject({ exitStatus: 66 });
      writeFileSync(join(here.base, "revoked.txt"), "\nbob\n");
      expect(await failure({ auth })).toMatchObject({
        exitStatus: 78,
        problems: [
          `'auth.ucan.revocations' cannot be used: line 2 is neither a token id nor a DID: ${here.base}/revoked.txt`,
        ],
      });
    });

    test("when a static token stands for an owner, who is known only once there is the key", async () => {
      const roots = { docs: { path: "docs", owner: `${venueKey.did}:token:ci` } };
      const tokens = [{ name: "ci", token: { sha256: "0".repeat(64) }, caps: [] }];
      expect(await failure({ seed: "01".repeat(32), auth: { tokens }, file: { roots } })).toMatchObject({
        exitStatus: 78,
        problems: ["'auth.tokens[0].did' must not be the owner of root 'docs': a static token only adds capabilities"],
      });
    });
  });
});
