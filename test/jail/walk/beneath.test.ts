import fs, { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { identityOf } from "../../../src/core/identity.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { type PinnedRoot, release } from "../../../src/jail/handles.js";
import { Stat } from "../../../src/jail/stat.js";
import { Sys } from "../../../src/jail/sys.js";
import { BeneathHandles, findDirectly, type OpenBeneath, retryDisturbed } from "../../../src/jail/walk/beneath.js";
import { type Arena, expectClosedSoon, INSIDE, inArena, makeArena, openDescriptors } from "../arena.js";
import { ATTEMPT_NAMES, type AttemptName } from "../attacks/attempts.js";
import { ENGINES, type Engine, type Files, openFiles, outcomeOf } from "../files.js";

const { O_NOFOLLOW, O_DIRECTORY } = fs.constants;
const O_CLOEXEC = 0x80000;

interface Opened {
  readonly handles: BeneathHandles;
  readonly top: PinnedRoot;
}

/** Runs `work` on the handles of a root, and sees to it that nothing stays open. */
async function withHandles(
  options: Partial<ConstructorParameters<typeof BeneathHandles>[1]>,
  work: (opened: Opened, arena: Arena) => void,
): Promise<void> {
  await inArena(async (arena) => {
    const before = openDescriptors();
    const handles = new BeneathHandles(new Sys(false), { after: 0, ...options });
    const top = handles.openRoot(arena.root);
    try {
      work({ handles, top }, arena);
    } finally {
      release(top);
    }
    await expectClosedSoon(before);
  });
}

/** What is at the end of a path; `undefined` where it is left to the walk. */
function reached({ handles, top }: Opened, path: string): Stat | undefined {
  const object = handles.reach(top, path.split("/"));
  if (object === undefined) return undefined;
  try {
    return object.stat;
  } finally {
    release(object);
  }
}

describe("openat2", () => {
  test("reaches files and directories at any depth, as the objects that they are", () =>
    withHandles({}, (opened, { root }) => {
      expect(opened.handles.engine).toBe("openat2");
      for (const path of ["file.txt", "dir", "dir/file.txt", "dir/inner/deep.txt"]) {
        expect(reached(opened, path)?.identity).toBe(identityOf(fs.lstatSync(join(root, path))));
      }
    }));

  test("leaves paths with a link, missing ones and non-directories to the walk", () =>
    withHandles({}, (opened, { outside, link }) => {
      link("near", "dir");
      link("out", outside);
      link("dir/up", "..");
      for (const path of [
        "near/file.txt",
        "out/canary.txt",
        "dir/up/file.txt",
        "missing",
        "dir/missing/x",
        "file.txt/x",
        "..",
        "../outside/canary.txt",
        "dir/../../outside",
        "/",
        `dir\0/file.txt`,
      ]) {
        expect(reached(opened, path)).toBeUndefined();
      }
    }));

  test("reaches a link itself, not what it leads to", () =>
    withHandles({}, (opened, { outside, link }) => {
      link("out", outside);
      expect(reached(opened, "out")?.isSymbolicLink()).toBe(true);
    }));

  test("leaves entries on another device to the walk, and releases them", () =>
    withHandles({}, ({ handles, top }, { root }) => {
      const walkRoot = { handles, top, sys: new Sys(false), realPath: root, foldsCase: false, *detectFolding() {} };
      const ends = (crossDevice: boolean) => {
        const object = findDirectly({ ...walkRoot, crossDevice }, ["dir", "file.txt"], true);
        if (object !== undefined) release(object);
        return object !== undefined;
      };
      expect(ends(false)).toBe(true);
      top.stat = new Stat(Object.assign(fs.statSync(root), { dev: Number(top.stat.device) + 1 }));
      expect([ends(false), ends(true)]).toEqual([false, true]);
    }));

  test("opens nothing that a child process would inherit", () =>
    withHandles({}, ({ handles, top }) => {
      const object = handles.reach(top, ["file.txt"]);
      const flags = /flags:\s*([0-7]+)/.exec(fs.readFileSync(`/proc/self/fdinfo/${object?.fd}`, "utf8"))?.[1];
      if (object !== undefined) release(object);
      expect(Number.parseInt(flags ?? "0", 8) & O_CLOEXEC).toBe(O_CLOEXEC);
    }));

  test.each([
    ["only after some calls", false, [0, 0, 1, 1]],
    ["at once where the library has been loaded for something else", true, [1, 1, 1, 1]],
  ])("is loaded and used %s", (_when, isLoaded, expected) => {
    let loads = 0;
    const load = (): undefined => {
      loads++;
      return undefined;
    };
    return withHandles({ after: 2, load, isLoaded: () => isLoaded }, (opened) => {
      const counts = [1, 2, 3, 4].map(() => {
        reached(opened, "file.txt");
        return loads;
      });
      expect(counts).toEqual(expected);
    });
  });

  const by = (flags: number) => (directory: number, path: string) =>
    fs.openSync(`/proc/self/fd/${directory}/${path}`, flags);
  const untrustworthy: readonly (readonly [string, (() => OpenBeneath) | (() => undefined)])[] = [
    ["is not there", () => undefined],
    ["is refused", () => () => -1],
    ["does not heed what it is told", () => by(O_DIRECTORY | O_NOFOLLOW)],
    ["opens something else", () => (_directory, path) => (path === ".." ? -1 : fs.openSync("/", "r"))],
  ];
  test.each(untrustworthy)("gives way to the handle walk where it %s", (_why, load) =>
    withHandles({ load }, (opened) => {
      expect(opened.handles.engine).toBe("handle walk");
      expect(reached(opened, "file.txt")).toBeUndefined();
    }),
  );

  test("retries a bounded number of times after a concurrent rename, and not when refused", () => {
    const asked = (answers: (n: number) => number, isDisturbed = true): [number, number] => {
      let count = 0;
      const last = retryDisturbed(
        () => answers(++count),
        () => isDisturbed,
      );
      return [last, count];
    };
    expect(asked((n) => (n < 5 ? -1 : 7))).toEqual([7, 5]);
    expect(asked(() => -1)).toEqual([-1, 128]);
    expect(asked(() => -1, false)).toEqual([-1, 1]);
  });
});

describe("by openat2", () => {
  test("a directory that was moved out of the root is not served any more, nor by the link that stands in its place", () =>
    inArena(async (arena) => {
      const files = await openFiles(arena.root, "openat2");
      try {
        const code = async () => (await outcomeOf(files.invoke("read", { path: "dir/inner/deep.txt" }))).code;
        expect(await code()).toBe("ok");
        fs.renameSync(join(arena.root, "dir/inner"), join(arena.outside, "inner"));
        expect(await code()).toBe("NOT_FOUND");
        arena.link("dir/inner", join(arena.outside, "inner"));
        expect(await code()).toBe("SYMLINK_ESCAPE");
      } finally {
        await files.close();
      }
    }));

  test("a root that was moved is still the root", () =>
    inArena(async (arena) => {
      const files = await openFiles(arena.root, "openat2");
      try {
        fs.renameSync(arena.root, join(arena.base, "elsewhere"));
        expect(await files.invoke("read", { path: "dir/file.txt" })).toMatchObject({ content: INSIDE });
      } finally {
        await files.close();
      }
    }));
});

const SEGMENT = fc.constantFrom("a", "b", "c", "..");
const PATH = fc.array(SEGMENT, { minLength: 1, maxLength: 4 }).map((segments) => segments.join("/"));
const ENTRY = fc.record({
  at: fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }).map((segments) => segments.join("/")),
  kind: fc.constantFrom("file", "directory", "link", "link to the root", "link to the outside"),
  target: PATH,
});

/** Plants what has a place; the rest is left out. */
function plant({ root, outside }: Arena, entries: readonly { at: string; kind: string; target: string }[]): void {
  for (const { at, kind, target } of entries) {
    const path = join(root, at);
    try {
      if (kind === "file") fs.writeFileSync(path, at, { flag: "wx" });
      else if (kind === "directory") fs.mkdirSync(path);
      else fs.symlinkSync(kind === "link" ? target : join(kind === "link to the root" ? root : outside, target), path);
    } catch {
      // Taken, or its parent is missing.
    }
  }
}

test("whatever the tree, openat2 answers what the walk answers", () =>
  inArena(async (arena) => {
    const engines: readonly Engine[] = ["handle walk", "openat2"];
    const all: Files[] = [];
    for (const engine of engines) all.push(await openFiles(arena.root, engine));
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(ENTRY, { maxLength: 12 }),
          fc.array(PATH, { maxLength: 8 }),
          async (entries, paths) => {
            arena.reset();
            plant(arena, entries);
            for (const operation of ["stat", "read", "list", "tree"]) {
              for (const path of paths) {
                const answers: string[] = [];
                for (const files of all)
                  answers.push(JSON.stringify(await outcomeOf(files.invoke(operation, { path }))));
                expect(answers[1]).toBe(answers[0]);
              }
            }
          },
        ),
        { numRuns: 60 },
      );
    } finally {
      for (const files of all) await files.close();
    }
  }));

/** Everything a caller may do below `mine`, and nothing elsewhere. */
const ONLY_MINE: SurfaceContext = { caps: [{ with: "file://r/mine", can: "crud" }] };

/** What may stand outside, or in a subtree of somebody else, under one name. */
const STATES: readonly ((path: string, arena: Arena) => void)[] = [
  () => {},
  (path) => writeFileSync(path, "x"),
  (path) => mkdirSync(path),
  (path) => {
    mkdirSync(path);
    writeFileSync(join(path, "below"), "x");
  },
  (path) => symlinkSync("nowhere", path),
  (path) => symlinkSync(path, path),
  (path) => {
    writeFileSync(`${path}-beside`, "x");
    symlinkSync(`${path}-beside`, path);
  },
  (path, { outside }) => symlinkSync(join(outside, "canary.txt"), path),
  (path, { root }) => symlinkSync(join(root, ".venue-files"), path),
];

const INPUT: Readonly<Record<AttemptName, readonly [string, Record<string, unknown>]>> = {
  list: ["list", {}],
  tree: ["tree", {}],
  grep: ["grep", { pattern: "the" }],
  read: ["read", {}],
  stat: ["stat", {}],
  write: ["write", { content: "x" }],
  "write, parents": ["write", { content: "x", parents: true }],
  append: ["append", { content: "x" }],
  "append, parents": ["append", { content: "x", parents: true }],
  mkdir: ["mkdir", {}],
  "mkdir, parents": ["mkdir", { parents: true }],
  delete: ["delete", {}],
  "delete, recursive": ["delete", { recursive: true }],
};

describe.each(ENGINES)("by %s", (engine) => {
  const ground = onGround(engine);

  test.each(ATTEMPT_NAMES)("%s of a link to the outside gives the same answer whatever exists there", async (name) => {
    const answers = await answersFor(ground(), name, "mine/out");
    expect(answers.size).toBe(1);
    // A link is deleted itself, whatever it leads to.
    if (!name.startsWith("delete")) expect([...answers][0]).toContain("SYMLINK_ESCAPE");
  });

  test.each(ATTEMPT_NAMES)(
    "%s below a link to the outside gives the same answer whatever exists there",
    async (name) => {
      for (const rest of ["/below", "/below/deep"]) {
        const answers = await answersFor(ground(), name, "mine/away", { rest });
        expect(answers.size).toBe(1);
        expect([...answers][0]).toContain("SYMLINK_ESCAPE");
      }
    },
  );

  test.each(ATTEMPT_NAMES)(
    "%s through a link into a subtree without rights gives the same answer whatever exists there",
    async (name) => {
      for (const [link, rest] of [
        ["mine/theirs", "/below"],
        ["mine/theirs", "/below/deep"],
        // Below the thing itself, which need not be a directory.
        ["mine/deep", "/more"],
        ...(name.startsWith("delete") ? [] : [["mine/theirs", ""] as const, ["mine/deep", ""] as const]),
      ] as const) {
        const answers = await answersFor(ground(), name, link, { rest, context: ONLY_MINE });
        expect(answers.size).toBe(1);
        expect([...answers][0]).toContain('"denied_by":["path_policy"]');
      }
    },
  );

  test("a link that dangles in a subtree of others and climbs back is denied", async () => {
    const answers = await answersFor(ground(), "list", "mine/back", { context: ONLY_MINE, rest: "", only: 0 });
    expect([...answers][0]).toContain('"denied_by":["path_policy"]');
  });

  test.each(ATTEMPT_NAMES)("without rights, %s gives the same answer whatever exists", async (name) => {
    const answers = await answersFor(ground(), name, "theirs/thing", { context: ONLY_MINE });
    expect(answers.size).toBe(1);
    expect([...answers][0]).toContain("CAPABILITY_DENIED");
  });

  test("control: with rights everywhere the answers differ", async () => {
    expect((await answersFor(ground(), "stat", "mine/theirs")).size).toBeGreaterThan(5);
  });
});

/** An arena and an adapter on it. */
interface Ground {
  readonly arena: Arena;
  readonly files: Files;
}

/** Opens a ground for a group of tests. Each state stands in it under a number of its own, with links to it. */
function onGround(engine: Engine): () => Ground {
  let ground: Ground | undefined;
  beforeAll(async () => {
    const arena = makeArena();
    for (const directory of ["mine", "theirs"]) arena.directory(directory);
    for (const [number, make] of STATES.entries()) {
      make(join(arena.outside, `thing${number}`), arena);
      make(join(arena.root, `theirs/thing${number}`), arena);
      arena.link(`mine/out${number}`, `../../outside/thing${number}`);
      arena.link(`mine/away${number}`, join(arena.outside, `thing${number}`));
      arena.link(`mine/theirs${number}`, `../theirs/thing${number}`);
      arena.link(`mine/deep${number}`, `../theirs/thing${number}/below`);
      arena.link(`mine/back${number}`, `../theirs/thing${number}/../../mine`);
    }
    ground = { arena, files: await openFiles(arena.root, engine) };
  });
  afterAll(async () => {
    await ground?.files.close();
    ground?.arena.remove();
  });
  return () => ground as Ground;
}

/** The different things a caller is told about one path in each of the states, with their numbers taken out. */
async function answersFor(
  { files }: Ground,
  name: AttemptName,
  path: string,
  options: { rest?: string; context?: SurfaceContext; only?: number } = {},
): Promise<Set<string>> {
  const { rest = "", context, only } = options;
  const [operation, input] = INPUT[name];
  const answers = new Set<string>();
  for (const number of STATES.keys()) {
    if (only !== undefined && only !== number) continue;
    const numbered = `${path}${number}`;
    const outcome = await outcomeOf(files.invoke(operation, { path: `${numbered}${rest}`, ...input }, context));
    answers.add(
      JSON.stringify(outcome)
        .replaceAll(numbered, path)
        .replace(/"modified":\d+/, ""),
    );
  }
  return answers;
}
