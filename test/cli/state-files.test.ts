// Commands where files of the state folder are damaged, or cannot get longer: none of them ends by a signal.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CLI, cleanUp, makeFolder } from "./process.js";

afterAll(cleanUp);

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
      env: { ...process.env, HOME: place, PASSPHRASE: "correct horse battery" },
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
const backup = (name: string): string[] =>
  configured("backup", "create", name, "--drives", "--passphrase", "env:PASSPHRASE");

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
    for (const bytes of [Buffer.alloc(0), whole.subarray(0, 6_000), flipped]) {
      writeFileSync(file, bytes);
      for (const args of [configured("drive", "ls"), configured("drive", "gc"), backup("damaged.backup")]) {
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
