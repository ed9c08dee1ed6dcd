import {
  appendFileSync,
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { needs } from "../../needs.js";
import { type Arena, INSIDE, inArena } from "../arena.js";
import { codeOf, ENGINES, ROOT, withFiles } from "../files.js";
import { isRoot, NOBODY, withChild } from "../start-child.js";

const asRoot = needs(isRoot, "only root can hand a process other rights");

const modeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);
const ownerOf = (path: string): string => `${statSync(path).uid}:${statSync(path).gid}`;

describe.each([0o022, 0o027].map((umask) => [umask.toString(8), umask] as const))(
  "under the umask %s",
  (_shown, umask) => {
    test("new files get 0666 and new directories 0777 without it", async () => {
      await inArena(async ({ root }) => {
        await withChild({ config: { roots: { [ROOT]: root } }, umask }, async (child) => {
          await child.invoke("write", { path: "made/deep/written", content: "x", parents: true });
          await child.invoke("append", { path: "made/appended", content: "x" });
          await child.invoke("mkdir", { path: "made/directory" });
        });
        const file = (0o666 & ~umask).toString(8);
        const directory = (0o777 & ~umask).toString(8);
        expect(modeOf(join(root, "made/deep/written"))).toBe(file);
        expect(modeOf(join(root, "made/appended"))).toBe(file);
        expect(modeOf(join(root, "made"))).toBe(directory);
        expect(modeOf(join(root, "made/deep"))).toBe(directory);
        expect(modeOf(join(root, "made/directory"))).toBe(directory);
      });
    });
  },
);

describe.each(ENGINES)("a file that is replaced, by %s", (engine) => {
  test.each([
    ["600", "600"],
    ["644", "644"],
    ["755", "755"],
    ["777", "777"],
    ["4755", "755"],
    ["2755", "755"],
    ["1666", "666"],
    ["7777", "777"],
  ])("with the mode %s keeps %s of it", async (mode, kept) => {
    await inArena(async ({ root }) => {
      const path = join(root, "file.txt");
      chmodSync(path, Number.parseInt(mode, 8));
      await withFiles(root, (files) => files.invoke("write", { path: "file.txt", content: "new" }), { engine });
      expect(modeOf(path)).toBe(kept);
      expect(readFileSync(path, "utf8")).toBe("new");
    });
  });

  asRoot("keeps its owner and group, as root", async () => {
    await inArena(async ({ root }) => {
      const path = join(root, "file.txt");
      chownSync(path, 1234, 5678);
      chmodSync(path, 0o640);
      await withFiles(root, (files) => files.invoke("write", { path: "file.txt", content: "new" }), { engine });
      expect(ownerOf(path)).toBe("1234:5678");
      expect(modeOf(path)).toBe("640");
    });
  });
});

describe("without rights of root", () => {
  asRoot("a file that may not be written is refused, and stays", async () => {
    await inArena(async (arena) => {
      const { root } = arena;
      giveAway(arena);
      chmodSync(join(root, "file.txt"), 0o444);
      writeFileSync(join(root, "of-root"), INSIDE, { mode: 0o644 });
      await withChild({ config: { roots: { [ROOT]: root } }, ...NOBODY }, async (child) => {
        for (const path of ["file.txt", "of-root"]) {
          for (const operation of ["write", "append"]) {
            const { code, message } = await child.invoke(operation, { path, content: "new" });
            expect(code).toBe("PERMISSION_DENIED");
            expect(message).toBe(`Permission denied: r:${path}`);
          }
          expect((await child.invoke("stat", { path })).output).toMatchObject({ readOnly: true });
          expect(readFileSync(join(root, path), "utf8")).toBe(INSIDE);
        }
      });
    });
  });

  asRoot("what is closed to the process is said to be so, in our words", async () => {
    await inArena(async (arena) => {
      const { root } = arena;
      giveAway(arena);
      writeFileSync(join(root, "unreadable"), INSIDE, { mode: 0o200 });
      mkdirSync(join(root, "closed/below"), { recursive: true });
      chmodSync(join(root, "closed"), 0o700);
      await withChild({ config: { roots: { [ROOT]: root } }, ...NOBODY }, async (child) => {
        const denied = "PERMISSION_DENIED";
        expect((await child.invoke("read", { path: "unreadable" })).code).toBe(denied);
        expect((await child.invoke("list", { path: "closed" })).code).toBe(denied);
        expect((await child.invoke("stat", { path: "closed/below" })).code).toBe(denied);
        expect((await child.invoke("write", { path: "closed/new", content: "x" })).code).toBe(denied);
        expect((await child.invoke("mkdir", { path: "closed/new" })).code).toBe(denied);
        expect((await child.invoke("delete", { path: "closed", recursive: true })).code).toBe(denied);
        expect((await child.invoke("tree", { path: "" })).output?.["tree"]).toContain("\tclosed/\n\tdir/");
      });
      expect(lstatSync(join(root, "closed/below")).isDirectory()).toBe(true);
    });
  });

  asRoot("a group that cannot be kept takes no rights over to another", async () => {
    await inArena(async (arena) => {
      giveAway(arena);
      const path = join(arena.root, "file.txt");
      // Its owner is not in its group, so the new file gets the process's own.
      chownSync(path, NOBODY.uid, 5678);
      chmodSync(path, 0o664);
      await withChild({ config: { roots: { [ROOT]: arena.root } }, ...NOBODY }, (child) =>
        child.invoke("write", { path: "file.txt", content: "new" }),
      );
      expect(ownerOf(path)).toBe(`${NOBODY.uid}:${NOBODY.gid}`);
      expect(modeOf(path)).toBe("644");
    });
  });

  asRoot("read-only directories in a tree do not keep it from being removed", async () => {
    await inArena(async (arena) => {
      const { root } = arena;
      mkdirSync(join(root, "modules/a/b/c"), { recursive: true });
      writeFileSync(join(root, "modules/a/b/c/file"), INSIDE);
      writeFileSync(join(root, "modules/a/file"), INSIDE);
      giveAway(arena, ["modules", "modules/a", "modules/a/b", "modules/a/b/c"]);
      for (const path of ["modules/a/b/c", "modules/a/b", "modules/a", "modules"]) chmodSync(join(root, path), 0o555);
      await withChild({ config: { roots: { [ROOT]: root } }, ...NOBODY }, async (child) => {
        expect((await child.invoke("delete", { path: "modules", recursive: true })).code).toBe("ok");
      });
      expect(arena.insideNow()["modules"]).toBeUndefined();
      // Nothing stayed behind out of sight either: the staging directory could be removed.
      expect(lstatSync(join(root, ".venue-files"), { throwIfNoEntry: false })).toBeUndefined();
    });
  });

  asRoot("a tree of somebody else that may not be emptied stays in sight", async () => {
    await inArena(async (arena) => {
      giveAway(arena);
      mkdirSync(join(arena.root, "foreign"));
      writeFileSync(join(arena.root, "foreign/file"), INSIDE);
      mkdirSync(join(arena.root, "foreign-empty"));
      await withChild({ config: { roots: { [ROOT]: arena.root } }, ...NOBODY }, async (child) => {
        expect((await child.invoke("delete", { path: "foreign", recursive: true })).code).toBe("PERMISSION_DENIED");
        expect((await child.invoke("delete", { path: "foreign-empty", recursive: true })).code).toBe("ok");
      });
      expect(readFileSync(join(arena.root, "foreign/file"), "utf8")).toBe(INSIDE);
    });
  });
});

asRoot("a set-group-id directory hands its group on", async () => {
  await inArena(async ({ root }) => {
    const shared = join(root, "shared");
    mkdirSync(shared);
    chownSync(shared, 0, 5678);
    chmodSync(shared, 0o2775);
    await withFiles(root, async (files) => {
      await files.invoke("write", { path: "shared/written", content: "x" });
      await files.invoke("append", { path: "shared/appended", content: "x" });
      await files.invoke("write", { path: "shared/a/b/deep", content: "x", parents: true });
    });
    for (const path of ["written", "appended", "a", "a/b", "a/b/deep"]) {
      expect(statSync(join(shared, path)).gid).toBe(5678);
    }
    expect(modeOf(join(shared, "a"))).toMatch(/^2/);
    expect(modeOf(join(shared, "written"))).toBe("644");
  });
});

describe.each(ENGINES)("a file with several names, by %s", (engine) => {
  const withNames = async (
    work: (arena: Arena, other: string) => Promise<void>,
    content: string | Buffer = INSIDE,
  ): Promise<void> =>
    inArena(async (arena) => {
      const other = join(arena.outside, "other-name");
      arena.file("linked", content);
      linkSync(join(arena.root, "linked"), other);
      await work(arena, other);
    });

  test("write replaces this name only", async () => {
    await withNames(async ({ root }, other) => {
      await withFiles(root, (files) => files.invoke("write", { path: "linked", content: "new" }), { engine });
      expect(readFileSync(other, "utf8")).toBe(INSIDE);
      expect(readFileSync(join(root, "linked"), "utf8")).toBe("new");
    });
  });

  test("append copies, and keeps the mode", async () => {
    await withNames(async ({ root }, other) => {
      chmodSync(other, 0o640);
      await withFiles(
        root,
        async (files) => {
          expect(await files.invoke("append", { path: "linked", content: "+1" })).toMatchObject({
            appended: 2,
            created: false,
          });
          await files.invoke("append", { path: "linked", content: "+2" });
        },
        { engine },
      );
      expect(readFileSync(other, "utf8")).toBe(INSIDE);
      expect(readFileSync(join(root, "linked"), "utf8")).toBe(`${INSIDE}+1+2`);
      expect(modeOf(join(root, "linked"))).toBe("640");
      expect(statSync(other).nlink).toBe(1);
    });
  });

  test("append copies a file that is larger than one read", async () => {
    const content = Buffer.alloc(300_000, "line of text\n");
    await withNames(async ({ root }, other) => {
      await withFiles(root, (files) => files.invoke("append", { path: "linked", content: "end" }), { engine });
      expect(readFileSync(join(root, "linked")).equals(Buffer.concat([content, Buffer.from("end")]))).toBe(true);
      expect(readFileSync(other).equals(content)).toBe(true);
    }, content);
  });

  test("append refuses to copy more than the maximum size of a write, and changes nothing", async () => {
    await withNames(async ({ root }, other) => {
      const limits = { maxWriteBytes: 20 };
      await withFiles(
        root,
        async (files) => {
          const call = files.invoke("append", { path: "linked", content: "x" });
          await expect(call).rejects.toMatchObject({
            code: "HARD_LINKED",
            message: "File has other hard links: linked",
          });
        },
        { engine, limits },
      );
      expect(readFileSync(other, "utf8")).toBe(INSIDE);
      expect(statSync(other).nlink).toBe(2);
    });
    expect(INSIDE.length).toBe(21);
  });

  test("append copies up to the maximum size of a write", async () => {
    await withNames(async ({ root }) => {
      const limits = { maxWriteBytes: INSIDE.length };
      await withFiles(
        root,
        async (files) => {
          expect(await codeOf(files.invoke("append", { path: "linked", content: "x" }))).toBe("ok");
        },
        { engine, limits },
      );
    });
  });

  test("append changes all hard links if the root allows it", async () => {
    await withNames(async ({ root }, other) => {
      await withFiles(root, (files) => files.invoke("append", { path: "linked", content: "+" }), {
        engine,
        hardLinks: true,
      });
      expect(readFileSync(other, "utf8")).toBe(`${INSIDE}+`);
      expect(statSync(other).nlink).toBe(2);
    });
  });

  test("a hard link added while the content arrives keeps the old content", async () => {
    await inArena(async ({ root, outside }) => {
      const other = join(outside, "late-name");
      const resolveAsset = async () => {
        linkSync(join(root, "file.txt"), other);
        return { content: Buffer.from("+") };
      };
      await withFiles(root, (files) => files.invoke("append", { path: "file.txt", asset: "a" }, { resolveAsset }), {
        engine,
      });
      expect(readFileSync(other, "utf8")).toBe(INSIDE);
      expect(readFileSync(join(root, "file.txt"), "utf8")).toBe(`${INSIDE}+`);
    });
  });
});

test("control: plain appendFile and writeFile change every name of a file", async () => {
  await inArena(({ root, outside }) => {
    const other = join(outside, "other-name");
    linkSync(join(root, "file.txt"), other);
    appendFileSync(join(root, "file.txt"), "+");
    expect(readFileSync(other, "utf8")).toBe(`${INSIDE}+`);
    writeFileSync(join(root, "file.txt"), "new");
    expect(readFileSync(other, "utf8")).toBe("new");
  });
});

/** Makes the root, and what is named in it, the property of nobody. */
function giveAway({ base, root }: Arena, paths: readonly string[] = ["file.txt", "dir"]): void {
  chmodSync(base, 0o755);
  chownSync(root, NOBODY.uid, NOBODY.gid);
  for (const path of paths) chownSync(join(root, path), NOBODY.uid, NOBODY.gid);
}
