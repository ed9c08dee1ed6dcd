import { execFileSync } from "node:child_process";
import fs, {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { simulateSystem } from "../../../src/core/system.js";
import { createFileAdapter, type FileAdapter } from "../../../src/index.js";
import { below, entryPath, type Pinned } from "../../../src/jail/handles.js";
import { type Arena, CANARY, INSIDE, inArena, makeArena } from "../arena.js";
import { ENGINES, outcomeOf, ROOT, withFiles } from "../files.js";
import { type Child, mounted, mountsPossible, withChild } from "../start-child.js";
import { ATTEMPT_NAMES, ATTEMPTS } from "./attempts.js";

/** A call that takes longer waits for somebody at the other end. */
const DEADLINE_MS = 60_000;

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

const { possible, reason } = mountsPossible("mount -t tmpfs tmpfs /mnt");
const maybe = possible ? test : test.skip;
const OVERLAY = mountsPossible(
  "d=$(mktemp -d); mount -t tmpfs tmpfs $d; mkdir $d/l $d/u $d/w; mount -t overlay o -o lowerdir=$d/l,upperdir=$d/u,workdir=$d/w /mnt",
);
const overlays = OVERLAY.possible ? test : test.skip;

/** Of a file with {@link INSIDE}. */
const CHANGES_ONE = `*** Begin Patch\n*** Update File: dir/from-here\n@@\n-${INSIDE.trimEnd()}\n+changed\n*** End Patch\n`;
const ADDS_TWO = "*** Begin Patch\n*** Add File: added\n+x\n*** Add File: dir/added\n+x\n*** End Patch\n";

/** Runs `work` with an adapter that sees another file system at `dir` in its root; nobody else sees it. */
async function withMount(
  options: { crossDevice: boolean },
  work: (child: Child, arena: Arena) => Promise<void>,
): Promise<void> {
  await inArena(async (arena) => {
    arena.link("to-mount", "dir");
    arena.link("into-mount", "dir/sub");
    const dir = join(arena.root, "dir");
    const under = mounted(
      `mount -t tmpfs tmpfs ${dir}`,
      `mkdir ${dir}/sub`,
      `echo other > ${dir}/sub/file`,
      `ln -s ../file.txt ${dir}/back`,
      `ln -s nowhere ${dir}/dangling`,
      `ln -s /etc/passwd ${dir}/out`,
      `cp ${dir}/sub/file ${dir}/file`,
    );
    const roots = { [ROOT]: { path: arena.root, ...options } };
    await withChild({ config: { roots }, under }, (child) => work(child, arena));
  });
}

describe("another file system mounted in a root", () => {
  maybe(`is refused, whatever is asked of it${reason}`, async () => {
    await withMount({ crossDevice: false }, async (child) => {
      const paths = ["dir", "dir/sub", "dir/file", "dir/sub/file", "to-mount", "into-mount/file"];
      // What is there, and what it is, is not told either.
      const unseen = ["dir/missing", "dir/missing/below", "dir/file/below", "dir/back", "dir/dangling", "dir/out"];
      for (const path of [...paths, ...unseen]) {
        for (const [operation, input] of [
          ["list", {}],
          ["tree", {}],
          ["read", {}],
          ["stat", {}],
          ["write", { content: "x", parents: true }],
          ["append", { content: "x", parents: true }],
          ["mkdir", { parents: true }],
        ] as const) {
          const { code, message } = await child.invoke(operation, { path, ...input });
          expect([path, operation, code]).toEqual([path, operation, "OTHER_DEVICE"]);
          expect(message).toBe(`Path is on another file system: ${path} (root option crossDevice)`);
        }
      }
      for (const path of ["dir", "dir/sub", "dir/file"]) {
        expect((await child.invoke("delete", { path, recursive: true })).code).toBe("OTHER_DEVICE");
      }
    });
  });

  maybe(`is an entry, but nothing in it is shown${reason}`, async () => {
    await withMount({ crossDevice: false }, async (child) => {
      const { output } = await child.invoke("tree", { maxDepth: 10 });
      expect(output?.["tree"]).toBe("r/\n\tdir/\n\tfile.txt\n\tinto-mount@\n\tto-mount@\n");
      expect((await child.invoke("list", {})).output?.["total"]).toBe(4);
    });
  });

  maybe(`is walked into where the root says so${reason}`, async () => {
    await withMount({ crossDevice: true }, async (child) => {
      expect((await child.invoke("read", { path: "dir/sub/file" })).output).toMatchObject({ content: "other\n" });
      expect((await child.invoke("read", { path: "dir/back" })).output).toMatchObject({ content: INSIDE });
      expect((await child.invoke("read", { path: "dir/out" })).code).toBe("SYMLINK_ESCAPE");
      expect((await child.invoke("tree", { maxDepth: 10 })).output?.["tree"]).toContain("\t\tsub/\n\t\t\tfile\n");
      for (const [operation, input] of [
        ["write", { path: "dir/sub/new", content: "new" }],
        ["write", { path: "dir/sub/file", content: "replaced" }],
        ["append", { path: "dir/sub/file", content: "+" }],
        ["mkdir", { path: "dir/sub/a/b", parents: true }],
        ["delete", { path: "dir/sub/a", recursive: true }],
      ] as const) {
        expect((await child.invoke(operation, input)).code).toBe("ok");
      }
      expect((await child.invoke("read", { path: "dir/sub/file" })).output).toMatchObject({ content: "replaced+" });
      expect((await child.invoke("list", { path: "dir/sub" })).output).toMatchObject({
        total: 2,
        entries: [{ name: "file" }, { name: "new" }],
      });
    });
  });

  maybe(`gives the trash copies of small files, and says what it cannot keep${reason}`, async () => {
    await inArena(async (arena) => {
      const mount = join(arena.root, "dir");
      mkdirSync(mount, { recursive: true });
      const under = mounted(
        `mount -t tmpfs tmpfs ${mount}`,
        `mkdir ${mount}/tree`,
        `echo deep > ${mount}/tree/file`,
        `echo other > ${mount}/file`,
        `chmod 640 ${mount}/file`,
        `truncate -s 17000000 ${mount}/large`,
      );
      const root = { path: arena.root, crossDevice: true };
      const stateDir = join(arena.base, "state");
      await withChild({ config: { roots: { [ROOT]: root }, stateDir }, under }, async (child) => {
        const { output } = await child.invoke("delete", { path: "dir/file" });
        expect(output).toMatchObject({ deleted: true, trashed: true });
        expect((await child.invoke("stat", { path: "dir/file" })).output).toEqual({ exists: false });
        const id = String(output?.["id"]);
        const version = `${id}:before`;
        expect((await child.invoke("read", { path: "dir/file", version })).output).toMatchObject({
          content: "other\n",
        });
        expect((await child.invoke("trash", {})).output?.["entries"]).toMatchObject([
          { id, path: "dir/file", size: 6 },
        ]);
        // A group of changes, such as an undo, goes by renames.
        expect((await child.invoke("undo", { id })).code).toBe("NOT_SUPPORTED");
        expect((await child.invoke("write", { path: "dir/new", content: "new" })).code).toBe("ok");
        expect((await child.invoke("write", { path: "here", content: "new" })).code).toBe("ok");
        expect((await child.invoke("history", {})).output?.["entries"]).toMatchObject([
          { path: "here", undoable: true },
          { path: "dir/new", undoable: false, reason: "other_device" },
          { path: "dir/file", undoable: false, reason: "other_device" },
        ]);
        for (const path of ["dir/large", "dir/tree"]) {
          const deleted = await child.invoke("delete", { path, recursive: true });
          expect(deleted.output).toMatchObject({ deleted: true, trashed: false, reason: "other_device" });
        }
      });
      const strict = { ...root, trash: "required" as const };
      await withChild({ config: { roots: { [ROOT]: strict }, stateDir }, under }, async (child) => {
        expect((await child.invoke("delete", { path: "dir/file" })).output).toMatchObject({ trashed: true });
        for (const path of ["dir/large", "dir/tree"]) {
          expect((await child.invoke("delete", { path, recursive: true })).code).toBe("QUOTA_EXCEEDED");
          expect((await child.invoke("stat", { path })).output).toMatchObject({ exists: true });
        }
      });
    });
  });

  maybe(
    `gets files that are moved to it or from it by copying; groups of changes say what to do instead${reason}`,
    async () => {
      await withMount({ crossDevice: true }, async (child) => {
        for (const [path, to] of [
          ["dir/sub/file", "from-there"],
          ["file.txt", "dir/from-here"],
          ["dir/sub", "tree"],
        ]) {
          expect((await child.invoke("move", { path, to })).output).toMatchObject({ moved: true, atomic: false });
          expect((await child.invoke("stat", { path })).output).toEqual({ exists: false });
        }
        expect((await child.invoke("read", { path: "from-there" })).output).toMatchObject({ content: "other\n" });
        expect((await child.invoke("read", { path: "dir/from-here" })).output).toMatchObject({ content: INSIDE });
        // A group of one change, too; and where an earlier change decides what is there.
        const made = [
          { op: "write", path: "made", content: "x" },
          { op: "move", path: "made", to: "made-again" },
        ];
        const later = [
          { op: "delete", path: "dir/from-here" },
          { op: "move", path: "dir/from-here", to: "moved" },
        ];
        const patches = [{ patch: ADDS_TWO }, { patch: CHANGES_ONE }];
        for (const input of [...patches, ...later.map((change) => ({ changes: [...made, change] }))]) {
          expect(await child.invoke("patch", input)).toMatchObject({
            code: "NOT_SUPPORTED",
            message: expect.stringContaining("Change the files there one at a time, with file:write"),
          });
        }
        expect((await child.invoke("read", { path: "dir/from-here" })).output).toMatchObject({ content: INSIDE });
        expect((await child.invoke("stat", { path: "added" })).output).toEqual({ exists: false });
      });
    },
  );

  maybe(`is not emptied when the tree it is mounted in is removed${reason}`, async () => {
    await inArena(async (arena) => {
      const mount = join(arena.root, "tree/mounted");
      mkdirSync(mount, { recursive: true });
      writeFileSync(join(arena.root, "tree/file"), INSIDE);
      const kept = join(arena.outside, "kept");
      // What is mounted can be looked at from outside: a directory of the same file system, and one of another.
      mkdirSync(kept);
      writeFileSync(join(kept, "file"), INSIDE);
      const under = mounted(`mount --bind ${kept} ${mount}`);
      const before = arena.outsideNow();
      await withChild({ config: { roots: { [ROOT]: arena.root } }, under }, async (child) => {
        expect((await child.invoke("delete", { path: "tree", recursive: true })).code).toBe("ok");
        expect((await child.invoke("stat", { path: "tree" })).output).toEqual({ exists: false });
        expect((await child.invoke("delete", { path: "tree", recursive: true })).output).toMatchObject({
          existed: false,
        });
      });
      expect(arena.outsideNow()).toEqual(before);
    });
  });
});

describe("a part of a root that cannot be renamed into", () => {
  maybe(
    `from elsewhere in it is written beside the target: a bind mount of the same file system${reason}`,
    async () => {
      await inArena(async (arena) => {
        const mount = join(arena.root, "dir");
        const bound = join(arena.base, "bound");
        mkdirSync(join(bound, "tree/deep"), { recursive: true });
        writeFileSync(join(bound, "old"), INSIDE, { mode: 0o640 });
        const under = mounted(`mount --bind ${bound} ${mount}`);
        const content = "new".repeat(1_000_000);
        await withChild({ config: { roots: { [ROOT]: arena.root } }, under }, async (child) => {
          expect((await child.invoke("write", { path: "dir/new", content })).output).toMatchObject({
            written: content.length,
            created: true,
          });
          expect((await child.invoke("write", { path: "dir/old", content: "replaced" })).output).toMatchObject({
            written: 8,
            created: false,
          });
          expect((await child.invoke("delete", { path: "dir/tree", recursive: true })).output).toEqual({
            deleted: true,
            existed: true,
          });
        });
        expect(readFileSync(join(bound, "new"), "utf8")).toBe(content);
        const left = Object.entries(arena.insideNow());
        expect(left.some(([path]) => path.includes("venue-files"))).toBe(false);
        expect(readFileSync(join(bound, "old"), "utf8")).toBe("replaced");
        expect(readdirSync(bound).sort()).toEqual(["new", "old"]);
        expect(statSync(join(bound, "old")).mode & 0o777).toBe(0o640);
      });
    },
  );

  maybe(`takes copies and moves, but no groups of changes, whose error says what to do${reason}`, async () => {
    await inArena(async (arena) => {
      const bound = join(arena.base, "bound");
      mkdirSync(join(bound, "tree/deep"), { recursive: true });
      for (const name of ["file", "old", "tree/deep/file"]) writeFileSync(join(bound, name), name, { mode: 0o640 });
      const under = mounted(`mount --bind ${bound} ${join(arena.root, "dir")}`);
      await withChild({ config: { roots: { [ROOT]: arena.root } }, under }, async (child) => {
        for (const [operation, input, output] of [
          ["move", { path: "dir/file", to: "moved" }, { atomic: false }],
          ["move", { path: "moved", to: "dir/back" }, { atomic: false }],
          ["copy", { path: "dir/back", to: "here" }, { overwritten: false }],
          ["copy", { path: "here", to: "dir/a/b/new", parents: true }, { overwritten: false }],
          ["copy", { path: "here", to: "dir/old", overwrite: true }, { overwritten: true }],
          ["copy", { path: "dir/tree", to: "tree", recursive: true }, { files: 1 }],
          ["copy", { path: "tree", to: "dir/c/tree", recursive: true, parents: true }, { files: 1 }],
        ] as const) {
          expect((await child.invoke(operation, input)).output).toMatchObject(output);
        }
        const refused = [
          ["copy", { path: "here", to: "dir/old" }, { code: "ALREADY_EXISTS" }],
          ["copy", { path: "tree", to: "dir/c/tree", recursive: true }, { code: "ALREADY_EXISTS" }],
          [
            "patch",
            { patch: ADDS_TWO },
            { code: "NOT_SUPPORTED", message: expect.stringContaining("with file:write") },
          ],
        ] as const;
        for (const [operation, input, error] of refused) {
          expect(await child.invoke(operation, input)).toMatchObject(error);
        }
      });
      for (const name of ["back", "old", "a/b/new"]) {
        expect([name, readFileSync(join(bound, name), "utf8")]).toEqual([name, "file"]);
        expect([name, statSync(join(bound, name)).mode & 0o777]).toEqual([name, 0o640]);
      }
      expect(readFileSync(join(bound, "c/tree/deep/file"), "utf8")).toBe("tree/deep/file");
      expect(readdirSync(bound).sort()).toEqual(["a", "back", "c", "old", "tree"]);
      expect(Object.keys(arena.insideNow()).filter((path) => path.includes("venue-files"))).toEqual([]);
    });
  });

  overlays(`is removed piece by piece: the lower layer of a container's file system${OVERLAY.reason}`, async () => {
    await inArena(async (arena) => {
      const layers = join(arena.base, "layers");
      mkdirSync(layers);
      const under = mounted(
        `mount -t tmpfs tmpfs ${layers}`,
        `mkdir ${layers}/lower ${layers}/upper ${layers}/work`,
        `cp -a ${arena.root}/. ${layers}/lower`,
        `mkdir -p ${layers}/lower/tree/a/b`,
        `ln -s ${arena.outside} ${layers}/lower/tree/a/link`,
        `echo x > ${layers}/lower/tree/a/b/file`,
        `mount -t overlay overlay -o redirect_dir=off,lowerdir=${layers}/lower,upperdir=${layers}/upper,workdir=${layers}/work ${arena.root}`,
      );
      const outside = arena.outsideNow();
      await withChild({ config: { roots: { [ROOT]: arena.root } }, under }, async (child) => {
        expect((await child.invoke("write", { path: "file.txt", content: "new" })).code).toBe("ok");
        expect((await child.invoke("append", { path: "dir/file.txt", content: "+" })).code).toBe("ok");
        expect(await child.invoke("delete", { path: "tree", recursive: true })).toEqual({
          code: "ok",
          output: { deleted: true, existed: true },
        });
        expect((await child.invoke("stat", { path: "tree" })).output).toEqual({ exists: false });
        // A directory that holds one of the layer below, and one that only looks like it.
        await child.invoke("write", { path: "dir/made/here", content: "x", parents: true });
        expect((await child.invoke("delete", { path: "dir", recursive: true })).output).toMatchObject({
          deleted: true,
        });
        expect((await child.invoke("tree", {})).output?.["tree"]).toBe("r/\n\tfile.txt\n");
      });
      expect(arena.outsideNow()).toEqual(outside);
    });
  });
});

describe("links of Windows", () => {
  /**
   * What Windows would do: a path may be separated by backslashes, a directory replaces any file that has its new name and never a
   * directory, and no name that has one keeps its trailing dots.
   */
  let arena: Arena;
  let adapter: FileAdapter;
  const undo: (() => void)[] = [];

  beforeEach(async () => {
    arena = makeArena();
    undo.push(simulateSystem("win32"), actAsWindows());
    arena.file("secret/key.txt", "a secret");
    arena.file("kept/key.txt", "kept");
    adapter = await createFileAdapter({
      roots: { r: { path: arena.root, deny: ["secret/**"], protect: ["kept/**"], durability: "none" } },
    });
  });
  afterEach(async () => {
    await adapter.close();
    for (const one of undo.splice(0).reverse()) one();
    arena.remove();
  });

  function actAsWindows(): () => void {
    const { lstatSync, readdirSync: readdir, openSync, renameSync, rmSync } = fs;
    const { accessSync, linkSync, mkdirSync: mkdir, readlinkSync, rmdirSync, unlinkSync } = fs;
    const real = {
      lstatSync,
      readdirSync: readdir,
      openSync,
      renameSync,
      accessSync,
      linkSync,
      readlinkSync,
      rmdirSync,
      unlinkSync,
    };
    const slashed = (path: unknown): string => String(path).replaceAll("\\", "/");
    const asWindows = Object.fromEntries(
      (["lstatSync", "readdirSync", "openSync", "accessSync", "readlinkSync", "rmdirSync", "unlinkSync"] as const).map(
        (name) => [
          name,
          (path: unknown, ...rest: never[]) => (real[name] as (...all: unknown[]) => unknown)(slashed(path), ...rest),
        ],
      ),
    );
    Object.assign(fs, asWindows, {
      mkdirSync: (path: unknown, options: never) => mkdir(slashed(path), options),
      linkSync: (from: unknown, to: unknown) => linkSync(slashed(from), slashed(to)),
      renameSync(from: unknown, to: unknown) {
        const [old, now] = [from, to].map((path) => lstatSync(slashed(path), { throwIfNoEntry: false }));
        if (now?.isDirectory()) throw Object.assign(new Error("EPERM"), { code: "EPERM", syscall: "rename" });
        if (old?.isDirectory() && now !== undefined) rmSync(slashed(to));
        renameSync(slashed(from), slashed(to));
      },
    });
    return () => Object.assign(fs, real, { mkdirSync: mkdir });
  }

  const call = (operation: string, input: object, caps?: SurfaceContext["caps"]) =>
    adapter.invoke(`file:${operation}`, { root: "r", ...input }, caps === undefined ? {} : { caps }) as Promise<
      Record<string, unknown>
    >;
  const codeOf = (operation: string, input: object): Promise<string> =>
    call(operation, input).then(
      () => "ok",
      (error: { code?: string }) => String(error.code),
    );

  describe("a link", () => {
    test.each([
      ["relative", "..\\outside\\canary.txt", "..\\outside"],
      ["relative, by a way inside", "dir\\..\\..\\outside\\canary.txt", ".\\dir\\..\\..\\outside"],
      ["with both slashes", "dir/..\\../outside\\canary.txt", "../outside\\"],
    ])("that leads out is refused: %s", async (_name, file, folder) => {
      arena.link("file", file);
      arena.link("folder", folder);
      const before = arena.outsideNow();
      for (const operation of ["read", "stat", "list", "tree"]) {
        expect([operation, await codeOf(operation, { path: "folder" })]).toEqual([operation, "SYMLINK_ESCAPE"]);
      }
      for (const path of ["file", "folder/canary.txt"]) {
        expect(await codeOf("read", { path })).toBe("SYMLINK_ESCAPE");
        expect(await codeOf("write", { path, content: "x" })).toBe("SYMLINK_ESCAPE");
        expect(await codeOf("append", { path, content: "x" })).toBe("SYMLINK_ESCAPE");
        expect(await codeOf("copy", { path, to: "copied" })).toBe("SYMLINK_ESCAPE");
      }
      expect(await codeOf("delete", { path: "folder/canary.txt" })).toBe("SYMLINK_ESCAPE");
      expect(await codeOf("move", { path: "file.txt", to: "folder/new" })).toBe("SYMLINK_ESCAPE");
      const grep = JSON.stringify(await call("grep", { pattern: "canary", links: "follow" }));
      expect(grep).not.toContain(CANARY);
      const tree = await call("tree", { path: "" });
      expect(JSON.stringify(tree)).not.toContain("vault");
      expect(arena.outsideNow()).toEqual(before);
    });

    test("inside is judged by where it leads, not by its text", async () => {
      arena.link("dir/to-secret", "..\\secret");
      arena.link("dir/to-key", "..\\secret\\key.txt");
      arena.link("dir/to-kept", "..\\kept\\key.txt");
      arena.link("dir/to-stage", "..\\.venue-files\\x");
      arena.link("dir/to-inner", "inner\\deep.txt");
      arena.link("dir/to-file", "..\\file.txt");
      expect(await codeOf("read", { path: "dir/to-secret/key.txt" })).toBe("DENIED_BY_POLICY");
      expect(await codeOf("read", { path: "dir/to-key" })).toBe("DENIED_BY_POLICY");
      expect(await codeOf("write", { path: "dir/to-kept", content: "x" })).toBe("DENIED_BY_POLICY");
      expect(await codeOf("read", { path: "dir/to-stage" })).toBe("INVALID_PATH");
      const caps = [{ with: "file://r/dir/", can: "crud" }];
      expect(await call("read", { path: "dir/to-inner" }, caps)).toMatchObject({ content: INSIDE });
      await expect(call("read", { path: "dir/to-file" }, caps)).rejects.toMatchObject({ code: "CAPABILITY_DENIED" });
      await expect(call("append", { path: "dir/to-file", content: "x" }, caps)).rejects.toMatchObject({
        code: "CAPABILITY_DENIED",
      });
    });

    test("that is absolute or a junction is followed inside, in any case of the root's own path", async () => {
      const text = arena.root.replaceAll("/", "\\");
      arena.link("whole", `\\\\?\\${text}\\dir\\`);
      arena.link("upper", `${text.toUpperCase()}\\dir\\file.txt`);
      arena.link("secret-too", `${text}\\secret`);
      // The root of the simulation has no drive, and so the verbatim form begins in another way.
      expect(await call("read", { path: "upper" })).toMatchObject({ content: INSIDE });
      expect(await call("read", { path: "whole/file.txt" })).toMatchObject({ content: INSIDE });
      expect(await codeOf("read", { path: "secret-too/key.txt" })).toBe("DENIED_BY_POLICY");
    });

    test.each(["con", "dir\\nul.txt", "file.txt:stream", "dir.\\file.txt", "dir \\file.txt", "C:file.txt"])(
      "through a name that no request may have is refused: %s",
      async (target) => {
        arena.link("odd", target);
        const code = await codeOf("read", { path: "odd" });
        expect(["INVALID_PATH", "SYMLINK_ESCAPE"]).toContain(code);
        expect(await codeOf("write", { path: "odd", content: "x" })).toBe(code);
        expect(existsSync(join(arena.root, target.replaceAll("\\", "/")))).toBe(false);
      },
    );
  });

  describe("a directory", () => {
    test("is moved and copied, and takes no name that something has", async () => {
      expect(await codeOf("move", { path: "dir", to: "moved" })).toBe("ok");
      expect(await codeOf("copy", { path: "moved", to: "copied", recursive: true })).toBe("ok");
      expect(readFileSync(join(arena.root, "copied/inner/deep.txt"), "utf8")).toBe(INSIDE);
      mkdirSync(join(arena.root, "empty"));
      for (const to of ["empty", "file.txt", "copied"]) {
        expect(await codeOf("move", { path: "moved", to })).toBe("ALREADY_EXISTS");
        expect(await codeOf("copy", { path: "moved", to, recursive: true })).toBe("ALREADY_EXISTS");
      }
      expect(readFileSync(join(arena.root, "file.txt"), "utf8")).toBe(INSIDE);
      expect(readdirSync(join(arena.root, "empty"))).toEqual([]);
      expect(readdirSync(arena.root).sort()).toContain("moved");
    });

    test("replaces no file that comes while it is moved", async () => {
      const { renameSync, openSync } = fs;
      let isMade = false;
      fs.openSync = (path, flags, ...rest) => {
        if (!isMade && String(path).endsWith("/moved")) {
          isMade = true;
          writeFileSync(join(arena.root, "moved"), "of somebody else");
        }
        return openSync(path, flags, ...rest);
      };
      try {
        expect(await codeOf("move", { path: "dir", to: "moved" })).toBe("ALREADY_EXISTS");
      } finally {
        Object.assign(fs, { openSync, renameSync });
      }
      expect(readFileSync(join(arena.root, "moved"), "utf8")).toBe("of somebody else");
      expect(readFileSync(join(arena.root, "dir/file.txt"), "utf8")).toBe(INSIDE);
    });
  });

  describe("a name that Windows would take for a path", () => {
    const directory = { path: "C:\\r" } as Pinned;
    test.each(["..\\x", "a\\..\\..\\x", "a/b", "\\x"])("is never made one: %s", (name) => {
      expect(() => below(directory, name)).toThrow(expect.objectContaining({ code: "EINVAL" }));
      expect(() => entryPath(directory, Buffer.from(name))).toThrow(expect.objectContaining({ code: "EINVAL" }));
    });

    test("is one elsewhere", () => {
      const restore = simulateSystem("linux");
      expect(below(directory, "..\\x")).toBe("C:\\r/..\\x");
      restore();
    });

    test("leaves no drive: a copy of it is refused", async () => {
      const drives = await createFileAdapter({
        roots: { d: { dlfs: "d" }, r: { path: arena.root, owner: "did:web:ada.example", durability: "none" } },
      });
      const context = { callerDID: "did:web:ada.example" };
      const invoke = (operation: string, input: object) => drives.invoke(`file:${operation}`, input as never, context);
      try {
        const restore = simulateSystem("linux");
        await invoke("write", { root: "d", path: "tree/aux", content: CANARY, parents: true });
        restore();
        await expect(
          invoke("copy", { root: "d", path: "tree", toRoot: "r", to: "tree", recursive: true }),
        ).rejects.toMatchObject({ code: "INVALID_PATH" });
      } finally {
        await drives.close();
      }
      expect(readdirSync(arena.root)).not.toContain("tree");
    });
  });
});
