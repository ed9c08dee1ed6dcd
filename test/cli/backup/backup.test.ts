// Backups: taken while a venue serves, restored elsewhere, and whatever somebody may do to the file.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
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
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder, type Running, run, start } from "../process.js";

afterAll(cleanUp);

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
  const { did } = (await (await fetch(`${url}/api/v1/status`)).json()) as { did: string };
  return { venue, url, did, token: readFileSync(join(folder, "state/local-token"), "utf8").trim() };
}

async function invoke(url: string, token: string, operation: string, input: object) {
  const response = await fetch(`${url}/api/v1/run`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ operation, input }),
  });
  return { status: response.status, output: (await response.json()) as Record<string, unknown> };
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
    const file = join(folder, "it.backup");
    for (const moment of [0, 1, 2, 4, 8]) {
      const { promise, close } = changesIn(other, moment);
      const running = start(["backup", "restore", file, ...secret, "--config", "venue.json5"], {
        cwd: other,
        env: ENV,
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
      expect(await backup(other, "restore", file, ...secret)).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(join(other, "seed"), "utf8")).toBe(readFileSync(join(folder, "seed"), "utf8"));
    expect(readdirSync(other).filter((name) => /restor/.test(name))).toEqual([]);
  }, 120_000);
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
    const made = await backup(folder, "create", "it.backup", "--drives", ...secret);
    expect(made).toMatchObject({ status: 0, stderr: expect.stringMatching(/^Warning: .* in memory.* Set 'seedFile'/) });
  });

  test("with --drives before there is a drive has none, and restores", async () => {
    const folder = makeVenue();
    expect(await backup(folder, "create", "it.backup", "--drives", ...secret)).toMatchObject({ status: 0, stderr: "" });
    const other = makeVenue();
    const restored = await backup(other, "restore", join(folder, "it.backup"), ...secret);
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
    expect(execFileSync("tar", ["-tf", join(folder, "x.tar")], { encoding: "utf8" })).toMatch(/^state\/keys\/alice$/m);
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
