// What is said where a root keeps nothing: by its configuration, or though it should.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../src/adapter/adapter.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { RootConfigInput } from "../../src/config/types.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import { silentLog } from "../../src/core/ports/log.js";

let home = "";
const opened: HostedFileAdapter[] = [];

async function open(roots: Record<string, RootConfigInput>, state: "works" | "fails" | "none" = "works") {
  for (const root of Object.values(roots)) if ("path" in root) mkdirSync(root.path, { recursive: true });
  const stateOf = (): string => {
    if (state === "fails") throw new Error("/host/path cannot be used");
    mkdirSync(join(home, "state"), { recursive: true });
    return join(home, "state");
  };
  const journals = { openState: stateOf, lookAtState: stateOf, byDefault: true, log: silentLog };
  const config = parseFileConfig({ roots }, { baseDir: home });
  const adapter = await assembleAdapter(config, {
    ...(state === "none" ? {} : { journals }),
    discloseHostPaths: false,
  });
  opened.push(adapter);
  const run = (op: string, input: object): Promise<Record<string, unknown>> =>
    adapter.invoke(`file:${op}`, input) as Promise<Record<string, unknown>>;
  return { adapter, run };
}

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "done",
    (error: unknown) => (error instanceof FileAdapterError ? [error.code, error.message] : error),
  );

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "vf-unkept-"));
});

afterAll(async () => {
  await Promise.all(opened.map((adapter) => adapter.close()));
  rmSync(home, { recursive: true, force: true });
});

test("with the journal off, the history says that nothing is kept and which key keeps it", async () => {
  const path = join(home, "off");
  const { run, adapter } = await open({ off: { path, journal: "off" }, on: { path: join(home, "on") } });
  const said = {
    complete: false,
    reason: "off",
    hint: 'Root "off" keeps no history: its journal is off (set journal: "on")',
  };
  expect(await run("history", { root: "off" })).toEqual({ entries: [], ...said });
  expect(await run("trash", { root: "off" })).toEqual({ entries: [], ...said });
  // Where others have one, that is no news.
  expect(await run("history", {})).toEqual({ entries: [], complete: true });
  expect((await run("roots", {}))["roots"]).toEqual([
    expect.objectContaining({ name: "off", kept: false, reason: "off" }),
    expect.not.objectContaining({ kept: false }),
  ]);
  await adapter.lookForLacks();
  expect(adapter.warnings).toEqual([]);
});

test("with the journal off, undo and restore are not supported, and name the key", async () => {
  const path = join(home, "undo-off");
  const { run } = await open({ off: { path, journal: "off" }, on: { path: join(home, "on2") } });
  writeFileSync(join(path, "a"), "a");
  const refused = ["NOT_SUPPORTED", expect.stringContaining('set journal: "on"')];
  for (const input of [{ id: "1m83nfr960003x1jv5jmy" }, { group: "g1" }, { last: 1 }, { ids: ["a", "b"] }]) {
    expect(await failureOf(run("undo", { root: "off", ...input }))).toEqual(refused);
  }
  for (const to of ["1m83nfr960003x1jv5jmy", "x:before", `sha256:${"0".repeat(64)}`]) {
    expect(await failureOf(run("restore", { root: "off", path: "a", to }))).toEqual(refused);
  }
  expect(await failureOf(run("read", { root: "off", path: "a", version: "x:before" }))).toEqual(refused);
  // In another root there is one.
  expect(await failureOf(run("undo", { id: "x" }))).toEqual(["NOT_FOUND", expect.anything()]);
});

test("without a state directory, undo names the key that would give one", async () => {
  const { run } = await open({ bare: { path: join(home, "bare") }, scratch: { temp: true } }, "none");
  expect(await failureOf(run("undo", { last: 1 }))).toEqual(["NOT_SUPPORTED", expect.stringContaining("stateDir")]);
  expect(await run("history", {})).toMatchObject({
    complete: false,
    reason: "off",
    hint: expect.stringContaining("stateDir"),
  });
  // Nobody expects a temporary folder to keep anything.
  expect((await run("roots", {}))["roots"]).toEqual([
    expect.objectContaining({ name: "bare", kept: false, reason: "off" }),
    expect.not.objectContaining({ kept: false }),
  ]);
});

test("with the journal off, a change says nothing, and nothing is said of a root that nobody changes", async () => {
  const path = join(home, "silent");
  const { run } = await open({ off: { path, journal: "off" }, ro: { path, readOnly: true } });
  await run("write", { root: "off", path: "a", content: "1" });
  expect(await run("write", { root: "off", path: "a", content: "2" })).not.toHaveProperty("kept");
  expect(await run("delete", { root: "off", path: "a" })).toEqual({ deleted: true, existed: true });
  expect(await run("history", { root: "ro" })).toEqual({ entries: [], complete: true });
});

test("required deletes nothing where nothing can be kept, and says why", async () => {
  const path = join(home, "required");
  const { run, adapter } = await open({ r: { path, trash: "required" } }, "fails");
  for (const name of ["a", "d/e", "f"]) await run("write", { root: "r", path: name, content: "x", parents: true });
  const refused = ["QUOTA_EXCEEDED", expect.stringContaining("the state directory (stateDir) cannot be used")];
  for (const input of [{ path: "a" }, { path: "d", recursive: true }]) {
    expect(await failureOf(run("delete", { root: "r", ...input }))).toEqual(refused);
  }
  expect(["a", "d/e"].map((name) => existsSync(join(path, name)))).toEqual([true, true]);
  await adapter.lookForLacks();
  expect(adapter.warnings).toEqual([
    "Root 'r' does not keep what is replaced or deleted, so that nobody can take it back: /host/path cannot be used",
  ]);
});

test("required deletes nothing where the trash cannot be used: not in a group, nor by what takes its place", async () => {
  const path = join(home, "no-trash");
  const { run, adapter } = await open({ r: { path, trash: "required" } });
  mkdirSync(join(path, ".venue-files"), { mode: 0o700 });
  mkdirSync(join(home, "elsewhere"));
  symlinkSync(join(home, "elsewhere"), join(path, ".venue-files", "trash"));
  for (const name of ["old", "new"]) mkdirSync(join(path, name));
  const names = ["a", "b", "new/file", "old/file"];
  for (const name of names) writeFileSync(join(path, name), name);
  const refusal = ["QUOTA_EXCEEDED", expect.stringContaining("trash: required")];
  for (const deleted of [["a"], ["a", "b"]]) {
    const changes = deleted.map((one) => ({ op: "delete", path: one }));
    expect(await failureOf(run("patch", { root: "r", changes }))).toEqual(refusal);
  }
  for (const [operation, more] of [["file:move", {}] as const, ["file:copy", { recursive: true }] as const]) {
    const input = { root: "r", path: "new", to: "old", overwrite: true, ...more };
    expect(await failureOf(adapter.invoke(operation, input, { terms: { replaces: true } }))).toEqual(refusal);
  }
  expect(names.map((name) => readFileSync(join(path, name), "utf8"))).toEqual(names);
});

test("the history of a root that was moved says why it is empty, until there is something, or it is back", async () => {
  const [here, there] = [join(home, "here"), join(home, "there")];
  const before = await open({ r: { path: here } });
  expect(await before.run("history", { root: "r" })).toEqual({ entries: [], complete: true });
  await before.run("write", { root: "r", path: "a", content: "1" });
  await before.adapter.close();
  renameSync(here, there);
  const moved = await open({ r: { path: there } });
  expect(await moved.run("history", {})).toEqual({
    ...{ entries: [], complete: false, reason: "moved" },
    hint: 'Root "r" was moved: what was changed before is listed again once it is back at its former path',
  });
  await moved.run("write", { root: "r", path: "b", content: "2" });
  const { entries, ...rest } = await moved.run("history", {});
  expect([entries, rest]).toEqual([[expect.objectContaining({ path: "b" })], { complete: true }]);
  await moved.adapter.close();
  renameSync(there, here);
  const back = await open({ r: { path: here } });
  expect(await back.run("history", {})).toMatchObject({ entries: [{ path: "a" }], complete: true });
  // Another folder at a former path, and a copy, were never moved.
  await back.adapter.close();
  renameSync(here, there);
  const other = await open({ r: { path: here }, copy: { path: join(home, "copy") } });
  expect(await other.run("history", { root: "copy" })).toEqual({ entries: [], complete: true });
});

test("whoever changes files learns nothing of the host", async () => {
  const { run } = await open({ r: { path: join(home, "closed") } }, "fails");
  await run("write", { root: "r", path: "a", content: "x" });
  const answers = [
    await run("roots", {}),
    await run("history", {}),
    await run("trash", { root: "r" }),
    await run("write", { root: "r", path: "a", content: "y" }),
    await run("delete", { root: "r", path: "a" }),
    await failureOf(run("undo", { root: "r", last: 1 })),
    await failureOf(run("purge", { root: "r", all: true })),
  ];
  expect(JSON.stringify(answers)).not.toContain("host/path");
  expect(JSON.stringify(answers).match(/no_state_dir|\(stateDir\)/g)?.length).toBeGreaterThanOrEqual(7);
});
