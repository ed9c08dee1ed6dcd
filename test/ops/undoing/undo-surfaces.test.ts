import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { anySurface, make, type Step } from "./surface-steps.js";
import { undoAndRedo } from "./undo-and-redo.js";
import { type Kind, openVenueGround, type VenueGround } from "./venue-ground.js";

const KINDS = ["host", "temp", "drive"] as const;
let ground: VenueGround;
beforeAll(async () => {
  ground = await openVenueGround(KINDS, { driver: "just-bash" });
});
afterAll(() => ground.close());

const done = new Map<string, number>();
async function makeAll(kind: Kind, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    const isMade = await make(ground, kind, step);
    done.set(step.by, (done.get(step.by) ?? 0) + Number(isMade));
  }
}

describe.each(KINDS)("undoing in reverse what all surfaces have changed, on a %s root,", (kind) => {
  test("brings back the first state, and undoing that the last, byte for byte", async () => {
    const runs = fc.asyncProperty(fc.array(anySurface, { minLength: 6, maxLength: 16 }), async (steps) => {
      await ground.reset(kind);
      await undoAndRedo(ground, kind, () => makeAll(kind, steps));
    });
    await fc.assert(runs, { numRuns: 3 });
  }, 120_000);

  test("and what each of them has changed in turn", async () => {
    await ground.reset(kind);
    const at = (path: string, to = "b"): Pick<Step, "path" | "to" | "content"> => ({ path, to, content: "x\n" });
    const steps: readonly Step[] = [
      { by: "library", what: "patch", ...at("a") },
      { by: "http", what: "edit", ...at("d/a") },
      { by: "mcp", what: "move", ...at("d/e", "moved") },
      { by: "files", what: "PUT", ...at("a") },
      { by: "webdav", what: "MOVE", ...at("a", "c") },
      { by: "acp", what: "write", ...at("new/folder/f") },
      { by: "profile", what: "write", ...at("d/a") },
      { by: "command", what: "echo 1 > d/a; rm -rf moved; mkdir n; echo 2 > n/m; mv c n/c", ...at("") },
    ];
    done.clear();
    await undoAndRedo(ground, kind, () => makeAll(kind, steps));
    expect(Object.fromEntries(done)).toEqual(Object.fromEntries(steps.map(({ by }) => [by, 1])));
  });

  test("and a folder that took the place of a file", async () => {
    await ground.reset(kind);
    const copy: Step = { by: "webdav", what: "COPY", path: "d", to: "a", content: "" };
    await undoAndRedo(ground, kind, async () => expect(await make(ground, kind, copy)).toBe(true));
  });
});
