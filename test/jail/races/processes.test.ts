import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { stagedIn } from "../../staged.js";
import { INSIDE, inArena, staged } from "../arena.js";
import { ENGINES, outcomeOf, ROOT, withFiles } from "../files.js";
import { startChild, withChild } from "../start-child.js";
import { contend } from "./contending.js";

describe("writers that count by compare and set lose no update, and each version has one winner", () => {
  test.each([
    { processes: 1, writers: 4, wins: 60 },
    { processes: 2, writers: 2, wins: 60 },
    { processes: 3, writers: 1, wins: 50 },
  ])("$processes processes with $writers writers, who win $wins times each", async (contest) => {
    expect((await contend(contest)).won).toBe(contest.processes * contest.writers * contest.wins);
  });
});

describe.each(ENGINES)("while the content of an append is on its way, by %s", (engine) => {
  /** Appends to file.txt, and has `meanwhile` done between the walk and the append. */
  const appendDuring = (meanwhile: (root: string, write: (content: string) => Promise<unknown>) => unknown) =>
    inArena(async ({ root }) =>
      withFiles(
        root,
        async (files) => {
          const resolveAsset = async () => {
            await meanwhile(root, (content) => files.invoke("write", { path: "file.txt", content }));
            return { content: Buffer.from("+") };
          };
          const outcome = await outcomeOf(files.invoke("append", { path: "file.txt", asset: "a" }, { resolveAsset }));
          return { outcome, content: outcome.code === "ok" ? readFileSync(join(root, "file.txt"), "utf8") : undefined };
        },
        { engine },
      ),
    );

  test("a call of the same adapter replaces the file: the append goes to the new one", async () => {
    const { outcome, content } = await appendDuring((_root, write) => write("new"));
    expect(outcome).toMatchObject({ code: "ok", output: { appended: 1, created: false } });
    expect(content).toBe("new+");
  });

  test("another process replaces the file: the append goes to the new one", async () => {
    const { outcome, content } = await appendDuring((root) => {
      writeFileSync(join(root, "other"), "other");
      renameSync(join(root, "other"), join(root, "file.txt"));
    });
    expect(outcome.code).toBe("ok");
    expect(content).toBe("other+");
  });

  test("another process removes the file: the append makes it again", async () => {
    const { outcome, content } = await appendDuring((root) => rmSync(join(root, "file.txt")));
    expect(outcome).toMatchObject({ code: "ok", output: { appended: 1, created: true } });
    expect(content).toBe("+");
  });

  test("a directory takes the file's place: the append is refused", async () => {
    const { outcome } = await appendDuring((root) => {
      rmSync(join(root, "file.txt"));
      mkdirSync(join(root, "file.txt"));
    });
    expect(outcome.code).toBe("IS_A_DIRECTORY");
  });
});

describe.each(ENGINES)("calls at the same time, by %s", (engine) => {
  test("exactly one of many writes to a new name reports that it created the file", async () => {
    await inArena(async ({ root }) => {
      await withFiles(
        root,
        async (files) => {
          const writes = Array.from({ length: 20 }, (_, n) => files.invoke("write", { path: "new", content: `${n}` }));
          const created = (await Promise.all(writes)).filter((output) => output["created"] === true);
          expect(created).toHaveLength(1);
        },
        { engine, durability: "flush" },
      );
    });
  });

  test("no append is lost to others", async () => {
    await inArena(async ({ root }) => {
      await withFiles(
        root,
        async (files) => {
          const lines = Array.from({ length: 200 }, (_, n) => `${n}\n`);
          const appends = lines.map((line) => files.invoke("append", { path: "log", content: line }));
          const created = (await Promise.all(appends)).filter((output) => output["created"] === true);
          expect(created).toHaveLength(1);
          expect(readFileSync(join(root, "log"), "utf8").split("\n").sort()).toEqual(lines.join("").split("\n").sort());
        },
        { engine },
      );
    });
  });

  test("an append after a completed write is never lost to a replaced file", async () => {
    await inArena(async ({ root }) => {
      await withFiles(
        root,
        async (files) => {
          for (let round = 0; round < 20; round++) {
            const content = `${round}:`;
            const calls = [
              files.invoke("write", { path: "file.txt", content }),
              ...Array.from({ length: 5 }, () => files.invoke("append", { path: "file.txt", content: "+" })),
            ];
            await Promise.all(calls);
            // What was appended before the write is gone with the old file; the rest stands behind it.
            expect(readFileSync(join(root, "file.txt"), "utf8")).toMatch(new RegExp(`^${content}\\+{0,5}$`));
          }
          await files.invoke("write", { path: "file.txt", content: "last:" });
          await files.invoke("append", { path: "file.txt", content: "+" });
          expect(readFileSync(join(root, "file.txt"), "utf8")).toBe("last:+");
        },
        { engine },
      );
    });
  });

  test("a tree is removed while others write in it: no call fails otherwise than for want of it, nothing stays behind", async () => {
    await inArena(async ({ root }) => {
      await withFiles(
        root,
        async (files) => {
          for (let round = 0; round < 10; round++) {
            mkdirSync(join(root, "tree/sub"), { recursive: true });
            const outcomes = await Promise.all([
              ...Array.from({ length: 5 }, (_, n) =>
                outcomeOf(files.invoke("write", { path: `tree/sub/${n}`, content: "x" })),
              ),
              ...Array.from({ length: 5 }, (_, n) =>
                outcomeOf(files.invoke("append", { path: `tree/a${n}`, content: "x" })),
              ),
              outcomeOf(files.invoke("delete", { path: "tree", recursive: true })),
              ...Array.from({ length: 5 }, (_, n) => outcomeOf(files.invoke("mkdir", { path: `tree/sub/d${n}` }))),
            ]);
            const allowed = ["ok", "NOT_FOUND", "PARENT_MISSING"];
            expect(outcomes.map(({ code }) => code).filter((code) => !allowed.includes(code))).toEqual([]);
            rmSync(join(root, "tree"), { recursive: true, force: true });
          }
        },
        { engine },
      );
      expect(staged(root)).toBeUndefined();
      expect(readdirSync(root).sort()).toEqual(["dir", "file.txt"]);
    });
  });

  test("a file and a directory alternate under one name: every answer was true at some moment", async () => {
    await inArena(async ({ root }) => {
      await withFiles(
        root,
        async (files) => {
          for (let round = 0; round < 30; round++) {
            const outcomes = await Promise.all([
              outcomeOf(files.invoke("mkdir", { path: "both" })),
              outcomeOf(files.invoke("delete", { path: "both" })),
              outcomeOf(files.invoke("write", { path: "both", content: INSIDE })),
              outcomeOf(files.invoke("delete", { path: "both", recursive: true })),
              outcomeOf(files.invoke("append", { path: "both", content: "+" })),
              outcomeOf(files.invoke("delete", { path: "both" })),
            ]);
            const allowed = ["ok", "IS_A_DIRECTORY", "EXISTS_NOT_DIRECTORY", "NOT_EMPTY"];
            expect(outcomes.map(({ code }) => code).filter((code) => !allowed.includes(code))).toEqual([]);
          }
        },
        { engine },
      );
    });
  });
});

let root: string;

const config = () => ({ roots: { [ROOT]: { path: root, durability: "none" as const } } });

describe("two processes on one root", () => {
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "venue-two-"));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  test("do not lose each other's appends", async () => {
    await withChild({ config: config() }, (one) =>
      withChild({ config: config() }, async (two) => {
        const lines = Array.from({ length: 100 }, (_, index) => index);
        const calls = lines.flatMap((line) =>
          [one, two].map((child, who) => child.invoke("append", { path: "log.txt", content: `${who}-${line}\n` })),
        );
        for (const { code } of await Promise.all(calls)) expect(code).toBe("ok");
      }),
    );
    const found = readFileSync(join(root, "log.txt"), "utf8").trimEnd().split("\n");
    expect(found.sort()).toEqual(
      [0, 1].flatMap((who) => Array.from({ length: 100 }, (_, line) => `${who}-${line}`)).sort(),
    );
  });

  test("never show mixed content", async () => {
    const bodies = ["x", "y"].map((letter) => letter.repeat(200_000));
    await withChild({ config: config() }, (one) =>
      withChild({ config: config() }, async (two) => {
        const writes = Array.from({ length: 20 }, () =>
          [one, two].map((child, who) => child.invoke("write", { path: "same.txt", content: bodies[who] })),
        ).flat();
        const reads = Array.from({ length: 40 }, () => one.invoke("read", { path: "same.txt" }));
        for (const { code } of await Promise.all(writes)) expect(code).toBe("ok");
        for (const { code, output } of await Promise.all(reads)) {
          if (code === "ok") expect(bodies.includes(String(output?.["content"]))).toBe(true);
          else expect(code).toBe("NOT_FOUND");
        }
      }),
    );
    expect(readdirSync(root)).toEqual(["same.txt"]);
  });

  test("leave each other's staged files alone at a start, which removes those of dead processes", async () => {
    const living = await startChild({ config: config() });
    try {
      // The directory exists from the first write on; a file in it with a living process's name is not to be touched.
      await living.invoke("write", { path: "a.txt", content: "a" });
      const staging = join(root, ".venue-files");
      const own = (pid: number) => `${bootId()}-${namespaceId()}-${pid}-0-${"0".repeat(16)}`;
      writeFileSync(join(staging, own(living.pid)), "living");
      writeFileSync(join(staging, own(2 ** 22 + 1)), "dead");
      await withChild({ config: config() }, async () => {});
      expect(stagedIn(dirname(staging))).toEqual([own(living.pid)]);
    } finally {
      await living.kill();
    }
  });
});

const bootId = () => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);

const namespaceId = () => /\[(\d+)\]/.exec(readlinkSync("/proc/self/ns/pid"))?.[1] ?? "0";
