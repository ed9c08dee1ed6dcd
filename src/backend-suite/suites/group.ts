// Groups of changes: all of them, or none.

import { FileAdapterError } from "../../core/errors/errors.js";
import { conflict, isADirectory, notEmpty, notFound, parentMissing } from "../../core/errors/texts.js";
import type { At, Backend, GroupChange } from "../../core/ports/backend.js";
import type { EntryChange } from "../../core/ports/changes/change.js";
import { at, denial } from "../access.js";
import { makeGround } from "../changes.js";
import { codeOf, expectFailure, placeOf, streamSlowly } from "../files.js";
import { failingChanges, mkdir, move, remove, runAlone, write } from "../group-changes.js";
import { describe, expect } from "../runner.js";
import type { Scenario } from "../scenario.js";

const run = async (backend: Backend, changes: readonly GroupChange[]) => backend.changeAll(changes);

export function groupSuite(scenario: Scenario): void {
  describe("a group", () => {
    scenario("makes all its changes, and tells of each whether something was there", async ({ backend, files }) => {
      await makeGround(files);
      const effects = await run(backend, [
        write("new", "new content"),
        write("old", "other content"),
        write("a/b/c", "deep", { parents: true }),
        write("a/b/d", "deep too", { parents: true }),
        move("full/inner", "empty/moved"),
        mkdir("made"),
        mkdir("empty"),
      ]);
      expect(effects.map(({ existed }) => existed)).toEqual([false, true, false, false, false, false, true]);
      expect(/^[0-9a-f]{64}$/.test(String(effects[0]?.sha256))).toBe(true);
      expect(await files.snapshot()).toEqual([
        ["a", null],
        ["a/b", null],
        ["a/b/c", "deep"],
        ["a/b/d", "deep too"],
        ["empty", null],
        ["empty/moved", "inner"],
        ["full", null],
        ["made", null],
        ["new", "new content"],
        ["old", "other content"],
      ]);
      expect(await run(backend, [])).toEqual([]);
    });

    scenario("of one file replaces the version that was seen, and no other", async ({ backend, files }) => {
      await makeGround(files);
      const { path, access } = at("old");
      const seen = await backend.state?.(path, access);
      // A backend that tells of no state has no versions to compare.
      if (seen === undefined) return;
      const replace = (content: string) => {
        return run(backend, [{ ...write("old", content), options: { parents: false, version: seen.version } }]);
      };
      expect((await replace("first")).map(({ existed }) => existed)).toEqual([true]);
      expect(await codeOf(replace("second"))).toEqual("CONFLICT");
      expect(await files.text("old")).toEqual("first");
    });

    scenario("makes each change on what those before it left", async ({ backend, files }) => {
      await makeGround(files);
      await run(backend, [
        mkdir("made"),
        write("made/x", "one"),
        write("made/x", "two"),
        move("made", "named"),
        move("named/x", "named/y"),
        write("named/y", "three", {
          expected: { content: "sha256:3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3" },
        }),
        remove("full/inner"),
        remove("full"),
        move("old", "full"),
        remove("named", { recursive: true }),
        write("named", "a file"),
      ]);
      expect(await files.snapshot()).toEqual([
        ["empty", null],
        ["full", "old content"],
        ["named", "a file"],
      ]);
    });

    scenario("changes nothing if one of its changes fails, wherever that is", async ({ backend, files }) => {
      await makeGround(files);
      const before = await files.snapshot();
      const good = (): readonly GroupChange[] => [
        write("new", "new"),
        mkdir("a/b", { parents: true }),
        write("a/b/c", "c"),
        move("full/inner", "empty/inner"),
        write("empty/inner", "changed"),
        write("p/q/r", "r", { parents: true }),
      ];
      for (const [index, [title, , code]] of failingChanges().entries()) {
        for (const position of [0, 3, good().length]) {
          // Made anew each time: an access is of one call.
          const changes = good().toSpliced(
            position,
            0,
            ...failingChanges()
              .slice(index, index + 1)
              .map(([, change]) => change),
          );
          const isOther = title === "a removal of a full directory" || title === "a move onto a file";
          if (isOther && position > 3) continue;
          expect([title, position, await codeOf(run(backend, changes))]).toEqual([title, position, code]);
          expect(await files.snapshot()).toEqual(before);
        }
      }
    });

    scenario("fails as its change does alone, which makes nothing either", async ({ backend, files }) => {
      await makeGround(files);
      const before = await files.snapshot();
      const messageOf = async (call: Promise<unknown>) => {
        const error = await call.then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        return error instanceof FileAdapterError ? `${error.code}: ${error.message}` : `${error}`;
      };
      for (const [index, [title]] of failingChanges().entries()) {
        // Alone, a removal of nothing finds that it is done.
        if (title === "a removal of nothing") continue;
        const told: string[] = [];
        for (const runOne of [runAlone, (one: Backend, change: GroupChange) => run(one, [change])]) {
          for (const [, change] of failingChanges().slice(index, index + 1)) {
            told.push(await messageOf(runOne(backend, change)));
            expect([title, await files.snapshot()]).toEqual([title, before]);
          }
        }
        expect([title, told[0]]).toEqual([title, told[1]]);
      }
    });

    scenario("names the place of the change that fails", async ({ backend, files }) => {
      await makeGround(files);
      await expectFailure(run(backend, [write("new", "x"), remove("none")]), notFound(placeOf("none")));
      await expectFailure(run(backend, [write("new", "x"), write("full", "x")]), isADirectory(placeOf("full")));
      await expectFailure(run(backend, [mkdir("x"), remove("full")]), notEmpty(placeOf("full")));
      await expectFailure(run(backend, [mkdir("x"), write("y/z", "x")]), parentMissing(placeOf("y")));
      const details = { verb: "test", expected: "*", current: "lb3ptmbg" };
      const call = run(backend, [write("new", "x"), write("old", "x", { expected: "nothing" })]);
      const failure = await call.then(
        () => undefined,
        (error: unknown) => (error instanceof FileAdapterError ? error : undefined),
      );
      expect(failure?.message).toEqual(
        conflict(placeOf("old"), { ...details, current: String(failure?.data["current"]) }).message,
      );
    });

    scenario("asks for every place before anything is done", async ({ backend, files }) => {
      await makeGround(files);
      const before = await files.snapshot();
      const deny = (): never => {
        throw denial();
      };
      for (const overrides of [{ real: deny }, { create: deny }]) {
        const changes = [write("new", "x"), remove("old"), write("a/b", "x", { parents: true }, overrides)];
        await expectFailure(run(backend, changes), denial());
        expect(await files.snapshot()).toEqual(before);
      }
    });

    scenario("takes content that arrives in pieces, and is undone when it breaks off", async ({ backend, files }) => {
      await makeGround(files);
      const before = await files.snapshot();
      const arriving = (broken: boolean) => ({
        ...write("new", ""),
        body: {
          load: async function* () {
            yield* streamSlowly("one ", "two ");
            if (broken) throw denial();
            yield* streamSlowly("three");
          },
        },
      });
      const bodied = (broken: boolean): GroupChange => {
        const { body, ...rest } = arriving(broken);
        return { ...rest, body: { load: () => body.load() } };
      };
      await expectFailure(run(backend, [write("old", "x"), bodied(true)]), denial());
      expect(await files.snapshot()).toEqual(before);
      await run(backend, [write("old", "x"), bodied(false)]);
      expect(await files.text("new")).toBe("one two three");
    });

    scenario("is reported once it is whole, as one group, and not at all if it fails", async ({ backend, files }) => {
      await makeGround(files);
      const reports: unknown[] = [];
      const heard = (path: string): At => {
        const { path: parsed, access } = at(path);
        const changed = ({ action, kind, path: real, from, made }: EntryChange): void => {
          reports.push([action, kind, real.join("/"), from?.join("/"), made?.map((one) => one.join("/"))]);
        };
        return { path: parsed, access: { ...access, changed, beginGroup: () => reports.push("group") } };
      };
      const changes = (): GroupChange[] => [
        { ...write("a/b/c", "c", { parents: true }), at: heard("a/b/c") },
        { ...write("old", "x"), at: heard("old") },
        { ...remove("full/inner"), at: heard("full/inner") },
        { ...move("empty", "a/moved"), from: heard("empty"), to: heard("a/moved") },
        { ...mkdir("full"), at: heard("full") },
        { ...mkdir("new"), at: heard("new") },
      ];
      expect(await codeOf(run(backend, [...changes(), remove("none")]))).toBe("NOT_FOUND");
      // A group may have begun by then.
      expect(reports.splice(0).filter((one) => one !== "group")).toEqual([]);
      await run(backend, changes());
      expect(reports).toEqual([
        "group",
        ["created", "file", "a/b/c", undefined, ["a", "a/b"]],
        ["modified", "file", "old", undefined, undefined],
        ["deleted", "file", "full/inner", undefined, undefined],
        ["moved", "directory", "a/moved", "empty", undefined],
        ["created", "directory", "new", undefined, undefined],
      ]);
    });

    scenario("may be large", async ({ backend, files }) => {
      const names = Array.from({ length: 300 }, (_, index) => `file-${String(index).padStart(3, "0")}`);
      await run(
        backend,
        names.map((name) => write(`${name.slice(-1)}/${name}`, name, { parents: true })),
      );
      const changes = names.map((name) => write(`${name.slice(-1)}/${name}`, `${name} changed`));
      const before = await files.snapshot();
      expect(await codeOf(run(backend, [...changes, remove("none")]))).toBe("NOT_FOUND");
      expect(await files.snapshot()).toEqual(before);
      await run(backend, changes);
      expect(await files.text("9/file-299")).toBe("file-299 changed");
    });

    scenario("mixes with no other group on the same paths, and none waits forever", async ({ backend, files }) => {
      const names = Array.from({ length: 12 }, (_, index) => `file-${index}`);
      await run(
        backend,
        names.map((name) => write(name, "start")),
      );
      const groups = Array.from({ length: 8 }, (_, group) => {
        const order = group % 2 === 0 ? names : names.toReversed();
        return run(
          backend,
          order.map((name) => write(name, `by ${group}`)),
        );
      });
      await Promise.all(groups);
      const contents = new Set(await Promise.all(names.map((name) => files.text(name))));
      expect([...contents]).toHaveLength(1);
    });
  });
}
