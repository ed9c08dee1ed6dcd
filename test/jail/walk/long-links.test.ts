import { expect, test } from "@jest/globals";
import { type Io, runIo } from "../../../src/core/io.js";
import { Jail } from "../../../src/jail/jail.js";
import { Locks } from "../../../src/jail/staging/locks.js";
import { relPath } from "../../../src/path/grammar.js";
import { inArena } from "../arena.js";

test("a long chain of links yields to other work after every few steps", () =>
  inArena(async (arena) => {
    // Down and up again, 200 times in each of 30 links.
    const detour = "dir/../".repeat(200);
    for (let link = 0; link < 30; link++)
      arena.link(`l${link}`, `${detour}${link === 29 ? "file.txt" : `l${link + 1}`}`);
    const jail = new Jail({ path: arena.root, readOnly: false, crossDevice: false, io: "sync" }, new Locks());
    let turns = 0;
    const scope = {
      *breathe(): Io<void> {
        turns++;
        yield Promise.resolve();
      },
    };
    const path = relPath(["l0"]);
    const walk = jail.walk(path, { place: { root: "r", path: "l0" }, scope, followLast: true });
    try {
      const found = await runIo(walk.run());
      expect(found).toMatchObject({ state: "found", real: ["file.txt"] });
      // 12,030 steps, 16 a breath.
      expect(turns).toBe(751);
    } finally {
      walk.close();
      await jail.close();
    }
  }));
