// A folder whose changes cannot be kept, though by default they are: said at the start and in every answer.
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { isObject } from "../../../src/core/unknown.js";
import { type RawClient, startRaw } from "../../surfaces/mcp/raw.js";
import { textOf } from "../../surfaces/mcp/sessions.js";
import { cleanUp, makeFolder } from "../process.js";

const WITHOUT = fileURLToPath(new URL("../without-natives.cjs", import.meta.url));
const LARGE = "x".repeat(70_000);

afterAll(cleanUp);

type Environment = Readonly<Record<string, string>>;

const makeProject = (): string =>
  makeFolder({
    ...{ "p/a.txt": "one\n", "p/b.txt": "two\n", "p/d/c.txt": "three\n", "p/large.txt": LARGE, file: "" },
    ...{ "p/m.txt": "four\n", "p/n.txt": "five\n", "p/o.txt": "six\n" },
  });

const outputIn = async (client: RawClient, tool: string, args: object): Promise<Record<string, unknown>> => {
  const { result } = await client.call(tool, args);
  if (!isObject(result.structuredContent)) throw new Error(textOf(result));
  return result.structuredContent;
};

const rootsOf = async (client: RawClient): Promise<unknown> => (await outputIn(client, "file_roots", {}))["roots"];

const outputOf = (client: RawClient, tool: string, args: object): Promise<Record<string, unknown>> =>
  outputIn(client, tool, { root: "p", ...args });

const codeOf = async (client: RawClient, tool: string, args: object): Promise<unknown> => {
  const { result } = await client.call(tool, { root: "p", ...args });
  return (result._meta?.["venue-files/error"] as { errorCode?: unknown } | undefined)?.errorCode;
};

const linked = (folder: string): Environment => {
  mkdirSync(join(folder, "real"), { mode: 0o700 });
  symlinkSync("real", join(folder, "link"));
  return { VENUE_FILES_STATE_DIR: join(folder, "link") };
};

const open = (folder: string): Environment => {
  mkdirSync(join(folder, "open"));
  chmodSync(join(folder, "open"), 0o777);
  return { VENUE_FILES_STATE_DIR: join(folder, "open") };
};

const foreign = (folder: string): Environment => {
  mkdirSync(join(folder, "foreign"), { mode: 0o700 });
  chownSync(join(folder, "foreign"), 12_345, 12_345);
  return { VENUE_FILES_STATE_DIR: join(folder, "foreign") };
};

const nothingKept: readonly (readonly [string, string, (folder: string) => Environment])[] = [
  ["the home is no folder", "no_state_dir", (folder) => ({ HOME: join(folder, "file") })],
  ["the home cannot be made", "no_state_dir", () => ({ HOME: "/proc/nobody" })],
  ["the state directory is a file", "no_state_dir", (folder) => ({ VENUE_FILES_STATE_DIR: join(folder, "file") })],
  ["the state directory is a link", "no_state_dir", linked],
  ["others may write in the state directory", "no_state_dir", open],
  ["the state directory lies in the folder", "no_state_dir", (folder) => ({ HOME: join(folder, "p") })],
  ["the database cannot be loaded", "no_lmdb", () => ({ NODE_OPTIONS: `--require ${WITHOUT}` })],
  ...(process.geteuid?.() === 0 ? [["the state directory is another user's", "no_state_dir", foreign] as const] : []),
];

describe("where nothing can be kept", () => {
  test.each(nothingKept)("%s", async (_name, reason, prepare) => {
    const folder = makeProject();
    const client = await startRaw(["--tools", "full", join(folder, "p")], { env: prepare(folder) });
    expect(client.process.stderr()).toMatch(/Warning: Root 'p' does not keep what is replaced or deleted/);
    const unkept = { kept: false, reason };
    expect(await rootsOf(client)).toEqual([expect.objectContaining(unkept)]);
    expect(await outputOf(client, "file_delete", { path: "a.txt" })).toEqual({
      ...{ deleted: true, existed: true },
      ...{ trashed: false, reason },
    });
    expect(await outputOf(client, "file_delete", { path: "d", recursive: true })).toMatchObject({
      trashed: false,
      reason,
    });
    expect(await outputOf(client, "file_write", { path: "b.txt", content: "2\n" })).toMatchObject(unkept);
    expect(await outputOf(client, "file_move", { path: "m.txt", to: "n.txt", overwrite: true })).toMatchObject(unkept);
    expect(await outputOf(client, "file_copy", { path: "o.txt", to: "n.txt", overwrite: true })).toMatchObject(unkept);
    const { result } = await client.call("file_edit", { root: "p", path: "b.txt", oldText: "2", newText: "3" });
    expect(JSON.stringify(result.content)).toContain(`what was there is not kept: ${reason}`);
    // Where nothing was before, nothing is lost.
    const made = await outputOf(client, "file_write", { path: "new.txt", content: "n" });
    expect(made).not.toHaveProperty("kept");
    const history = await client.call("file_history", { root: "p" });
    expect(history.result._meta?.["venue-files/result"]).toMatchObject({ complete: false, reason });
    expect(textOf(history.result, 1)).toContain('Root "p" keeps no history: the');
    expect(await codeOf(client, "file_undo", { last: 1 })).toBe("NOT_SUPPORTED");
    await client.process.stop();
  });
});

const nothingTrashed: readonly (readonly [string, (folder: string) => void])[] = [
  ["its own folder is a link", (folder) => symlinkSync("../elsewhere", join(folder, "p/.venue-files"))],
  [
    "its trash is a link",
    (folder) => {
      mkdirSync(join(folder, "p/.venue-files"));
      symlinkSync("../../elsewhere", join(folder, "p/.venue-files/trash"));
    },
  ],
  [
    "its trash is a link that leads nowhere",
    (folder) => {
      mkdirSync(join(folder, "p/.venue-files"));
      symlinkSync("nowhere", join(folder, "p/.venue-files/trash"));
    },
  ],
];

describe("where there can be no trash", () => {
  test.each(nothingTrashed)("%s", async (_name, prepare) => {
    const folder = makeProject();
    mkdirSync(join(folder, "elsewhere"), { mode: 0o700 });
    prepare(folder);
    const client = await startRaw(["--tools", "full", join(folder, "p")]);
    expect(client.process.stderr()).toMatch(/Warning: Root 'p' does not keep what is deleted/);
    const unkept = { kept: false, reason: "no_trash" };
    expect(await rootsOf(client)).toEqual([expect.objectContaining(unkept)]);
    const deleted = { trashed: false, reason: "no_trash" };
    expect(await outputOf(client, "file_delete", { path: "a.txt" })).toMatchObject(deleted);
    expect(await outputOf(client, "file_delete", { path: "d", recursive: true })).toMatchObject(deleted);
    expect(await outputOf(client, "file_write", { path: "large.txt", content: "" })).toMatchObject(unkept);
    // The journal itself keeps small files.
    expect(await outputOf(client, "file_write", { path: "b.txt", content: "2\n" })).not.toHaveProperty("kept");
    const { result } = await client.call("file_history", { root: "p", limit: 1 });
    const [{ id }] = JSON.parse(textOf(result)) as [{ id: string }];
    const before = await client.call("file_read", { root: "p", path: "b.txt", version: `${id}:before` });
    expect(textOf(before.result)).toBe("two\n");
    expect(readdirSync(join(folder, "elsewhere"))).toEqual([]);
    await client.process.stop();
  });
});

test("what is kept as it should be says nothing", async () => {
  const folder = makeProject();
  const client = await startRaw(["--tools", "full", join(folder, "p")]);
  expect(client.process.stderr()).not.toContain("Warning");
  expect(JSON.stringify(await rootsOf(client))).not.toContain("kept");
  expect(await outputOf(client, "file_write", { path: "b.txt", content: "2\n" })).not.toHaveProperty("kept");
  expect(await outputOf(client, "file_delete", { path: "a.txt" })).toMatchObject({ trashed: true });
  await client.process.stop();
});

describe("a state directory that is lost while it runs", () => {
  test("is made again, and what was deleted since can be taken back", async () => {
    const folder = makeProject();
    const state = join(folder, "state");
    const client = await startRaw(["--tools", "full", join(folder, "p")], { env: { VENUE_FILES_STATE_DIR: state } });
    expect(await outputOf(client, "file_delete", { path: "a.txt" })).toMatchObject({ trashed: true });
    rmSync(state, { recursive: true });
    const gone = await outputOf(client, "file_delete", { path: "b.txt" });
    expect(gone).toMatchObject({ trashed: true });
    const history = await client.call("file_history", { root: "p" });
    expect(history.result._meta?.["venue-files/result"]).toMatchObject({ complete: false, reason: "damaged" });
    expect(await codeOf(client, "file_undo", { id: gone["id"] })).toBeUndefined();
    expect(existsSync(join(folder, "p/b.txt"))).toBe(true);
    await client.process.stop();
    const next = await startRaw(["--tools", "full", join(folder, "p")], { env: { VENUE_FILES_STATE_DIR: state } });
    expect(await codeOf(next, "file_undo", { last: 1, via: "*" })).toBe("NOT_FOUND");
    await next.process.stop();
  });

  test("and cannot be made again: each answer says so", async () => {
    const folder = makeProject();
    const state = join(folder, "above/state");
    const client = await startRaw(["--tools", "full", join(folder, "p")], { env: { VENUE_FILES_STATE_DIR: state } });
    expect(await outputOf(client, "file_delete", { path: "a.txt" })).toMatchObject({ trashed: true });
    rmSync(join(folder, "above"), { recursive: true });
    symlinkSync("file", join(folder, "above"));
    const lost = { reason: "no_state_dir" };
    expect(await rootsOf(client)).toEqual([expect.objectContaining(lost)]);
    expect(await outputOf(client, "file_delete", { path: "b.txt" })).toMatchObject({ trashed: false, ...lost });
    expect(await outputOf(client, "file_write", { path: "n.txt", content: "" })).toMatchObject({
      kept: false,
      ...lost,
    });
    const history = await client.call("file_history", { root: "p" });
    expect(history.result._meta?.["venue-files/result"]).toMatchObject({ complete: false, ...lost });
    await client.process.stop();
  });
});
