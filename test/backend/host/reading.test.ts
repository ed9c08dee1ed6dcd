import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { FileTaker } from "../../../src/backend/host/read-whole.js";
import type { HostWalkOptions } from "../../../src/backend/host/walk.js";
import { walkEntries } from "../../../src/backend/host/walk.js";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import type { WalkContent, WalkEntry, WalkStep } from "../../../src/core/ports/backend.js";
import type { Name } from "../../../src/jail/directory.js";
import type { EngineName } from "../../../src/jail/handles.js";
import { Jail } from "../../../src/jail/jail.js";
import { NativeSource } from "../../../src/jail/native/calls.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { type Arena, expectClosedSoon, inArena, openDescriptors } from "../../jail/arena.js";
import { describeWhere } from "../../needs.js";

afterEach(() => {
  jest.restoreAllMocks();
});
const NO_CALLS = "native calls (koffi) cannot be loaded";

const FOLDERS = 40;
const FILES = 30;
const MAX_BYTES = 400_000;
/** Those of every arena. */
const ARENA_FILES = 3;

const isNative = new NativeSource(0).load() !== undefined;

const folder = (index: number): string => `folder-${String(index).padStart(3, "0")}`;
const name = (index: number): string => `file ${String(index).padStart(3, "0")} é.txt`;

function makeFiles({ root, file }: Arena): void {
  for (let at = 0; at < FOLDERS; at++) {
    fs.mkdirSync(join(root, folder(at)));
    for (let index = 0; index < FILES; index++) file(`${folder(at)}/${name(index)}`, `${at}/${index}\n`.repeat(index));
  }
  const last = folder(FOLDERS - 1);
  file(`${last}/large`, "x".repeat(MAX_BYTES));
  file(`${last}/too large`, "x".repeat(MAX_BYTES + 1));
  fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/${last}/`), Buffer.from([0xff, 0xfe])]), "no name");
  fs.symlinkSync(name(1), join(root, last, "link"));
}

interface Walk extends Partial<Pick<HostWalkOptions, "visit">> {
  readonly engine?: EngineName;
  /** After each file. */
  readonly take?: (count: number) => "on" | "stop";
}

/** What a walk passes on: sizes or texts by path, in order. */
async function contentsOf(arena: Arena, { engine = "openat2", visit, take }: Walk) {
  const jail = new Jail({ path: arena.root, readOnly: true, crossDevice: false, io: "sync", engine }, new Locks());
  const scope = new CallScope({ clock: systemClock, timeoutMs: 60_000 });
  const found: (readonly [string, unknown])[] = [];
  const paths = new Map<WalkEntry, string>();
  let parent = "";
  const remember = (entry: WalkEntry) => {
    if (entry.depth === 1) parent = entry.name;
    paths.set(entry, `${parent}/${entry.name}`);
    return visit?.(entry) ?? (entry.type === "directory" ? ("enter" as const) : ("read" as const));
  };
  const took = (entry: WalkEntry, content: WalkContent) => {
    found.push([paths.get(entry) ?? "", Buffer.isBuffer(content) ? content.toString() : content]);
    return take?.(found.length) ?? "on";
  };
  const content = { maxBytes: MAX_BYTES, take: took };
  try {
    await runIo(walkEntries(jail, jail.top, { visit: remember, sizes: false, content, access: { scope } }));
  } finally {
    await jail.close();
  }
  return found;
}

const inFiles = (work: (arena: Arena) => Promise<void>): Promise<void> =>
  inArena(async (arena) => {
    makeFiles(arena);
    const before = openDescriptors();
    await work(arena);
    await expectClosedSoon(before);
  });

describeWhere(isNative, NO_CALLS)("a walk that reads files by native calls", () => {
  test("passes the same content in the same order as one that does not", () =>
    inFiles(async (arena) => {
      const plain = await contentsOf(arena, { engine: "handle walk" });
      expect(plain).toHaveLength(FOLDERS * FILES + ARENA_FILES + 2);
      expect(await contentsOf(arena, {})).toEqual(plain);
    }));

  test("never opens what has taken the place of a file, and follows no directory that was moved", () =>
    inFiles(async (arena) => {
      const { root, outside } = arena;
      const plain = await contentsOf(arena, { engine: "handle walk" });
      const at = FOLDERS - 5;
      fs.writeFileSync(join(outside, name(0)), "outside");
      let parent = "";
      const visit = (entry: WalkEntry) => {
        if (entry.depth === 1) parent = entry.name;
        if (parent === folder(at) && entry.name === name(2)) {
          fs.unlinkSync(join(root, folder(at), name(2)));
          execFileSync("mkfifo", [join(root, folder(at), name(2))]);
        }
        if (parent === folder(at) && entry.name === name(FILES - 1)) {
          fs.renameSync(join(root, folder(at)), join(outside, "moved"));
          fs.symlinkSync(outside, join(root, folder(at)));
        }
        return entry.type === "directory" ? ("enter" as const) : ("read" as const);
      };
      const found = await contentsOf(arena, { visit });
      expect(found).toEqual(plain.filter(([path]) => path !== `${folder(at)}/${name(2)}`));
    }));

  test("leaves nothing behind when the content is not wanted any more, or a visit fails", () =>
    inFiles(async (arena) => {
      const most = 700;
      const found = await contentsOf(arena, { take: (count) => (count === most ? "stop" : "on") });
      expect(found).toHaveLength(most);
      let visits = 0;
      const visit = (entry: WalkEntry) => {
        if (++visits === most) throw new Error("enough");
        return entry.type === "directory" ? ("enter" as const) : ("read" as const);
      };
      await expect(contentsOf(arena, { visit })).rejects.toThrow("enough");
    }));

  test("passes what was visited before a visit ends it", () =>
    inFiles(async (arena) => {
      let reads = 0;
      const visit = (entry: WalkEntry) => {
        if (entry.type === "directory") return "enter" as const;
        return ++reads > 1000 ? ("stop" as const) : ("read" as const);
      };
      expect(await contentsOf(arena, { visit })).toHaveLength(1000);
    }));
});

/** Not in the constants of Node. */
const O_PATH = 0x200000;

/** Takes entries of the root as a search does that read their types a moment ago. */
async function taking(
  engine: EngineName,
  work: (
    take: (raw: string, type?: Name["type"], maxBytes?: number) => Promise<unknown>,
    arena: Arena,
    jail: Jail,
  ) => Promise<void>,
): Promise<void> {
  await inArena(async (arena) => {
    const jail = new Jail({ path: arena.root, readOnly: true, crossDevice: false, io: "sync", engine }, new Locks());
    const scope = new CallScope({ clock: systemClock, timeoutMs: 10_000 });
    const taker = new FileTaker(jail, { scope, exhausted: undefined });
    // Loads what is loaded at first use.
    await runIo(taker.take(jail.top, { name: "file.txt", raw: "file.txt", type: "file" }, 1000));
    const before = openDescriptors();
    await work(
      async (raw, type = "file", maxBytes = 1000) => {
        const content = await runIo(taker.take(jail.top, { name: raw, raw, type }, maxBytes));
        return Buffer.isBuffer(content) ? content.toString() : content;
      },
      arena,
      jail,
    );
    await expectClosedSoon(before);
    await jail.close();
  });
}

describe.each<EngineName>(["openat2", "handle walk", "real-path check"])("the content of files, %s", (engine) => {
  test("is that of regular files, up to a size", () =>
    taking(engine, async (take, { file, root }) => {
      file("one", "content");
      file("empty", "");
      expect([await take("one"), await take("one", undefined, 7), await take("empty")]).toEqual([
        "content",
        "content",
        "",
      ]);
      expect([await take("one", "file", 6), await take("missing")]).toEqual(["too large", undefined]);
      file("large", "x".repeat(700_000));
      expect(await take("large", "file", 700_000)).toBe("x".repeat(700_000));
      fs.truncateSync(join(root, "large"), 3);
      expect(await take("large")).toBe("xxx");
    }));

  test("is not that of what has taken the place of a file since it was listed", () =>
    taking(engine, async (take, { link, root, outside }) => {
      execFileSync("mkfifo", [join(root, "fifo")]);
      fs.mkdirSync(join(root, "directory"));
      link("inside", "file.txt");
      link("out", join(outside, "canary.txt"));
      link("null", "/dev/null");
      for (const name of ["fifo", "directory", "inside", "out", "null"]) {
        expect([name, await take(name)]).toEqual([name, undefined]);
      }
    }));
});

test("what has taken the place of a listed file is pinned, and never opened", () =>
  taking("openat2", async (take, { file, root }, jail) => {
    file("one", "content");
    execFileSync("mkfifo", [join(root, "fifo")]);
    const calls = jail.sys.native?.load();
    const native = calls === undefined ? undefined : jest.spyOn(calls, "open");
    const own = jest.spyOn(fs, "openSync");
    expect(await take("fifo")).toBeUndefined();
    const flags = [
      ...(native?.mock.calls ?? []).map(([, , one]) => one),
      ...own.mock.calls.map(([, one]) => Number(one)),
    ];
    expect(flags.map((one) => (one & O_PATH) !== 0)).toEqual([true]);
    expect(await take("one")).toBe("content");
    expect(own).toHaveBeenCalledTimes(native === undefined ? 3 : 0);
  }));

/** With native calls from the first one, and without any. */
const ENGINES = ["openat2", "handle walk"] as const;
const RULE_FILES = [".rules", "rules.txt"];
/** More than a directory that is read at once has. */
const MANY = 1200;

interface Walked {
  /** In order: entries with all that is told of them, rule files by depth, and what could not be read. */
  readonly events: unknown[];
}

interface Visits {
  /** Before the entry is answered for. */
  readonly visit?: (path: string) => WalkStep | undefined;
  readonly options?: Partial<HostWalkOptions>;
  readonly denies?: (names: readonly string[]) => boolean;
}

async function walk({ root }: Arena, engine: EngineName, { visit, options, denies }: Visits = {}): Promise<Walked> {
  const jail = new Jail({ path: root, readOnly: true, crossDevice: false, io: "sync", engine }, new Locks());
  const scope = new CallScope({ clock: systemClock, timeoutMs: 60_000 });
  const events: unknown[] = [];
  const names: string[] = [];
  const seen = (kind: string, entry: WalkEntry): WalkStep => {
    names.splice(entry.depth - 1, Number.POSITIVE_INFINITY, entry.name);
    const { isUsual, ...told } = entry;
    expect(isUsual !== true || /^[ -~]*$/.test(entry.name)).toBe(true);
    events.push([kind, names.join("/"), told]);
    return visit?.(names.join("/")) ?? (entry.type === "directory" ? "enter" : "skip");
  };
  const policy = denies && {
    denies: (below: readonly string[], name: string) => denies([...below, name]),
    isDoubtful: () => false,
  };
  try {
    await runIo(
      walkEntries(jail, jail.top, {
        visit: (entry) => seen("visit", entry),
        visitDenied: (entry) => seen("denied", entry),
        unreadable: () => events.push(["unreadable", names.join("/")]),
        exhausted: () => events.push(["exhausted", names.join("/")]),
        rules: {
          names: RULE_FILES,
          maxBytes: 100,
          found: (depth, contents) => {
            const texts = RULE_FILES.map((_, index) => contents[index]?.toString());
            events.push(["rules", depth, texts]);
          },
        },
        sizes: true,
        access: { scope, ...(policy === undefined ? {} : { policy }) } as HostWalkOptions["access"],
        ...options,
      }),
    );
  } finally {
    await jail.close();
  }
  return { events };
}

function makeTree({ root, file, directory, link, outside }: Arena): void {
  const names = [
    "plain",
    "Capital",
    "a:b",
    "back\\slash",
    "…",
    "é",
    "line\nbreak",
    "bell\u0007",
    "~tilde",
    "x".repeat(200),
  ];
  for (const name of names) {
    file(`names/${name}`, name);
    file(`folders/${name}/inner`, name);
  }
  fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/names/`), Buffer.from([0xff, 0xfe])]), "no text");
  file("ruled/.rules", "one");
  file("ruled/rules.txt", "two");
  file("ruled/below/more/.rules", "x".repeat(200));
  file("ruled/below/z", "");
  directory("ruled/empty");
  directory("ruled/folder/.rules");
  link("ruled/linked/.rules", "../.rules");
  for (let at = 0; at < MANY; at++) file(`many/some-longer-name-of-a-file-${at}`, "");
  file("many/zz/last", "");
  file(`deep/${"d/".repeat(40)}end`, "");
  file("deep/behind", "");
  link("links/out", outside);
  link("links/in", "../deep");
  directory(".venue-files/staged");
  file("secret/a/b", "");
}

/** In the same order with both engines: they differ in nothing but time. */
async function expectEqual(arena: Arena, visits: (arena: Arena) => Visits = () => ({})): Promise<unknown[]> {
  const walked: unknown[][] = [];
  for (const engine of ENGINES) {
    arena.reset();
    makeTree(arena);
    const before = openDescriptors();
    const { events } = await walk(arena, engine, visits(arena));
    await expectClosedSoon(before);
    // Times differ between the two trees.
    walked.push(JSON.parse(JSON.stringify(events, (key, value) => (TIMES.has(key) ? undefined : value))));
  }
  expect(walked[0]).toEqual(walked[1]);
  return walked[0] ?? [];
}

const TIMES = new Set(["modified", "changed", "version", "identity"]);
const within = (events: readonly unknown[], kind: string): unknown[] =>
  events.filter((event) => Array.isArray(event) && event[0] === kind);

describeWhere(new NativeSource(0).load() !== undefined, NO_CALLS)("a walk with native calls", () => {
  test.each([true, false])("sees what one without them sees, in the same order (with sizes: %s)", (sizes) =>
    inArena(async (arena) => {
      const events = await expectEqual(arena, () => ({ options: { sizes } }));
      expect(within(events, "visit").length).toBeGreaterThan(MANY);
      expect(events).toContainEqual(["rules", 1, ["one", "two"]]);
      expect(events).toContainEqual(["rules", 3, ["too large", null]]);
      expect(within(events, "visit").some((one) => JSON.stringify(one).includes(".venue-files"))).toBe(false);
      expect(within(events, "unreadable")).toEqual([]);
    }),
  );

  test("does so where entries are denied, and tells of them alone", () =>
    inArena(async (arena) => {
      const denies = (names: readonly string[]) => names[0] === "secret" || names.at(-1) === ".rules";
      const events = await expectEqual(arena, () => ({ denies }));
      expect(within(events, "denied").map((one) => (one as unknown[])[1])).toContain("secret/a/b");
      expect(events).not.toContainEqual(["rules", 1, ["one", "two"]]);
      expect(events).toContainEqual(["rules", 1, [null, "two"]]);
    }));

  test("does so where directories vanish, move or become links while it is in them", () =>
    inArena(async (arena) => {
      const events = await expectEqual(arena, ({ root, outside }) => ({
        visit: (path) => {
          const at = (name: string) => join(root, name);
          if (path === "deep/d") {
            fs.rmSync(at("deep/d"), { recursive: true });
            fs.symlinkSync(outside, at("deep/d"));
          }
          if (path === "ruled/below") fs.rmSync(at("ruled/below"), { recursive: true });
          if (path === "folders/plain/inner") fs.renameSync(at("folders"), at("moved"));
          if (path === "secret/a") fs.writeFileSync(at("secret/new"), "");
          return undefined;
        },
      }));
      const seen = JSON.stringify(events);
      expect(seen).not.toContain("canary");
      expect(seen).not.toContain("ruled/below/more");
    }));

  test("stops where it is told to, and closes what it has open", () =>
    inArena(async (arena) => {
      const events = await expectEqual(arena, () => ({
        visit: (path) => (path.endsWith("d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d") ? "stop" : undefined),
      }));
      expect(events.at(-1)).toEqual(expect.arrayContaining(["visit", `deep/${"d/".repeat(19)}d`]));
    }));
});
