import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { walkEntries } from "../../../src/backend/host/walk.js";
import type { HostWalkOptions } from "../../../src/backend/host/walk-options.js";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import type { WalkContent, WalkEntry } from "../../../src/core/ports/backend.js";
import type { EngineName } from "../../../src/jail/handles.js";
import { Jail } from "../../../src/jail/jail.js";
import { NativeSource } from "../../../src/jail/native/calls.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { type Arena, expectClosedSoon, inArena, openDescriptors } from "../../jail/arena.js";
import { describeWhere } from "../../needs.js";

const FOLDERS = 40;
const FILES = 30;
const MAX_BYTES = 400_000;
/** Those of every arena. */
const ARENA_FILES = 3;

const isNative = new NativeSource(0).load() !== undefined;
const NO_CALLS = "native calls (koffi) cannot be loaded";

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
