// What was purged is in no file of the venue, and in no backup that is made later.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { createFileAdapter, type FileAdapter } from "../../../src/index.js";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder } from "../process.js";

afterAll(cleanUp);

const SECRET = "THE-KEY-THAT-SHOULD-NOT-BE";
/** On pages with others, on pages of their own, and in the trash. */
const SIZES = [40, 300, 1_500, 2_000, 2_100, 4_000, 9_000, 60_000, 90_000];

const secret = (size: number, index: number): string =>
  `${SECRET}-${index} `.repeat(Math.ceil(size / 20)).slice(0, size);

/** Files in a folder that hold the secret. */
function found(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(SECRET.slice(0, 16)))
    .map((path) => path.slice(folder.length + 1));
}

function makeVenue() {
  const config = {
    seedFile: "./seed",
    stateDir: "./state",
    file: { roots: { r: { path: "./r", durability: "none" } } },
  };
  const folder = makeFolder({ "venue.json5": JSON.stringify(config) });
  mkdirSync(join(folder, "r"));
  const open = (): Promise<FileAdapter> =>
    createFileAdapter({
      stateDir: join(folder, "state"),
      roots: { r: { path: join(folder, "r"), durability: "none" } },
    });
  return { folder, open };
}

/** Replaces and deletes many contents, the secret ones among others that stay. */
async function change(files: FileAdapter, rounds: number): Promise<void> {
  const run = (op: string, input: object) => files.invoke(`file:${op}` as never, { root: "r", ...input } as never);
  for (let round = 0; round < rounds; round++) {
    for (const [index, size] of SIZES.entries()) {
      for (const [path, content] of [
        [`secrets/${index}`, secret(size, index + round)],
        [`others/${index}`, "o".repeat(size)],
      ] as const) {
        await run("write", { path, content, parents: true });
        await run("write", { path, content: "nothing" });
        await run("write", { path, content });
        await run(index % 2 === 0 ? "delete" : "write", { path, ...(index % 2 === 0 ? {} : { content: "gone" }) });
      }
    }
  }
}

describe("what was purged", () => {
  test.each([1, 6])("is in no file of the venue and in no backup (%d rounds)", async (rounds) => {
    const { folder, open } = makeVenue();
    const files = await open();
    await change(files, rounds);
    await files.invoke("file:history", { root: "r" });
    expect(found(folder).length).toBeGreaterThan(0);
    const { purged } = (await files.invoke("file:purge", { root: "r", path: "secrets" })) as { purged: number };
    expect(purged).toBeGreaterThan(SIZES.length * rounds);
    expect(found(folder)).toEqual([]);
    // What others kept is still there.
    const { entries } = (await files.invoke("file:history", { root: "r", path: "others", limit: 500 })) as {
      entries: { undoable: boolean }[];
    };
    expect(entries.every(({ undoable }) => undoable)).toBe(true);
    await files.invoke("file:undo", { root: "r", last: 1 });
    expect(existsSync(join(folder, "r/others/8"))).toBe(true);
    await files.close();
    const made = await runHere(
      ["backup", "create", "later.tar", "--plaintext", "--roots", "r", "--config", "venue.json5"],
      {
        cwd: folder,
      },
    );
    expect(made).toMatchObject({ status: 0 });
    expect(readFileSync(join(folder, "later.tar")).length).toBeGreaterThan(100_000);
    expect(found(folder)).toEqual([]);
  });

  test("is gone where another process has the journal open", async () => {
    const { folder, open } = makeVenue();
    const files = await open();
    await change(files, 1);
    const purge = await runHere(["purge", "-y", "r:secrets", "--config", "venue.json5"], { cwd: folder });
    expect(purge.status).toBe(0);
    // Notes of the other process go a second after they have ended.
    for (const end = Date.now() + 20_000; found(folder).length > 0 && Date.now() < end; ) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(found(folder)).toEqual([]);
    await files.close();
  });

  test("was pruned before, or left by a process that was killed", async () => {
    const { folder, open } = makeVenue();
    const config = { path: join(folder, "r"), durability: "none", journalQuota: { entries: 20 } } as const;
    const small = await createFileAdapter({ stateDir: join(folder, "state"), roots: { r: config } });
    await change(small, 2);
    await small.close();
    writeFileSync(join(folder, "r", "f"), "left");
    const files = await open();
    await files.invoke("file:purge", { root: "r", all: true });
    expect(found(folder)).toEqual([]);
    await files.close();
  });
});
