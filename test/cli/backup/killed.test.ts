// A backup that is killed while it is made: no file of that name is there, or a whole one.
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { runHere } from "../in-process.js";
import { CLI, cleanUp, type Finished, makeFolder, startNode } from "../process.js";

afterAll(cleanUp);

const KILLED_IN = new URL("killed-in.mjs", import.meta.url).href;
const CONFIG = `{ stateDir: "./state", file: { roots: { docs: "./docs" } } }`;
const ENV = { PASSPHRASE: "correct horse battery" };
const folder = makeFolder({ "venue.json5": CONFIG, "docs/a.txt": "alpha" });
const target = makeFolder();
const file = join(target, "it.backup");
const options = ["--passphrase", "env:PASSPHRASE", "--config", "venue.json5"];
const create = ["backup", "create", file, "--roots", "docs", ...options];

const killedIn = (call: string): Promise<Finished> =>
  startNode(["--import", KILLED_IN, CLI, ...create], { cwd: folder, env: { ...ENV, KILLED_IN: call } }).ended;
const again = (): Promise<Finished> => runHere(create, { cwd: folder, env: ENV });

test.each(["open", "write:2", "link"])(
  "before '%s' there is none, and the next try makes it",
  async (call) => {
    expect(await killedIn(call)).toMatchObject({ signal: "SIGKILL" });
    expect(readdirSync(target).filter((name) => name !== "it.backup.part")).toEqual([]);
    expect(await again()).toMatchObject({ status: 0, stderr: "" });
    expect(readdirSync(target)).toEqual(["it.backup"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    rmSync(file);
  },
  120_000,
);

test("once it has its name, it is whole", async () => {
  expect(await killedIn("rm:2")).toMatchObject({ signal: "SIGKILL" });
  const elsewhere = makeFolder({ "venue.json5": CONFIG, "docs/.keep": "" });
  rmSync(join(elsewhere, "docs/.keep"));
  const restored = await runHere(["backup", "restore", file, ...options], { cwd: elsewhere, env: ENV });
  expect(restored).toMatchObject({ status: 0, stderr: "" });
  expect(readFileSync(join(elsewhere, "docs/a.txt"), "utf8")).toBe("alpha");
  expect(await again()).toMatchObject({ status: 78 });
  expect(readdirSync(target)).toEqual(["it.backup"]);
}, 120_000);

test.each(["state", "empty"])(
  "a restore whose last name cannot be given leaves what was there: %s",
  async (stateDir) => {
    const config = `{ stateDir: "./${stateDir}", seedFile: "./seed", file: { roots: { docs: "./docs" } } }`;
    const place = () => {
      const made = makeFolder({ "venue.json5": config, seed: `${"ab".repeat(32)}\n` });
      for (const name of ["docs", "empty"]) mkdirSync(join(made, name));
      chmodSync(join(made, "seed"), 0o600);
      return made;
    };
    const from = place();
    writeFileSync(join(from, "docs/a.txt"), "alpha");
    expect(await runHere(["key", "new", "alice", "--config", "venue.json5"], { cwd: from })).toMatchObject({
      status: 0,
    });
    const copy = ["it.backup", "--roots", "docs", ...options];
    expect(await runHere(["backup", "create", ...copy], { cwd: from, env: ENV })).toMatchObject({ status: 0 });
    const to = place();
    rmSync(join(to, "seed"));
    const command = ["backup", "restore", join(from, "it.backup"), ...options];
    const failed = await startNode(["--import", KILLED_IN, CLI, ...command], {
      cwd: to,
      env: { ...ENV, FAILED_IN: "rename:1:seed.restore" },
    }).ended;
    expect(failed).toMatchObject({ status: 66, stderr: "Cannot restore: EIO. Nothing was changed\n" });
    const left = readdirSync(to, { recursive: true }).map(String);
    expect(left.filter((name) => !name.includes(".venue-files")).sort()).toEqual(["docs", "empty", "venue.json5"]);
    expect(await runHere(command, { cwd: to, env: ENV })).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(join(to, stateDir, "keys/alice"))).toEqual(readFileSync(join(from, stateDir, "keys/alice")));
  },
  120_000,
);
