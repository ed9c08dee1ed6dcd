// Replacing whole entries by a move or a copy, and setting times.

import type { Backend } from "../../core/ports/backend.js";
import type { EntryChange } from "../../core/ports/changes/change.js";
import { type AccessOverrides, at, denial } from "../access.js";
import { expectFailure, type Files } from "../files.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";

const REPLACES = { parents: false, overwrite: true, replaces: true };

type Relocate = (
  backend: Backend,
  from: string,
  to: string,
  options?: { readonly access?: AccessOverrides; readonly changed?: (change: EntryChange) => void },
) => Promise<{ readonly overwritten: boolean } | undefined>;

const move: Relocate = async (backend, from, to, { access = {}, changed } = {}) => {
  const goal = at(to, access);
  return backend.move(at(from), { ...goal, access: { ...goal.access, changed } }, REPLACES);
};

const copy: Relocate = async (backend, from, to, { access = {}, changed } = {}) => {
  const [here, goal] = [at(from), at(to, access)];
  const source = await backend.source(here.path, { followLast: true, there: goal.access }, here.access);
  try {
    return await backend.place(goal.path, source, REPLACES, { ...goal.access, changed });
  } finally {
    source.close();
  }
};

/** A file and two trees, which share one name. */
async function lay(files: Files): Promise<void> {
  await files.write("file", "file");
  await files.write("other", "other");
  for (const [path, content] of [
    ["tree/same", "new"],
    ["tree/new/deep", "deep"],
    ["old/same", "old"],
    ["old/gone", "gone"],
  ] as const) {
    await files.write(path, content, { parents: true });
  }
}

export function replaceSuite(scenario: Scenario): void {
  for (const [name, relocate] of [
    ["move", move],
    ["copy", copy],
  ] as const) {
    describe(`${name} that replaces`, () => {
      scenario("puts a tree in the place of a tree, and merges nothing", async ({ backend, files }) => {
        await lay(files);
        expect(await relocate(backend, "tree", "old")).toMatchObject({ overwritten: true });
        expect(await files.names("old")).toEqual(["new", "same"]);
        expect(await files.text("old/same")).toBe("new");
        expect(await files.text("old/new/deep")).toBe("deep");
      });

      scenario("puts a file in the place of a tree, and a tree in that of a file", async ({ backend, files }) => {
        await lay(files);
        await relocate(backend, "file", "old");
        expect(await files.text("old")).toBe("file");
        await relocate(backend, "tree", "other");
        expect(await files.text("other/new/deep")).toBe("deep");
      });

      scenario("puts a file in the place of a file", async ({ backend, files }) => {
        await lay(files);
        expect(await relocate(backend, "file", "other")).toMatchObject({ overwritten: true });
        expect(await files.text("other")).toBe("file");
      });

      scenario("leaves both where they are without crud/delete at the target", async ({ backend, files }) => {
        await lay(files);
        const access = { holds: (ability: string) => ability !== "crud/delete" };
        for (const [from, to] of [
          ["tree", "old"],
          ["file", "other"],
        ] as const) {
          await expectFailure(relocate(backend, from, to, { access }), denial());
        }
        expect(await files.text("old/gone")).toBe("gone");
        expect(await files.text("tree/same")).toBe("new");
        expect(await files.text("other")).toBe("other");
        expect(await relocate(backend, "tree", "fresh", { access })).toMatchObject({ overwritten: false });
      });

      scenario("refuses a tree that holds what is denied, and keeps it", async ({ backend, files }) => {
        await lay(files);
        const policy = { denies: (_: readonly string[], entry: string) => entry === "gone" };
        await relocate(backend, "tree", "old", { access: { policy } }).then(
          () => expect("done").toBe("DENIED_BY_POLICY"),
          (error: unknown) => expect(error).toMatchObject({ code: "DENIED_BY_POLICY" }),
        );
        expect(await files.text("old/gone")).toBe("gone");
        expect(await files.text("tree/same")).toBe("new");
      });

      scenario("tells of the tree that goes, and of what comes", async ({ backend, files }) => {
        await lay(files);
        const reports: string[] = [];
        const changed = ({ action, path }: EntryChange) => reports.push(`${action} ${path.join("/")}`);
        await relocate(backend, "tree", "old", { changed });
        expect(reports).toEqual(["deleted old", name === "move" ? "moved old" : "created old"]);
      });
    });
  }

  describe("touch", () => {
    const touch = async (backend: Backend, path: string, modified?: number) =>
      backend.touch(at(path).path, { modified }, at(path).access);

    scenario("never creates, and without a time changes nothing", async ({ backend, files }) => {
      await files.write("a", "a");
      const before = await files.stat("a");
      await touch(backend, "a");
      expect(await files.stat("a")).toEqual(before);
      await touch(backend, "none").then(
        () => expect("done").toBe("NOT_FOUND"),
        (error: unknown) => expect(error).toMatchObject({ code: "NOT_FOUND" }),
      );
      expect(await files.stat("none")).toBeUndefined();
    });

    scenario("sets the time of a file and of a directory, where times can be set", async ({ backend, files }) => {
      await files.write("d/a", "a", { parents: true });
      for (const path of ["d/a", "d"]) {
        const result = await touch(backend, path, 1_000_000_000_000).then(
          () => "set",
          (error: unknown) => (error instanceof Error && "code" in error ? error.code : error),
        );
        if (result === "set") expect((await files.stat(path))?.modified).toBe(1_000_000_000_000);
        else expect(result).toBe("NOT_SUPPORTED");
      }
    });
  });
}
