import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, run } from "./process.js";

afterAll(cleanUp);

const TOKEN = "0123456789abcdef0123456789abcdef";

async function check(config: string | undefined, options: { args?: string[]; env?: Record<string, string> } = {}) {
  const folder = makeFolder({ "docs/a.txt": "a", ...(config === undefined ? {} : { "venue.json5": config }) });
  const source = config === undefined ? [] : ["--config", "venue.json5"];
  const env = options.env === undefined ? {} : { env: options.env };
  const ended = await run(["check", ...source, ...(options.args ?? [])], { cwd: folder, tmp: folder, ...env });
  return { ...ended, folder };
}

describe("check", () => {
  test("without a configuration says what would run", async () => {
    const { status, stdout, stderr } = await check(undefined);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^venue-files \S+: the configuration is valid\n/);
    expect(stdout).toContain("http://localhost:8080 (reachable from this machine only)");
    expect(stdout).toMatch(/\n {2}tmp {2}temp {2}read-write {2}(handle walk|real-path check)\n/);
    expect(stdout).toMatch(
      /\n {2}operator +the venue itself, or whoever has the local token in \S+ +everything in every/,
    );
    expect(stdout).toMatch(/\n {2}anonymous +tmp: read, write, delete\n/);
  });

  test("shows roots, tokens and who may do what", async () => {
    const config = `{
      file: { roots: { docs: { path: "docs", readOnly: true, description: "Manuals" }, tmp: { temp: true } } },
      auth: {
        tokens: [{ name: "ci", token: { env: "CI_TOKEN" }, caps: [{ with: "file://tmp/in/", can: "crud/write" }] }],
        public: { caps: [{ with: "file://docs/", can: "crud" }] },
      },
      listen: { socket: "./venue.sock" }, seed: "${"11".repeat(32)}", audit: { file: "audit.jsonl" },
    }`;
    const { status, stdout, folder } = await check(config, { env: { CI_TOKEN: TOKEN } });
    expect(status).toBe(0);
    expect(stdout).toMatch(/\n {2}docs {2}host {2}read-only +\S.* Manuals\n/);
    expect(stdout).toMatch(/\n {2}token ci +did:key:z6Mk\w+:token:ci +tmp: write in parts\n/);
    expect(stdout).toMatch(/\n {2}anonymous +docs: read\n/);
    expect(stdout).toContain(join(folder, "venue.sock"));
    expect(stdout).not.toContain(TOKEN);
    expect(stdout).not.toContain("1111");
  });

  test("starts nothing and makes nothing", async () => {
    const config = `{ seedFile: "venue.seed", stateDir: "state", audit: { file: "audit.jsonl" },
      storage: { content: "file", path: "assets" }, file: { roots: { docs: "docs" } } }`;
    const { status, stdout, folder } = await check(config);
    expect(status).toBe(0);
    expect(stdout).toContain("a new key, to be kept in ");
    for (const made of ["venue.seed", "state", "audit.jsonl", "assets"])
      expect(existsSync(join(folder, made))).toBe(false);
    expect(readdirSync(join(folder, "docs"))).toEqual(["a.txt"]);
  });

  test("shows every venue of several", async () => {
    const { status, stdout } = await check(`{ venues: [{ name: "one", port: 8091 }, { name: "two", port: 8092 }] }`);
    expect(status).toBe(0);
    expect(stdout).toMatch(/Venue "one"[\s\S]*:8091[\s\S]*Venue "two"[\s\S]*:8092/);
  });

  test("tells everything that is wrong, and ends with 78", async () => {
    const config = `{ venues: [
      { port: 8091, file: { roots: { docs: "nowhere", more: "neither" } } },
      { port: 8092, auth: { tokens: [{ name: "ci", token: { env: "SHORT" }, caps: [] }] } },
      { port: 8093, hostname: "0.0.0.0" },
    ] }`;
    const { status, stdout, stderr } = await check(config, { env: { SHORT: "too short to be safe" } });
    expect({ status, stdout }).toEqual({ status: 78, stdout: "" });
    expect(stderr).toMatch(/Root 'docs' does not exist/);
    expect(stderr).toMatch(/Root 'more' does not exist/);
    expect(stderr).toMatch(/auth\.tokens\[0\]\.token\.env' holds a token of fewer than 32 characters/);
    expect(stderr).toContain("Refusing to start: '0.0.0.0' is not a loopback address.");
    expect(stderr).not.toContain("too short to be safe");
  });

  test("a file that is not there ends with 66", async () => {
    expect((await check(undefined, { args: ["--config", "none.json5"] })).status).toBe(66);
  });
});
