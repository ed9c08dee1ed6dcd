import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { CallScope } from "../../../src/core/call/scope.js";
import { systemClock } from "../../../src/core/clock.js";
import { runIo } from "../../../src/core/io.js";
import { sortYielding } from "../../../src/jail/directory.js";
import { sortByName } from "../../../src/path/order.js";
import { expectClosedSoon, inArena, openDescriptors, staged } from "../arena.js";
import { ENGINES, outcomeOf, withFiles } from "../files.js";

const NAMES = 850;
/** Directories above this size are read in pieces. */
const PIECES_ABOVE = 16_384;

const named = (names: readonly string[]): { name: string }[] => names.map((name) => ({ name }));

/** A call whose clock says at every look that others have waited long enough. */
function hurriedScope(): { scope: CallScope; turns: () => number } {
  let looks = 0;
  const clock = { ...systemClock, monotonicMs: () => ++looks * 100 };
  return { scope: new CallScope({ clock, timeoutMs: 1_000_000_000 }), turns: () => looks };
}

describe("sorting without blocking the event loop", () => {
  test("gives the order of all enumerations", async () => {
    const name = fc.oneof(fc.string({ unit: "grapheme", maxLength: 4 }), fc.string({ maxLength: 3 }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(name, { minLength: 1, maxLength: 50 }),
        fc.integer({ min: 1, max: 300 }),
        async (few, copies) => {
          const names = Array.from({ length: copies }, (_, n) => few.map((text) => `${text}${n % 7}`)).flat();
          const sorted = await runIo(sortYielding(named(names), hurriedScope().scope));
          expect(sorted).toEqual(sortByName(named(names)));
        },
      ),
      { numRuns: 60 },
    );
  });

  test("yields for many names, not for few", async () => {
    const many = hurriedScope();
    await runIo(sortYielding(named(Array.from({ length: 50_000 }, (_, n) => `${n}`)), many.scope));
    expect(many.turns()).toBeGreaterThan(20);
    const few = hurriedScope();
    const before = few.turns();
    expect(runIo(sortYielding(named(["b", "a"]), few.scope))).toEqual(named(["a", "b"]));
    expect(few.turns()).toBe(before);
  });
});

describe.each(ENGINES)("a directory that is read in pieces, by %s", (engine) => {
  const fill = (path: string): string[] => {
    mkdirSync(path);
    const names = Array.from(
      { length: NAMES },
      (_, n) => `${n % 2 === 0 ? "even" : "ODD"} ${n} ${"ä".repeat(20 + (n % 5))}`,
    );
    for (const name of names) writeFileSync(join(path, name), name);
    writeFileSync(Buffer.concat([Buffer.from(`${path}/broken `), Buffer.from([0xff])]), "x");
    mkdirSync(join(path, "zz/below"), { recursive: true });
    return [...names, "broken \\xff", "zz"];
  };

  test("is listed completely and in order, page by page", async () => {
    await inArena(async ({ root }) => {
      const names = fill(join(root, "many"));
      expect(statSync(join(root, "many")).size).toBeGreaterThan(PIECES_ABOVE);
      await withFiles(
        root,
        async (files) => {
          const seen: string[] = [];
          const descriptors = openDescriptors();
          for (let offset = 0; offset < names.length; offset += 150) {
            const page = await files.invoke("list", { path: "many", offset, limit: 150 });
            expect(page["total"]).toBe(names.length);
            seen.push(...(page["entries"] as { name: string }[]).map(({ name }) => name));
          }
          expect(seen).toEqual(sortByName(named(names)).map(({ name }) => name));
          const { tree } = await files.invoke("tree", { path: "many", maxEntries: 5000 });
          expect(tree).toBe(
            `r/many/\n${seen.map((name) => (name === "zz" ? "\tzz/\n\t\tbelow/\n" : `\t${name}\n`)).join("")}`,
          );
          await expectClosedSoon(descriptors);
        },
        { engine },
      );
    });
  });

  test("is removed completely", async () => {
    await inArena(async ({ root }) => {
      fill(join(root, "many"));
      await withFiles(root, (files) => files.invoke("delete", { path: "many", recursive: true }), { engine });
      expect(existsSync(join(root, "many"))).toBe(false);
      expect(staged(root)).toBeUndefined();
      expect(readdirSync(root).sort()).toEqual(["dir", "file.txt"]);
    });
  });

  test("is closed again when the call is aborted", async () => {
    await inArena(async ({ root }) => {
      fill(join(root, "many"));
      await withFiles(
        root,
        async (files) => {
          const descriptors = openDescriptors();
          const codes = new Set<string>();
          for (let n = 0; n < 20; n++) {
            const controller = new AbortController();
            const call = outcomeOf(files.invoke("list", { path: "many" }, { signal: controller.signal }));
            if (n % 2 === 0) controller.abort();
            else setImmediate(() => controller.abort());
            codes.add((await call).code);
          }
          expect([...codes].filter((code) => code !== "ok")).toEqual(["ABORTED"]);
          await expectClosedSoon(descriptors);
        },
        { engine },
      );
    });
  });
});
