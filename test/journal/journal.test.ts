import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../src/adapter/adapter.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { RootConfigInput } from "../../src/config/types.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import type { Journal, JournalEntry } from "../../src/core/ports/changes/journal.js";
import { silentLog } from "../../src/core/ports/log.js";
import { isPersonal } from "../../src/core/ports/operation.js";

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
    for (const root of ["auto", "off", "meta", "none"]) answers.push(await run(adapter, "delete", { root, path: "f" }));
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
    expect(await codeOf(run(adapter, "delete", { root: "r", path: "large", recursive: true }))).toBe("QUOTA_EXCEEDED");
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
    const adapter = await open({ outer: { path: at("outer") }, inner: { path: at("outer", "a", "inner") } }, "state5");
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
    for (let turn = 0; turn < 40; turn++) await run(adapter, "write", { root: "r", path: "g", content: String(turn) });
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

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 20));
}
