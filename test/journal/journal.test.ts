import { spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../src/adapter/adapter.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { RootConfigInput } from "../../src/config/types.js";
import { newEntryId } from "../../src/core/entry-id.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import { attempt } from "../../src/core/io.js";
import type { Journal, JournalEntry, JournalQuery } from "../../src/core/ports/changes/journal.js";
import { silentLog } from "../../src/core/ports/log.js";
import { isPersonal } from "../../src/core/ports/operation.js";
import { Room } from "../../src/database/room.js";
import { readRecord, writeRecord } from "../../src/journal/note-records.js";
import { queryStore } from "../../src/journal/query.js";
import { type JournalStore, openStore, type StoreUser } from "../../src/journal/store.js";
import { openTables } from "../../src/journal/tables.js";

describe("the journal", () => {
  let home = "";
  const opened: HostedFileAdapter[] = [];

  const at = (...names: string[]): string => join(home, ...names);

  async function open(roots: Record<string, RootConfigInput>, state = "state"): Promise<HostedFileAdapter> {
    for (const root of Object.values(roots)) if ("path" in root) mkdirSync(root.path, { recursive: true });
    mkdirSync(at(state), { recursive: true });
    const config = parseFileConfig({ roots }, { baseDir: home });
    const journals = {
      openState: () => realpathSync(at(state)),
      lookAtState: () => realpathSync(at(state)),
      byDefault: true,
      log: silentLog,
    };
    const adapter = await assembleAdapter(config, { journals, discloseHostPaths: false });
    opened.push(adapter);
    return adapter;
  }

  async function journalOf(adapter: HostedFileAdapter, name: string): Promise<Journal> {
    const root = (adapter.roots as readonly Parameters<typeof isPersonal>[0][]).find((one) => one?.name === name);
    if (root === undefined || isPersonal(root)) throw new Error("no such root");
    const journal = await root.journal?.open();
    if (journal === undefined) throw new Error("no journal");
    return journal;
  }

  const everything = { limit: 500, sees: () => true };
  const entriesOf = async (journal: Journal): Promise<readonly JournalEntry[]> =>
    (await journal.query(everything)).entries;

  async function textOf(journal: Journal, entry: JournalEntry | undefined): Promise<string> {
    if (entry === undefined) return "no entry";
    const image = await journal.image(entry, "before");
    if (typeof image === "string") return image;
    const file = await image.open();
    const bytes = await file.read(0, image.size);
    file.close();
    return bytes.toString();
  }

  const codeOf = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => "done",
      (error: unknown) => (error instanceof FileAdapterError ? error.code : error),
    );

  const run = (adapter: HostedFileAdapter, op: string, input: object, context = {}): Promise<Record<string, unknown>> =>
    adapter.invoke(`file:${op}` as string, input, context) as Promise<Record<string, unknown>>;

  test("rules for Git that a full disk has left empty are mended with the next deletion", async () => {
    const adapter = await open({ rules: { path: at("rules") } });
    for (const name of ["a", "b"]) writeFileSync(at("rules", name), name);
    await run(adapter, "delete", { root: "rules", path: "a" });
    await adapter.close();
    const rules = at("rules", ".venue-files", ".gitignore");
    writeFileSync(rules, "");
    const next = await open({ rules: { path: at("rules") } });
    await run(next, "delete", { root: "rules", path: "b" });
    expect(readFileSync(rules, "utf8")).toBe("*\n");
  });

  beforeAll(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-")));
  });
  afterAll(async () => {
    await Promise.all(opened.map((adapter) => adapter.close()));
    rmSync(home, { recursive: true, force: true });
  });

  const PURGE = {
    root: "r",
    scheme: "file",
    op: "purge",
    actor: "operator",
    via: "t",
    surface: "library",
    path: [],
  } as const;
  const BIG = "x".repeat(100_000);

  describe("the journal of a host root", () => {
    let adapter: HostedFileAdapter;
    let journal: Journal;
    beforeAll(async () => {
      adapter = await open({ r: { path: at("r"), durability: "none" } });
      journal = await journalOf(adapter, "r");
    });

    test("has every change with what was there before, newest first", async () => {
      await run(adapter, "write", { root: "r", path: "a/b", content: "one", parents: true });
      await run(adapter, "write", { root: "r", path: "a/b", content: "two" });
      await run(adapter, "append", { root: "r", path: "a/b", content: "+" });
      await run(adapter, "move", { root: "r", path: "a/b", to: "c" });
      await run(adapter, "write", { root: "r", path: "big", content: BIG });
      await run(adapter, "write", { root: "r", path: "big", content: "small" });
      await run(adapter, "copy", { root: "r", path: "c", to: "big", overwrite: true });
      const entries = await entriesOf(journal);
      const shown = entries.map(({ op, action, path, undoable }) => [op, action, path.join("/"), undoable]);
      expect(shown).toEqual([
        ["copy", "modified", "big", true],
        ["write", "modified", "big", true],
        ["write", "created", "big", true],
        ["move", "moved", "c", true],
        ["append", "modified", "a/b", true],
        ["write", "modified", "a/b", true],
        ["write", "created", "a/b", true],
      ]);
      expect(entries.at(-1)?.made).toEqual([["a"]]);
      expect(entries[4]?.addition?.offset).toBe(3);
      expect(await textOf(journal, entries[0])).toBe("small");
      expect(await textOf(journal, entries[1])).toBe(BIG);
      expect(await textOf(journal, entries[5])).toBe("one");
      expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
      expect(entries.map(({ id }) => id)).toEqual(
        entries
          .map(({ id }) => id)
          .toSorted()
          .reverse(),
      );
    });

    test("finds entries by path and below it, by actor, via and group, and page by page", async () => {
      const alice = { callerDID: "did:key:z6MkAlice", caps: [{ with: "file://r/", can: "*" }], session: "s-alice" };
      await run(adapter, "mkdir", { root: "r", path: "sub" }, { session: "s-own" });
      await run(adapter, "write", { root: "r", path: "sub/x", content: "1" }, { session: "s-own" });
      await codeOf(run(adapter, "write", { root: "r", path: "sub/y", content: "1" }, alice));
      const below = await journal.query({ ...everything, path: ["sub"] });
      expect(below.entries.map(({ path }) => path.join("/"))).toEqual(["sub/x", "sub"]);
      const moved = await journal.query({ ...everything, path: ["a"] });
      expect(moved.entries.map(({ op }) => op)).toEqual(["move", "append", "write", "write"]);
      const mine = await journal.query({ ...everything, via: "s-own" });
      expect(mine.entries.map(({ op }) => op)).toEqual(["write", "mkdir"]);
      expect((await journal.query({ ...everything, actor: "did:key:z6MkAlice" })).entries).toEqual([]);
      const first = await journal.query({ ...everything, limit: 2 });
      const second = await journal.query({ ...everything, limit: 2, before: first.next as string });
      const all = await entriesOf(journal);
      expect([...first.entries, ...second.entries]).toEqual(all.slice(0, 4));
      const hidden = await journal.query({ ...everything, sees: ({ op }) => op === "mkdir" });
      expect(hidden.entries.map(({ op }) => op)).toEqual(["mkdir"]);
    });

    test("keeps what was deleted in the trash, whole trees too, and gives it up for good", async () => {
      await run(adapter, "write", { root: "r", path: "tree/deep/file", content: "kept", parents: true });
      await run(adapter, "write", { root: "r", path: "gone", content: "gone" });
      const tree = await run(adapter, "delete", { root: "r", path: "tree", recursive: true });
      const file = await run(adapter, "delete", { root: "r", path: "gone" });
      expect([tree, file]).toMatchObject([{ trashed: true }, { trashed: true }]);
      const trash = await journal.trash();
      expect(trash.map(({ id, path, kind, by }) => [id, path.join("/"), kind, by])).toEqual([
        [file["id"], "gone", "file", "operator"],
        [tree["id"], "tree", "directory", "operator"],
      ]);
      expect(await textOf(journal, await journal.entry(String(file["id"])))).toBe("gone");
      const folder = at("r", ".venue-files", "trash");
      expect(statSync(folder).mode & 0o777).toBe(0o700);
      expect(readFileSync(at("r", ".venue-files", ".gitignore"), "utf8")).toBe("*\n");
      const final = await run(adapter, "delete", { root: "r", path: "big", permanent: true });
      expect(final).toEqual({ deleted: true, existed: true, trashed: false, reason: "permanent" });
      await journal.purge([String(file["id"])], PURGE);
      expect((await journal.trash()).map(({ path }) => path)).toEqual([["tree"]]);
      expect(await journal.entry(String(file["id"]))).toMatchObject({ undoable: false, reason: "purged" });
      await journal.purge("all", PURGE);
      expect(existsSync(folder)).toBe(false);
      expect((await entriesOf(journal)).filter(({ before, undoable }) => before !== null && undoable)).toMatchObject([
        { op: "append" },
      ]);
    });

    test("survives a restart, and is shared with a second process", async () => {
      const before = (await entriesOf(journal)).length;
      const script = `
      const { createFileAdapter } = await import(process.argv[1]);
      const files = await createFileAdapter({ stateDir: process.argv[2], roots: { r: process.argv[3] } });
      await files.invoke("file:write", { root: "r", path: "other", content: "from another process" });
      await files.close();`;
      const library = new URL("../../dist/index.js", import.meta.url).href;
      const child = spawnSync(process.execPath, ["--input-type=module", "-e", script, library, at("state"), at("r")], {
        encoding: "utf8",
      });
      expect(child.stderr.replace(/^.*Warning.*$/gm, "").trim()).toBe("");
      const entries = await entriesOf(journal);
      expect(entries).toHaveLength(before + 1);
      expect(entries[0]).toMatchObject({ path: ["other"], surface: "library" });
    });
  });

  describe("the trash", () => {
    test("auto deletes what it cannot keep; off keeps nothing; without a journal nothing is said", async () => {
      const adapter = await open(
        {
          auto: { path: at("auto") },
          off: { path: at("off"), trash: "off" },
          meta: { path: at("meta"), journal: "metadata" },
          none: { path: at("none"), journal: "off" },
        },
        "state2",
      );
      // A link in its place is not followed, and what it leads to is left alone.
      mkdirSync(at("auto", ".venue-files"), { mode: 0o700 });
      mkdirSync(at("elsewhere"));
      symlinkSync(at("elsewhere"), at("auto", ".venue-files", "trash"));
      for (const root of ["auto", "off", "meta", "none"]) {
        await run(adapter, "write", { root, path: "f", content: "x" });
      }
      const answers = [];
      for (const root of ["auto", "off", "meta", "none"])
        answers.push(await run(adapter, "delete", { root, path: "f" }));
      const plain = { deleted: true, existed: true };
      expect(answers).toEqual([{ ...plain, trashed: false, reason: "no_trash" }, plain, plain, plain]);
      expect(readdirSync(at("elsewhere"))).toEqual([]);
      const meta = await entriesOf(await journalOf(adapter, "meta"));
      expect(meta.map(({ op, undoable, reason }) => [op, undoable, reason])).toEqual([
        ["delete", false, "off"],
        ["write", false, "off"],
      ]);
    });

    test("required refuses to delete what it cannot keep, and permanent deletion", async () => {
      const quota = { bytes: 50 };
      const adapter = await open({ r: { path: at("required"), trash: "required", journalQuota: quota } }, "state3");
      await run(adapter, "write", { root: "r", path: "small", content: "x" });
      await run(adapter, "write", { root: "r", path: "large/file", content: "x".repeat(60), parents: true });
      expect(await codeOf(run(adapter, "delete", { root: "r", path: "small", permanent: true }))).toBe(
        "DENIED_BY_POLICY",
      );
      expect(await codeOf(run(adapter, "delete", { root: "r", path: "large/file" }))).toBe("QUOTA_EXCEEDED");
      expect(await codeOf(run(adapter, "delete", { root: "r", path: "large", recursive: true }))).toBe(
        "QUOTA_EXCEEDED",
      );
      expect(await run(adapter, "delete", { root: "r", path: "small" })).toMatchObject({ trashed: true });
      expect(readdirSync(at("required"))).toEqual(expect.arrayContaining(["large"]));
      const without = parseFileConfig({ roots: { r: { path: at("required"), trash: "required" } } }, { baseDir: home });
      await expect(assembleAdapter(without, { discloseHostPaths: false })).rejects.toThrow(
        /trash: "required", which needs/,
      );
    });

    test("that came with a repository is neither shown nor followed, and is made private", async () => {
      const stage = at("cloned", ".venue-files");
      mkdirSync(join(stage, "trash"), { recursive: true });
      writeFileSync(join(stage, "trash", `${"a".repeat(64)}-1m834a0q20000nyb0xsrr`), "planted");
      chmodSync(join(stage, "trash"), 0o777);
      const adapter = await open({ r: { path: at("cloned") } }, "state4");
      const journal = await journalOf(adapter, "r");
      expect(await journal.trash()).toEqual([]);
      await run(adapter, "write", { root: "r", path: "f", content: "x" });
      await run(adapter, "delete", { root: "r", path: "f" });
      expect(lstatSync(join(stage, "trash")).mode & 0o777).toBe(0o700);
      expect(await journal.trash()).toHaveLength(1);
      await journal.purge("all", PURGE);
      expect(readdirSync(join(stage, "trash"))).toHaveLength(1);
    });

    test("of a root inside keeps the folder above it from being deleted through another root", async () => {
      const adapter = await open(
        { outer: { path: at("outer") }, inner: { path: at("outer", "a", "inner") } },
        "state5",
      );
      await run(adapter, "write", { root: "inner", path: "f", content: "x" });
      await run(adapter, "delete", { root: "inner", path: "f" });
      const remove = () => run(adapter, "delete", { root: "outer", path: "a", recursive: true });
      await expect(remove()).rejects.toMatchObject({ code: "DENIED_BY_POLICY", data: { inside: "inner" } });
      await (await journalOf(adapter, "inner")).purge("all", PURGE);
      expect(await remove()).toMatchObject({ trashed: true });
    });

    test("notices content that was altered through another name or descriptor", async () => {
      const adapter = await open({ r: { path: at("altered") } }, "state6");
      const journal = await journalOf(adapter, "r");
      await run(adapter, "write", { root: "r", path: "f", content: BIG });
      await run(adapter, "write", { root: "r", path: "f", content: "new" });
      const [entry] = await entriesOf(journal);
      const folder = at("altered", ".venue-files", "trash");
      const [name = ""] = readdirSync(folder);
      writeFileSync(join(folder, name), "forged");
      expect(await textOf(journal, entry)).toBe("altered");
    });
  });

  describe("the quota of a journal", () => {
    test("gives up the oldest content, then the oldest entries", async () => {
      const journalQuota = { bytes: 150_000, entries: 30 };
      const adapter = await open({ r: { path: at("quota"), journalQuota, durability: "none" } }, "state7");
      const journal = await journalOf(adapter, "r");
      for (let turn = 0; turn < 6; turn++)
        await run(adapter, "write", { root: "r", path: "f", content: `${turn}${"x".repeat(50_000)}` });
      const pruned = async (): Promise<number> =>
        (await entriesOf(journal)).filter(({ reason }) => reason === "pruned").length;
      await until(async () => (await pruned()) >= 2);
      const kept = (await entriesOf(journal)).filter(({ before, undoable }) => before !== null && undoable);
      expect(kept.length).toBeGreaterThanOrEqual(2);
      for (let turn = 0; turn < 40; turn++)
        await run(adapter, "write", { root: "r", path: "g", content: String(turn) });
      await until(async () => (await entriesOf(journal)).length <= 30);
      expect((await entriesOf(journal))[0]).toMatchObject({ path: ["g"] });
    });

    test("what is most of it by itself pushes nothing out", async () => {
      const adapter = await open({ r: { path: at("apart"), journalQuota: { bytes: 120_000 } } }, "state8");
      const journal = await journalOf(adapter, "r");
      await run(adapter, "write", { root: "r", path: "small", content: "1" });
      await run(adapter, "write", { root: "r", path: "small", content: "2" });
      for (const name of ["x", "y"]) {
        await run(adapter, "write", { root: "r", path: name, content: BIG });
        await run(adapter, "delete", { root: "r", path: name });
      }
      const states = async (): Promise<unknown> =>
        (await entriesOf(journal))
          .filter(({ before }) => before !== null)
          .map(({ path, undoable }) => [path[0], undoable]);
      expect(await states()).toEqual([
        ["y", true],
        ["x", true],
        ["small", true],
      ]);
    });
  });
});

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20));
}

// Names that are longer than a key of the index may be.
describe("long names", () => {
  const faults: unknown[] = [];
  const user: StoreUser = { onFault: (error) => void faults.push(error), onWritten: () => {} };
  let home = "";
  let store: JournalStore;

  function add(path: readonly string[], origin: { readonly actor?: string; readonly via?: string } = {}): string {
    const time = Date.now();
    const by = { root: "r", scheme: "file", op: "write", actor: "operator", via: "p", surface: "library" } as const;
    const change = { action: "created", kind: "file", path, before: null, after: null } as const;
    const id = newEntryId(time);
    store.add({ ...by, ...origin, ...change, time, id }, undefined, false);
    return id;
  }

  const idsAt = async (path: readonly string[]): Promise<string[]> =>
    (await queryStore(store, { path, limit: 100, sees: () => true })).entries.map(({ id }) => id);

  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-names-")));
    store = openStore(home, user);
  });
  afterEach(async () => {
    await store.leave(user);
    rmSync(home, { recursive: true, force: true });
    expect(faults.splice(0)).toEqual([]);
  });

  const ALPHABETS = [
    ["one byte", "n"],
    ["two bytes", "é"],
    ["three bytes", "木"],
    ["four bytes", "🌲"],
  ] as const;

  test.each(ALPHABETS)(
    "entries of paths of up to 4,096 bytes are written and found, with letters of %s",
    async (_, letter) => {
      const name = letter.repeat(Math.floor(250 / Buffer.byteLength(letter)));
      const whole = Array.from({ length: 16 }, (_each, at) => `${name}${at}`);
      const ids = whole.map((_each, at) => add(whole.slice(0, at + 1)));
      const other = add([...whole.slice(0, 15), "other"]);
      store.flush();
      expect(store.totals.entries).toBe(17);
      for (const at of whole.keys()) {
        const below = at < 15 ? [other] : [];
        expect(await idsAt(whole.slice(0, at + 1))).toEqual([...below, ...ids.slice(at).reverse()]);
      }
      store.remove([...ids, other], true);
      expect([store.totals.entries, await idsAt(whole.slice(0, 1))]).toEqual([0, []]);
    },
  );

  test("what is below a path is found whatever its length", async () => {
    for (let length = 1_490; length <= 1_510; length++) {
      const path = ["n".repeat(length)];
      const ids = [add(path), add([...path, "a"]), add([...path, "b", "c"])];
      add([`${path[0]}-`]);
      store.flush();
      expect(await idsAt(path)).toEqual(ids.reverse());
      store.remove([...store.ids(undefined)], true);
    }
  });

  test("a caller with a very long name has its entries", async () => {
    const actor = `did:web:${"木".repeat(800)}`;
    const id = add(["a"], { actor, via: actor });
    store.flush();
    const page = await queryStore(store, { actor, limit: 1, sees: () => true });
    expect(page.entries.map((entry) => entry.id)).toEqual([id]);
  });
});

/** More than one query looks at. */
const ENTRIES = 20_400;
const ELSEWHERE = 50;

describe("a long journal", () => {
  const faults: unknown[] = [];
  const user: StoreUser = { onFault: (error) => void faults.push(error), onWritten: () => {} };

  let home = "";
  let store: JournalStore;

  function add(path: readonly string[]): void {
    const time = Date.now();
    const origin = { root: "r", scheme: "file", op: "write", actor: "operator", via: "p", surface: "library" } as const;
    const change = { action: "created", kind: "file", path, before: null, after: null } as const;
    store.add({ ...origin, ...change, time, id: newEntryId(time) }, undefined, false);
  }

  beforeAll(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-long-")));
    store = openStore(home, user);
    add(["d", "oldest"]);
    for (let index = 0; index < ENTRIES; index++) add(["d", `file-${index % 100}`]);
    for (let index = 0; index < ELSEWHERE; index++) add(["e", "other"]);
    store.flush();
  });
  afterAll(async () => {
    await store.leave(user);
    rmSync(home, { recursive: true, force: true });
    expect(faults).toEqual([]);
  });

  /** All pages of a query. */
  async function pagesOf(query: Omit<JournalQuery, "sees" | "limit">, limit: number) {
    const pages = [];
    for (let before: string | undefined; ; ) {
      const from = before === undefined ? {} : { before };
      const page = await queryStore(store, { ...query, ...from, limit, sees: () => true });
      pages.push(page);
      if (page.next === undefined) return pages;
      before = page.next;
    }
  }

  test("is told below a path to its oldest entry, newest first, each once", async () => {
    const pages = await pagesOf({ path: ["d"] }, 5000);
    const entries = pages.flatMap((page) => page.entries);
    expect(entries).toHaveLength(ENTRIES + 1);
    expect(entries.at(-1)?.path).toEqual(["d", "oldest"]);
    const ids = entries.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort().reverse());
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("ends a query that looks at too many, and goes on from there", async () => {
    const sees = () => false;
    const first = await queryStore(store, { path: ["d"], limit: 10, sees });
    expect(first).toMatchObject({ entries: [], complete: false, reason: "visited", next: expect.any(String) });
    const rest = await pagesOf({ path: ["e"] }, 30);
    expect(rest.flatMap((page) => page.entries)).toHaveLength(ELSEWHERE);
  });

  test("is told of one file from its index alone", async () => {
    const pages = await pagesOf({ path: ["d", "file-7"] }, 100);
    const entries = pages.flatMap((page) => page.entries);
    expect(entries).toHaveLength(ENTRIES / 100);
    expect(pages.every(({ complete }) => complete)).toBe(true);
  });
});

describe("tables that cannot be made", () => {
  test("leave nothing open", async () => {
    const folder = mkdtempSync(join(tmpdir(), "vf-journal-"));
    const isOurs = (fd: string): boolean =>
      attempt(() => readlinkSync(`/proc/self/fd/${fd}`))?.startsWith(folder) === true;
    const openFiles = (): number => readdirSync("/proc/self/fd").filter(isOurs).length;
    const full = jest.spyOn(Room.prototype, "make").mockImplementation(() => {
      throw Object.assign(new Error("no room"), { code: "ENOSPC" });
    });
    try {
      expect(() => openTables(folder)).toThrow("no room");
      if (process.platform === "linux") await until(async () => openFiles() === 0);
    } finally {
      full.mockRestore();
    }
    await openTables(folder).env.close();
    rmSync(folder, { recursive: true });
  });
});

// What notes of changes leave to the next process. No test waits for what is written.
describe("notes before a commit", () => {
  const user: StoreUser = { onFault: () => {}, onWritten: () => {} };
  let home = "";
  let store: JournalStore;
  let isFull = false;

  const openFailing: typeof openTables = (...args) => {
    const tables = openTables(...args);
    const { transactionSync } = tables.env;
    const failing = <T>(work: () => T): T => {
      if (isFull) throw Object.assign(new Error("No space left on device"), { code: 28 });
      return Reflect.apply(transactionSync, tables.env, [work]) as T;
    };
    Object.assign(tables.env, { transactionSync: failing });
    return tables;
  };

  const ORIGIN = { root: "r", scheme: "file", op: "write", actor: "operator", via: "p", surface: "library" } as const;
  const CHANGE = { action: "modified", kind: "file", path: ["f"], before: null, after: null } as const;

  /** Notes a change, and adds its entry. @param what content from before it; whether it is noted first */
  function change({ bytes = Buffer.from("old"), isNoted = true } = {}): string {
    const time = Date.now();
    const id = newEntryId(time);
    if (isNoted) store.begin({ id, origin: ORIGIN, change: CHANGE, kept: "value" }, bytes);
    store.add({ ...ORIGIN, ...CHANGE, time, id }, { in: "value", bytes }, false);
    return id;
  }

  const noteFiles = (): string[] => readdirSync(home).filter((name) => name.startsWith("pending-"));

  /** Makes the notes that are there those of a process that has died. */
  function bury(): void {
    for (const name of noteFiles()) {
      const path = join(home, name);
      const file = readFileSync(path);
      const fd = openSync(path, "w");
      const length = writeRecord({ fd, at: 0 }, { process: "another-start-of-the-machine - 1 1" });
      const { next = file.length } = readRecord(file, 0) ?? {};
      writeSync(fd, file, next, file.length - next, length);
      closeSync(fd);
    }
  }

  /** The process ends in order, and the next one begins. */
  async function restart(): Promise<void> {
    await store.leave(user);
    bury();
    isFull = false;
    store = openStore(home, user, openFailing);
  }

  beforeEach(() => {
    home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-journal-notes-")));
    isFull = false;
    store = openStore(home, user, openFailing);
  });
  afterEach(async () => {
    isFull = false;
    await store.leave(user);
    rmSync(home, { recursive: true, force: true });
  });

  describe("a process that ends in order while nothing can be written", () => {
    test("leaves its notes to the next one", async () => {
      isFull = true;
      const id = change();
      await restart();
      const left = store.takePending();
      expect([left?.notes.map(({ planned }) => planned.id), left?.isLacking]).toEqual([[id], false]);
    });

    test("says that it lacks what was not noted", async () => {
      isFull = true;
      change({ isNoted: false });
      await restart();
      expect(store.takePending()).toMatchObject({ notes: [], isLacking: true });
    });

    test("says that it lacks what had no room in its memory", async () => {
      isFull = true;
      const bytes = Buffer.alloc(4_000_000);
      while (store.hasRoom) change({ bytes });
      expect(change({ isNoted: false })).not.toBe("");
      expect(store.fault).toBe("lost");
      isFull = false;
      store.flush();
      await restart();
      expect(store.takePending()).toMatchObject({ notes: [], isLacking: true });
    });

    test("leaves nothing once all is written", async () => {
      isFull = true;
      change({ isNoted: false });
      store.flush();
      isFull = false;
      store.flush();
      await restart();
      expect(store.takePending()).toBeUndefined();
    });
  });

  test("notes of others stay until what they tell is written", async () => {
    isFull = true;
    const first = change();
    change({ isNoted: false });
    await restart();
    isFull = true;
    const told = () => {
      const left = store.takePending();
      left?.settle();
      return left && { ids: left.notes.map(({ planned }) => planned.id).sort(), isLacking: left.isLacking };
    };
    expect(told()).toEqual({ ids: [first], isLacking: true });
    const second = change();
    store.flush();
    // This process has them, and the next one gets them if this one ends now.
    expect(told()).toBeUndefined();
    await restart();
    expect(told()).toEqual({ ids: [first, second].sort(), isLacking: true });
    store.flush();
    expect([told(), noteFiles()]).toEqual([undefined, [expect.anything()]]);
  });

  test("a change that ends once its journal is closed touches no file that has the descriptor of its note by then", async () => {
    const ids = [newEntryId(Date.now()), newEntryId(Date.now())];
    for (const id of ids) store.begin({ id, origin: ORIGIN, change: CHANGE }, undefined);
    await store.leave(user);
    const path = join(home, "of-another");
    writeFileSync(path, "whole");
    const opened = Array.from({ length: 16 }, () => openSync(path, "r+"));
    for (const id of ids) store.cancel(id);
    expect([readFileSync(path, "utf8"), opened.map((fd) => fstatSync(fd).size)]).toEqual([
      "whole",
      opened.map(() => 5),
    ]);
    for (const fd of opened) closeSync(fd);
  });
});
