import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ContentCopy } from "../../../src/backend/host/changes/content-copy.js";
import { openFile } from "../../../src/backend/host/open.js";
import type { Change } from "../../../src/backend/host/target.js";
import { CallScope, cancelledBy } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import { CREATE } from "../../../src/jail/handles.js";
import { Jail } from "../../../src/jail/jail.js";
import { type NativeCalls, NativeSource } from "../../../src/jail/native/calls.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { Sys } from "../../../src/jail/sys.js";
import { type Arena, inArena } from "../../jail/arena.js";
import { ENGINES, withFiles } from "../../jail/files.js";

/** More than two pieces of the kernel's copies, and no multiple of anything. */
const LARGE = 2 * 16_777_216 + 12_345;
const MEDIUM = 3_000_001;

/** A copy of `a` to a new file `b`, with other native calls. @param copy in place of the kernel's */
async function copyWith(arena: Arena, copy: NativeCalls["copy"], signal?: AbortSignal) {
  const native = new NativeSource(0, () => ({
    stat: () => undefined,
    look: () => undefined,
    find: () => undefined,
    rename: () => undefined,
    statOpen: () => undefined,
    open: () => undefined,
    reopen: () => undefined,
    mayWrite: () => undefined,
    link: () => undefined,
    claim: () => undefined,
    isPlain: () => undefined,
    read: () => undefined,
    copy,
  }));
  const jail = new Jail({ path: arena.root, readOnly: false, crossDevice: false, io: "sync" }, new Locks());
  let clones = 0;
  const clone = (from: number, to: number) => {
    clones++;
    return Sys.prototype.clone.call(jail.sys, from, to);
  };
  Object.assign(jail.sys, { native, clone });
  const scope = new CallScope({ clock: systemClock, timeoutMs: 60_000, cancellation: cancelledBy(signal) });
  const access = { scope, place: { root: "r", path: "a" } };
  const change = { jail, access } as unknown as Change;
  const walk = jail.walk({ segments: ["a"], text: "a" } as never, { ...access, followLast: true });
  const to = join(arena.root, "b");
  const fd = await runIo(jail.sys.open(to, CREATE));
  try {
    const found = await runIo(walk.run());
    if (found.state !== "found") throw new Error("there is no file");
    const file = await runIo(openFile(jail, found.object, change.access));
    const content = new ContentCopy(change, { overwrite: false } as never);
    try {
      await runIo(content.copy(file, { fd, path: to, later: 0 }));
    } finally {
      file.close();
    }
    return { bytes: content.bytes, content: readFileSync(to), clones };
  } finally {
    await runIo(jail.sys.close(fd));
    walk.close();
    await jail.close();
  }
}

/** The kernel's own call. */
function kernelCopy(): NativeCalls["copy"] {
  const calls = new NativeSource(0).calls;
  if (calls === undefined) throw new Error("koffi is not usable here");
  return calls.copy;
}

describe("copies in the kernel", () => {
  test.each(ENGINES)("keep every byte of a large file, %s", (engine) =>
    inArena(async ({ root, file }) => {
      file("a", randomBytes(LARGE));
      await withFiles(
        root,
        async (files) => {
          expect(await files.invoke("copy", { path: "a", to: "b" })).toMatchObject({ files: 1, copied: true });
        },
        { engine },
      );
      expect(readFileSync(join(root, "b")).equals(readFileSync(join(root, "a")))).toBe(true);
    }),
  );

  test("take a large file in pieces, and all of it", () =>
    inArena(async (arena) => {
      arena.file("a", randomBytes(LARGE));
      const asked: number[] = [];
      const copy = kernelCopy();
      const done = await copyWith(arena, (from, to, bytes) => {
        asked.push(from.at);
        return copy(from, to, bytes);
      });
      expect(asked.length).toBeGreaterThan(2);
      expect(asked[0]).toBe(0);
      expect(done.bytes).toBe(LARGE);
      expect(done.content.equals(readFileSync(join(arena.root, "a")))).toBe(true);
    }));

  test.each([-1, 0])(
    "leave the rest to reads and writes where the kernel answers %d, also after the first piece",
    (last) =>
      inArena(async (arena) => {
        arena.file("a", randomBytes(MEDIUM));
        const copy = kernelCopy();
        for (const first of [0, 1_000_003]) {
          let calls = 0;
          const done = await copyWith(arena, async (from, to) =>
            calls++ === 0 && first > 0 ? copy(from, to, first) : last,
          );
          expect(done.bytes).toBe(MEDIUM);
          expect(done.content.equals(readFileSync(join(arena.root, "a")))).toBe(true);
          rmSync(join(arena.root, "b"));
        }
      }),
  );

  // To empty the new file, which that does, makes ext4 write all of it to the disk when it is closed.
  test("ask for shared blocks apart only where the kernel copies nothing", () =>
    inArena(async (arena) => {
      arena.file("a", randomBytes(MEDIUM));
      expect((await copyWith(arena, kernelCopy())).clones).toBe(0);
      rmSync(join(arena.root, "b"));
      expect((await copyWith(arena, async () => -1)).clones).toBe(1);
    }));

  test("end where a source ends that has become shorter", () =>
    inArena(async (arena) => {
      arena.file("a", randomBytes(LARGE));
      const copy = kernelCopy();
      const done = await copyWith(arena, (from, to, bytes) => {
        if (from.at > 0) truncateSync(join(arena.root, "a"), from.at);
        return copy(from, to, bytes);
      });
      expect(done.content.equals(readFileSync(join(arena.root, "a")))).toBe(true);
      expect(done.bytes).toBe(done.content.length);
    }));

  test("stop at a cancellation after the piece under way", () =>
    inArena(async (arena) => {
      arena.file("a", randomBytes(LARGE));
      const copy = kernelCopy();
      const cancelling = new AbortController();
      let pieces = 0;
      const copying = copyWith(
        arena,
        (from, to, bytes) => {
          pieces++;
          cancelling.abort();
          return copy(from, to, bytes);
        },
        cancelling.signal,
      );
      await expect(copying).rejects.toMatchObject({ code: "ABORTED" });
      expect(pieces).toBe(1);
    }));
});
