import fs, {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { type Io, runIo } from "../../../src/core/io.js";
import { simulateSystem } from "../../../src/core/system.js";
import { createFileAdapter } from "../../../src/index.js";
import { Jail } from "../../../src/jail/jail.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { judgeLink } from "../../../src/jail/walk/symlink.js";
import { relPath } from "../../../src/path/grammar.js";
import { needs } from "../../needs.js";
import { type Arena, CANARY, expectClosedSoon, INSIDE, inArena, openDescriptors } from "../arena.js";
import { ATTEMPT_NAMES, ATTEMPTS } from "../attacks/attempts.js";
import { codeOf, ENGINES, type Files, filesOf, outcomeOf, ROOT, withFiles } from "../files.js";

afterEach(() => {
  jest.restoreAllMocks();
});

const opening = (path: string): Promise<unknown> => createFileAdapter({ roots: { [ROOT]: path } });

describe("what cannot be a root", () => {
  test.each([
    ["/", "it is the whole file system"],
    ["/proc", "it belongs to the kernel"],
    ["/proc/self", "it belongs to the kernel"],
    ["/sys", "it belongs to the kernel"],
    ["/sys/kernel", "it belongs to the kernel"],
    ["/dev", "it holds device files"],
  ])("%s", async (path, reason) => {
    await expect(opening(path)).rejects.toThrow(`Root 'r' cannot be a root: ${reason}: ${path}`);
  });

  test("a link to one of them", async () => {
    await inArena(async ({ root, link }) => {
      link("link", "/proc/self");
      link("top", "/");
      await expect(opening(join(root, "link"))).rejects.toThrow("it belongs to the kernel");
      await expect(opening(join(root, "top"))).rejects.toThrow("it is the whole file system");
    });
  });

  test("nothing, a file, and a link that dangles", async () => {
    await inArena(async ({ root, link }) => {
      link("link", "missing");
      await expect(opening(join(root, "missing"))).rejects.toThrow("does not exist or cannot be reached");
      await expect(opening(join(root, "link"))).rejects.toThrow("does not exist or cannot be reached");
      await expect(opening(join(root, "file.txt"))).rejects.toThrow("is not a directory");
    });
  });

  test("an invalid root closes the roots opened before it, and the error names every fault", async () => {
    await inArena(async ({ root }) => {
      const before = openDescriptors();
      const roots = { good: root, one: join(root, "missing"), two: "/proc" };
      await expect(createFileAdapter({ roots })).rejects.toThrow(/Root 'one' .*\nRoot 'two' /);
      await expectClosedSoon(before);
    });
  });
});

describe("roots inside each other", () => {
  test("are served with a warning, and keep their writers apart from each other", async () => {
    await inArena(async ({ root }) => {
      const adapter = await createFileAdapter({ roots: { outer: root, inner: join(root, "dir") } });
      try {
        expect(adapter.warnings).toContain("Root 'inner' lies inside root 'outer' and can be reached through it");
        const appends = Array.from({ length: 100 }, (_, n) =>
          n % 2 === 0
            ? adapter.invoke("file:append", { root: "inner", path: "log", content: "i" })
            : adapter.invoke("file:append", { root: "outer", path: "dir/log", content: "o" }),
        );
        await Promise.all(appends);
        expect(readFileSync(join(root, "dir/log"), "utf8")).toHaveLength(100);
      } finally {
        await adapter.close();
      }
    });
  });

  test("a link from the inner root into the outer one leaves the inner one", async () => {
    await inArena(async ({ root, link }) => {
      link("dir/link", "../file.txt");
      const adapter = await createFileAdapter({ roots: { outer: root, inner: join(root, "dir") } });
      try {
        await expect(adapter.invoke("file:read", { root: "inner", path: "link" })).rejects.toMatchObject({
          code: "SYMLINK_ESCAPE",
        });
        await expect(adapter.invoke("file:read", { root: "outer", path: "dir/link" })).resolves.toMatchObject({
          content: INSIDE,
        });
      } finally {
        await adapter.close();
      }
    });
  });
});

describe("a root that is renamed while it is served", () => {
  test("stays the same directory, whatever takes its name", async () => {
    await inArena(async ({ base, root, outside }) => {
      await withFiles(root, async (files) => {
        const moved = join(base, "moved");
        renameSync(root, moved);
        symlinkSync(outside, root);
        expect(await files.invoke("read", { path: "file.txt" })).toMatchObject({ content: INSIDE });
        await files.invoke("write", { path: "new", content: "new", parents: true });
        expect(readFileSync(join(moved, "new"), "utf8")).toBe("new");
        expect((await files.invoke("list"))["total"]).toBe(3);
        expect((await outcomeOf(files.invoke("read", { path: "canary.txt" }))).code).toBe("NOT_FOUND");
        expect(await files.invoke("delete", { path: "dir", recursive: true })).toMatchObject({ deleted: true });
      });
      expect(readFileSync(join(outside, "canary.txt"), "utf8")).toBe(CANARY);
    });
  });

  test("control: by paths, the new directory of that name is served", async () => {
    await inArena(async ({ base, root, outside }) => {
      await withFiles(
        root,
        async (files) => {
          renameSync(root, join(base, "moved"));
          renameSync(outside, root);
          expect(await files.invoke("read", { path: "canary.txt" })).toMatchObject({ content: CANARY });
        },
        { engine: "real-path check" },
      );
    });
  });
});

test("a root given by a link is the directory it leads to, and links that name it so stay inside", async () => {
  await inArena(async ({ base, root }) => {
    symlinkSync(root, join(base, "alias"));
    symlinkSync(join(root, "file.txt"), join(root, "by-real-name"));
    symlinkSync(join(base, "alias/file.txt"), join(root, "by-alias"));
    await withFiles(join(base, "alias"), async (files) => {
      expect(await files.invoke("read", { path: "by-real-name" })).toMatchObject({ content: INSIDE });
      expect((await outcomeOf(files.invoke("read", { path: "by-alias" }))).code).toBe("SYMLINK_ESCAPE");
    });
  });
});

test("a root under a directory that others may write to is served with a warning", async () => {
  await inArena(async ({ base }) => {
    const shared = join(base, "shared");
    mkdirSync(join(shared, "root"), { recursive: true });
    chmodSync(shared, 0o777);
    writeFileSync(join(shared, "root/file"), INSIDE);
    const adapter = await createFileAdapter({ roots: { [ROOT]: join(shared, "root") } });
    expect(adapter.warnings).toEqual([expect.stringContaining("others may write to a directory above")]);
    await adapter.close();
    chmodSync(shared, 0o1777);
    const sticky = await createFileAdapter({ roots: { [ROOT]: join(shared, "root") } });
    expect(sticky.warnings).toEqual([]);
    await sticky.close();
  });
});

const HANDLES = ENGINES.filter((engine) => engine !== "real-path check");
const asRoot = needs(process.geteuid?.() === 0, "needs root to give files to others");

const erase = (path: string): void => rmSync(path, { recursive: true });

/** Puts a root with one file where a root was. */
function make(path: string): void {
  mkdirSync(path);
  writeFileSync(join(path, "new.txt"), "new");
}

const isTaken = async (files: Files): Promise<boolean> =>
  (await codeOf(files.invoke("read", { path: "new.txt" }))) === "ok";

/** Runs `work` on a root that has been deleted while it was served. */
const onDeleted = (work: (files: Files, arena: Arena) => Promise<void>, engine = HANDLES[0]): Promise<void> =>
  inArena((arena) =>
    withFiles(
      arena.root,
      async (files) => {
        await files.invoke("write", { path: "file.txt", content: "old" });
        erase(arena.root);
        await work(files, arena);
      },
      engine === undefined ? {} : { engine },
    ),
  );

describe.each(HANDLES)("a root that is deleted while it is served, by %s", (engine) => {
  test("is empty until it is created again, and then served again", () =>
    onDeleted(async (files, { root }) => {
      expect(await files.invoke("list")).toMatchObject({ entries: [], total: 0 });
      expect(await codeOf(files.invoke("read", { path: "file.txt" }))).toBe("NOT_FOUND");
      expect(await codeOf(files.invoke("write", { path: "a/b", content: "", parents: true }))).toBe("NOT_FOUND");
      expect(fs.existsSync(root)).toBe(false);
      make(root);
      expect(await files.invoke("read", { path: "new.txt" })).toMatchObject({ content: "new" });
      expect(await codeOf(files.invoke("read", { path: "file.txt" }))).toBe("NOT_FOUND");
      await files.invoke("write", { path: "a/b", content: "written", parents: true });
      expect(fs.readFileSync(join(root, "a/b"), "utf8")).toBe("written");
      await expectClosedSoon(openDescriptors().filter((path) => !path.endsWith("(deleted)")));
      erase(root);
      make(root);
      expect(await files.invoke("list")).toMatchObject({ entries: [{ name: "new.txt" }], total: 1 });
    }, engine));
});

describe("a root that was created again is found by the first call:", () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ["list", {}, { total: 1 }],
    ["tree", {}, { entries: 1 }],
    ["glob", { pattern: "*" }, { paths: ["new.txt"] }],
    ["stat", { path: "new.txt" }, { exists: true }],
    ["write", { path: "a/b", content: "x", parents: true }, { created: true }],
    ["append", { path: "new.txt", content: "er" }, { size: 5 }],
    ["delete", { path: "new.txt" }, { existed: true }],
    ["move", { path: "new.txt", to: "other.txt" }, { moved: true }],
    ["copy", { path: "new.txt", to: "other.txt" }, { copied: true }],
  ])("%s", (operation, input, answer) =>
    onDeleted(async (files, { root }) => {
      make(root);
      expect(await files.invoke(operation, input)).toMatchObject(answer);
    }),
  );
});

describe("not accepted in place of a deleted root", () => {
  test("a link to a directory, at its path or above it", () =>
    onDeleted(async (files, { base, root, outside }) => {
      writeFileSync(join(outside, "new.txt"), "new");
      symlinkSync(outside, root);
      expect(await isTaken(files)).toBe(false);
      fs.unlinkSync(root);
      renameSync(base, `${base}-moved`);
      try {
        make(join(`${base}-moved`, "root"));
        symlinkSync(`${base}-moved`, base);
        expect(await isTaken(files)).toBe(false);
        fs.unlinkSync(base);
      } finally {
        renameSync(`${base}-moved`, base);
      }
      expect(await isTaken(files)).toBe(true);
    }));

  test("a file", () =>
    onDeleted(async (files, { root }) => {
      writeFileSync(root, "");
      expect(await codeOf(files.invoke("read", { path: "new.txt" }))).toBe("NOT_FOUND");
      expect(await files.invoke("list")).toMatchObject({ total: 0 });
    }));

  test("anything below a directory that other users may write to", () =>
    onDeleted(async (files, { base, root }) => {
      make(root);
      chmodSync(base, 0o777);
      expect(await isTaken(files)).toBe(false);
      chmodSync(base, 0o755);
      expect(await isTaken(files)).toBe(true);
    }));

  asRoot("a directory of somebody else in one like /tmp", () =>
    onDeleted(async (files, { base, root }) => {
      make(root);
      chmodSync(base, 0o1777);
      chownSync(root, 12_345, 12_345);
      expect(await isTaken(files)).toBe(false);
      chownSync(root, 0, 0);
      expect(await isTaken(files)).toBe(true);
    }),
  );

  test("a directory at the path of a root that was only renamed", () =>
    inArena(({ base, root }) =>
      withFiles(root, async (files) => {
        renameSync(root, join(base, "moved"));
        make(root);
        expect(await isTaken(files)).toBe(false);
        expect(await files.invoke("read", { path: "file.txt" })).toMatchObject({ content: INSIDE });
        erase(join(base, "moved"));
        expect(await isTaken(files)).toBe(true);
      }),
    ));
});

test("one of many concurrent calls opens the new directory", () =>
  onDeleted(async (files, { root }) => {
    make(root);
    const opened = jest.spyOn(fs, "openSync");
    const calls = Array.from({ length: 20 }, (_, n) =>
      n % 2 === 0 ? files.invoke("list") : files.invoke("write", { path: `f${n}`, content: "x" }),
    );
    await Promise.all(calls);
    expect(opened.mock.calls.filter(([path]) => path === root)).toHaveLength(1);
    expect(await files.invoke("list")).toMatchObject({ total: 11 });
  }, "handle walk in the thread pool"));

test("a write that began before the root was deleted ends with an error, not in the new one", () =>
  inArena(({ root }) =>
    withFiles(root, async (files) => {
      const rename = fs.renameSync;
      jest.spyOn(fs, "renameSync").mockImplementationOnce((from, to) => {
        erase(root);
        make(root);
        rename(from, to);
      });
      expect(await codeOf(files.invoke("write", { path: "late", content: "x" }))).toBe("NOT_FOUND");
      expect(await isTaken(files)).toBe(true);
      expect(await codeOf(files.invoke("read", { path: "late" }))).toBe("NOT_FOUND");
    }),
  ));

test("its quota is counted again", () =>
  inArena(async ({ root }) => {
    const adapter = await createFileAdapter({ roots: { [ROOT]: { path: root, quota: { bytes: 1000 } } } });
    const files = filesOf(adapter);
    const before = openDescriptors();
    try {
      await files.invoke("write", { path: "large", content: "x".repeat(900) });
      expect(await codeOf(files.invoke("write", { path: "more", content: "x".repeat(900) }))).toBe("QUOTA_EXCEEDED");
      erase(root);
      make(root);
      expect(await codeOf(files.invoke("write", { path: "more", content: "x".repeat(900) }))).toBe("ok");
      expect(await codeOf(files.invoke("write", { path: "much", content: "x".repeat(98) }))).toBe("QUOTA_EXCEEDED");
      // The staging directory stays open for a while.
      const now = openDescriptors().filter((path) => path !== `${root}/.venue-files`);
      expect(now).toHaveLength(before.length);
    } finally {
      await adapter.close();
    }
  }));

const place = { top: "/srv/docs", names: ["a", "b"], floor: 0 };

describe("a symbolic link is judged by its text", () => {
  test.each([
    ["c/d.txt", { leaves: 0, tokens: ["c", "d.txt"] }],
    ["c/", { leaves: 0, tokens: ["c", "."] }],
    ["../../../etc", { leaves: 0, tokens: ["..", "..", "..", "etc"] }],
    ["/srv/docs", { leaves: 2, tokens: [] }],
    ["/srv/docs/c//d", { leaves: 2, tokens: ["c", "d"] }],
    ["/srv/docs/../other", { leaves: 2, tokens: ["..", "other"] }],
  ])("%s leads on", (target, route) => {
    expect(judgeLink(target, place)).toEqual(route);
  });

  test.each(["/", "/etc/passwd", "/srv", "/srv/docs2/a", "/srv/doc", "//srv/docs/a"])("%s leads outside", (target) => {
    expect(judgeLink(target, place)).toBe("escape");
  });

  test("an absolute target above the floor leads outside, and one below it only up to the floor", () => {
    expect(judgeLink("/srv/docs/other", { ...place, floor: 1 })).toBe("escape");
    expect(judgeLink("/srv/docs/a/c", { ...place, floor: 1 })).toEqual({ leaves: 1, tokens: ["c"] });
  });

  test("a link above the floor leads outside wherever it points", () => {
    expect(judgeLink("b", { ...place, floor: 3 })).toBe("escape");
  });
});

describe("on Windows", () => {
  const place = { top: "C:\\Srv\\docs", names: ["a", "b"], floor: 0 };
  let restore: () => void;
  beforeEach(() => {
    restore = simulateSystem("win32");
  });
  afterEach(() => restore());

  test.each([
    ["..\\..\\..\\etc", { leaves: 0, tokens: ["..", "..", "..", "etc"] }],
    ["c\\d/e\\", { leaves: 0, tokens: ["c", "d", "e", "."] }],
    [".\\secret", { leaves: 0, tokens: [".", "secret"] }],
    ["C:\\Srv\\docs\\c", { leaves: 2, tokens: ["c"] }],
    ["c:/sRV\\DOCS\\c\\..\\..", { leaves: 2, tokens: ["c", "..", ".."] }],
    ["\\\\?\\C:\\Srv\\docs\\c\\", { leaves: 2, tokens: ["c", "."] }],
    ["\\??\\C:\\Srv\\docs", { leaves: 2, tokens: [] }],
    // The walk refuses what it comes to then.
    ["C:\\Srv\\docs\\c:stream", { leaves: 2, tokens: ["c:stream"] }],
  ])("%s leads on", (target, route) => {
    expect(judgeLink(target, place)).toEqual(route);
  });

  test.each([
    ...[
      "C:\\Windows",
      "C:\\Srv",
      "C:\\Srv\\docs2",
      "D:\\Srv\\docs",
      "C:",
      "C:docs",
      "C:..\\docs",
      "c:stream",
      "a\\b:c",
    ],
    ...["\\Srv\\docs", "/Srv/docs", "\\\\server\\share\\docs", "\\\\.\\C:\\Srv\\docs", "//?/C:/Srv/docs"],
    ...[
      "\\\\?\\UNC\\server\\share",
      "\\??\\UNC\\C:\\Srv\\docs",
      "\\??\\Volume{1}\\x",
      "\\\\?\\secret",
      "\\\\?\\GLOBALROOT\\x",
    ],
  ])("%s leads outside", (target) => {
    expect(judgeLink(target, place)).toBe("escape");
  });

  test("a root on a server is found again in its verbatim form", () => {
    const server = { ...place, top: "\\\\server\\share\\docs" };
    expect(judgeLink("\\\\?\\UNC\\Server\\share\\docs\\c", server)).toEqual({ leaves: 2, tokens: ["c"] });
  });

  test("an absolute target above the floor leads outside", () => {
    expect(judgeLink("C:\\Srv\\docs\\other", { ...place, floor: 1 })).toBe("escape");
    expect(judgeLink("C:\\Srv\\docs\\A\\c", { ...place, floor: 1 })).toEqual({ leaves: 1, tokens: ["c"] });
  });
});

test("a long chain of links yields to other work after every few steps", () =>
  inArena(async (arena) => {
    // Down and up again, 200 times in each of 30 links.
    const detour = "dir/../".repeat(200);
    for (let link = 0; link < 30; link++)
      arena.link(`l${link}`, `${detour}${link === 29 ? "file.txt" : `l${link + 1}`}`);
    const jail = new Jail({ path: arena.root, readOnly: false, crossDevice: false, io: "sync" }, new Locks());
    let turns = 0;
    const scope = {
      *breathe(): Io<void> {
        turns++;
        yield Promise.resolve();
      },
    };
    const path = relPath(["l0"]);
    const walk = jail.walk(path, { place: { root: "r", path: "l0" }, scope, followLast: true });
    try {
      const found = await runIo(walk.run());
      expect(found).toMatchObject({ state: "found", real: ["file.txt"] });
      // 12,030 steps, 16 a breath.
      expect(turns).toBe(751);
    } finally {
      walk.close();
      await jail.close();
    }
  }));

const bytes = (root: string, ...name: (string | number)[]): Buffer =>
  Buffer.concat([
    Buffer.from(`${root}/`),
    ...name.map((part) => (typeof part === "number" ? Buffer.from([part]) : Buffer.from(part))),
  ]);

/** Names that are not UTF-8, and how they are shown. */
const BROKEN: readonly (readonly [shown: string, name: readonly (string | number)[]])[] = [
  ["\\xff", [0xff]],
  ["a\\xffb", ["a", 0xff, "b"]],
  ["\\xc3", [0xc3]],
  ["\\xc3(", [0xc3, "("]],
  // A valid character before and after stays as it is.
  ["ä\\xe4ä", ["ä", 0xe4, "ä"]],
  // An encoded surrogate, and an overlong slash.
  ["\\xed\\xa0\\x80", [0xed, 0xa0, 0x80]],
  ["\\xc0\\xaf", [0xc0, 0xaf]],
  ["\\xf4\\x90\\x80\\x80", [0xf4, 0x90, 0x80, 0x80]],
];

describe.each(ENGINES)("names that are not UTF-8, by %s", (engine) => {
  test.each(BROKEN)("%s is shown escaped and marked as unreachable", async (shown, name) => {
    await inArena(async ({ root }) => {
      mkdirSync(join(root, "odd"));
      writeFileSync(bytes(`${root}/odd`, ...name), "12345");
      await withFiles(
        root,
        async (files) => {
          const { entries } = await files.invoke("list", { path: "odd" });
          expect(entries).toEqual([
            { name: shown, type: "file", size: 5, modified: expect.any(Number), unreachable: true },
          ]);
          const { tree } = await files.invoke("tree", { path: "odd", info: "size" });
          expect(tree).toBe(`r/odd/\n\t${shown} (5 B)\n`);
        },
        { engine },
      );
    });
  });

  test("neither the lossy decoding nor the escaped form is accepted as a path", async () => {
    await inArena(async (arena) => {
      const { root } = arena;
      mkdirSync(join(root, "odd"));
      const path = bytes(`${root}/odd`, "a", 0xff);
      for (const given of ["odd/a\ufffd", "odd/a\\xff", "odd/a%ff", "odd/a\u00ff"]) {
        writeFileSync(path, INSIDE);
        await withFiles(
          root,
          async (files) => {
            for (const name of ATTEMPT_NAMES) {
              const { code, output } = await outcomeOf(ATTEMPTS[name].run(files, given));
              if (name === "read") expect(code).not.toBe("ok");
              if (name === "stat" && code === "ok") expect(output).toEqual({ exists: false });
              if (name === "delete" || name === "delete, recursive") await files.invoke("list", { path: "odd" });
            }
          },
          { engine },
        );
        expect(readFileSync(path, "utf8")).toBe(INSIDE);
      }
    });
  });

  test("a link to such a name is not resolved through the lossy decoding", async () => {
    await inArena(async ({ root }) => {
      writeFileSync(bytes(root, "a", 0xff), "the one meant");
      symlinkSync(Buffer.from([0x61, 0xff]), join(root, "link"));
      await withFiles(
        root,
        async (files) => {
          expect((await outcomeOf(files.invoke("read", { path: "link" }))).code).not.toBe("ok");
        },
        { engine },
      );
    });
  });

  test("are removed together with their directory, whatever their type", async () => {
    await inArena(async (arena) => {
      const { root, outside } = arena;
      mkdirSync(join(root, "odd"));
      mkdirSync(bytes(`${root}/odd`, "d", 0xff));
      mkdirSync(bytes(`${root}/odd`, "d", 0xff, "/below", 0xfe));
      writeFileSync(bytes(`${root}/odd`, "d", 0xff, "/below", 0xfe, "/file", 0xfd), "x");
      symlinkSync(outside, bytes(`${root}/odd`, "link", 0xff));
      const before = arena.outsideNow();
      await withFiles(root, (files) => files.invoke("delete", { path: "odd", recursive: true }), { engine });
      expect(existsSync(join(root, "odd"))).toBe(false);
      expect(readdirSync(root).sort()).toEqual(["dir", "file.txt"]);
      expect(arena.outsideNow()).toEqual(before);
    });
  });

  test("a directory with such a name is listed with its contents", async () => {
    await inArena(async ({ root }) => {
      mkdirSync(bytes(root, "d", 0xff));
      writeFileSync(bytes(root, "d", 0xff, "/below"), "x");
      await withFiles(
        root,
        async (files) => {
          const { tree } = await files.invoke("tree", {});
          // Without handles there is no text to go on with.
          expect(tree).toContain(engine === "real-path check" ? "\td\\xff/\n\tdir/" : "\td\\xff/\n\t\tbelow\n\tdir/");
        },
        { engine },
      );
    });
  });
});

/** Names that would break a line, or a reader's trust in what he sees, and how tree shows them. */
const TROUBLE: readonly (readonly [name: string, shown: string, reachable: boolean])[] = [
  ["line\nbreak", "line\\u{a}break", false],
  ["carriage\rreturn", "carriage\\u{d}return", false],
  ["tab\tbed", "tab\\u{9}bed", false],
  ["escape\u001b[2Jsequence", "escape\\u{1b}[2Jsequence", false],
  ["delete\u007f", "delete\\u{7f}", false],
  ["next\u0085line", "next\\u{85}line", true],
  ["line\u2028separator", "line\\u{2028}separator", true],
  ["paragraph\u2029separator", "paragraph\\u{2029}separator", true],
  ["right\u202eto left", "right\\u{202e}to left", true],
  ["isolate\u2066d", "isolate\\u{2066}d", true],
  ["back\\slash", "back\\slash", false],
  ["C:drive", "C:drive", false],
  ["plain", "plain", true],
];

describe.each(ENGINES)("names with control characters, by %s", (engine) => {
  test.each(TROUBLE)("%j takes one line of a tree, as %s", async (name, shown, reachable) => {
    await inArena(async ({ root }) => {
      writeFileSync(join(root, name), "12345");
      await withFiles(
        root,
        async (files) => {
          const { tree, entries } = await files.invoke("tree", { maxDepth: 1 });
          const lines = String(tree).split("\n");
          expect(lines).toContain(`\t${shown}`);
          expect(lines).toHaveLength(Number(entries) + 2);
          const listed = (await files.invoke("list"))["entries"] as { name: string; unreachable?: true }[];
          const entry = listed.find((one) => one.name === name);
          expect(entry?.unreachable).toBe(reachable ? undefined : true);
          expect((await outcomeOf(files.invoke("read", { path: name }))).code === "ok").toBe(reachable);
        },
        { engine },
      );
    });
  });

  test("unreachable entries are removed together with their directory", async () => {
    await inArena(async ({ root }) => {
      mkdirSync(join(root, "odd"));
      for (const [name] of TROUBLE) writeFileSync(join(root, "odd", name), "x");
      await withFiles(root, (files) => files.invoke("delete", { path: "odd", recursive: true }), { engine });
      expect(existsSync(join(root, "odd"))).toBe(false);
    });
  });
});

test("errors show the requested path on one line", async () => {
  await inArena(async ({ root }) => {
    await withFiles(root, async (files) => {
      const path = "missing\u2028line\u202eend\u0085";
      const { message } = await outcomeOf(files.invoke("read", { path }));
      expect(message).toBe("Not found: r:missing\\u{2028}line\\u{202e}end\\u{85}");
    });
  });
});

test("a case-sensitive file system is recognised as such, whatever links suggest", async () => {
  await inArena(async ({ root, directory }: Arena) => {
    symlinkSync("file.txt", join(root, "FILE.TXT"));
    directory("Dir");
    await withFiles(root, async (files) => {
      await files.invoke("write", { path: "Dir/file.txt", content: "upper" });
      expect(await files.invoke("read", { path: "dir/file.txt" })).toMatchObject({ content: INSIDE });
      await files.invoke("delete", { path: "FILE.TXT" });
      expect(lstatSync(join(root, "file.txt")).isFile()).toBe(true);
      // Not reserved where case counts.
      await files.invoke("write", { path: ".Venue-Files", content: "x" });
      expect((await files.invoke("list"))["entries"]).toContainEqual(expect.objectContaining({ name: ".Venue-Files" }));
    });
  });
});
