import { afterAll, beforeAll, describe } from "@jest/globals";
import fc from "fast-check";
import { needs } from "../../needs.js";
import { bwrapHere } from "../../sandbox/ground.js";
import { anyCommand, anySurface, make, type Step } from "./surface-steps.js";
import { undoAndRedo } from "./undo-and-redo.js";
import { openVenueGround, type VenueGround } from "./venue-ground.js";

const { possible, reason } = await bwrapHere();
const test = needs(possible, reason);
const KINDS = ["host", "temp"] as const;

const byCommand = (what: string, path = "a", to = "b"): Step => ({ by: "command", what, path, to, content: "" });
/** What comes back as a copy: at another path than it had then, or in a larger tree. */
const COPIES: [Step[]][] = [
  [[byCommand("rm -rf d; mkdir -p d; echo again > d/a"), byCommand("mv $a $b", "d"), byCommand("rm -rf $a", "b")]],
  [[byCommand("rm -rf $a", "d"), byCommand("mkdir -p $a; echo made > $a/made", "d/e"), byCommand("rm -rf $a", "d/e")]],
];

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
      await fc.assert(runs, { numRuns: 8, examples: COPIES });
    }, 300_000);
  },
);
