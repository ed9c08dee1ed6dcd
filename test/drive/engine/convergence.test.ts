import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { createOwnerKeys } from "../../../src/drive/keys/owner-keys.js";
import { createMemoryStore } from "../../../src/drive/store/memory.js";
import { ALICE, clockAt, openEngine, rejection, type TestEngine, VENUE_KEY } from "./engines.js";

/** A venue with a store of its own, in which the user has the key that she has everywhere. */
async function venue(): Promise<TestEngine> {
  const [store, clock] = [createMemoryStore(), clockAt(1000)];
  const keys = createOwnerKeys({ records: store.keys, venueKey: VENUE_KEY, clock });
  await keys.import(ALICE, new Uint8Array(32).fill(5));
  return openEngine({ store, clock, keys });
}

async function exported(engine: TestEngine): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const { bytes } of engine.owner(ALICE).exportDrive()) pieces.push(bytes);
  return pieces;
}

async function* once(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

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

test("venues with a store each that exchange exports, after random changes by clocks that differ, come to the same bytes", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (schedule) => {
      const engines = await Promise.all([venue(), venue(), venue()] as const);
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
      const [first, second, third] = engines;
      // The third gets what the others have, and they get what it then has.
      for (const [source, target] of [
        [first, third],
        [second, third],
        [third, first],
        [third, second],
      ] as const) {
        const pieces = await exported(source).catch(() => undefined);
        if (pieces !== undefined) await target.owner(ALICE).importDrive([once(pieces)]);
      }
      const seen = await Promise.all(
        engines.map(async (engine) => {
          const pieces = await exported(engine).catch(() => []);
          return Buffer.concat(pieces).toString("hex");
        }),
      );
      expect(new Set(seen).size).toBe(1);
    }),
    { numRuns: 40 },
  );
});
