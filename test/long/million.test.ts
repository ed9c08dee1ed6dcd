import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Files, openFiles } from "../jail/files.js";
import { openMcpGround } from "../surfaces/mcp/resources/ways.js";

const DIRECTORIES = 10;
const FILES_EACH = 100_000;

describe("a million entries", () => {
  let root: string;
  let files: Files;
  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), "venue-million-"));
    for (let directory = 0; directory < DIRECTORIES; directory++) {
      const path = join(root, "big", `d${directory}`);
      mkdirSync(path, { recursive: true });
      for (let file = 0; file < FILES_EACH; file++) closeSync(openSync(join(path, `f${file}`), "w"));
    }
    files = await openFiles(root, "handle walk", { limits: { timeoutMs: 600_000 } });
  });
  afterAll(async () => {
    await files.close();
    rmSync(root, { recursive: true, force: true });
  });

  test("are listed a page at a time, each exactly once", async () => {
    const seen = new Set<string>();
    for (let offset = 0; offset < FILES_EACH; offset += 10_000) {
      const { entries, total } = await files.invoke("list", { path: "big/d3", offset, limit: 10_000 });
      expect(total).toBe(FILES_EACH);
      for (const { name } of entries as { name: string }[]) seen.add(name);
    }
    expect(seen.size).toBe(FILES_EACH);
  });

  test("are completed in no more than twice the time of bare reading", async () => {
    const path = join(root, "big", "d3");
    const ground = await openMcpGround({ roots: () => ({ docs: { path } }) });
    const way = ground.way("modern over HTTP");
    const ref = { type: "ref/resource", uri: "venue://{root}/{+path}" };
    const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
      const start = performance.now();
      await work();
      return performance.now() - start;
    };
    const [bare, completed]: [number[], number[]] = [[], []];
    for (let round = 0; round < 9; round++) {
      bare.push(await timeOf(() => readdir(path)));
      completed.push(
        await timeOf(async () => {
          const { result } = await way.ask("completion/complete", { ref, argument: { name: "path", value: "" } });
          expect(result.completion).toMatchObject({ hasMore: true, values: { length: 100 } });
        }),
      );
    }
    await ground.close();
    const ratio = Math.min(...completed) / Math.min(...bare);
    process.stdout.write(`completion: ${ratio.toFixed(2)} times bare reading\n`);
    expect(ratio).toBeLessThan(2);
  });

  test("do not make a tree longer than it was asked for", async () => {
    expect(await files.invoke("tree", {})).toMatchObject({ entries: 500, truncated: true });
  });

  test("are gone at once for everyone when they are deleted, and soon from the disk", async () => {
    const deleting = files.invoke("delete", { path: "big", recursive: true });
    let served = 0;
    const done = deleting.then(() => true);
    // Other calls are served while the tree is emptied.
    while (!(await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 20, false))]))) {
      expect(await files.invoke("stat", { path: "big" })).toEqual({ exists: false });
      served++;
    }
    expect(await deleting).toEqual({ deleted: true, existed: true });
    expect(served).toBeGreaterThan(3);
    await files.close();
    expect(readdirSync(root)).toEqual([]);
    files = await openFiles(root);
  });
});
