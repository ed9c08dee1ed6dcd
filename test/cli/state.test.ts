import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createVenue } from "../../src/index.js";
import { needs } from "../needs.js";
import { runHere } from "./in-process.js";
import { CLI, cleanUp, makeFolder, serve, start } from "./process.js";

afterAll(cleanUp);

const isLinux = process.platform === "linux";
const ELSEWHERE = "Set 'stateDir' to a folder that can be written, or to false";

describe("the state directory", () => {
  const SEED = "11".repeat(32);

  needs(isLinux, "only Linux has /proc")("that cannot be made ends the start, and says why", async () => {
    const { status, stdout, stderr } = await runHere(["serve", "--port", "0"], { env: { HOME: "/proc" } });
    const path = "/proc/.local/state/venue-files";
    expect({ status, stdout }).toEqual({ status: 66, stdout: "" });
    expect(stderr).toBe(`'stateDir' cannot be used: no folder can be made there (ENOENT): ${path}. ${ELSEWHERE}\n`);
  });

  needs(isLinux, "only Linux has /proc")("is not asked for where nothing needs it", async () => {
    const config = `{ seed: "${SEED}", auth: { localToken: false, ucan: { revocations: "revoked" } } }`;
    const folder = makeFolder({ "venue.json5": config, revoked: "" });
    const served = await serve(["--config", "venue.json5"], { cwd: folder, env: { HOME: "/proc" } });
    expect((await fetch(`${served.url}/api/v1/status`)).status).toBe(200);
    expect(await served.stop()).toMatchObject({ status: 0, stderr: "" });
  });

  test.each([
    ["VENUE_FILES_STATE_DIR", "own"],
    ["STATE_DIRECTORY", "service"],
  ])("is where %s says", async (_variable, place) => {
    const folder = makeFolder({ "venue.json5": "{}" });
    const STATE_DIRECTORY = `${join(folder, "service")}:${join(folder, "second")}`;
    const own: Record<string, string> = place === "own" ? { VENUE_FILES_STATE_DIR: join(folder, "own") } : {};
    const served = await serve(["--config", "venue.json5"], { cwd: folder, env: { STATE_DIRECTORY, ...own } });
    await served.stop();
    expect(readdirSync(folder).sort()).toEqual([place, "venue.json5"].sort());
    // The folder of the venue says where it runs.
    expect(readdirSync(join(folder, place)).sort()).toEqual([
      "format",
      "local-token",
      "revocation-guard",
      "venue-files",
    ]);
  });

  test("can be false: no local token, and one word about the identity", async () => {
    const folder = makeFolder({ "venue.json5": "{ stateDir: false }" });
    const served = await serve(["--config", "venue.json5"], { cwd: folder, tmp: folder });
    const { status, stdout, stderr } = await served.stop();
    expect(status).toBe(0);
    expect(stderr).toBe(
      "Warning: The identity of this venue ends with its process: set 'seed' or 'seedFile' to keep one\n",
    );
    expect(stdout).not.toContain("Bearer");
    expect(existsSync(join(folder, ".local"))).toBe(false);
    const key = await runHere(["key", "new", "anne", "--config", "venue.json5"], { cwd: folder });
    expect(key).toMatchObject({
      status: 78,
      stderr: "'stateDir' is false, so there is no state directory\n",
    });
  });
});

describe("of several venues", () => {
  test("each has a folder in it", async () => {
    const folder = makeFolder({
      "venue.json5": '{ venues: [{ name: "one", port: 0 }, { name: "two", port: 0, stateDir: "state" }] }',
    });
    const served = start(["serve", "--config", "venue.json5"], { cwd: folder, tmp: folder });
    await served.until(/Stop with Ctrl-C/);
    await served.stop();
    const files = [".local/state/venue-files/one", "state/two"].map((place) => join(folder, place, "local-token"));
    expect(new Set(files.map((file) => readFileSync(file, "utf8"))).size).toBe(2);
    for (const file of files) expect(served.stdout()).toContain(`The token in ${file} acts as the operator`);
    expect(readdirSync(join(folder, "state")).sort()).toEqual(["format", "two"]);
  });

  test.each(["serve", "check"])("no two have the same, says %s", async (command) => {
    const folder = makeFolder({ "venue.json5": "{ venues: [{ port: 0 }, { port: 0 }] }" });
    const { status, stdout, stderr } = await runHere([command, "--config", "venue.json5"], { cwd: folder });
    expect({ status, stdout }).toEqual({ status: 78, stdout: "" });
    expect(stderr.replace(/^venue\.json5:1:12: /, "")).toBe(
      "'venues[0]' and 'venues[1]' have the same name and the same 'stateDir'. Set 'venues[1].name' or 'venues[1].stateDir' to another\n",
    );
  });
});

// Commands where files of the state folder are damaged, or cannot get longer: none of them ends by a signal.
let folder = "";

/** A place with a root of files, one that is not changed yet, and one on a drive. */
function makePlace(): string {
  const roots = { docs: "./docs", other: "./other", notes: { dlfs: "notes" } };
  const config = { port: 0, stateDir: "./state", seedFile: "./venue.seed", file: { roots } };
  const place = makeFolder({ "venue.json5": JSON.stringify(config), "docs/a": "1", "docs/b": "2", "other/a": "1" });
  writeFileSync(join(place, "alice.key"), `${"0a".repeat(32)}\n`, { mode: 0o600 });
  return place;
}

/** @param blocks of half a kilobyte that a file may have; none: as many as it likes */
function runIn(
  place: string,
  args: readonly string[],
  { blocks, input = "" }: { blocks?: number; input?: string } = {},
) {
  const line = `${blocks === undefined ? "" : `ulimit -f ${blocks}; `}exec "$@"`;
  const { status, signal, stdout, stderr } = spawnSync("sh", ["-c", line, "sh", process.execPath, CLI, ...args], {
    ...{
      cwd: place,
      input,
      encoding: "utf8",
      env: { ...process.env, HOME: place },
    },
  });
  // A shell tells of a signal by its number.
  return {
    ended: signal ?? (status !== null && status > 128 ? `signal ${status - 128}` : "itself"),
    status,
    stdout,
    stderr,
  };
}

const configured = (...args: string[]): string[] => [...args, "--config", "venue.json5"];
const write = (root: string, path: string): string[] => {
  const key = root === "notes" ? ["--key", "./alice.key"] : [];
  return configured("call", "file:write", JSON.stringify({ root, path, content: "x" }), ...key);
};
const backup = (name: string): string[] => configured("backup", "create", name, "--drives", "--plaintext");

describe("a state folder in which files cannot get longer", () => {
  test.each<[string, string[], number, string]>([
    ["the first change of a root", write("other", "new"), 0, ""],
    ["the first change of a drive", write("notes", "new"), 1, ""],
    ["rm", configured("rm", "docs:b"), 0, ""],
    ["drive ls", configured("drive", "ls"), 78, ""],
    ["drive gc", configured("drive", "gc"), 78, ""],
    [
      "mcp",
      configured("mcp"),
      0,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"file_write","arguments":{"root":"other","path":"over","content":"x"}}}\n`,
    ],
  ])("ends no process: %s", (_what, args, status, input) => {
    // Part of the gate; the lock file, too, and nothing of a table.
    for (const blocks of [4, 70]) {
      folder = makePlace();
      const found = runIn(folder, args, { blocks, input });
      expect({ blocks, ...found }).toMatchObject({ blocks, ended: "itself", status });
      expect(found.stderr).not.toMatch(/Internal error|Write error/);
      if (input !== "") expect(readFileSync(join(folder, "other/over"), "utf8")).toBe("x");
    }
  });
});

describe("a state folder with damaged files", () => {
  const index = (): string => join(folder, "state/drives/index");
  const gates = (): string[] => [index(), ...journals().map((name) => join(folder, "state/journal", name, "index"))];
  const journals = (): string[] => readdirSync(join(folder, "state/journal"));
  const commands = [configured("drive", "ls"), configured("drive", "gc"), write("docs", "b"), write("notes", "b")];

  beforeAll(() => {
    folder = makePlace();
    expect(runIn(folder, write("docs", "a"))).toMatchObject({ status: 0 });
    expect(runIn(folder, write("notes", "a"))).toMatchObject({ status: 0 });
  });

  test.each(["gate.mdb", "gate.mdb-lock", "lock.mdb"])("works with any %s", (name) => {
    const damages = [
      (bytes: Buffer) => Buffer.alloc(bytes.length),
      (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1),
    ];
    for (const [number, args] of [...commands, backup(`${name}.backup`)].entries()) {
      for (const gate of gates()) {
        const file = join(gate, name);
        writeFileSync(file, damages[number % 2]?.(readFileSync(file)) ?? "");
      }
      expect(runIn(folder, args)).toMatchObject({ status: 0, ended: "itself" });
    }
  });

  test("says in one line that the index of the drives is damaged, and goes on without", () => {
    const file = join(index(), "data.mdb");
    const whole = readFileSync(file);
    const flipped = Buffer.from(whole);
    flipped.writeUInt8(flipped.readUInt8(24) ^ 1, 24);
    const commands = [configured("drive", "ls"), configured("drive", "gc"), backup("damaged.backup")];
    for (const [at, bytes] of [Buffer.alloc(0), whole.subarray(0, 6_000), flipped].entries()) {
      writeFileSync(file, bytes);
      // All of them open it in one way: each damage is shown by one, and one damage by all.
      for (const args of at === 0 ? commands : commands.slice(0, 1)) {
        const { ended, status, stderr } = runIn(folder, args);
        expect({ ended, status, stderr }).toMatchObject({ ended: "itself", status: 78 });
        expect(stderr).toMatch(/^[^\n]*damaged[^\n]*\n$/);
      }
      expect(runIn(folder, write("docs", "c"))).toMatchObject({ status: 0 });
    }
    writeFileSync(file, whole);
    expect(runIn(folder, configured("drive", "ls"))).toMatchObject({ status: 0 });
  });

  test("keeps a damaged journal in a backup as it is", () => {
    for (const name of journals())
      writeFileSync(join(folder, "state/journal", name, "index/data.mdb"), "nothing of LMDB");
    expect(runIn(folder, backup("journal.backup"))).toMatchObject({ status: 0 });
    expect(runIn(folder, write("docs", "d"))).toMatchObject({ status: 0 });
    expect(JSON.parse(runIn(folder, configured("call", "file:history", '{"root":"docs"}')).stdout)).toMatchObject({
      entries: [{ path: "d" }],
    });
  });
});

describe("the log file", () => {
  const SEED = "17".repeat(32);
  const CONFIG = {
    ...{ port: 0, stateDir: "state", seed: SEED, log: { file: "venue.log" } },
    drives: { store: { path: "drives" } },
    file: { roots: { docs: "docs" } },
  };

  const makeVenueFolder = (): string =>
    makeFolder({ "docs/a.txt": "a\n", seed: SEED, "venue.json5": JSON.stringify(CONFIG) });

  /** Files of a folder that this process holds open. */
  const openIn = (folder: string): string[] =>
    readdirSync("/proc/self/fd").flatMap((fd) => {
      try {
        const path = readlinkSync(`/proc/self/fd/${fd}`);
        return path.startsWith(`${folder}/`) ? [path] : [];
      } catch {
        // Closed meanwhile.
        return [];
      }
    });

  const onLinux = needs(existsSync("/proc/self/fd"), "open files are looked up in /proc");

  onLinux.each([
    [0, ["ls", "docs:"]],
    [1, ["cat", "docs:none"]],
    [0, ["call", "file:list", '{"root":"docs"}']],
    [1, ["call", "file:lst", '{"root":"docs"}']],
    [64, ["call", "file:list", "{"]],
    [0, ["drive", "gc"]],
    [0, ["backup", "create", "out.backup", "--plaintext"]],
  ] as const)("leaves its log closed, and exits with %i: %j", async (status, args) => {
    const folder = makeVenueFolder();
    const finished = await runHere([...args, "--config", "venue.json5"], { cwd: folder, tmp: folder });
    expect(finished.status).toBe(status);
    expect(existsSync(join(folder, "venue.log"))).toBe(status !== 64);
    expect(openIn(folder)).toEqual([]);
  });

  onLinux("a venue of the library closes the log that its configuration names", async () => {
    const folder = makeVenueFolder();
    const venue = await createVenue(CONFIG, { baseDir: folder });
    expect(openIn(folder)).toContain(join(folder, "venue.log"));
    await venue.close();
    expect(openIn(folder)).toEqual([]);
  });
});
