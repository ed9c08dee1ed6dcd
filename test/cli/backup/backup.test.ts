import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { packTar } from "modern-tar";
import { createFileAdapter, type FileAdapter } from "../../../src/index.js";
import { bodyOf, run as runHttp } from "../../surfaces/http/client.js";
import { until } from "../../until.js";
import { runHere } from "../in-process.js";
import { CLI, cleanUp, type Finished, makeFolder, type Running, run, start, startNode } from "../process.js";

afterAll(cleanUp);

// Backups: taken while a venue serves, restored elsewhere, and whatever somebody may do to the file.
describe("a backup that is taken", () => {
  const PASSPHRASE = "correct horse battery";
  const ENV = { PASSPHRASE };

  /** A folder with a configuration whose state, seed and drives lie in it. */
  function makeVenue(): string {
    const config = {
      ...{ port: 0, seedFile: "./seed", stateDir: "./state", drives: { store: { path: "./store" } } },
      file: { roots: { docs: "./docs", notes: { dlfs: "notes" } } },
    };
    const folder = makeFolder({ "venue.json5": JSON.stringify(config) });
    mkdirSync(join(folder, "docs"));
    return folder;
  }

  const backup = (folder: string, ...args: string[]) =>
    runHere(["backup", ...args, "--config", "venue.json5"], { cwd: folder, env: ENV });
  const secret = ["--passphrase", "env:PASSPHRASE"];

  async function serveIn(folder: string): Promise<{ venue: Running; url: string; did: string; token: string }> {
    const venue = start(["serve", "--config", "venue.json5"], { cwd: folder });
    const [, url = ""] = await venue.until(/listens on (\S+)\n[\s\S]*Stop with Ctrl-C/);
    const { did } = await bodyOf<{ did: string }>(fetch(`${url}/api/v1/status`));
    return { venue, url, did, token: readFileSync(join(folder, "state/local-token"), "utf8").trim() };
  }

  async function invoke(url: string, token: string, operation: string, input: object) {
    const response = await runHttp(url, operation, input, token);
    return { status: response.status, output: await bodyOf<Record<string, unknown>>(response) };
  }

  /** Waits until so many changes of names in a folder have been seen. */
  function changesIn(folder: string, count: number): { promise: Promise<void>; close: () => void } {
    const watcher = watch(folder);
    let seen = 0;
    const promise = new Promise<void>((resolve) => {
      if (count === 0) resolve();
      watcher.on("change", () => {
        if (++seen === count) resolve();
      });
    });
    return { promise, close: () => watcher.close() };
  }

  test("a backup does not go into the state, by whatever way", async () => {
    const folder = makeVenue();
    mkdirSync(join(folder, "state"));
    symlinkSync("state", join(folder, "way-in"));
    for (const file of ["state/b.tar", "way-in/b.tar", "way-in"]) {
      const made = await backup(folder, "create", file, ...secret);
      expect(made.status).toBe(78);
      expect(made.stderr).toContain(`The backup must lie outside of the state: ${file}`);
    }
    expect(readdirSync(join(folder, "state"))).toEqual([]);
  });

  describe("a backup of a venue that serves", () => {
    const folder = makeVenue();
    let did: string;
    let issued: string;
    let revoked: string;

    beforeAll(async () => {
      const { venue, url, token, did: own } = await serveIn(folder);
      did = own;
      const issue = async (label: string) =>
        (await invoke(url, token, "auth:issue", { label, caps: [{ with: "file://docs/", can: "crud" }] })).output;
      const [one, two] = [await issue("one"), await issue("two")];
      issued = String(one["token"]);
      revoked = String(two["token"]);
      expect(issued).toMatch(/^vft_/);
      expect((await invoke(url, token, "auth:revoke", { id: two["id"] })).status).toBe(200);
      expect(
        (await invoke(url, token, "file:write", { root: "docs", path: "a/b.txt", content: "hello", parents: true }))
          .status,
      ).toBe(200);
      expect(
        (await invoke(url, token, "file:write", { root: "notes", path: "n.txt", content: "x".repeat(100_000) })).status,
      ).toBe(200);
      const made = await backup(folder, "create", "it.backup", "--drives", "--roots", "docs", ...secret);
      expect(made).toMatchObject({ status: 0, stderr: "" });
      expect(made.stdout).toMatch(
        /^it\.backup|it\.backup: \d+ files, \d+\.\d KB \(.*seed 1.*\), encrypted\nvenue did:key:/s,
      );
      await venue.stop();
    });

    test("is private, encrypted, and never over another file", async () => {
      expect(statSync(join(folder, "it.backup")).mode & 0o777).toBe(0o600);
      const bytes = readFileSync(join(folder, "it.backup"));
      for (const text of ["hello", "state/", readFileSync(join(folder, "seed"), "utf8").trim()]) {
        expect(bytes.includes(text)).toBe(false);
      }
      expect(await backup(folder, "create", "it.backup", ...secret)).toMatchObject({ status: 78 });
      expect(readFileSync(join(folder, "it.backup")).equals(bytes)).toBe(true);
    });

    describe("restored elsewhere", () => {
      const other = makeVenue();
      const list = { root: "docs" };
      let file: string;

      beforeAll(() => {
        file = join(folder, "it.backup");
      });

      test("is the same venue: key, drives, files", async () => {
        const restored = await backup(other, "restore", file, ...secret);
        expect(restored).toMatchObject({ status: 0, stderr: "" });
        expect(restored.stdout).toContain("--accept-old-tokens");
        expect(readFileSync(join(other, "docs/a/b.txt"), "utf8")).toBe("hello");
        expect(
          (await runHere(["drive", "verify", "--config", "venue.json5", "--user", did], { cwd: other })).status,
        ).toBe(0);
      });

      test("refuses tokens from before, and takes new ones", async () => {
        const served = await serveIn(other);
        expect(served.did).toBe(did);
        const note = await invoke(served.url, served.token, "file:stat", { root: "notes", path: "n.txt" });
        expect(note.output).toMatchObject({ size: 100_000 });
        expect((await invoke(served.url, issued, "file:list", list)).status).toBe(401);
        const fresh = await invoke(served.url, served.token, "auth:issue", {
          label: "new",
          caps: [{ with: "file://docs/", can: "crud" }],
        });
        expect((await invoke(served.url, String(fresh.output["token"]), "file:list", list)).status).toBe(200);
        await served.venue.stop();
      });

      test("takes old tokens once the operator says so, but none that was revoked", async () => {
        expect((await backup(other, "restore", "--accept-old-tokens")).status).toBe(0);
        const served = await serveIn(other);
        expect((await invoke(served.url, issued, "file:list", list)).status).toBe(200);
        expect((await invoke(served.url, revoked, "file:list", list)).status).toBe(401);
        await served.venue.stop();
      });

      test("is not overwritten by another restore", async () => {
        expect(await backup(other, "restore", file, ...secret)).toMatchObject({
          status: 78,
          stderr: expect.stringContaining("empty place"),
        });
      });
    });

    test.each([
      ["another passphrase", (bytes: Buffer) => bytes, { PASSPHRASE: "wrong horse battery" }, "passphrase"],
      [
        "a flipped bit",
        (bytes: Buffer) =>
          Buffer.concat([bytes.subarray(0, 100), Buffer.from([(bytes[100] ?? 0) ^ 1]), bytes.subarray(101)]),
        ENV,
        "damaged",
      ],
      ["its end cut off", (bytes: Buffer) => bytes.subarray(0, bytes.length - 40), ENV, "damaged"],
      ["a header alone", (bytes: Buffer) => bytes.subarray(0, 24), ENV, "cut off"],
      ["something behind it", (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(64)]), ENV, "damaged"],
      ["nothing in it", () => Buffer.alloc(0), ENV, "cut off"],
    ])("with %s is refused, and nothing is written", async (_what, change, env, text) => {
      const other = makeVenue();
      writeFileSync(join(other, "bad.backup"), change(readFileSync(join(folder, "it.backup"))));
      const done = await runHere(["backup", "restore", "bad.backup", ...secret, "--config", "venue.json5"], {
        cwd: other,
        env,
      });
      expect(done).toMatchObject({ status: 78, stderr: expect.stringContaining(text) });
      expect(readdirSync(other).sort()).toEqual(["bad.backup", "docs", "venue.json5"]);
    });

    test("killed at any moment: nothing is there, or all after the next try", async () => {
      const other = makeVenue();
      const file = join(folder, "plain.backup");
      const copy = ["plain.backup", "--drives", "--roots", "docs", "--plaintext"];
      expect(await backup(folder, "create", ...copy)).toMatchObject({ status: 0 });
      for (const moment of [0, 1, 2, 4, 8]) {
        const { promise, close } = changesIn(other, moment);
        const running = start(["backup", "restore", file, "--config", "venue.json5"], {
          cwd: other,
        });
        await Promise.race([promise, running.ended]);
        running.child.kill("SIGKILL");
        await running.ended;
        close();
        const isDone = existsSync(join(other, "state")) && !existsSync(join(other, "state.restoring"));
        if (isDone) break;
        if (existsSync(join(other, "state.restoring"))) {
          expect(await run(["serve", "--config", "venue.json5"], { cwd: other })).toMatchObject({ status: 78 });
        } else expect(existsSync(join(other, "seed"))).toBe(false);
        // Files of roots go in before anything gets its name, and may be there.
        if (existsSync(join(other, "docs/a"))) rmSync(join(other, "docs/a"), { recursive: true });
      }
      if (!existsSync(join(other, "state")))
        expect(await backup(other, "restore", file)).toMatchObject({ status: 0, stderr: "" });
      expect(readFileSync(join(other, "seed"), "utf8")).toBe(readFileSync(join(folder, "seed"), "utf8"));
      expect(readdirSync(other).filter((name) => /restor/.test(name))).toEqual([]);
    });
  });

  describe("a backup", () => {
    test("is not made without saying how its keys are kept, nor inside the state", async () => {
      const folder = makeVenue();
      expect(await backup(folder, "create", "x")).toMatchObject({
        status: 78,
        stderr: expect.stringContaining("--plaintext"),
      });
      mkdirSync(join(folder, "state"), { mode: 0o700 });
      expect(await backup(folder, "create", "state/x", "--plaintext")).toMatchObject({
        status: 78,
        stderr: expect.stringContaining("outside"),
      });
      expect(readdirSync(join(folder, "state"))).toEqual([]);
    });

    test("with --drives of a first configuration is made, and says that its drives do not last", async () => {
      const folder = makeFolder({ "docs/a.txt": "alpha" });
      const init = ["init", "--root", "docs=./docs", "--yes"];
      expect(await runHere(init, { cwd: folder })).toMatchObject({ status: 0 });
      const made = await backup(folder, "create", "it.backup", "--drives", "--plaintext");
      expect(made).toMatchObject({
        status: 0,
        stderr: expect.stringMatching(/^Warning: .* in memory.* Set 'seedFile'/),
      });
    });

    test("with --drives before there is a drive has none, and restores", async () => {
      const folder = makeVenue();
      expect(await backup(folder, "create", "it.backup", "--drives", "--plaintext")).toMatchObject({
        status: 0,
        stderr: "",
      });
      const other = makeVenue();
      const restored = await backup(other, "restore", join(folder, "it.backup"));
      expect(restored).toMatchObject({ status: 0, stderr: "" });
    });

    test("with drives does not go where drives are in memory", async () => {
      const folder = makeVenue();
      const body = "x";
      const sha256 = createHash("sha256").update(body).digest("hex");
      const path = "drives/packs/00000001";
      const manifest = { format: 1, version: "0", created: 0, entries: [{ path, size: 1, sha256 }] };
      const list = JSON.stringify(manifest);
      const file = await packTar([
        { header: { name: path, size: 1, type: "file" }, body },
        { header: { name: "manifest.json", size: list.length, type: "file" }, body: list },
      ]);
      writeFileSync(join(folder, "it.tar"), file);
      writeFileSync(join(folder, "venue.json5"), `{ stateDir: "./state" }`);
      const restored = await backup(folder, "restore", "it.tar");
      expect(restored).toMatchObject({
        status: 78,
        stderr: expect.stringContaining("set 'seedFile', or 'drives.store'"),
      });
      expect(existsSync(join(folder, "state"))).toBe(false);
    });

    test("that is not encrypted is a tar archive", async () => {
      const folder = makeVenue();
      await runHere(["key", "new", "alice", "--config", "venue.json5"], { cwd: folder });
      expect(await backup(folder, "create", "x.tar", "--plaintext")).toMatchObject({
        status: 0,
        stdout: expect.stringContaining("NOT encrypted"),
      });
      expect(execFileSync("tar", ["-tf", join(folder, "x.tar")], { encoding: "utf8" })).toMatch(
        /^state\/keys\/alice$/m,
      );
    });

    test.each([
      ["../evil", "x"],
      ["/etc/evil", "x"],
      ["state/../../evil", "x"],
      ["state/a\\..\\b", "x"],
      ["other/evil", "x"],
      ["state/", ""],
      ["roots/../x/y", "x"],
    ])("that brings %s is refused", async (name, content) => {
      const folder = makeVenue();
      const list = JSON.stringify({
        ...{ format: 1, version: "0", created: 0 },
        entries: [{ path: name, size: content.length, sha256: "" }],
      });
      const entries = [
        { header: { name, size: content.length, type: "file" }, body: content },
        { header: { name: "manifest.json", size: list.length, type: "file" }, body: list },
      ] as const;
      writeFileSync(join(folder, "evil.tar"), await packTar(entries));
      expect(await backup(folder, "restore", "evil.tar")).toMatchObject({
        status: 78,
        stderr: expect.stringContaining("Cannot restore"),
      });
      expect(readdirSync(folder).sort()).toEqual(["docs", "evil.tar", "venue.json5"]);
    });

    test("that brings a link is refused", async () => {
      const folder = makeVenue();
      const header = { name: "state/link", size: 0, type: "symlink", linkname: "/etc/passwd" } as const;
      writeFileSync(join(folder, "evil.tar"), await packTar([{ header }]));
      expect(await backup(folder, "restore", "evil.tar")).toMatchObject({ status: 78 });
    });
  });
});

// What a restore brings back under every configuration, and what is there after one that fails.
describe("a backup that is restored", () => {
  const DID = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
  const SEED = "0123456789abcdef".repeat(4);
  const BASE = { seedFile: "./seed", stateDir: "./state", auth: { public: { enabled: false } } };
  /** Of every key of a configuration some values; of `file` those of the root. */
  const VALUES: Readonly<Record<string, readonly unknown[]>> = {
    name: ["other"],
    hostname: ["127.0.0.1"],
    hosts: [["files.example.org"]],
    port: [0],
    listen: [{ socket: "./state/venue.sock" }],
    baseUrl: ["http://localhost:9"],
    trustProxy: [true],
    seed: [SEED],
    seedFile: ["./state/own.seed", "./keys/venue.seed"],
    did: ["did:web:files.example.com"],
    operator: [DID],
    stateDir: ["./deep/er/state", "./there", false],
    auth: [
      { ucan: { revocations: "./revocations" } },
      { ucan: { revocations: "./state/list" }, localToken: true, public: { enabled: false } },
      { tokens: [{ name: "ci", token: { sha256: "ab".repeat(32) }, caps: [] }] },
    ],
    corsOrigins: [["https://app.example.com"]],
    maxRequestBytes: [1024],
    maxInFlightBytes: [8388608],
    maxContentSize: [10],
    rateLimit: [{ perSecond: 1, burst: 1 }],
    webdav: [false],
    storage: [
      { content: "file", path: "./state/assets" },
      { content: "file", path: "./assets" },
    ],
    assets: [{ maxTotalBytes: 10, write: "operator" }],
    jobs: [{ max: 1 }],
    mcp: [false],
    audit: [{ file: "./audit.jsonl" }, { file: "./state/audit.jsonl", keep: 1 }],
    log: [{ file: "./venue.log" }, { file: "./state/venue.log", level: "debug" }],
    metrics: [false],
    workspace: [false],
    profiles: [{ jettson: { profile: "jettson", root: "docs" } }],
    drives: [
      { store: { path: "./store" } },
      { store: { path: "./state/store" }, journalQuota: { days: 1 } },
      { store: "memory" },
    ],
    file: [
      { readOnly: true },
      { durability: "none", io: "pool", hardLinks: true, crossDevice: true, description: "x", grep: "re2js" },
      { maxReadBytes: 1 },
      { quota: { bytes: 1000, files: 10 } },
      { journal: "on", journalQuota: { days: 1 }, trash: "required" },
      { deny: ["@secrets", "sub"], protect: ["@clients", "run.sh"] },
      { approve: { for: ["all"] } },
      { encoding: "latin1", owner: DID },
    ],
  };
  const cases = Object.entries(VALUES).flatMap(([key, values]) => values.map((value) => [key, value] as const));

  const configOf = (overrides: Readonly<Record<string, unknown>>) => {
    const { file = {}, seed, ...more } = overrides;
    const { seedFile, ...base } = BASE;
    const limits = { maxWriteBytes: 1, maxUploadBytes: 1, maxReadBytes: 4 };
    return {
      ...base,
      ...(seed === undefined ? { seedFile } : { seed }),
      ...more,
      file: { limits, roots: { docs: { path: "./docs", ...(file as object) } } },
    };
  };

  const FILES = { "docs/a.txt": "alpha", "docs/.env": "KEY=1", "docs/run.sh": "true", "docs/sub/.mcp.json": "{}" };
  function makeVenue(config: object, files: Readonly<Record<string, string>> = {}): string {
    const folder = makeFolder({ "venue.json5": JSON.stringify(config), ...files });
    for (const name of ["docs", "keys", "there"]) mkdirSync(join(folder, name), { recursive: true });
    return folder;
  }
  const runIn = (folder: string, ...args: string[]) => runHere([...args, "--config", "venue.json5"], { cwd: folder });
  const create = (folder: string, ...more: string[]) =>
    runIn(folder, "backup", "create", join(folder, "it.tar"), "--plaintext", "--roots", "docs", ...more);
  const restore = (folder: string, from: string) => runIn(folder, "backup", "restore", join(from, "it.tar"));
  /** Everything below a folder with its content and mode. */
  const contentOf = (folder: string): readonly string[] =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => !name.startsWith("docs/.venue-files") && !name.startsWith("it.tar"))
      .map((name) => {
        const stat = lstatSync(join(folder, name));
        return `${name} ${(stat.mode & 0o777).toString(8)} ${stat.isFile() ? readFileSync(join(folder, name), "latin1") : ""}`;
      })
      .sort();

  async function there(config: Readonly<Record<string, unknown>>): Promise<void> {
    const folder = makeVenue(config, FILES);
    chmodSync(join(folder, "docs/run.sh"), 0o750);
    const { auth } = config as { auth?: { ucan?: { revocations?: string } } };
    if (auth?.ucan?.revocations === "./revocations") writeFileSync(join(folder, "revocations"), `${DID}\n`);
    if (config["stateDir"] !== false) {
      expect(await runIn(folder, "key", "new", "alice")).toMatchObject({ status: 0 });
      if (auth?.ucan?.revocations === "./state/list") writeFileSync(join(folder, "state/list"), `${DID}\n`);
    }
    // It leaves what a venue leaves of its calls.
    await runIn(folder, "ls", "docs:");
    expect(await create(folder)).toMatchObject({ status: 0, stderr: "" });
    const other = makeVenue(config);
    expect(await restore(other, folder)).toMatchObject({ status: 0, stderr: "" });
    expect(contentOf(join(other, "docs"))).toEqual(contentOf(join(folder, "docs")));
    expect(statSync(join(other, "docs/run.sh")).mode & 0o777).toBe(0o750);
    if (config["stateDir"] !== false) {
      const key = join(String(config["stateDir"]), "keys/alice");
      expect(readFileSync(join(other, key))).toEqual(readFileSync(join(folder, key)));
    }
    expect(readdirSync(other, { recursive: true }).filter((name) => /\.(restor|part)/.test(String(name)))).toEqual([]);
    const checked = await runIn(other, "check");
    expect(checked).toMatchObject({ status: 0, stderr: "" });
  }

  describe("a backup of a state and a root is restored", () => {
    test("under every key that there is", () => {
      const { $defs } = JSON.parse(readFileSync(new URL("../../../schemas/config.json", import.meta.url), "utf8"));
      // The state of `shared` is in its engine, which is backed up by its own means.
      const keys = (of: string) =>
        Object.keys($defs[of].properties).filter((key) => key !== "$schema" && key !== "shared");
      expect(Object.keys(VALUES).sort()).toEqual(keys("venue").sort());
      const ofRoots = new Set(VALUES["file"]?.flatMap((value) => Object.keys(value as object)));
      expect(keys("root").filter((key) => !ofRoots.has(key))).toEqual([
        "path",
        "temp",
        "dlfs",
        "subpath",
        "prefix",
        "perInstance",
      ]);
    });

    test.each(cases)("with %s: %j", (key, value) => there(configOf({ [key]: value })));

    test("with all of them, and the venue starts", async () => {
      const { listen: _listen, seed: _seed, mcp: _mcp, stateDir: _stateDir, ...others } = VALUES;
      const all = Object.fromEntries(Object.entries(others).map(([key, [value]]) => [key, value]));
      const file = Object.assign({}, ...(VALUES["file"] ?? []), { quota: { bytes: 1000 } });
      const auth = { ...(VALUES["auth"]?.[2] as object), ...BASE.auth, ucan: { revocations: "./state/list" } };
      const config = configOf({ ...all, file, auth, audit: { file: "./audit.jsonl" } });
      await there(config);
      const [folder, other] = [makeVenue(config, FILES), makeVenue(config)];
      await runIn(folder, "key", "new", "alice");
      writeFileSync(join(folder, "state/list"), "");
      expect(await create(folder)).toMatchObject({ status: 0 });
      expect(await restore(other, folder)).toMatchObject({ status: 0 });
      const venue = start(["serve", "--config", "venue.json5"], { cwd: other });
      await venue.until(/listens on (\S+)/);
      await venue.stop();
    });
  });

  test.each(["./store", "./state/store", "./state/drives"])("drives in %s are restored", async (path) => {
    const roots = { notes: { dlfs: "notes" } };
    const config = { ...BASE, drives: { store: { path } }, audit: { file: "./state/audit.jsonl" }, file: { roots } };
    const [folder, other] = [makeVenue(config, { text: "x".repeat(10_000) }), makeVenue(config)];
    writeFileSync(join(folder, "seed"), `${SEED}\n`, { mode: 0o600 });
    await runIn(folder, "key", "new", "alice");
    expect(await runIn(folder, "put", "--key", "alice", "text", "notes:text")).toMatchObject({ status: 0 });
    const made = await runIn(folder, "backup", "create", "it.tar", "--plaintext", "--drives");
    expect(made).toMatchObject({ status: 0, stderr: "" });
    expect(await restore(other, folder)).toMatchObject({ status: 0, stderr: "" });
    const read = await runIn(other, "cat", "--key", "alice", "notes:text");
    expect(read).toMatchObject({ status: 0, stdout: "x".repeat(10_000) });
  });

  describe("a root in a backup", () => {
    test("has its modes, and its folders that are empty; what a backup cannot hold is said by name", async () => {
      const folder = makeVenue(configOf({}), {
        ...FILES,
        "docs/locked/in/file": "x",
        "docs/b\\c/below": "",
        "docs/sub/d\\e": "",
      });
      for (const name of ["empty", "empty/deeper"]) mkdirSync(join(folder, "docs", name), { mode: 0o711 });
      symlinkSync("a.txt", join(folder, "docs/link"));
      symlinkSync("/etc", join(folder, "docs/sub/out"));
      execFileSync("mkfifo", [join(folder, "docs/fifo")]);
      writeFileSync(Buffer.concat([Buffer.from(join(folder, "docs/")), Buffer.from([0x66, 0xff])]), "x");
      writeFileSync(join(folder, "docs/big"), "0123456789".repeat(300_000));
      chmodSync(join(folder, "docs/locked/in/file"), 0o444);
      chmodSync(join(folder, "docs/locked/in"), 0o555);
      const made = await create(folder);
      expect(made.status).toBe(0);
      expect(made.stderr.split("\n").slice(1).sort().join("\n")).toMatch(
        /^\n {2}b\S+c: a name .*, with all below\n {2}f\S+xff: a name .*\n {2}fifo: neither .*\n {2}link: a link\n {2}sub\/d\S+e: a name .*\n {2}sub\/out: a link$/,
      );
      expect(made.stderr).toMatch(/^Warning: 6 entries of root 'docs' not in the backup:\n/);
      const other = makeVenue(configOf({}));
      expect(await restore(other, folder)).toMatchObject({ status: 0 });
      for (const name of ["link", "sub/out", "fifo", "sub/d\\e"]) rmSync(join(folder, "docs", name));
      rmSync(join(folder, "docs/b\\c"), { recursive: true });
      rmSync(Buffer.concat([Buffer.from(join(folder, "docs/")), Buffer.from([0x66, 0xff])]));
      expect(contentOf(join(other, "docs"))).toEqual(contentOf(join(folder, "docs")));
      for (const one of [folder, other]) chmodSync(join(one, "docs/locked/in"), 0o755);
    });

    test.each([
      ["notes", "is a drive. --drives"],
      ["tmp", "is temporary"],
      ["none", "is not in this configuration"],
    ])("named %s is refused", async (name, text) => {
      const roots = { notes: { dlfs: "notes" }, tmp: { temp: true } };
      const folder = makeVenue({ ...BASE, file: { roots } });
      const made = await runIn(folder, "backup", "create", "it.tar", "--plaintext", "--roots", name);
      expect(made).toMatchObject({ status: 78, stderr: expect.stringContaining(text) });
      expect(existsSync(join(folder, "it.tar"))).toBe(false);
    });

    test("of before, when only files were listed, is restored", async () => {
      const other = makeVenue(configOf({}));
      const files = { "roots/docs/a/b/c": "c", "roots/docs/a/d": "d", "roots/docs/a.txt": "a" };
      const { createHash } = await import("node:crypto");
      const entries = Object.entries(files).map(([path, text]) => ({
        ...{ path, size: text.length },
        sha256: createHash("sha256").update(text).digest("hex"),
      }));
      const list = JSON.stringify({ format: 1, version: "0", created: 0, entries });
      const parts = Object.entries({ ...files, "manifest.json": list });
      const tar = await packTar(
        parts.map(([name, body]) => ({ header: { name, size: body.length, type: "file", mode: 0o600 }, body })),
      );
      const folder = makeFolder();
      writeFileSync(join(folder, "it.tar"), tar);
      expect(await restore(other, folder)).toMatchObject({ status: 0, stderr: "" });
      expect(readFileSync(join(other, "docs/a/b/c"), "utf8")).toBe("c");
      expect(readFileSync(join(other, "docs/a/d"), "utf8")).toBe("d");
      expect(readFileSync(join(other, "docs/a.txt"), "utf8")).toBe("a");
    });
  });

  describe("a restore that fails leaves what was there", () => {
    const config = configOf({ audit: { file: "./audit.jsonl" } });
    const folder = makeVenue(config, FILES);

    test.each([
      [
        "a quota",
        { ...config, file: { roots: { docs: { path: "./docs", quota: { files: 2 } } } } },
        "Nothing was changed",
      ],
      ["no key in the configuration", { ...config, seedFile: undefined }, "set 'seedFile'"],
      ["no root of that name", { ...config, file: { roots: { other: "./docs" } } }, "add it"],
      ["no state", { ...config, stateDir: false }, "set 'stateDir'"],
    ])("for %s", async (_what, other, text) => {
      if (!existsSync(join(folder, "it.tar"))) {
        await runIn(folder, "key", "new", "alice");
        writeFileSync(join(folder, "seed"), `${SEED}\n`, { mode: 0o600 });
        expect(await create(folder)).toMatchObject({ status: 0 });
      }
      const place = makeVenue(other);
      const before = contentOf(place);
      expect(await restore(place, folder)).toMatchObject({ status: 78, stderr: expect.stringContaining(text) });
      expect(contentOf(place)).toEqual(before);
      writeFileSync(join(place, "venue.json5"), JSON.stringify(config));
      expect(await restore(place, folder)).toMatchObject({ status: 0, stderr: "" });
    });

    test.each(["docs", "there"])("for something in %s, which stays", async (name) => {
      const place = makeVenue(configOf({ stateDir: "./there" }), { [`${name}/mine`]: "mine" });
      const before = contentOf(place);
      expect(await restore(place, folder)).toMatchObject({
        status: 78,
        stderr: expect.stringContaining("Cannot restore: "),
      });
      expect(contentOf(place)).toEqual(before);
    });

    test("for a name that was taken when all was staged", async () => {
      const place = makeVenue(configOf({ seedFile: "./keys/deep/seed" }));
      // Only the very last step fails: a file cannot get the name of a folder that is not empty.
      mkdirSync(join(place, "keys/deep/seed/full"), { recursive: true });
      const before = contentOf(place);
      expect(await restore(place, folder)).toMatchObject({ status: 78, stderr: expect.stringContaining("'seedFile'") });
      expect(contentOf(place)).toEqual(before);
    });
  });
});

// What was purged is in no file of the venue, and in no backup that is made later.
const SECRET = "THE-KEY-THAT-SHOULD-NOT-BE";
/** On pages with others, on pages of their own, and in the trash. */
const SIZES = [40, 300, 1_500, 2_000, 2_100, 4_000, 9_000, 60_000, 90_000];

const secret = (size: number, index: number): string =>
  `${SECRET}-${index} `.repeat(Math.ceil(size / 20)).slice(0, size);

/** Files in a folder that hold the secret. */
function found(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(SECRET.slice(0, 16)))
    .map((path) => path.slice(folder.length + 1));
}

function makeVenue() {
  const config = {
    seedFile: "./seed",
    stateDir: "./state",
    file: { roots: { r: { path: "./r", durability: "none" } } },
  };
  const folder = makeFolder({ "venue.json5": JSON.stringify(config) });
  mkdirSync(join(folder, "r"));
  const open = (): Promise<FileAdapter> =>
    createFileAdapter({
      stateDir: join(folder, "state"),
      roots: { r: { path: join(folder, "r"), durability: "none" } },
    });
  return { folder, open };
}

/** Replaces and deletes many contents, the secret ones among others that stay. */
async function change(files: FileAdapter, rounds: number): Promise<void> {
  const run = (op: string, input: object) => files.invoke(`file:${op}` as never, { root: "r", ...input } as never);
  for (let round = 0; round < rounds; round++) {
    for (const [index, size] of SIZES.entries()) {
      for (const [path, content] of [
        [`secrets/${index}`, secret(size, index + round)],
        [`others/${index}`, "o".repeat(size)],
      ] as const) {
        await run("write", { path, content, parents: true });
        await run("write", { path, content: "nothing" });
        await run("write", { path, content });
        await run(index % 2 === 0 ? "delete" : "write", { path, ...(index % 2 === 0 ? {} : { content: "gone" }) });
      }
    }
  }
}

describe("what was purged", () => {
  test.each([1, 6])("is in no file of the venue and in no backup (%d rounds)", async (rounds) => {
    const { folder, open } = makeVenue();
    const files = await open();
    await change(files, rounds);
    await files.invoke("file:history", { root: "r" });
    expect(found(folder).length).toBeGreaterThan(0);
    const { purged } = (await files.invoke("file:purge", { root: "r", path: "secrets" })) as { purged: number };
    expect(purged).toBeGreaterThan(SIZES.length * rounds);
    expect(found(folder)).toEqual([]);
    // What others kept is still there.
    const { entries } = (await files.invoke("file:history", { root: "r", path: "others", limit: 500 })) as {
      entries: { undoable: boolean }[];
    };
    expect(entries.every(({ undoable }) => undoable)).toBe(true);
    await files.invoke("file:undo", { root: "r", last: 1 });
    expect(existsSync(join(folder, "r/others/8"))).toBe(true);
    await files.close();
    const made = await runHere(
      ["backup", "create", "later.tar", "--plaintext", "--roots", "r", "--config", "venue.json5"],
      {
        cwd: folder,
      },
    );
    expect(made).toMatchObject({ status: 0 });
    expect(readFileSync(join(folder, "later.tar")).length).toBeGreaterThan(100_000);
    expect(found(folder)).toEqual([]);
  });

  test("is gone where another process has the journal open", async () => {
    const { folder, open } = makeVenue();
    const files = await open();
    await change(files, 1);
    const purge = await runHere(["purge", "-y", "r:secrets", "--config", "venue.json5"], { cwd: folder });
    expect(purge.status).toBe(0);
    // Notes of the other process go a second after they have ended.
    await until(() => found(folder).length === 0, 100);
    await files.close();
  });

  test("was pruned before, or left by a process that was killed", async () => {
    const { folder, open } = makeVenue();
    const config = { path: join(folder, "r"), durability: "none", journalQuota: { entries: 20 } } as const;
    const small = await createFileAdapter({ stateDir: join(folder, "state"), roots: { r: config } });
    await change(small, 2);
    await small.close();
    writeFileSync(join(folder, "r", "f"), "left");
    const files = await open();
    await files.invoke("file:purge", { root: "r", all: true });
    expect(found(folder)).toEqual([]);
    await files.close();
  });
});

// A backup that is killed while it is made: no file of that name is there, or a whole one.
const KILLED_IN = new URL("killed-in.mjs", import.meta.url).href;
const CONFIG = `{ stateDir: "./state", file: { roots: { docs: "./docs" } } }`;
const folder = makeFolder({ "venue.json5": CONFIG, "docs/a.txt": "alpha" });
const target = makeFolder();
const file = join(target, "it.backup");
const config = ["--config", "venue.json5"];
// Not sealed: a key of a passphrase takes half a second to make.
const create = ["backup", "create", file, "--roots", "docs", "--plaintext", ...config];

const killedIn = (call: string): Promise<Finished> =>
  startNode(["--import", KILLED_IN, CLI, ...create], { cwd: folder, env: { KILLED_IN: call } }).ended;
const again = (): Promise<Finished> => runHere(create, { cwd: folder });

test.each(["open", "write:2", "link"])("before '%s' there is none, and the next try makes it", async (call) => {
  expect(await killedIn(call)).toMatchObject({ signal: "SIGKILL" });
  expect(readdirSync(target).filter((name) => name !== "it.backup.part")).toEqual([]);
  expect(await again()).toMatchObject({ status: 0, stderr: "" });
  expect(readdirSync(target)).toEqual(["it.backup"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  rmSync(file);
});

test("once it has its name, it is whole", async () => {
  expect(await killedIn("rm:2")).toMatchObject({ signal: "SIGKILL" });
  const elsewhere = makeFolder({ "venue.json5": CONFIG, "docs/.keep": "" });
  rmSync(join(elsewhere, "docs/.keep"));
  const restored = await runHere(["backup", "restore", file, ...config], { cwd: elsewhere });
  expect(restored).toMatchObject({ status: 0, stderr: "" });
  expect(readFileSync(join(elsewhere, "docs/a.txt"), "utf8")).toBe("alpha");
  expect(await again()).toMatchObject({ status: 78 });
  expect(readdirSync(target)).toEqual(["it.backup"]);
});

test.each(["state", "empty"])(
  "a restore whose last name cannot be given leaves what was there: %s",
  async (stateDir) => {
    const text = `{ stateDir: "./${stateDir}", seedFile: "./seed", file: { roots: { docs: "./docs" } } }`;
    const place = () => {
      const made = makeFolder({ "venue.json5": text, seed: `${"ab".repeat(32)}\n` });
      for (const name of ["docs", "empty"]) mkdirSync(join(made, name));
      chmodSync(join(made, "seed"), 0o600);
      return made;
    };
    const from = place();
    writeFileSync(join(from, "docs/a.txt"), "alpha");
    expect(await runHere(["key", "new", "alice", "--config", "venue.json5"], { cwd: from })).toMatchObject({
      status: 0,
    });
    const copy = ["it.backup", "--roots", "docs", "--plaintext", ...config];
    expect(await runHere(["backup", "create", ...copy], { cwd: from })).toMatchObject({ status: 0 });
    const to = place();
    rmSync(join(to, "seed"));
    const command = ["backup", "restore", join(from, "it.backup"), ...config];
    const failed = await startNode(["--import", KILLED_IN, CLI, ...command], {
      cwd: to,
      env: { FAILED_IN: "rename:1:seed.restore" },
    }).ended;
    expect(failed).toMatchObject({ status: 66, stderr: "Cannot restore: EIO. Nothing was changed\n" });
    const left = readdirSync(to, { recursive: true }).map(String);
    expect(left.filter((name) => !name.includes(".venue-files")).sort()).toEqual(["docs", "empty", "venue.json5"]);
    expect(await runHere(command, { cwd: to })).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(join(to, stateDir, "keys/alice"))).toEqual(readFileSync(join(from, stateDir, "keys/alice")));
  },
);
