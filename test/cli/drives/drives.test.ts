import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { dir, file, map, sign, toMultiCell } from "../../../src/drive/index.js";
import { layOutEarlier } from "../../drive/store/earlier-store.js";
import { BUCKET, CREDENTIALS, type FakeS3, REGION, startFakeS3 } from "../../drive/store/s3/fake-s3.js";
import { bodyOf, run as runHttp } from "../../surfaces/http/client.js";
import { runHere } from "../in-process.js";
import { cleanUp, type Finished, makeFolder, serve } from "../process.js";

afterAll(cleanUp);

describe("drive commands", () => {
  const ALICE = "a1".repeat(32);
  const USER = "did:key:z6MkpVZq45eisH8QAMffGCYyGV5xjqLXxHfDWgAXWmZ4Q5dU";
  const CONFIG = `{ seedFile: "venue.seed", drives: { store: { path: "drives" } }, file: { roots: { mine: { dlfs: "notes" } } } }`;

  interface Place {
    readonly folder: string;
    run(...args: string[]): Promise<Finished>;
    /** The same with the configuration of the place. */
    drive(...args: string[]): Promise<Finished>;
  }

  /** A venue of its own, with a seed of its own, and the key of Alice. */
  function makePlace(seed: string): Place {
    const folder = makeFolder({
      "venue.seed": `${seed.repeat(32)}\n`,
      "alice.key": `${ALICE}\n`,
      "venue.json5": CONFIG,
    });
    for (const name of ["venue.seed", "alice.key"]) chmodSync(join(folder, name), 0o600);
    const runInPlace = (...args: string[]) => runHere(args, { cwd: folder, tmp: folder });
    return { folder, run: runInPlace, drive: (...args) => runInPlace("drive", ...args, "--config", "venue.json5") };
  }

  const ok = async (finished: Promise<Finished>): Promise<string> => {
    const { status, stdout, stderr } = await finished;
    expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
    return stdout;
  };

  const call = (place: Place, operation: string, input: object) =>
    place.run("call", operation, JSON.stringify(input), "--config", "venue.json5", "--key", "./alice.key");
  const write = async (place: Place, path: string, content: string) =>
    ok(call(place, "file:write", { root: "mine", path, content, parents: true }));
  const read = async (place: Place, drive: string, path: string): Promise<unknown> =>
    (JSON.parse(await ok(call(place, "dlfs:read", { drive, path }))) as { content: unknown }).content;

  const KEY = ["--key", "./alice.key"];

  describe("a user who leaves", () => {
    let here: Place;
    let there: Place;
    let user = "";
    beforeAll(async () => {
      [here, there] = [makePlace("01"), makePlace("02")];
      user = (await ok(here.run("key", "show", "./alice.key"))).trim();
      await write(here, "a/b.txt", "taken along");
      await ok(call(here, "dlfs:write", { drive: "more", path: "c.txt", content: "too" }));
    });

    test("finds the drives, takes them and the key along, and opens both elsewhere", async () => {
      expect(await ok(here.drive("ls"))).toBe(`${user}  more\n${user}  notes\n`);
      expect(JSON.parse(await ok(here.drive("ls", ...KEY, "--json")))).toEqual({ user, drives: ["more", "notes"] });
      expect(await ok(here.drive("verify", ...KEY))).toBe(
        "more: whole. 1 file, 1 directory, 3 bytes\nnotes: whole. 1 file, 2 directories, 11 bytes\n",
      );
      expect(await ok(here.drive("export", "out.cad3", ...KEY))).toMatch(
        /^Exported all drives: \d+ bytes in out\.cad3\n$/,
      );
      await ok(here.drive("export-key", "--user", user, "--out", "drive.key"));
      for (const name of ["out.cad3", "drive.key"]) {
        const from = join(here.folder, name);
        expect(statSync(from).mode & 0o777).toBe(0o600);
        writeFileSync(join(there.folder, name), readFileSync(from), { mode: 0o600 });
      }
      // Without the key they are somebody's.
      const foreign = await there.drive("import", "out.cad3", ...KEY);
      expect(foreign).toMatchObject({ status: 1, stdout: "" });
      expect(foreign.stderr).toMatch(/^Cannot import drives: .*Name the drive it goes into/);
      await ok(there.drive("import-key", "./drive.key", "--user", user));
      expect(await ok(there.drive("import", "out.cad3", ...KEY))).toMatch(
        /^Imported into more, notes: \d+ cells?, \d+ bytes\n$/,
      );
      expect(await read(there, "notes", "a/b.txt")).toBe("taken along");
      expect(await read(there, "more", "c.txt")).toBe("too");
      // With its key, too: what is written there is still of the same account, and comes back.
      await write(there, "a/b.txt", "changed there");
      const exported = await there.run("drive", "export", "-", ...KEY, "--config", "venue.json5");
      expect(exported.status).toBe(0);
      await ok(there.drive("export", "back.cad3", ...KEY));
      writeFileSync(join(here.folder, "back.cad3"), readFileSync(join(there.folder, "back.cad3")));
      await ok(here.drive("import", "back.cad3", ...KEY));
      expect(await read(here, "notes", "a/b.txt")).toBe("changed there");
    });

    test("has a store whose format is told, and raised by command alone", async () => {
      expect(await ok(here.drive("upgrade"))).toBe(
        "The store of the drives has format 2, the newest that this version knows\n",
      );
      expect(JSON.parse(await ok(here.drive("upgrade", "--json")))).toEqual({ from: 2, to: 2 });
    });

    test("of an earlier version has a store that is raised once no venue uses it", async () => {
      const old = makePlace("03");
      layOutEarlier(join(old.folder, "drives"));
      const served = await serve(["--config", "venue.json5"], { cwd: old.folder, tmp: old.folder });
      try {
        const busy = await old.drive("upgrade");
        expect(busy).toMatchObject({
          status: 1,
          stderr: expect.stringContaining("Stop all venues that use it, then upgrade it"),
        });
      } finally {
        await served.stop();
      }
      expect(await ok(old.drive("upgrade"))).toBe(
        "The store of the drives has format 2 now, instead of 1. Older versions can no longer read it\n",
      );
      expect(JSON.parse(await ok(old.drive("upgrade", "--json")))).toEqual({ from: 2, to: 2 });
    });

    test("never overwrites, and leaves nothing half made", async () => {
      writeFileSync(join(here.folder, "there.cad3"), "mine");
      const taken = await here.drive("export", "there.cad3", ...KEY);
      expect(taken).toMatchObject({ status: 78, stderr: expect.stringContaining("is not overwritten") });
      expect(readFileSync(join(here.folder, "there.cad3"), "utf8")).toBe("mine");
      const key = await here.drive("export-key", "--user", user, "--out", "there.cad3");
      expect(key).toMatchObject({ status: 78, stdout: "" });
      const none = await here.drive("export", "none.cad3", "--drive", "no", ...KEY);
      expect(none).toMatchObject({ status: 1, stderr: expect.stringMatching(/^Not found: no/) });
      expect(existsSync(join(here.folder, "none.cad3"))).toBe(false);
      const lost = await here.drive("export", "no/folder.cad3", ...KEY);
      expect(lost).toMatchObject({ status: 66, stderr: expect.stringContaining("no such file or folder") });
    });

    test("hands the key over in the file or through a pipe only", async () => {
      const { status, stdout, stderr } = await here.drive("export-key", "--user", user);
      expect(status).toBe(0);
      expect(stdout).toMatch(/^[0-9a-f]{64}\n$/);
      expect(stderr).toContain("for ever");
      expect(stderr).not.toContain(stdout.trim());
      const nobody = await here.drive("export-key", "--user", "did:key:z6MkNobody");
      expect(nobody).toMatchObject({ status: 1, stdout: "" });
    });

    test("exports and imports in parts", async () => {
      const big = Buffer.alloc(2_500_000);
      for (let at = 0; at < big.length; at += 1000) big.writeUInt32LE(at + 1, at);
      writeFileSync(join(here.folder, "big.cad3"), toMultiCell(dir([["big", file(big, 5)]], 5)));
      await ok(here.drive("import", "big.cad3", "--drive", "big", ...KEY));
      const output = await ok(
        here.drive("export", "part.cad3", "--drive", "big", "--part-bytes", "1048576", "--json", ...KEY),
      );
      const names = ["part.0001.cad3", "part.0002.cad3", "part.0003.cad3"];
      expect(JSON.parse(output)).toMatchObject({ files: names, top: "drive" });
      const sizes = names.map((name) => statSync(join(here.folder, name)).size);
      for (const size of sizes) expect(size).toBeLessThanOrEqual(1_048_576);
      const partly = await here.drive("import", ...names.slice(1), "--drive", "copy", ...KEY);
      expect(partly).toMatchObject({ status: 1, stderr: expect.stringContaining("give all files of one export") });
      const report = JSON.parse(await ok(here.drive("import", ...names, "--drive", "copy", "--json", ...KEY)));
      expect(report).toMatchObject({ drives: ["copy"], refused: 0, bytes: sizes.reduce((sum, size) => sum + size, 0) });
      expect(JSON.parse(await ok(here.drive("verify", "--drive", "copy", "--json", ...KEY)))).toMatchObject({
        ...{ drive: "copy", files: 1, bytes: big.length, damagedCount: 0 },
      });
    });

    test("merges into a drive that is there", async () => {
      const before = await read(here, "notes", "a/b.txt");
      writeFileSync(join(here.folder, "one.cad3"), toMultiCell(dir([["one", file(Buffer.from("1"), 5)]], 5)));
      const none = await here.drive("merge", "one.cad3", "--drive", "no", ...KEY);
      expect(none).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("There is no drive 'no' to merge into"),
      });
      await ok(here.drive("merge", "one.cad3", "--drive", "notes", ...KEY));
      expect(await read(here, "notes", "one")).toBe("1");
      expect(await read(here, "notes", "a/b.txt")).toBe(before);
    });

    test("works beside a venue that is running, which sees it at once", async () => {
      const served = await serve(["--config", "venue.json5"], { cwd: here.folder, tmp: here.folder });
      try {
        const to = (await bodyOf<{ did: string }>(fetch(`${served.url}/api/v1/status`))).did;
        const token = (await ok(here.run("token", "identity", "--to", to, ...KEY))).trim();
        const verify = () => bodyOf<{ files: number }>(runHttp(served.url, "drive:verify", { drive: "notes" }, token));
        const { files } = await verify();
        writeFileSync(join(here.folder, "two.cad3"), toMultiCell(dir([["two", file(Buffer.from("2"), 5)]], 5)));
        await ok(here.drive("merge", "two.cad3", "--drive", "notes", ...KEY));
        expect(await verify()).toMatchObject({ files: files + 1, damagedCount: 0 });
      } finally {
        await served.stop();
      }
    });

    test("repairs what was written under a wrong clock, which no import takes", async () => {
      const now = Date.now;
      Date.now = () => now() + 40 * 86_400_000;
      try {
        await write(here, "late.txt", "late");
      } finally {
        Date.now = now;
      }
      const bring = async (name: string) => {
        await ok(here.drive("export", name, "--drive", "notes", ...KEY));
        writeFileSync(join(there.folder, name), readFileSync(join(here.folder, name)), { mode: 0o600 });
        return there.drive("import", name, "--drive", "late", ...KEY);
      };
      const refused = await bring("late.cad3");
      expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("drive verify --clamp-times") });
      expect(await ok(here.drive("verify", "--clamp-times", ...KEY))).toMatch(
        /^notes: 2 times ahead of the clock, set to now\n(.|\n)*notes: whole\./,
      );
      expect(await ok(here.drive("verify", "--clamp-times", ...KEY))).toMatch(/^No time lies ahead of the clock\n/);
      expect((await bring("mended.cad3")).status).toBe(0);
      expect(await read(here, "notes", "late.txt")).toBe("late");
      const [line = ""] = (await ok(here.drive("verify", "--clamp-times", "--json", ...KEY))).split("\n");
      expect(JSON.parse(line)).toMatchObject({ clamped: 0, damagedCount: 0 });
    });

    test("counts what nothing needs any more, and removes it when it is old enough", async () => {
      const counted = JSON.parse(await ok(here.drive("gc", "--dry-run", "--grace", "1s", "--json"))) as Collected;
      expect(counted).toMatchObject({ dryRun: true, missing: 0 });
      expect(await ok(here.drive("gc"))).toMatch(/^Removed 0 cells, 0 bytes; in use: \d+\n$/);
      expect(await ok(here.drive("verify", ...KEY))).not.toContain("damaged");
    });
  });

  interface Collected {
    readonly live: number;
  }

  describe("drive commands tell what is wrong", () => {
    let place: Place;
    beforeAll(() => {
      place = makePlace("03");
      const signed = sign(map([["theirs", dir([], 5)]]), new Uint8Array(32).fill(9));
      const files: Record<string, Uint8Array> = {
        "text.cad3": Buffer.from("text"),
        "cut.cad3": toMultiCell(dir([["a", file(Buffer.alloc(5000), 5)]], 5)).subarray(0, -1),
        "later.cad3": toMultiCell(dir([], Date.now() + 3_600_000)),
        "theirs.cad3": toMultiCell(signed),
      };
      for (const [name, bytes] of Object.entries(files)) writeFileSync(join(place.folder, name), bytes);
      writeFileSync(join(place.folder, "memory.json5"), `{ drives: { store: "memory" } }`);
      writeFileSync(join(place.folder, "open.key"), "00".repeat(32), { mode: 0o644 });
    });

    const rows: readonly [readonly string[], number, RegExp][] = [
      [["import", "text.cad3", "--drive", "d", ...KEY], 1, /^Cannot import drive 'd': .*no export of drives/],
      [["import", "cut.cad3", "--drive", "d", ...KEY], 1, /^Cannot import drive 'd': .*export it again/],
      [["import", "later.cad3", "--drive", "d", ...KEY], 1, /^Cannot import drive 'd': .*Correct the clock/],
      [["import", "theirs.cad3", ...KEY], 1, /^Cannot import drives: .*Name the drive/],
      [["import", "no.cad3", "--drive", "d", ...KEY], 66, /^no\.cad3 cannot be read: no such file/],
      [["import", ".", "--drive", "d", ...KEY], 66, /it is a directory/],
      [
        ["import", "text.cad3", "--drive", "d", "--json", ...KEY],
        1,
        /^\{"error":"Cannot import.*"errorCode":"BAD_FORMAT"/,
      ],
      [["import", "text.cad3", "--drive", "d", "--source", "x", ...KEY], 64, /--source must be reference/],
      [["import", ...KEY], 64, /needs the files of an export/],
      [["import", "text.cad3", "--drive", "d"], 64, /needs whose drives: --user DID/],
      [["import", "text.cad3", "--user", "alice"], 64, /--user must be a DID, not 'alice'/],
      [["verify", "--drive", "no", ...KEY], 1, /^There is no drive 'no'/],
      [["export", "x", "--top", "drive", ...KEY], 64, /--top drive needs --drive/],
      [["export", "x", "--part-bytes", "1000", ...KEY], 64, /--part-bytes must be a whole number from 1048576/],
      [["export", "x", ...KEY, "--user", USER], 64, /Only one of --user and --key/],
      [["gc", "--grace", "soon"], 64, /--grace takes a whole number/],
      [["import-key", "./open.key", "--user", USER], 78, /others may use it/],
      [["import-key", "./text.cad3", "--user", USER], 78, /others may use it|64 hex digits/],
      [["nonsense"], 64, /Unknown command 'drive nonsense'/],
    ];
    test.each(rows)("%j: %d", async (args, status, text) => {
      const finished = await place.drive(...args);
      expect(finished).toMatchObject({ status, stdout: "" });
      expect(finished.stderr).toMatch(text);
      expect(finished.stderr).not.toContain(place.folder);
      expect(readdirSync(place.folder)).not.toContain("x");
    });

    test("where drives are kept in memory there are none", async () => {
      const finished = await place.run("drive", "ls", "--config", "memory.json5");
      expect(finished).toMatchObject({ status: 78, stderr: expect.stringContaining("kept in memory") });
    });

    test("a venue with another seed can read what there is, and change nothing", async () => {
      await write(place, "a", "mine");
      writeFileSync(join(place.folder, "venue.seed"), `${"04".repeat(32)}\n`, { mode: 0o600 });
      writeFileSync(join(place.folder, "in.cad3"), toMultiCell(dir([["a", file(Buffer.from("x"), 5)]], 5)));
      expect(await ok(place.drive("ls", ...KEY))).toBe("notes\n");
      const finished = await place.drive("import", "in.cad3", "--drive", "notes", ...KEY);
      expect(finished).toMatchObject({ status: 1, stderr: expect.stringContaining("Run the venue with the 'seed'") });
      const user = (await ok(place.run("key", "show", "./alice.key"))).trim();
      const key = await place.drive("export-key", "--user", user, "--out", "k");
      expect(key).toMatchObject({ status: 1, stdout: "" });
      expect(existsSync(join(place.folder, "k"))).toBe(false);
    });
  });
});

let fake: FakeS3;
let folder = "";

function here(...args: string[]): Promise<Finished> {
  const env = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };
  return runHere([...args, "--config", "venue.json5"], { cwd: folder, tmp: folder, env });
}

describe("venues that share a bucket by conditional puts", () => {
  beforeEach(async () => {
    fake = await startFakeS3();
    const config = {
      port: 0,
      seedFile: "venue.seed",
      stateDir: "state",
      drives: { store: { s3: { bucket: BUCKET, endpoint: fake.endpoint, region: REGION } } },
      file: { roots: { mine: { dlfs: "notes" } } },
    };
    folder = makeFolder({
      "venue.seed": `${"01".repeat(32)}\n`,
      "alice.key": `${"a1".repeat(32)}\n`,
      "venue.json5": JSON.stringify(config),
    });
    for (const name of ["venue.seed", "alice.key"]) chmodSync(join(folder, name), 0o600);
  });

  afterEach(() => fake.close());

  const write = (path: string): Promise<Finished> =>
    here("call", "file:write", JSON.stringify({ root: "mine", path, content: path }), "--key", "./alice.key");

  test("have no place for one whose requests lose their conditions: it does not start", async () => {
    expect(await write("a")).toMatchObject({ status: 0 });
    fake.isConditional = false;
    expect(await here("serve")).toMatchObject({
      status: 78,
      stderr: expect.stringContaining("reach the object storage without what ignores them"),
    });
  });

  test("have none for one that finds roots of an older version, and it is told the way out", async () => {
    fake.objects.set("mode", { bytes: Buffer.from("merge\n"), at: fake.now() });
    for (const args of [["serve"], ["drive", "verify", "--key", "./alice.key"]])
      expect(await here(...args)).toMatchObject({
        status: 78,
        stderr: expect.stringContaining(
          "With the version that wrote them run 'venue-files drive export' for each user",
        ),
      });
  });
});
