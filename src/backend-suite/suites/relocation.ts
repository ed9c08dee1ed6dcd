// Moving and copying entries.

import { alreadyExists, isADirectory, notADirectory, notFound, parentMissing } from "../../core/errors/texts.js";
import type { Backend, Copied, CopyOptions, Moved, MoveOptions } from "../../core/ports/backend.js";
import { type AccessOverrides, at, denial } from "../access.js";
import { makeGround } from "../changes.js";
import { codeOf, expectFailure, placeOf } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";

type Ends = { readonly from?: AccessOverrides; readonly to?: AccessOverrides };
type Relocate = (backend: Backend, names: readonly [string, string], options?: object, ends?: Ends) => Promise<unknown>;

async function move(
  backend: Backend,
  [from, to]: readonly [string, string],
  options: Partial<MoveOptions> = {},
  ends: Ends = {},
): Promise<Moved | undefined> {
  return backend.move(at(from, ends.from), at(to, ends.to), { parents: false, overwrite: false, ...options });
}

async function copy(
  backend: Backend,
  [from, to]: readonly [string, string],
  options: Partial<CopyOptions> = {},
  ends: Ends = {},
): Promise<Copied> {
  const [here, there] = [at(from, ends.from), at(to, ends.to)];
  const source = await backend.source(here.path, { followLast: true, there: there.access }, here.access);
  try {
    return await backend.place(there.path, source, { parents: false, overwrite: false, ...options }, there.access);
  } finally {
    source.close();
  }
}

/** Entries are moved or duplicated completely or not at all. */
export function relocationSuite(scenario: Scenario): void {
  describe("move", () => {
    sharedScenarios(scenario, move);
    moveScenarios(scenario);
  });
  describe("copy", () => {
    sharedScenarios(scenario, copy);
    copyScenarios(scenario);
  });
}

function sharedScenarios(scenario: Scenario, relocate: Relocate): void {
  scenario("never over what has the name, unless a file is to replace a file", async ({ backend, files }) => {
    await makeGround(files);
    await files.write("new", "new content");
    const before = await files.snapshot();
    const refused: readonly [string, string, object][] = [
      ["new", "old", {}],
      ["new", "full", {}],
      ["new", "empty", { overwrite: true }],
      ["full", "old", { overwrite: true }],
      ["full", "empty", { overwrite: true }],
      ["full", "empty", {}],
      ["new", "", { overwrite: true }],
    ];
    for (const [from, to, options] of refused) {
      await expectFailure(relocate(backend, [from, to], options), alreadyExists(placeOf(to)));
    }
    expect(await files.snapshot()).toEqual(before);
    expect(await relocate(backend, ["new", "old"], { overwrite: true })).toMatchObject({ overwritten: true });
    expect(await files.text("old")).toBe("new content");
  });

  scenario("of nothing, below a file or where no parent is, fails and makes nothing", async ({ backend, files }) => {
    await makeGround(files);
    const before = await files.snapshot();
    for (const path of ["none", "full/none", "old/none"]) {
      await expectFailure(relocate(backend, [path, "a/b/c"], { parents: true }), notFound(placeOf(path)));
    }
    await expectFailure(relocate(backend, ["old", "a/b/c"]), parentMissing(placeOf("a/b")));
    await expectFailure(relocate(backend, ["empty", "old/x"], { parents: true }), notADirectory(placeOf("old")));
    expect(await files.snapshot()).toEqual(before);
  });

  scenario("asks for both places and for each parent, before anything is done", async ({ backend, files }) => {
    await makeGround(files);
    const before = await files.snapshot();
    const deny = (): never => {
      throw denial();
    };
    for (const ends of [{ from: { real: deny } }, { to: { real: deny } }, { to: { create: deny } }]) {
      await expectFailure(relocate(backend, ["full", "a/b/c"], { parents: true }, ends), denial());
    }
    expect(await files.snapshot()).toEqual(before);
  });

  scenario("goes on only with what is expected there", async ({ backend, files }) => {
    await makeGround(files);
    await files.write("new", "new content");
    const before = await files.snapshot();
    const wrong = { content: "aaaaaaaa" };
    for (const [to, options] of [
      ["old", { overwrite: true, expected: wrong }],
      ["a", { overwrite: true, expected: wrong }],
      ["old", { expected: "nothing" }],
      ["full", { expected: "nothing" }],
    ] as const) {
      expect(await codeOf(relocate(backend, ["new", to], options))).toBe("CONFLICT");
    }
    expect(await files.snapshot()).toEqual(before);
    expect(await relocate(backend, ["new", "a"], { expected: "nothing" })).toMatchObject({ overwritten: false });
  });

  scenario("by many to one name at once: one gets it", async ({ backend, files }) => {
    for (let round = 0; round < 5; round++) {
      const names = Array.from({ length: 8 }, (_, index) => `from${round}-${index}`);
      for (const name of names) await files.write(name, name);
      const ends = await Promise.allSettled(names.map((name) => relocate(backend, [name, `to${round}`])));
      const [winner, ...others] = names.filter((_, index) => ends[index]?.status === "fulfilled");
      expect(others).toEqual([]);
      expect(await files.text(`to${round}`)).toBe(winner);
    }
  });
}

function moveScenarios(scenario: Scenario): void {
  scenario("gives a file and a directory another name", async ({ backend, files }) => {
    await makeGround(files);
    await files.write("full/deep/x", "x", { parents: true });
    expect(await move(backend, ["old", "empty/new"])).toMatchObject({ overwritten: false });
    expect(await move(backend, ["full", "a/b"], { parents: true })).toMatchObject({ overwritten: false });
    expect(await files.snapshot()).toEqual([
      ["a", null],
      ["a/b", null],
      ["a/b/deep", null],
      ["a/b/deep/x", "x"],
      ["a/b/inner", "inner"],
      ["empty", null],
      ["empty/new", "old content"],
    ]);
  });

  scenario("to the same path does nothing, and into itself fails", async ({ backend, files }) => {
    await makeGround(files);
    const before = await files.snapshot();
    for (const path of ["old", "full"]) expect(await move(backend, [path, path])).toMatchObject({ overwritten: false });
    expect(await codeOf(move(backend, ["full", "full/x"]))).toBe("INVALID_INPUT");
    expect(await codeOf(move(backend, ["full", "full/a/x"], { parents: true }))).toBe("INVALID_INPUT");
    expect(await files.snapshot()).toEqual(before);
  });

  scenario("goes on only with the content that is expected of what is moved", async ({ backend, files }) => {
    await makeGround(files);
    const expectedFrom = { content: "aaaaaaaa" };
    expect(await codeOf(move(backend, ["old", "a/new"], { expectedFrom, parents: true }))).toBe("CONFLICT");
    await expectFailure(move(backend, ["full", "new"], { expectedFrom }), isADirectory(placeOf("full")));
    expect(await files.names("")).toEqual(["empty", "full", "old"]);
  });

  scenario("leaves a directory where it is that holds what is denied or protected at either end", async (stage) => {
    const { backend, files } = stage;
    await makeGround(files);
    const before = await files.snapshot();
    const policy = { denies: (_below: readonly string[], name: string) => name === "inner" };
    const protection = policy;
    for (const ends of [{ from: { policy } }, { to: { policy } }, { from: { protection } }, { to: { protection } }]) {
      expect(await codeOf(move(backend, ["full", "new"], {}, ends))).toBe("DENIED_BY_POLICY");
    }
    expect(await files.snapshot()).toEqual(before);
  });
}

function copyScenarios(scenario: Scenario): void {
  scenario("makes the same tree a second time, each its own", async ({ backend, files }) => {
    await makeGround(files);
    const large = "0123456789".repeat(300_000);
    await files.write("full/large", large);
    await files.mkdir("full/sub/empty", { parents: true });
    expect(await copy(backend, ["full", "a/b"], { parents: true })).toMatchObject({
      files: 2,
      bytes: large.length + 5,
    });
    expect((await files.walk("a/b")).map(({ name }) => name)).toEqual(["inner", "large", "sub", "empty"]);
    expect((await files.text("a/b/large")) === large).toBe(true);
    await files.write("a/b/inner", "changed");
    expect(await files.text("full/inner")).toBe("inner");
  });

  scenario("tells the hash when asked, and stops when that is refused", async ({ backend, files }) => {
    await makeGround(files);
    const before = await files.snapshot();
    const seen: unknown[] = [];
    const approve = (sha256: string | undefined): never => {
      seen.push(sha256);
      throw denial();
    };
    await expectFailure(copy(backend, ["old", "a/b"], { parents: true, hash: true, approve }), denial());
    expect(seen).toHaveLength(1);
    expect(/^[0-9a-f]{64}$/.test(String(seen[0]))).toBe(true);
    expect(await files.snapshot()).toEqual(before);
    expect(await copy(backend, ["old", "new"], { verify: true })).toMatchObject({ sha256: seen[0], files: 1 });
  });

  scenario("leaves out what the policy denies at either end, with all below", async ({ backend, files }) => {
    await files.write("from/a", "a", { parents: true });
    await files.write("from/here/x", "x", { parents: true });
    await files.write("from/sub/there", "x", { parents: true });
    const denying = (name: string) => ({ policy: { denies: (_: readonly string[], one: string) => one === name } });
    await copy(backend, ["from", "to"], {}, { from: denying("here"), to: denying("there") });
    expect((await files.walk("to")).map(({ name }) => name)).toEqual(["a", "sub"]);
    await copy(backend, ["from", "kept"], {}, { to: { protection: denying("there").policy } });
    expect((await files.walk("kept")).map(({ name }) => name)).toEqual(["a", "here", "x", "sub"]);
  });

  scenario("sees that what was copied has changed since", async ({ backend, files }) => {
    await makeGround(files);
    for (const path of ["full", "old"]) {
      const here = at(path);
      const source = await backend.source(here.path, { followLast: false }, here.access);
      try {
        while ((await source.next()) !== undefined);
        expect(await source.isUnchanged()).toBe(true);
        await files.write(path === "old" ? "old" : "full/inner", "other content");
        expect(await source.isUnchanged()).toBe(false);
      } finally {
        source.close();
      }
    }
  });
}
