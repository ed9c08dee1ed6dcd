import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { did, type Ground, makeGround } from "../people.js";
import { cleanUp } from "../process.js";

afterAll(cleanUp);

const CONFIG = `{ seedFile: "venue.seed", audit: { file: "audit.jsonl" }, file: { roots: { work: "work" } } }`;
let ground: Ground;
beforeAll(async () => {
  ground = makeGround({ "venue.json5": CONFIG });
  for (const path of ["a.txt", "none.txt"]) {
    await ground.venueFiles(["call", "file:stat", `{"root":"work","path":"${path}"}`, "--config", "venue.json5"]);
  }
});
beforeAll(() => {
  writeFileSync(join(ground.folder, "audit.jsonl.2.zst"), Buffer.from("28b52ffd0458", "hex"));
  writeFileSync(join(ground.folder, "cut.gz"), gzipSync("{}\n".repeat(100)).subarray(0, 20));
});
const verify = (...args: string[]) => ground.venueFiles(["audit", "verify", ...args]);
const change = (file: string, edit: (text: string) => string): void =>
  writeFileSync(join(ground.folder, file), edit(readFileSync(join(ground.folder, "audit.jsonl"), "utf8")));

describe("audit verify", () => {
  test("says of each chain how far it is intact, signed by the venue", async () => {
    for (const args of [["audit.jsonl"], ["--config", "venue.json5"]]) {
      const { status, stdout, stderr } = await verify(...args, "--did", did("venue"));
      expect([status, stderr]).toEqual([0, ""]);
      const chain = `chain \\S{16}: intact from 1 to 3, ended; signed by ${did("venue")}\n`;
      expect(stdout).toMatch(new RegExp(`^${chain}${chain}Intact: 6 lines, chains: 2\n$`));
    }
  });

  test("names the line that was changed, and fails", async () => {
    change("changed.jsonl", (text) => text.replace('"operator"', '"somebody"'));
    const { status, stdout } = await verify("changed.jsonl");
    expect(status).toBe(1);
    expect(stdout).toMatch(/^changed\.jsonl:2: changed: n 2 of chain \S{16} /);
    expect(stdout).toContain("Not intact, findings: 1");
  });

  test("shows a cut at the end by the state directory", async () => {
    const whole = readFileSync(join(ground.folder, "audit.jsonl"), "utf8");
    change("audit.jsonl", (text) => text.split("\n").slice(0, 4).join("\n").concat("\n"));
    const { status, stdout } = await verify("audit.jsonl");
    writeFileSync(join(ground.folder, "audit.jsonl"), whole);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^cut: checkpoint 3 of chain \S{16} is missing\n/);
  });

  test("compares who signed with the key of the configuration, unless another is given", async () => {
    writeFileSync(
      join(ground.folder, "other.json5"),
      CONFIG.replace("venue.seed", "other.seed").replace("{ ", `{ stateDir: "other", `),
    );
    writeFileSync(join(ground.folder, "other.seed"), "5".repeat(64));
    const { status, stdout } = await verify("--config", "other.json5");
    expect(status).toBe(1);
    expect(stdout).toContain(`foreign: n 1 of chain`);
    expect(stdout).toContain(`signed by ${did("venue")}`);
    expect(stdout).toContain("another key signed than the configuration's, did:key:z6Mk");
    expect((await verify("--config", "other.json5", "--did", did("venue"))).status).toBe(0);
    const own = await verify("--config", "venue.json5");
    expect([own.status, own.stdout]).toEqual([0, expect.not.stringContaining("give --did")]);
  });

  test("of another venue is foreign", async () => {
    const { status, stdout } = await verify("audit.jsonl", "--did", did("alice"), "--json");
    expect(status).toBe(1);
    expect(JSON.parse(stdout).findings[0]).toMatchObject({
      verdict: "foreign",
      n: 1,
      detail: `signed by ${did("venue")}`,
    });
  });

  test("reads parts that were compressed after they were rotated, given or found", async () => {
    const lines = readFileSync(join(ground.folder, "audit.jsonl"), "utf8").trimEnd().split("\n");
    const part = (from: number, to?: number) => `${lines.slice(from, to).join("\n")}\n`;
    const write = (name: string, content: string | Buffer) => writeFileSync(join(ground.folder, name), content);
    write("parts.jsonl.2.gz", gzipSync(part(0, 1)));
    // Two members, as appended to by a script.
    write("parts.jsonl.1.gz", Buffer.concat([gzipSync(part(1, 2)), gzipSync(part(2, 3))]));
    write("parts.jsonl.1", part(3, 4));
    write("parts.jsonl", part(4));
    write("parts.json5", CONFIG.replace("audit.jsonl", "parts.jsonl"));
    const names = ["parts.jsonl", "parts.jsonl.1", "parts.jsonl.1.gz", "parts.jsonl.2.gz"];
    for (const args of [names, ["--config", "parts.json5"]]) {
      const { status, stdout } = await verify(...args);
      expect([status, stdout]).toEqual([0, expect.stringContaining("Intact: 6 lines, chains: 2")]);
    }
    // One record alone, without a checkpoint.
    write("piece.jsonl.gz", gzipSync(part(1, 2)));
    expect((await verify("piece.jsonl.gz")).stdout).toMatch(/ ends without any checkpoint: it runs/);
    write("parts.jsonl.2.gz", gzipSync(part(0, 1).replace('"operator"', '"somebody"').replace(/"n":1/, '"n":9')));
    expect((await verify(...names)).status).toBe(1);
  });

  test.each([
    [[], 64, "'audit verify' needs the files of an audit, or --config"],
    [["audit.jsonl", "--did", "did:web:example.com"], 64, "--did must be the did:key of the venue's key"],
    [["audit.jsonl", "--did", "did:key:zDnaerDaTF5BX"], 64, "DID document lists, not a P-256 did:key"],
    [["audit.jsonl.2.zst"], 66, "audit.jsonl.2.zst: it is compressed by zstd. Decompress it first"],
    [["cut.gz"], 66, "An audit file cannot be read: Z_BUF_ERROR: "],
    [["none.jsonl"], 66, "An audit file cannot be read: ENOENT"],
    [["work"], 66, "An audit file cannot be read: EISDIR"],
  ])("%j is refused", async (args, status, text) => {
    const refused = await verify(...args);
    expect([refused.status, refused.stderr]).toEqual([status, expect.stringContaining(text)]);
  });
});
