import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { createMemory, createMemoryStore } from "../../../src/drive/store/memory.js";
import { ALICE, clockAt, openEngine, rejection } from "./engines.js";

const WRITERS = ["a", "b", "c"];

const steps = fc.array(
  fc.record({
    /** Which engines write at once. */
    who: fc.subarray([0, 1, 2], { minLength: 1 }),
    op: fc.constantFrom("write", "write", "append", "mkdir", "remove", "delete drive"),
    path: fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 2 }),
    skew: fc.integer({ min: -50, max: 50 }),
  }),
  { maxLength: 14 },
);

test("engines with a root each, random changes and clocks that differ come to the same bytes", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (schedule) => {
      const memory = createMemory();
      const engines = WRITERS.map((writer) =>
        openEngine({ store: createMemoryStore({ memory, writer }), writer, clock: clockAt(1000) }),
      );
      let count = 0;
      for (const { who, op, path, skew } of schedule) {
        const changes = who.map((place) => {
          const engine = engines[place];
          if (engine === undefined) return Promise.resolve();
          engine.clock.now += 10 + (place === 0 ? skew : -skew);
          const owner = engine.owner(ALICE);
          count += 1;
          const content = Buffer.from(`${place}-${count}`);
          if (op === "delete drive") return owner.delete("d");
          return owner.change("d", async (drive) => {
            if (op === "write") await drive.writeFile(path, content);
            if (op === "append") await drive.appendFile(path, content);
            if (op === "mkdir") await drive.makeDirectory(path);
            if (op === "remove") await drive.remove(path, { recursive: true });
          });
        });
        for (const code of await Promise.all(changes.map(rejection))) {
          expect([undefined, "NOT_FOUND", "NOT_A_DIRECTORY", "IS_A_DIRECTORY", "EXISTS"]).toContain(code);
        }
      }
      const seen = await Promise.all(
        engines.map(async (engine) => {
          const pieces: Uint8Array[] = [];
          const read = async (): Promise<void> => {
            for await (const { bytes } of engine.owner(ALICE).exportDrive({ top: "drive", drive: "d" }))
              pieces.push(bytes);
          };
          const code = await rejection(read());
          return code ?? Buffer.concat(pieces).toString("hex");
        }),
      );
      expect(new Set(seen).size).toBe(1);
    }),
    { numRuns: 60 },
  );
});
