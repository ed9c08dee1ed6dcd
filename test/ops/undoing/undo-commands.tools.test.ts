import { afterAll, beforeAll, describe } from "@jest/globals";
import fc from "fast-check";
import { needs } from "../../needs.js";
import { bwrapHere } from "../../sandbox/ground.js";
import { anyCommand, anySurface, make } from "./surface-steps.js";
import { undoAndRedo } from "./undo-and-redo.js";
import { openVenueGround, type VenueGround } from "./venue-ground.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const KINDS = ["host", "temp"] as const;

describe.each(KINDS)(
  "undoing in reverse what commands of programs and all surfaces have changed, on a %s root,",
  (kind) => {
    let ground: VenueGround;
    beforeAll(async () => {
      if (possible) ground = await openVenueGround([kind], { driver: "bwrap" }, { snapshot: true });
    });
    afterAll(() => ground?.close());

    test("brings back the first state, and undoing that the last, byte for byte", async () => {
      const step = fc.oneof({ weight: 1, arbitrary: anyCommand }, { weight: 2, arbitrary: anySurface });
      const runs = fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
        await ground.reset(kind);
        await undoAndRedo(ground, kind, async () => {
          for (const one of steps) await make(ground, kind, one);
        });
      });
      await fc.assert(runs, { numRuns: 6 });
    }, 300_000);
  },
);
