// Real clients: litmus, rclone, cadaver, davfs2.

import { execFile, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { describeWhere } from "../../../needs.js";
import { until } from "../../../until.js";
import { type DavVenue, serveDav } from "./fixture.js";

const run = promisify(execFile);
const has = (program: string): boolean => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;

let venue: DavVenue;
let work: string;
beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), "venue-files-clients-"));
  venue = await serveDav();
  await venue.dav("MKCOL", "/dlfs/litmus", { as: "alice" });
});
afterAll(async () => {
  await venue.close();
  rmSync(work, { recursive: true, force: true });
});

const url = (path: string): string => `${venue.url.replace("localhost", "127.0.0.1")}${path}`;

describeWhere(has("litmus"), "there is no litmus")("litmus", () => {
  test.each(["/dav/docs/", "/dav/tmp/", "/dav/home/", "/dlfs/litmus/"])("passes whole on %s", async (path) => {
    const { stdout } = await run("litmus", ["-k", url(path), "alice", venue.password("alice")], { cwd: work });
    const summaries = [...stdout.matchAll(/summary for `(\w+)': of (\d+) tests run: (\d+) passed/g)];
    expect(summaries.map(([, suite]) => suite)).toEqual(["basic", "copymove", "props", "locks", "http"]);
    for (const [, suite, ran, passed] of summaries) expect([suite, passed]).toEqual([suite, ran]);
    expect(stdout).not.toContain("WARNING");
  });
});

describeWhere(has("rclone"), "there is no rclone")("rclone", () => {
  test.each(["other", "owncloud"])("as vendor %s copies, checks, syncs and keeps times", async (vendor) => {
    const local = join(work, `rclone-${vendor}`);
    mkdirSync(join(local, "sub dir/ünï"), { recursive: true });
    writeFileSync(join(local, "a.txt"), "alpha");
    writeFileSync(join(local, "sub dir/ünï/b & c.bin"), Buffer.alloc(300_000, 7));
    const env = { ...process.env, RCLONE_CONFIG: join(work, "rclone.conf") };
    const { stdout: secret } = await run("rclone", ["obscure", venue.password("alice")], { env });
    const remote = `:webdav,url='${url("/dav/docs/")}',vendor=${vendor},user=alice,pass=${secret.trim()}:rclone-${vendor}`;
    const rclone = (...words: string[]) => run("rclone", [...words, "--retries", "1"], { env });
    await rclone("copy", local, remote);
    await rclone("check", local, remote, "--download");
    writeFileSync(join(local, "a.txt"), "changed");
    rmSync(join(local, "sub dir"), { recursive: true });
    await rclone("sync", local, remote);
    const { stdout } = await rclone("lsf", "-R", "--format", "ps", remote);
    expect(stdout.trim()).toBe("a.txt;7");
    const { stdout: nothing } = await rclone("sync", local, remote, "--dry-run", "-v");
    expect(nothing).not.toContain("a.txt");
    await rclone("moveto", `${remote}/a.txt`, `${remote}/moved.txt`);
    await rclone("purge", remote);
  });
});

describeWhere(has("rclone"), "there is no rclone")("rclone on a drive", () => {
  test("sends nothing the second time", async () => {
    const local = join(work, "rclone-drive");
    mkdirSync(join(local, "sub"), { recursive: true });
    for (const [name, text] of Object.entries({ "a.txt": "alpha", "sub/ü b.txt": "beta" })) {
      writeFileSync(join(local, name), text);
      utimesSync(join(local, name), 1_500_000_000, 1_500_000_000);
    }
    const env = { ...process.env, RCLONE_CONFIG: join(work, "rclone.conf") };
    const { stdout: secret } = await run("rclone", ["obscure", venue.password("alice")], { env });
    const remote = `:webdav,url='${url("/dlfs/synced/")}',vendor=owncloud,user=alice,pass=${secret.trim()}:`;
    await venue.dav("MKCOL", "/dlfs/synced", { as: "alice" });
    const sync = async () => {
      const flags = ["--retries", "1", "--use-json-log", "--log-level", "INFO", "--stats-log-level", "ERROR"];
      const { stderr } = await run("rclone", ["sync", local, remote, ...flags], { env });
      return stderr.split("\n").filter((line) => /Copied|Updated modification/.test(line));
    };
    expect(await sync()).toHaveLength(2);
    expect(await sync()).toEqual([]);
    const { stdout } = await run("rclone", ["lsf", "-R", "--files-only", "--format", "t", remote], {
      env: { ...env, TZ: "UTC" },
    });
    expect(new Set(stdout.trim().split("\n"))).toEqual(new Set(["2017-07-14 02:40:00"]));
    writeFileSync(join(local, "a.txt"), "changed");
    expect(await sync()).toHaveLength(1);
  });
});

describeWhere(has("cadaver"), "there is no cadaver")("cadaver", () => {
  test("puts, locks, edits under the lock, moves and deletes", async () => {
    const home = join(work, "cadaver");
    mkdirSync(home);
    const { hostname } = new URL(url("/"));
    const netrc = `machine ${hostname}\nlogin alice\npassword ${venue.password("alice")}\n`;
    writeFileSync(join(home, ".netrc"), netrc, { mode: 0o600 });
    writeFileSync(join(home, "local.txt"), "from cadaver");
    const lines = ["mkcol cad", "cd cad", "put local.txt", "lock local.txt", "put local.txt", "unlock local.txt"];
    const more = [
      "propset local.txt color red",
      "propget local.txt color",
      "copy local.txt other.txt",
      "move other.txt third.txt",
    ];
    const child = spawn("cadaver", [url("/dav/docs/")], { cwd: home, env: { ...process.env, HOME: home } });
    child.stdin.end(`${[...lines, ...more, "ls", "quit"].join("\n")}\n`);
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    await new Promise((resolve) => child.once("close", resolve));
    expect(said).not.toMatch(/failed|could not/i);
    expect(said).toContain("red");
    expect(readFileSync(join(venue.docs, "cad/third.txt"), "utf8")).toBe("from cadaver");
  });
});

const canMount = has("mount.davfs") && process.getuid?.() === 0;
describeWhere(canMount, "davfs2 is not there, or may not mount")("davfs2", () => {
  test("mounts a root, with locks, and writes what is read elsewhere", async () => {
    const [point, conf, secrets] = ["mnt", "davfs.conf", "secrets"].map((name) => join(work, name)) as [
      string,
      string,
      string,
    ];
    mkdirSync(point);
    writeFileSync(conf, `secrets ${secrets}\nuse_locks 1\ndelay_upload 0\n`);
    writeFileSync(secrets, `${url("/dav/docs")} alice ${venue.password("alice")}\n`, { mode: 0o600 });
    const mounted = await run("mount.davfs", ["-o", `conf=${conf}`, url("/dav/docs"), point]).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (mounted !== undefined) {
      expect(mounted).toMatch(/fuse|Operation not permitted|mounting failed/i);
      console.warn(`Skipped: this machine does not mount FUSE file systems: ${mounted}`);
      return;
    }
    try {
      await run("sh", [
        "-ec",
        'cd "$1"; mkdir dir; echo hello >dir/a; cp dir/a dir/b; mv dir/b dir/c; rm dir/a',
        "-",
        point,
      ]);
      await run("sync", []);
      await until(async () => (await venue.dav("GET", "/dav/docs/dir/c")).text === "hello\n", 200);
      expect(await venue.status("GET", "/dav/docs/dir/a")).toBe(404);
    } finally {
      await run("umount", [point]).catch(() => run("umount", ["-l", point]));
    }
  });
});
