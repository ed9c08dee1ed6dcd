// The image without a container engine: bubblewrap runs what the Dockerfile says, as its user, on a read-only file system,
// without capabilities.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { cleanUp, makeFolder } from "../cli/process.js";
import { describeWhere } from "../needs.js";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const DOCKERFILE = readFileSync(join(PACKAGE, "Dockerfile"), "utf8");
const USER = /^USER (\d+):(\d+)$/m.exec(DOCKERFILE)?.slice(1) ?? [];
const STATE = /VENUE_FILES_STATE_DIR=(\S+)/.exec(DOCKERFILE)?.[1] ?? "";
const PORT = 18_000 + (process.pid % 1000);

const listOf = (instruction: string): readonly string[] =>
  JSON.parse(new RegExp(`^${instruction} (\\[.*\\])$`, "m").exec(DOCKERFILE)?.[1] ?? "[]");
const HEALTH = JSON.parse(/^HEALTHCHECK .* CMD (\[.*\])$/m.exec(DOCKERFILE)?.[1] ?? "[]") as readonly string[];

function hasBubblewrap(): boolean {
  try {
    execFileSync("bwrap", ["--unshare-user", "--ro-bind", "/", "/", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describeWhere(hasBubblewrap(), "bubblewrap does not work here")("the image", () => {
  const folder = makeFolder();
  const at = (name: string) => join(folder, name);
  let box: readonly string[];

  beforeAll(() => {
    for (const name of ["app", "data", "state", "etc"]) mkdirSync(at(name));
    for (const name of ["data", "state"]) chmodSync(at(name), 0o777);
    chmodSync(folder, 0o755);
    execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], {
      cwd: PACKAGE,
      stdio: "ignore",
    });
    const [tarball = ""] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
    execFileSync("tar", ["-xzf", at(tarball), "-C", at("app")]);
    const config = {
      ...{
        hostname: "0.0.0.0",
        port: PORT,
        auth: { public: { enabled: true, caps: [{ with: "file://files/", can: "crud" }] } },
      },
      ...{ file: { roots: { files: "/data" } }, seedFile: `${STATE}/seed` },
    };
    writeFileSync(at("etc/venue.json5"), JSON.stringify(config));
    cpSync(at("etc/venue.json5"), at("etc/first.json5"));
    const [uid = "", gid = ""] = USER;
    const system = ["/usr", "/lib", "/lib64", "/bin", "/etc/ssl"].filter((path) => existsSync(path));
    box = [
      ...[
        "--unshare-user",
        "--uid",
        uid,
        "--gid",
        gid,
        "--unshare-pid",
        "--unshare-ipc",
        "--as-pid-1",
        "--die-with-parent",
      ],
      ...["--cap-drop", "ALL", "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin"],
      ...["--setenv", "VENUE_FILES_STATE_DIR", STATE, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"],
      ...system.flatMap((path) => ["--ro-bind", path, path]),
      ...["--ro-bind", process.execPath, "/opt/node"],
      ...[
        "--ro-bind",
        at("app/package"),
        "/app/venue-files",
        "--ro-bind",
        join(PACKAGE, "node_modules"),
        "/app/node_modules",
      ],
      ...["--ro-bind", at("etc"), "/etc/venue-files", "--bind", at("data"), "/data", "--bind", at("state"), STATE],
      ...["--remount-ro", "/", "--chdir", "/app/venue-files"],
    ];
  });
  afterAll(cleanUp);

  const command = (words: readonly string[]) => [...box, "--", "/opt/node", ...words.slice(1)];
  const run = (words: readonly string[]) => execFileSync("bwrap", command(words), { encoding: "utf8", stdio: "pipe" });

  test("is what was tested: its user is a number, and it needs no shell", () => {
    expect(USER).toEqual(["10001", "10001"]);
    expect(listOf("ENTRYPOINT")).toEqual(["node", "dist/cli.js"]);
    expect(DOCKERFILE).toContain("STOPSIGNAL SIGTERM");
    expect(HEALTH.slice(0, 3)).toEqual(["node", "dist/cli.js", "health"]);
  });

  test("serves, is healthy, reloads, stops within 6 s, and writes only where it may", async () => {
    const child = spawn("bwrap", command([...listOf("ENTRYPOINT"), ...listOf("CMD")]), {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        said += chunk;
      });
    const until = async (done: () => boolean | Promise<boolean>) => {
      for (let tries = 0; !(await done()); tries++) {
        if (tries > 300 || child.exitCode !== null) throw new Error(`not in time: ${said}`);
        await sleep(25);
      }
    };
    await until(() => said.includes("Stop with Ctrl-C"));
    expect(run(HEALTH)).toBe("ok\n");

    const url = `http://127.0.0.1:${PORT}/api/v1/files`;
    const put = (root: string) => fetch(`${url}/${root}/a.txt`, { method: "PUT", body: "hello" });
    expect((await put("files")).status).toBe(201);
    expect(readFileSync(at("data/a.txt"), "utf8")).toBe("hello");
    expect(statSync(at("state/seed")).mode & 0o077).toBe(0);

    const config = JSON.parse(readFileSync(at("etc/first.json5"), "utf8"));
    config.file.roots.more = "/data";
    config.auth.public.caps.push({ with: "file://more/", can: "crud" });
    writeFileSync(at("etc/venue.json5"), JSON.stringify(config));
    const inner = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ")[0]);
    process.kill(inner, "SIGHUP");
    await until(async () => (await put("more")).status < 300);

    const stopping = Date.now();
    process.kill(inner, "SIGTERM");
    await once(child, "exit");
    expect(Date.now() - stopping).toBeLessThan(6000);
    expect(said).toContain("Stopped.");
  }, 60_000);

  test("opens to nobody off loopback unless it is said", () => {
    writeFileSync(
      at("etc/venue.json5"),
      JSON.stringify({ hostname: "0.0.0.0", port: PORT, file: { roots: { files: "/data" } } }),
    );
    expect(() => run([...listOf("ENTRYPOINT"), ...listOf("CMD")])).toThrow(/auth\.public\.enabled/);
  });
});
