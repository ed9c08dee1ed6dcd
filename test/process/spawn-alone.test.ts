import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { openShared, type SharedDatabase } from "../../src/database/shared-database.js";
import { spawnAlone } from "../../src/process/spawn-alone.js";
import { needs } from "../needs.js";

let folder: string;
let database: SharedDatabase;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "venue-files-process-"));
  // LMDB opens its files so that children inherit them.
  database = openShared(join(folder, "index"), { maxTables: 1, flush: false });
});

afterEach(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

const LIST = ["-c", "ls -l /proc/$$/fd; echo listed"];

async function textOf({ stdout }: ChildProcess): Promise<string> {
  let text = "";
  stdout?.on("data", (chunk) => {
    text += String(chunk);
  });
  if (stdout !== null) await once(stdout, "close");
  return text;
}

describe("a program", () => {
  const linuxTest = needs(process.platform === "linux", "it looks into /proc");

  linuxTest("inherits no file of a database", async () => {
    expect(await plainList()).toContain(join(folder, "index", "data.mdb"));
    const alone = await textOf(spawnAlone("/bin/sh", LIST, { stdio: ["ignore", "pipe", "ignore"] }));
    expect(alone).toContain("listed");
    expect(alone).not.toContain(folder);
  });

  linuxTest("has the descriptors that are given to it, also where one is inherited besides", async () => {
    const given = openSync(folder, "r");
    try {
      const inherited = Number(/(\d+) -> \S*data\.mdb/.exec(await plainList())?.[1]);
      expect(inherited).toBeGreaterThan(2);
      const stdio = Array.from({ length: inherited + 1 }, (_, number) =>
        number === 1 ? ("pipe" as const) : number === inherited ? given : ("ignore" as const),
      );
      const text = await textOf(spawnAlone("/bin/sh", LIST, { stdio }));
      expect(text).toMatch(new RegExp(`${inherited} -> ${folder}\\n`));
      expect(text).not.toContain("mdb");
    } finally {
      closeSync(given);
    }
  });

  test("that is not there is told as spawn tells it", async () => {
    const child = spawnAlone(join(folder, "nothing"), [], { stdio: ["ignore", "ignore", "ignore"] });
    expect(await once(child, "error")).toMatchObject([{ code: "ENOENT" }]);
  });
});

const plainList = () => textOf(spawn("/bin/sh", LIST, { stdio: ["ignore", "pipe", "ignore"] }));
