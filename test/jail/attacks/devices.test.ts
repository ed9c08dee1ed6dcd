import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { type Arena, INSIDE, inArena } from "../arena.js";
import { ROOT } from "../files.js";
import { type Child, mounted, mountsPossible, withChild } from "../start-child.js";

const { possible, reason } = mountsPossible("mount -t tmpfs tmpfs /mnt");
const maybe = possible ? test : test.skip;
const OVERLAY = mountsPossible(
  "d=$(mktemp -d); mount -t tmpfs tmpfs $d; mkdir $d/l $d/u $d/w; mount -t overlay o -o lowerdir=$d/l,upperdir=$d/u,workdir=$d/w /mnt",
);
const overlays = OVERLAY.possible ? test : test.skip;

/** Of a file with {@link INSIDE}. */
const CHANGES_ONE = `*** Begin Patch\n*** Update File: dir/from-here\n@@\n-${INSIDE.trimEnd()}\n+changed\n*** End Patch\n`;
const ADDS_TWO = "*** Begin Patch\n*** Add File: added\n+x\n*** Add File: dir/added\n+x\n*** End Patch\n";

/** Runs `work` with an adapter that sees another file system at `dir` in its root; nobody else sees it. */
async function withMount(
  options: { crossDevice: boolean },
  work: (child: Child, arena: Arena) => Promise<void>,
): Promise<void> {
  await inArena(async (arena) => {
    arena.link("to-mount", "dir");
    arena.link("into-mount", "dir/sub");
    const dir = join(arena.root, "dir");
    const under = mounted(
      `mount -t tmpfs tmpfs ${dir}`,
      `mkdir ${dir}/sub`,
      `echo other > ${dir}/sub/file`,
      `ln -s ../file.txt ${dir}/back`,
      `ln -s nowhere ${dir}/dangling`,
      `ln -s /etc/passwd ${dir}/out`,
      `cp ${dir}/sub/file ${dir}/file`,
    );
    const roots = { [ROOT]: { path: arena.root, ...options } };
    await withChild({ config: { roots }, under }, (child) => work(child, arena));
  });
}

describe("another file system mounted in a root", () => {
  maybe(`is refused, whatever is asked of it${reason}`, async () => {
    await withMount({ crossDevice: false }, async (child) => {
      const paths = ["dir", "dir/sub", "dir/file", "dir/sub/file", "to-mount", "into-mount/file"];
      // What is there, and what it is, is not told either.
      const unseen = ["dir/missing", "dir/missing/below", "dir/file/below", "dir/back", "dir/dangling", "dir/out"];
      for (const path of [...paths, ...unseen]) {
        for (const [operation, input] of [
          ["list", {}],
          ["tree", {}],
          ["read", {}],
          ["stat", {}],
          ["write", { content: "x", parents: true }],
          ["append", { content: "x", parents: true }],
          ["mkdir", { parents: true }],
        ] as const) {
          const { code, message } = await child.invoke(operation, { path, ...input });
          expect([path, operation, code]).toEqual([path, operation, "OTHER_DEVICE"]);
          expect(message).toBe(`Path is on another file system: ${path} (root option crossDevice)`);
        }
      }
      for (const path of ["dir", "dir/sub", "dir/file"]) {
        expect((await child.invoke("delete", { path, recursive: true })).code).toBe("OTHER_DEVICE");
      }
    });
  });

  maybe(`is an entry, but nothing in it is shown${reason}`, async () => {
    await withMount({ crossDevice: false }, async (child) => {
      const { output } = await child.invoke("tree", { maxDepth: 10 });
      expect(output?.["tree"]).toBe("r/\n\tdir/\n\tfile.txt\n\tinto-mount@\n\tto-mount@\n");
      expect((await child.invoke("list", {})).output?.["total"]).toBe(4);
    });
  });

  maybe(`is walked into where the root says so${reason}`, async () => {
    await withMount({ crossDevice: true }, async (child) => {
      expect((await child.invoke("read", { path: "dir/sub/file" })).output).toMatchObject({ content: "other\n" });
      expect((await child.invoke("read", { path: "dir/back" })).output).toMatchObject({ content: INSIDE });
      expect((await child.invoke("read", { path: "dir/out" })).code).toBe("SYMLINK_ESCAPE");
      expect((await child.invoke("tree", { maxDepth: 10 })).output?.["tree"]).toContain("\t\tsub/\n\t\t\tfile\n");
      for (const [operation, input] of [
        ["write", { path: "dir/sub/new", content: "new" }],
        ["write", { path: "dir/sub/file", content: "replaced" }],
        ["append", { path: "dir/sub/file", content: "+" }],
        ["mkdir", { path: "dir/sub/a/b", parents: true }],
        ["delete", { path: "dir/sub/a", recursive: true }],
      ] as const) {
        expect((await child.invoke(operation, input)).code).toBe("ok");
      }
      expect((await child.invoke("read", { path: "dir/sub/file" })).output).toMatchObject({ content: "replaced+" });
      expect((await child.invoke("list", { path: "dir/sub" })).output).toMatchObject({
        total: 2,
        entries: [{ name: "file" }, { name: "new" }],
      });
    });
  });

  maybe(`gives the trash copies of small files, and says what it cannot keep${reason}`, async () => {
    await inArena(async (arena) => {
      const mount = join(arena.root, "dir");
      mkdirSync(mount, { recursive: true });
      const under = mounted(
        `mount -t tmpfs tmpfs ${mount}`,
        `mkdir ${mount}/tree`,
        `echo deep > ${mount}/tree/file`,
        `echo other > ${mount}/file`,
        `chmod 640 ${mount}/file`,
        `truncate -s 17000000 ${mount}/large`,
      );
      const root = { path: arena.root, crossDevice: true };
      const stateDir = join(arena.base, "state");
      await withChild({ config: { roots: { [ROOT]: root }, stateDir }, under }, async (child) => {
        const { output } = await child.invoke("delete", { path: "dir/file" });
        expect(output).toMatchObject({ deleted: true, trashed: true });
        expect((await child.invoke("stat", { path: "dir/file" })).output).toEqual({ exists: false });
        const id = String(output?.["id"]);
        const version = `${id}:before`;
        expect((await child.invoke("read", { path: "dir/file", version })).output).toMatchObject({
          content: "other\n",
        });
        expect((await child.invoke("trash", {})).output?.["entries"]).toMatchObject([
          { id, path: "dir/file", size: 6 },
        ]);
        // A group of changes, such as an undo, goes by renames.
        expect((await child.invoke("undo", { id })).code).toBe("NOT_SUPPORTED");
        expect((await child.invoke("write", { path: "dir/new", content: "new" })).code).toBe("ok");
        expect((await child.invoke("write", { path: "here", content: "new" })).code).toBe("ok");
        expect((await child.invoke("history", {})).output?.["entries"]).toMatchObject([
          { path: "here", undoable: true },
          { path: "dir/new", undoable: false, reason: "other_device" },
          { path: "dir/file", undoable: false, reason: "other_device" },
        ]);
        for (const path of ["dir/large", "dir/tree"]) {
          const deleted = await child.invoke("delete", { path, recursive: true });
          expect(deleted.output).toMatchObject({ deleted: true, trashed: false, reason: "other_device" });
        }
      });
      const strict = { ...root, trash: "required" as const };
      await withChild({ config: { roots: { [ROOT]: strict }, stateDir }, under }, async (child) => {
        expect((await child.invoke("delete", { path: "dir/file" })).output).toMatchObject({ trashed: true });
        for (const path of ["dir/large", "dir/tree"]) {
          expect((await child.invoke("delete", { path, recursive: true })).code).toBe("QUOTA_EXCEEDED");
          expect((await child.invoke("stat", { path })).output).toMatchObject({ exists: true });
        }
      });
    });
  });

  maybe(
    `gets files that are moved to it or from it by copying; groups of changes say what to do instead${reason}`,
    async () => {
      await withMount({ crossDevice: true }, async (child) => {
        for (const [path, to] of [
          ["dir/sub/file", "from-there"],
          ["file.txt", "dir/from-here"],
          ["dir/sub", "tree"],
        ]) {
          expect((await child.invoke("move", { path, to })).output).toMatchObject({ moved: true, atomic: false });
          expect((await child.invoke("stat", { path })).output).toEqual({ exists: false });
        }
        expect((await child.invoke("read", { path: "from-there" })).output).toMatchObject({ content: "other\n" });
        expect((await child.invoke("read", { path: "dir/from-here" })).output).toMatchObject({ content: INSIDE });
        // A group of one change, too; and where an earlier change decides what is there.
        const made = [
          { op: "write", path: "made", content: "x" },
          { op: "move", path: "made", to: "made-again" },
        ];
        const later = [
          { op: "delete", path: "dir/from-here" },
          { op: "move", path: "dir/from-here", to: "moved" },
        ];
        const patches = [{ patch: ADDS_TWO }, { patch: CHANGES_ONE }];
        for (const input of [...patches, ...later.map((change) => ({ changes: [...made, change] }))]) {
          expect(await child.invoke("patch", input)).toMatchObject({
            code: "NOT_SUPPORTED",
            message: expect.stringContaining("Change the files there one at a time, with file:write"),
          });
        }
        expect((await child.invoke("read", { path: "dir/from-here" })).output).toMatchObject({ content: INSIDE });
        expect((await child.invoke("stat", { path: "added" })).output).toEqual({ exists: false });
      });
    },
  );

  maybe(`is not emptied when the tree it is mounted in is removed${reason}`, async () => {
    await inArena(async (arena) => {
      const mount = join(arena.root, "tree/mounted");
      mkdirSync(mount, { recursive: true });
      writeFileSync(join(arena.root, "tree/file"), INSIDE);
      const kept = join(arena.outside, "kept");
      // What is mounted can be looked at from outside: a directory of the same file system, and one of another.
      mkdirSync(kept);
      writeFileSync(join(kept, "file"), INSIDE);
      const under = mounted(`mount --bind ${kept} ${mount}`);
      const before = arena.outsideNow();
      await withChild({ config: { roots: { [ROOT]: arena.root } }, under }, async (child) => {
        expect((await child.invoke("delete", { path: "tree", recursive: true })).code).toBe("ok");
        expect((await child.invoke("stat", { path: "tree" })).output).toEqual({ exists: false });
        expect((await child.invoke("delete", { path: "tree", recursive: true })).output).toMatchObject({
          existed: false,
        });
      });
      expect(arena.outsideNow()).toEqual(before);
    });
  });
});

describe("a part of a root that cannot be renamed into", () => {
  maybe(
    `from elsewhere in it is written beside the target: a bind mount of the same file system${reason}`,
    async () => {
      await inArena(async (arena) => {
        const mount = join(arena.root, "dir");
        const bound = join(arena.base, "bound");
        mkdirSync(join(bound, "tree/deep"), { recursive: true });
        writeFileSync(join(bound, "old"), INSIDE, { mode: 0o640 });
        const under = mounted(`mount --bind ${bound} ${mount}`);
        const content = "new".repeat(1_000_000);
        await withChild({ config: { roots: { [ROOT]: arena.root } }, under }, async (child) => {
          expect((await child.invoke("write", { path: "dir/new", content })).output).toMatchObject({
            written: content.length,
            created: true,
          });
          expect((await child.invoke("write", { path: "dir/old", content: "replaced" })).output).toMatchObject({
            written: 8,
            created: false,
          });
          expect((await child.invoke("delete", { path: "dir/tree", recursive: true })).output).toEqual({
            deleted: true,
            existed: true,
          });
        });
        expect(readFileSync(join(bound, "new"), "utf8")).toBe(content);
        const left = Object.entries(arena.insideNow());
        expect(left.some(([path]) => path.includes("venue-files"))).toBe(false);
        expect(readFileSync(join(bound, "old"), "utf8")).toBe("replaced");
        expect(readdirSync(bound).sort()).toEqual(["new", "old"]);
        expect(statSync(join(bound, "old")).mode & 0o777).toBe(0o640);
      });
    },
  );

  maybe(`takes copies and moves, but no groups of changes, whose error says what to do${reason}`, async () => {
    await inArena(async (arena) => {
      const bound = join(arena.base, "bound");
      mkdirSync(join(bound, "tree/deep"), { recursive: true });
      for (const name of ["file", "old", "tree/deep/file"]) writeFileSync(join(bound, name), name, { mode: 0o640 });
      const under = mounted(`mount --bind ${bound} ${join(arena.root, "dir")}`);
      await withChild({ config: { roots: { [ROOT]: arena.root } }, under }, async (child) => {
        for (const [operation, input, output] of [
          ["move", { path: "dir/file", to: "moved" }, { atomic: false }],
          ["move", { path: "moved", to: "dir/back" }, { atomic: false }],
          ["copy", { path: "dir/back", to: "here" }, { overwritten: false }],
          ["copy", { path: "here", to: "dir/a/b/new", parents: true }, { overwritten: false }],
          ["copy", { path: "here", to: "dir/old", overwrite: true }, { overwritten: true }],
          ["copy", { path: "dir/tree", to: "tree", recursive: true }, { files: 1 }],
          ["copy", { path: "tree", to: "dir/c/tree", recursive: true, parents: true }, { files: 1 }],
        ] as const) {
          expect((await child.invoke(operation, input)).output).toMatchObject(output);
        }
        const refused = [
          ["copy", { path: "here", to: "dir/old" }, { code: "ALREADY_EXISTS" }],
          ["copy", { path: "tree", to: "dir/c/tree", recursive: true }, { code: "ALREADY_EXISTS" }],
          [
            "patch",
            { patch: ADDS_TWO },
            { code: "NOT_SUPPORTED", message: expect.stringContaining("with file:write") },
          ],
        ] as const;
        for (const [operation, input, error] of refused) {
          expect(await child.invoke(operation, input)).toMatchObject(error);
        }
      });
      for (const name of ["back", "old", "a/b/new"]) {
        expect([name, readFileSync(join(bound, name), "utf8")]).toEqual([name, "file"]);
        expect([name, statSync(join(bound, name)).mode & 0o777]).toEqual([name, 0o640]);
      }
      expect(readFileSync(join(bound, "c/tree/deep/file"), "utf8")).toBe("tree/deep/file");
      expect(readdirSync(bound).sort()).toEqual(["a", "back", "c", "old", "tree"]);
      expect(Object.keys(arena.insideNow()).filter((path) => path.includes("venue-files"))).toEqual([]);
    });
  });

  overlays(`is removed piece by piece: the lower layer of a container's file system${OVERLAY.reason}`, async () => {
    await inArena(async (arena) => {
      const layers = join(arena.base, "layers");
      mkdirSync(layers);
      const under = mounted(
        `mount -t tmpfs tmpfs ${layers}`,
        `mkdir ${layers}/lower ${layers}/upper ${layers}/work`,
        `cp -a ${arena.root}/. ${layers}/lower`,
        `mkdir -p ${layers}/lower/tree/a/b`,
        `ln -s ${arena.outside} ${layers}/lower/tree/a/link`,
        `echo x > ${layers}/lower/tree/a/b/file`,
        `mount -t overlay overlay -o redirect_dir=off,lowerdir=${layers}/lower,upperdir=${layers}/upper,workdir=${layers}/work ${arena.root}`,
      );
      const outside = arena.outsideNow();
      await withChild({ config: { roots: { [ROOT]: arena.root } }, under }, async (child) => {
        expect((await child.invoke("write", { path: "file.txt", content: "new" })).code).toBe("ok");
        expect((await child.invoke("append", { path: "dir/file.txt", content: "+" })).code).toBe("ok");
        expect(await child.invoke("delete", { path: "tree", recursive: true })).toEqual({
          code: "ok",
          output: { deleted: true, existed: true },
        });
        expect((await child.invoke("stat", { path: "tree" })).output).toEqual({ exists: false });
        // A directory that holds one of the layer below, and one that only looks like it.
        await child.invoke("write", { path: "dir/made/here", content: "x", parents: true });
        expect((await child.invoke("delete", { path: "dir", recursive: true })).output).toMatchObject({
          deleted: true,
        });
        expect((await child.invoke("tree", {})).output?.["tree"]).toBe("r/\n\tfile.txt\n");
      });
      expect(arena.outsideNow()).toEqual(outside);
    });
  });
});
