import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

let home = "";
const LIBRARY = new URL("../../dist/index.js", import.meta.url).href;
const KILLS = 6;
const FILES = 150;

const at = (...names: string[]): string => join(home, ...names);
const argv = (script: string, name: string): string[] => [
  ...["--input-type=module", "-e", script, LIBRARY, at(name, "state"), at(name, "r")],
];

beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-faults-")));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const OPEN = `
  const { createFileAdapter } = await import(process.argv[1]);
  const roots = { r: { path: process.argv[3], durability: "none" } };
  const files = await createFileAdapter({ stateDir: process.argv[2], roots });
  const run = (op, input) => files.invoke("file:" + op, { root: "r", ...input });`;

/** Deletes and replaces until it is killed. It tells of each deletion. */
const WORK = `${OPEN}
  process.stdout.write("ready\\n");
  for (let i = 0; i < ${FILES}; i++) {
    await run("delete", { path: "d" + i });
    process.stdout.write(".");
    await run("write", { path: "big", content: String(i).padStart(5, "0") + "x".repeat(70_000) });
  }
  process.stdout.write("done\\n");`;

/**
 * What the journal tells after a restart. What the killed process left half done is settled in the background; a root
 * that closes waits for that.
 */
const TELL = `{ ${OPEN}
    await files.roots[0].journal.open();
    await files.close();
  } ${OPEN}
  const journal = await files.roots[0].journal.open();
  const trash = await journal.trash();
  const page = await journal.query({ limit: 500, sees: () => true });
  const deleted = page.entries.filter(({ op }) => op === "delete").map(({ path, undoable }) => [path[0], undoable]);
  const states = [];
  for (const entry of page.entries.filter(({ op, action }) => op === "write" && action === "modified")) {
    const image = await journal.image(entry, "before");
    states.push(typeof image === "string" ? image : "kept");
  }
  console.log(JSON.stringify({ trash: trash.length, deleted, states: [...new Set(states)], complete: page.complete }));
  await run("write", { path: "after", content: "a change still works" });
  await files.close();`;

describe("a process that is killed", () => {
  test("loses no content: what it deleted is in the trash, what it replaced is whole", async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      const name = `kill${kill}`;
      mkdirSync(at(name, "r"), { recursive: true });
      for (let i = 0; i < FILES; i++) writeFileSync(at(name, "r", `d${i}`), `content ${i}`);
      writeFileSync(at(name, "r", "big"), "y".repeat(70_000));
      const child = spawn(process.execPath, argv(WORK, name), { stdio: ["ignore", "pipe", "ignore"] });
      const ended = once(child, "exit");
      let deletions = 0;
      for await (const told of child.stdout) {
        deletions += String(told).split(".").length - 1;
        if (deletions > kill * 10) break;
      }
      child.kill("SIGKILL");
      await ended;
      const left = readdirSync(at(name, "r")).filter((one) => /^d\d+$/.test(one));
      const told = spawnSync(process.execPath, argv(TELL, name), { encoding: "utf8" });
      expect(told.status).toBe(0);
      const { trash, deleted, states, complete } = JSON.parse(told.stdout);
      expect(complete).toBe(true);
      expect(left.length + trash).toBe(FILES);
      for (const [file, undoable] of deleted)
        expect([file, undoable, left.includes(file)]).toEqual([file, true, false]);
      expect(states.filter((state: string) => state !== "kept")).toEqual([]);
      const big = readFileSync(at(name, "r", "big"), "utf8");
      expect([70_000, 70_005]).toContain(big.length);
    }
  }, 60_000);
});

describe("a journal with flipped bytes", () => {
  test("stops no change, and ends no process", () => {
    const name = "flipped";
    mkdirSync(at(name, "r"), { recursive: true });
    const fill = `${OPEN}
      for (let i = 0; i < 200; i++) await run("write", { path: "f" + (i % 20), content: "content " + i });
      await files.close();`;
    expect(spawnSync(process.execPath, argv(fill, name)).status).toBe(0);
    const [key = ""] = readdirSync(at(name, "state", "journal"));
    const file = at(name, "state", "journal", key, "index", "data.mdb");
    const whole = readFileSync(file);
    for (let round = 0; round < 6; round++) {
      const bytes = Buffer.from(whole);
      // Values of entries: JSON that is no longer what was written.
      for (let from = 0, hits = 0; hits < 5; hits++) {
        from = bytes.indexOf('"op":"write"', from + 1 + round * 700);
        if (from < 0) break;
        bytes.write("XX", from + 6);
      }
      writeFileSync(file, bytes);
      const told = spawnSync(process.execPath, argv(TELL, name), { encoding: "utf8" });
      expect([round, told.status, told.signal]).toEqual([round, 0, null]);
      expect(JSON.parse(told.stdout).complete).toBe(false);
      expect(existsSync(at(name, "r", "after"))).toBe(true);
    }
  }, 60_000);
});
