import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { type Arena, INSIDE, inArena, makeArena } from "../arena.js";
import { ENGINES, outcomeOf, withFiles } from "../files.js";
import { ATTEMPT_NAMES, ATTEMPTS } from "./attempts.js";

/** A call that takes longer waits for somebody at the other end. */
const DEADLINE_MS = 2000;

const ANSWERS: Readonly<Record<string, string>> = {
  list: "NOT_A_DIRECTORY",
  tree: "NOT_A_DIRECTORY",
  grep: "NOT_A_DIRECTORY",
  read: "NOT_A_FILE",
  stat: "ok",
  write: "NOT_A_FILE",
  "write, parents": "NOT_A_FILE",
  append: "NOT_A_FILE",
  "append, parents": "NOT_A_FILE",
  mkdir: "EXISTS_NOT_DIRECTORY",
  "mkdir, parents": "EXISTS_NOT_DIRECTORY",
  delete: "ok",
  "delete, recursive": "ok",
};

interface SpecialFile {
  readonly name: string;
  /** Answers what ends it. */
  make(path: string): Promise<() => void>;
  readonly possible: boolean;
}

const SPECIAL_FILES: readonly SpecialFile[] = [
  {
    name: "FIFO",
    possible: canRun((path) => execFileSync("mkfifo", [path])),
    make: async (path) => {
      execFileSync("mkfifo", [path]);
      return () => {};
    },
  },
  {
    name: "socket",
    possible: process.platform !== "win32",
    make: async (path) => {
      const server = createServer();
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(path, resolve);
      });
      return () => server.close();
    },
  },
  {
    // Reading from it would never end.
    name: "character device like /dev/zero",
    possible: canRun((path) => execFileSync("mknod", [path, "c", "1", "5"], { stdio: "ignore" })),
    make: async (path) => {
      execFileSync("mknod", [path, "c", "1", "5"]);
      return () => {};
    },
  },
];

describe.each(SPECIAL_FILES)("$name", ({ make, possible }) => {
  const maybe = possible ? test : test.skip;

  maybe.each(ENGINES)(
    `answers at once by %s${possible ? "" : " (this system does not let us make one)"}`,
    async (engine) => {
      await inArena(async ({ root }) => {
        const path = join(root, "special");
        const answers: Record<string, string> = {};
        await withFiles(
          root,
          async (files) => {
            for (const name of ATTEMPT_NAMES) {
              const end = existsSync(path) ? () => {} : await make(path);
              answers[name] = (await inTime(outcomeOf(ATTEMPTS[name].run(files, "special")))).code;
              end();
            }
          },
          { engine },
        );
        expect(answers).toEqual(ANSWERS);
      });
    },
  );

  maybe("is an entry of type other, and is seen through a link", async () => {
    await inArena(async ({ root }) => {
      const end = await make(join(root, "special"));
      symlinkSync("special", join(root, "zlink"));
      await withFiles(root, async (files) => {
        const { output } = await inTime(outcomeOf(files.invoke("list")));
        expect(output?.["entries"]).toContainEqual(
          expect.objectContaining({ name: "special", type: "other", size: 0 }),
        );
        expect((await inTime(outcomeOf(files.invoke("stat", { path: "zlink" })))).output).toMatchObject({
          type: "other",
          size: 0,
          symlink: true,
        });
        expect((await inTime(outcomeOf(files.invoke("read", { path: "zlink" })))).code).toBe("NOT_A_FILE");
        expect((await inTime(outcomeOf(files.invoke("append", { path: "zlink", content: "x" })))).code).toBe(
          "NOT_A_FILE",
        );
        expect((await inTime(outcomeOf(files.invoke("tree", { info: "size" })))).output?.["tree"]).toContain(
          "\tspecial\n",
        );
      });
      end();
    });
  });

  maybe("goes with the directory it stands in", async () => {
    await inArena(async ({ root }) => {
      const end = await make(join(root, "dir/inner/special"));
      await withFiles(root, (files) => inTime(files.invoke("delete", { path: "dir", recursive: true })));
      expect(existsSync(join(root, "dir"))).toBe(false);
      end();
    });
  });
});

describe("many calls on FIFOs that nobody has open", () => {
  const { possible } = SPECIAL_FILES[0] as SpecialFile;
  const maybe = possible ? test : test.skip;
  const reason = possible ? "" : " (this system has no FIFOs)";

  maybe.each(ENGINES)(`do not keep others waiting, by %s${reason}`, async (engine) => {
    await inArena(async (arena) => {
      const fifos = makeFifos(arena, 20);
      await withFiles(
        arena.root,
        async (files) => {
          const calls = fifos.flatMap((path) => [
            outcomeOf(files.invoke("read", { path })),
            outcomeOf(files.invoke("append", { path, content: "x" })),
          ]);
          expect(await inTime(files.invoke("read", { path: "file.txt" }))).toMatchObject({ content: INSIDE });
          expect((await inTime(Promise.all(calls))).map(({ code }) => code)).toEqual(calls.map(() => "NOT_A_FILE"));
        },
        { engine },
      );
    });
  });

  maybe(`control: plain opens of them hang${reason}`, async () => {
    const arena = makeArena();
    const [fifo = ""] = makeFifos(arena, 1);
    const path = join(arena.root, fifo);
    // In a process of its own: in this one each would occupy a thread of the pool until someone writes.
    const script = `require("node:fs").readFileSync(${JSON.stringify(path)})`;
    expect(() => execFileSync(process.execPath, ["-e", script], { timeout: 700, stdio: "ignore" })).toThrow(
      "ETIMEDOUT",
    );
    arena.remove();
  });
});

test("a FIFO with a reader gets nothing from a write", async () => {
  await inArena(async (arena) => {
    const [fifo = ""] = makeFifos(arena, 1);
    const fd = openSync(join(arena.root, fifo), constants.O_RDWR | constants.O_NONBLOCK);
    try {
      writeSync(fd, "mine");
      await withFiles(arena.root, async (files) => {
        expect((await inTime(outcomeOf(files.invoke("append", { path: fifo, content: "theirs" })))).code).toBe(
          "NOT_A_FILE",
        );
        expect((await inTime(outcomeOf(files.invoke("read", { path: fifo })))).code).toBe("NOT_A_FILE");
      });
      const buffer = Buffer.alloc(100);
      expect(buffer.toString("utf8", 0, readSync(fd, buffer))).toBe("mine");
    } finally {
      closeSync(fd);
    }
  });
});

test("a special file that replaces a file is not opened", async () => {
  await inArena(async ({ root }) => {
    await withFiles(root, async (files) => {
      // The content comes only after the walk, so the exchange falls between the look at the target and its use.
      const resolveAsset = async () => {
        rmSync(join(root, "file.txt"));
        execFileSync("mkfifo", [join(root, "file.txt")]);
        return { content: Buffer.from("x") };
      };
      for (const operation of ["append", "write"]) {
        const call = files.invoke(operation, { path: "file.txt", asset: "a" }, { resolveAsset });
        const { code } = await inTime(outcomeOf(call));
        expect(["ok", "NOT_A_FILE"]).toContain(code);
        if (code !== "ok") expect(lstatSync(join(root, "file.txt")).isFIFO()).toBe(true);
        rmSync(join(root, "file.txt"), { force: true });
        writeFileSync(join(root, "file.txt"), "again");
      }
    });
  });
});

function makeFifos({ root }: Arena, count: number): string[] {
  return Array.from({ length: count }, (_, n) => {
    execFileSync("mkfifo", [join(root, `fifo${n}`)]);
    return `fifo${n}`;
  });
}

async function inTime<T>(call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${DEADLINE_MS} ms`)), DEADLINE_MS);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
}

function canRun(make: (path: string) => unknown): boolean {
  const arena = makeArena();
  try {
    make(join(arena.root, "probe"));
    return true;
  } catch {
    return false;
  } finally {
    arena.remove();
  }
}
