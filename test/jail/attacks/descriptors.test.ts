import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { type Arena, expectClosedSoon, inArena, openDescriptors } from "../arena.js";
import { ENGINES, type Files, openFiles, outcomeOf } from "../files.js";
import { ATTEMPT_NAMES, ATTEMPTS } from "./attempts.js";

const ROUNDS = 40;

/** Paths that end walks in every way. */
const PATHS = [
  "",
  "file.txt",
  "dir",
  "dir/inner/deep.txt",
  "missing",
  "missing/below",
  "file.txt/below",
  "to-file",
  "to-dir/inner/deep.txt",
  "to-outside",
  "to-outside/secret.txt",
  "dir/climbing",
  "dangling",
  "dangling/below",
  "loop",
  "../outside",
  ".venue-files",
  "deep/a/b/c/d/e/f/g/h/i/j/missing",
];

function plant({ root, link }: Arena): void {
  link("to-file", "file.txt");
  link("to-dir", "dir");
  link("to-outside", "../outside/vault");
  link("dir/climbing", "../../outside");
  link("dangling", "dir/missing");
  link("loop", "loop");
  mkdirSync(join(root, "deep/a/b/c/d/e/f/g/h/i/j"), { recursive: true });
}

async function everyCall(files: Files): Promise<Record<string, number>> {
  const codes: Record<string, number> = {};
  for (const path of PATHS) {
    for (const name of ATTEMPT_NAMES) {
      const { code } = await outcomeOf(ATTEMPTS[name].run(files, path));
      codes[code] = (codes[code] ?? 0) + 1;
    }
  }
  return codes;
}

describe.each(ENGINES)("by %s", (engine) => {
  test("calls of every kind leave no descriptor open, whether they succeed or fail", async () => {
    await inArena(async (arena) => {
      const atFirst = openDescriptors();
      const files = await openFiles(arena.root, engine);
      let opened: string[] | undefined;
      const codes: Record<string, number> = {};
      for (let round = 0; round < ROUNDS / 10; round++) {
        arena.reset();
        plant(arena);
        for (const [code, count] of Object.entries(await everyCall(files))) codes[code] = (codes[code] ?? 0) + count;
        // The last handle of a replaced file is closed in the thread pool.
        opened ??= openDescriptors().filter((path) => !path.endsWith("(deleted)"));
      }
      await expectClosedSoon(opened ?? []);
      expect(Object.keys(codes).sort()).toEqual(EVERY_CODE);
      await files.close();
      await expectClosedSoon(atFirst);
    });
  });

  test("calls that are aborted or run out of time leave no descriptor open", async () => {
    await inArena(async (arena) => {
      arena.file("large", Buffer.alloc(2_000_000));
      for (let n = 0; n < 50; n++) arena.file(`many/${n}/x`);
      // Apart, so that on a busy machine a deadline never comes before the end that is meant.
      const patient = await openFiles(arena.root, engine, { durability: "flush" });
      const hasty = await openFiles(arena.root, engine, { durability: "flush", limits: { timeoutMs: 20 } });
      try {
        for (const files of [patient, hasty]) {
          while ((await outcomeOf(files.invoke("stat", { path: "" }))).code !== "ok");
        }
        const before = openDescriptors();
        for (let round = 0; round < ROUNDS; round++) await abortedCalls(round % 3 === 2 ? hasty : patient, round);
        await expectClosedSoon(before);
      } finally {
        await patient.close();
        await hasty.close();
      }
    });
  });
});

const EVERY_CODE = [
  "DANGLING_SYMLINK",
  "EXISTS_NOT_DIRECTORY",
  "INVALID_PATH",
  "IS_A_DIRECTORY",
  "NOT_A_DIRECTORY",
  "NOT_EMPTY",
  "NOT_FOUND",
  "PARENT_MISSING",
  "PATH_ESCAPES_ROOT",
  "ROOT_DELETE",
  "SYMLINK_ESCAPE",
  "ok",
];

async function abortedCalls(files: Files, round: number): Promise<void> {
  const controller = new AbortController();
  const context = {
    signal: controller.signal,
    resolveAsset: async () => ({ content: endless() }),
  };
  const calls = [
    files.invoke("read", { path: "large" }, context),
    files.invoke("write", { path: `new${round}`, content: "x" }, context),
    files.invoke("write", { path: `streamed${round}`, asset: "a", parents: true }, context),
    files.invoke("append", { path: `appended${round}`, asset: "a" }, context),
    files.invoke("mkdir", { path: `made/${round}/deep`, parents: true }, context),
    files.invoke("tree", { path: "", maxDepth: 10, info: "size" }, context),
    files.invoke("delete", { path: `many/${round}`, recursive: true }, context),
  ];
  const outcomes = Promise.all(calls.map(outcomeOf));
  if (round % 3 === 0) controller.abort();
  else if (round % 3 === 1) setImmediate(() => controller.abort());
  const codes = (await outcomes).map(({ code }) => code);
  expect(codes.filter((code) => !["ok", "ABORTED", "TIMEOUT"].includes(code))).toEqual([]);
  expect(codes).toContain(round % 3 === 2 ? "TIMEOUT" : "ABORTED");
}

async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    yield Buffer.from("x");
  }
}

test("a waiting call does not hold a descriptor per level of its path", async () => {
  await inArena(async ({ root }) => {
    const path = Array.from({ length: 100 }, (_, n) => `d${n}`).join("/");
    mkdirSync(join(root, path), { recursive: true });
    const files = await openFiles(root);
    await files.invoke("stat", { path });
    const before = openDescriptors();
    let during = before;
    const resolveAsset = async () => {
      during = openDescriptors();
      return { content: Buffer.from("x") };
    };
    await files.invoke("write", { path: `${path}/file`, asset: "a" }, { resolveAsset });
    await files.close();
    expect(during.length - before.length).toBeLessThan(5);
  });
});
