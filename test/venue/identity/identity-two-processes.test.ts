import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";

const ROUNDS = 50;

/** A process that opens what belongs to a venue, in one folder after the other. */
function start() {
  const script = fileURLToPath(new URL("../identity-child.mjs", import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => String((await lines.next()).value);
  const open = (folder: string): Promise<string> => {
    child.stdin.write(`${folder}\n`);
    return next();
  };
  const end = async (): Promise<void> => {
    child.stdin.end();
    await exited;
  };
  return { ready: next(), open, end };
}

test("processes that start at the same time end with one seed and one local token", async () => {
  const base = mkdtempSync(join(tmpdir(), "venue-two-"));
  const children = [start(), start(), start()];
  try {
    await Promise.all(children.map(({ ready }) => ready));
    const identities = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const folder = join(base, String(round));
      mkdirSync(folder);
      const opened = await Promise.all(children.map(({ open }) => open(folder)));
      expect(opened[0]).toMatch(/^did:key:z6Mk\S{44} [\w-]{43}$/);
      expect(new Set(opened).size).toBe(1);
      expect(readdirSync(folder).concat(readdirSync(join(folder, "state")))).toEqual(["seed", "state", "local-token"]);
      identities.add(String(opened[0]));
    }
    expect(identities.size).toBe(ROUNDS);
  } finally {
    await Promise.all(children.map(({ end }) => end()));
    rmSync(base, { recursive: true });
  }
});
