import { describe, expect, test } from "@jest/globals";
import { denial } from "../../../src/backend-suite/access.js";
import {
  bodyOf,
  expectFailure,
  type Files,
  filesOf,
  placeOf,
  streamSlowly,
  yieldToLoop,
} from "../../../src/backend-suite/files.js";
import { systemClock } from "../../../src/core/clock.js";
import {
  aborted,
  contentTooLarge,
  isADirectory,
  notADirectory,
  parentMissing,
} from "../../../src/core/errors/texts.js";
import type { Access, Backend } from "../../../src/core/ports/backend.js";
import { parsePath } from "../../../src/path/grammar.js";
import { backendSuite, SUITE_ROOT, testAccess } from "../suite.js";
import { createMemoryBackend } from "./memory.js";

const openMemory = () => createMemoryBackend({ rootName: SUITE_ROOT, clock: systemClock });

backendSuite("memory", async () => ({ backend: openMemory(), cleanup: async () => {} }));

/** Content during whose loading something happens. */
const meanwhile = (happen: (files: Files) => Promise<unknown>, files: Files) => ({
  load: async () => {
    await yieldToLoop();
    await happen(files);
    return Buffer.from("new");
  },
});

describe("memory backend: a tree that changes while content is awaited", () => {
  for (const method of ["write", "append"] as const) {
    test(`${method} refuses a target that became a directory`, async () => {
      const files = filesOf(openMemory());
      const content = meanwhile((others) => others.mkdir("a"), files);
      await expectFailure(files[method]("a", content), isADirectory(placeOf("a")));
    });

    test(`${method} refuses a parent that is gone`, async () => {
      const files = filesOf(openMemory());
      await files.mkdir("dir");
      const content = meanwhile((others) => others.remove("dir"), files);
      await expectFailure(files[method]("dir/a", content), parentMissing(placeOf("dir")));
      expect(await files.snapshot()).toEqual([]);
    });

    test(`${method} refuses a parent that became a file`, async () => {
      const files = filesOf(openMemory());
      const content = meanwhile((others) => others.write("dir", "x"), files);
      await expectFailure(files[method]("dir/a", content, { parents: true }), notADirectory(placeOf("dir")));
    });

    test(`${method} asks for parents that are missing only now`, async () => {
      const backend = openMemory();
      const files = filesOf(backend);
      await files.mkdir("a/b", { parents: true });
      const content = meanwhile((others) => others.remove("a", { recursive: true }), files);
      const access = testAccess({ path: "a/b/c/file" });
      await backend[method](parsePath(SUITE_ROOT, "a/b/c/file"), content, { parents: true }, access);
      expect(access.asked.create.map(({ requested }) => requested)).toEqual(["a/b/c", "a", "a/b"]);

      const refused = meanwhile((others) => others.remove("a", { recursive: true }), files);
      const create = (requested: readonly string[]): void => {
        if (requested.join("/") === "a") throw denial();
      };
      await expectFailure(filesOf(backend, { create })[method]("a/b/c/file", refused, { parents: true }), denial());
      expect(await files.snapshot()).toEqual([]);
    });

    test(`${method} tells created by what it found at the end`, async () => {
      const files = filesOf(openMemory());
      const content = meanwhile((others) => others.write("a", "old "), files);
      expect(await files[method]("a", content)).toEqual({ bytes: 3, created: false });
      expect(await files.text("a")).toBe(method === "append" ? "old new" : "new");
    });
  }
});

describe("memory backend: limit of one write", () => {
  const limited = () => filesOf(createMemoryBackend({ rootName: SUITE_ROOT, clock: systemClock, maxWriteBytes: 10 }));

  for (const method of ["write", "append"] as const) {
    test(`${method} takes content of the limit, and refuses one byte more`, async () => {
      const files = limited();
      expect(await files[method]("a", "0123456789")).toEqual({ bytes: 10, created: true });
      const refused = files[method]("b", "0123456789+", { parents: true });
      await expectFailure(refused, contentTooLarge(placeOf("b"), 11, 10));
      expect(await files.snapshot()).toEqual([["a", "0123456789"]]);
    });

    test(`${method} stops a stream at the limit`, async () => {
      const files = limited();
      expect(await files[method]("a", streamSlowly("01234", "56789"))).toEqual({ bytes: 10, created: true });
      let closed = false;
      async function* endless(): AsyncGenerator<Uint8Array> {
        try {
          for (;;) yield Buffer.from("1234");
        } finally {
          closed = true;
        }
      }
      await expectFailure(
        files[method]("dir/b", endless(), { parents: true }),
        contentTooLarge(placeOf("dir/b"), 12, 10),
      );
      expect(closed).toBe(true);
      expect(await files.snapshot()).toEqual([["a", "0123456789"]]);
    });
  }

  test("counts one append, not the file", async () => {
    const files = limited();
    await files.append("a", "0123456789");
    await files.append("a", "0123456789");
    expect(await files.stat("a")).toMatchObject({ size: 20 });
  });
});

describe("memory backend: waiting and time", () => {
  test("waits for nothing when the content is there", () => {
    const backend = openMemory();
    const path = parsePath(SUITE_ROOT, "a");
    expect(backend.write(path, bodyOf("x"), { parents: false }, testAccess())).toMatchObject({
      bytes: 1,
      created: true,
    });
    expect(backend.append(path, bodyOf("y"), { parents: false }, testAccess())).toMatchObject({
      bytes: 1,
      created: false,
    });
  });

  const target = parsePath(SUITE_ROOT, "dir/a");
  const commits: readonly [string, (backend: Backend, access: Access) => unknown, boolean][] = [
    ["write", (backend, access) => backend.write(target, bodyOf("x"), { parents: false }, access), true],
    ["append", (backend, access) => backend.append(target, bodyOf("x"), { parents: false }, access), true],
    ["mkdir", (backend, access) => backend.mkdir(target, { parents: false }, access), true],
    ["remove", (backend, access) => backend.remove(parsePath(SUITE_ROOT, "dir"), { recursive: false }, access), true],
    ["remove of nothing", (backend, access) => backend.remove(target, { recursive: false }, access), false],
    ["stat", (backend, access) => backend.stat(target, access), false],
  ];
  test.each(commits)("%s has committed its call afterwards: only if it changed something", async (_, act, expected) => {
    const backend = openMemory();
    await filesOf(backend).mkdir("dir");
    const controller = new AbortController();
    const access = testAccess({ signal: controller.signal });
    await act(backend, access);
    controller.abort();
    if (expected) expect(() => access.scope.checkpoint()).not.toThrow();
    else expect(() => access.scope.checkpoint()).toThrow("Operation cancelled");
  });

  test("does not even look when its call was aborted before", async () => {
    const backend = openMemory();
    await filesOf(backend).write("a", "x");
    const real = (): never => {
      throw denial();
    };
    const files = filesOf(backend, { signal: AbortSignal.abort(), real });
    const calls = [
      () => files.read("a"),
      () => files.stat("a"),
      () => files.list(""),
      () => files.walk(""),
      () => files.remove("none"),
      () => files.mkdir(""),
    ];
    for (const call of calls) await expectFailure(call(), aborted());
  });

  test("stamps what changed, and the directory around it, by its clock", async () => {
    let nowMs = 1000;
    const clock = { nowMs: () => nowMs, monotonicMs: () => 0 };
    const files = filesOf(createMemoryBackend({ rootName: SUITE_ROOT, clock }));
    const times = async () => {
      const paths = ["", "a", "a/b", "a/b/file"];
      return Promise.all(paths.map(async (path) => (await files.stat(path))?.modified));
    };
    await files.mkdir("a");
    nowMs = 2000;
    await files.write("a/b/file", "x", { parents: true });
    expect(await times()).toEqual([1000, 2000, 2000, 2000]);
    nowMs = 3000;
    await files.append("a/b/file", "y");
    expect(await times()).toEqual([1000, 2000, 3000, 3000]);
    nowMs = 4000;
    await files.remove("a/b/file");
    expect(await times()).toEqual([1000, 2000, 4000, undefined]);
  });
});
