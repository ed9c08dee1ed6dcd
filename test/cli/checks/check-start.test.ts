import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { needs } from "../../needs.js";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder } from "../process.js";

afterAll(cleanUp);

const isLinux = process.platform === "linux";
const SEED = "11".repeat(32);
const DID = `did:key:z6Mk${"a".repeat(44)}`;

/** What `check` says of a file, without places, and what `serve` then does. */
async function both(config: string, prepare: (folder: string) => void = () => {}, env: Record<string, string> = {}) {
  const folder = makeFolder({ "venue.json5": config });
  prepare(folder);
  const options = { cwd: folder, env };
  const before = readdirSync(folder);
  const checked = await runHere(["check", "--config", "venue.json5"], options);
  expect(readdirSync(folder)).toEqual(before);
  const served = await runHere(["serve", "--config", "venue.json5"], options);
  const told = checked.stderr.trimEnd().split("\n");
  return { folder, checked, served, told: told.map(withoutPlace) };
}

const withoutPlace = (line: string): string => line.replace(/^venue\.json5:\d+:\d+: /, "");

type Case = readonly [string, string, string, ((folder: string) => void)?, Record<string, string>?];

const state = (folder: string) => join(folder, "state");
const cases: readonly Case[] = [
  [
    "an audit file without a folder",
    `{ audit: { file: "no/audit.jsonl" } }`,
    "'audit.file' cannot be opened: its folder does not exist: ",
  ],
  ["an audit file that is a folder", `{ audit: { file: "." } }`, "'audit.file' cannot be opened: it is a directory: "],
  [
    "a log file without a folder",
    `{ log: { file: "no/venue.log" } }`,
    "'log.file' cannot be opened: its folder does not exist: ",
  ],
  [
    "assets below a file",
    `{ storage: { content: "file", path: "venue.json5/assets" } }`,
    "'storage.path' cannot be opened: its folder does not exist: ",
  ],
  [
    "assets in a folder of others",
    `{ storage: { content: "file", path: "shared" } }`,
    "'storage.path' cannot be opened: the directory is open to other users and not empty: ",
    (folder) => {
      mkdirSync(join(folder, "shared"), { mode: 0o755 });
      writeFileSync(join(folder, "shared", "theirs"), "");
    },
  ],
  [
    "a seed file without a folder",
    `{ seedFile: "no/seed" }`,
    "'seedFile' cannot be used: it cannot be made: its folder does not exist: ",
  ],
  [
    "the DID of another key than a new one",
    `{ seedFile: "seed", did: "${DID}" }`,
    "'did' is not the did:key of this venue's key",
  ],
  [
    "a bucket without credentials",
    `{ seed: "${SEED}", drives: { store: { s3: { bucket: "drives" } } } }`,
    "'drives.store' cannot be opened: ",
  ],
  ["a socket without a folder", `{ listen: { socket: "no/venue.sock" } }`, "Cannot listen on "],
  ["a socket in place of a file", `{ listen: { socket: "venue.json5" } }`, "Cannot listen on "],
  [
    "an address of another machine",
    `{ hostname: "192.0.2.1", auth: { public: { enabled: true } } }`,
    "Cannot listen on 192.0.2.1:8080: this machine has no such address",
  ],
  [
    "a state directory that is a link",
    `{ stateDir: "state" }`,
    "'stateDir' cannot be used: it is a link: ",
    (folder) => symlinkSync(folder, state(folder)),
  ],
  [
    "a state directory that others may write",
    `{ stateDir: "state" }`,
    "'stateDir' cannot be used: others may write in it: ",
    (folder) => {
      mkdirSync(state(folder));
      chmodSync(state(folder), 0o777);
    },
  ],
  [
    "a state directory of a newer version",
    `{ stateDir: "state" }`,
    "'stateDir' cannot be used: it is of format 2, ",
    (folder) => {
      mkdirSync(state(folder), { mode: 0o700 });
      writeFileSync(join(state(folder), "format"), "2\n");
    },
  ],
  [
    "a local token that is none",
    `{ stateDir: "state" }`,
    "'stateDir' has a local-token that cannot be used: it holds no token. ",
    (folder) => {
      mkdirSync(state(folder), { mode: 0o700 });
      writeFileSync(join(state(folder), "local-token"), "x", { mode: 0o600 });
    },
  ],
];

describe("check finds what serve refuses:", () => {
  test.each(cases)("%s", async (_what, config, fault, ...more) => {
    const { checked, served, told } = await both(config, ...more);
    expect({ status: checked.status, stdout: checked.stdout }).toEqual({ status: 78, stdout: "" });
    expect(told).toEqual([expect.stringContaining(fault)]);
    expect(served.status).not.toBe(0);
    expect(served.stdout).toBe("");
    const [said = ""] = served.stderr.trimEnd().split("\n").slice(-1);
    expect(withoutPlace(said)).toContain(fault.slice(0, 16));
  });

  needs(isLinux, "only Linux has /proc")("a home where no folder can be made", async () => {
    const { checked, served, told } = await both("{}", undefined, { HOME: "/proc" });
    expect([checked.status, served.status]).toEqual([78, 66]);
    expect(told).toEqual([served.stderr.trimEnd()]);
  });

  test("all of it at once, with its places, in any venue", async () => {
    const folder = makeFolder({
      "venue.json5": `{ venues: [
        { name: "one", port: 0,
          audit: { file: "no/one.jsonl" },
          log: { file: "no/one.log" } },
        { name: "two", port: 0, file: { roots: {
            docs: "nowhere" } } },
      ] }`,
    });
    const { status, stderr } = await runHere(["check", "--config", "venue.json5"], { cwd: folder });
    expect(status).toBe(78);
    expect(stderr.trimEnd().split("\n")).toEqual([
      `venue.json5:3:20: 'audit.file' cannot be opened: its folder does not exist: ${join(folder, "no/one.jsonl")}`,
      `venue.json5:4:18: 'log.file' cannot be opened: its folder does not exist: ${join(folder, "no/one.log")}`,
      `venue.json5:6:13: Root 'docs' does not exist or cannot be reached: ${join(folder, "nowhere")}`,
    ]);
  });
});
