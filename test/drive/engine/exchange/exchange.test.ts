import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { ExportOptions } from "../../../../src/drive/engine/engine.js";
import { createOwnerKeys } from "../../../../src/drive/keys/owner-keys.js";
import { createMemoryStore } from "../../../../src/drive/store/memory.js";
import { ALICE, clockAt, inPieces, openEngine, rejection, type TestEngine } from "../engines.js";

const SEED = new Uint8Array(32).fill(7);
const PLACES = [0, 1];

interface Letter {
  readonly to: number;
  readonly bytes: Uint8Array;
  /** Absent: all drives, signed. */
  readonly drive: string | undefined;
}

const change = fc.record({
  kind: fc.constant("change" as const),
  place: fc.constantFrom(...PLACES),
  op: fc.constantFrom("write", "write", "append", "mkdir", "remove", "delete drive"),
  drive: fc.constantFrom("d", "e"),
  path: fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }),
  /** How far the clock of that venue goes on, or back. */
  step: fc.integer({ min: -500, max: 500 }),
});
const sending = fc.record({
  kind: fc.constant("send" as const),
  place: fc.constantFrom(...PLACES),
  /** Absent: all drives, signed. */
  drive: fc.option(fc.constantFrom("d", "e"), { nil: undefined }),
});
/** One of the letters on their way, old or new, which stays there: it may come again. */
const delivery = fc.record({ kind: fc.constant("deliver" as const), which: fc.nat(20) });
const schedules = fc.array(fc.oneof({ weight: 3, arbitrary: change }, sending, delivery), { maxLength: 24 });

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** Two venues that share nothing but the user, who has taken the key along. */
async function openVenue(): Promise<TestEngine> {
  const store = createMemoryStore();
  const clock = clockAt(10_000);
  const keys = createOwnerKeys({ records: store.keys, venueKey: new Uint8Array(32).fill(3), clock });
  await keys.import(ALICE, SEED);
  return openEngine({ store, clock, keys });
}

/** The bytes, or nothing where there is nothing to export. */
async function exported(engine: TestEngine, options: ExportOptions = {}): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  const read = async (): Promise<void> => {
    for await (const { bytes } of engine.owner(ALICE).exportDrive(options)) pieces.push(bytes);
  };
  const code = await rejection(read());
  if (code !== undefined) expect(code).toBe("NOT_FOUND");
  return code === undefined ? Buffer.concat(pieces) : undefined;
}

async function make(engine: TestEngine, { op, drive, path, step }: Change, content: string): Promise<void> {
  engine.clock.now = Math.max(1, engine.clock.now + step);
  const owner = engine.owner(ALICE);
  const done =
    op === "delete drive"
      ? owner.delete(drive)
      : owner.change(drive, async (edit) => {
          if (op === "write") await edit.writeFile(path, Buffer.from(content));
          if (op === "append") await edit.appendFile(path, Buffer.from(content));
          if (op === "mkdir") await edit.makeDirectory(path);
          if (op === "remove") await edit.remove(path, { recursive: true });
        });
  expect([undefined, "NOT_FOUND", "NOT_A_DIRECTORY", "IS_A_DIRECTORY", "EXISTS"]).toContain(await rejection(done));
}

test("venues that exchange exports, early, late, twice or never, come to the same bytes, and old ones change nothing", async () => {
  await fc.assert(
    fc.asyncProperty(schedules, async (schedule) => {
      const venues = [await openVenue(), await openVenue()] as const;
      const at = (place: number): TestEngine => venues[place === 0 ? 0 : 1];
      const letters: Letter[] = [];
      const deliver = async (letter: Letter): Promise<void> => {
        const options = letter.drive === undefined ? {} : { drive: letter.drive };
        await at(letter.to)
          .owner(ALICE)
          .importDrive([inPieces(letter.bytes, 100)], options);
      };
      const send = async (from: number, drive?: string): Promise<void> => {
        const bytes = await exported(at(from), drive === undefined ? {} : { top: "drive", drive });
        if (bytes !== undefined) letters.push({ to: 1 - from, bytes, drive });
      };
      for (const [count, step] of schedule.entries()) {
        if (step.kind === "change") await make(at(step.place), step, `${step.place}-${count}`);
        if (step.kind === "send") await send(step.place, step.drive);
        const letter = step.kind === "deliver" ? letters[step.which % Math.max(1, letters.length)] : undefined;
        if (letter !== undefined) await deliver(letter);
      }
      for (const from of PLACES) {
        await send(from);
        const last = letters.at(-1);
        if (last !== undefined && last.to !== from) await deliver(last);
      }
      const [one, other] = [await exported(venues[0]), await exported(venues[1])];
      expect(other).toEqual(one);
      for (const letter of letters.filter(({ drive }) => drive === undefined).reverse()) await deliver(letter);
      expect(await exported(venues[0])).toEqual(one);
      expect(await exported(venues[1])).toEqual(one);
    }),
    { numRuns: 200 },
  );
});
