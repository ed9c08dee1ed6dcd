import { describe, expect, test } from "@jest/globals";
import { EventLog } from "../../src/feed/event-log.js";

const valuesAfter = (ring: { after(position: number): Iterable<{ event: number }> }, position: number) =>
  [...ring.after(position)].map(({ event }) => event);

describe("a ring", () => {
  test("gives what came after a position, oldest first", () => {
    const ring = new EventLog().ring<number>(4);
    const positions = [1, 2, 3].map((event) => {
      ring.append(event);
      return ring.end;
    });
    expect(valuesAfter(ring, 0)).toEqual([1, 2, 3]);
    expect(positions.map((position) => valuesAfter(ring, position))).toEqual([[2, 3], [3], []]);
  });

  test("forgets the oldest, and says so to readers that had not got so far", () => {
    const ring = new EventLog().ring<number>(3);
    for (let event = 1; event <= 7; event++) ring.append(event);
    expect(valuesAfter(ring, 0)).toEqual([5, 6, 7]);
    expect([0, 3, 4, 7].map((position) => ring.hasLost(position))).toEqual([true, true, false, false]);
    expect(valuesAfter(ring, 5)).toEqual([6, 7]);
  });

  test("holds ten thousand", () => {
    const ring = new EventLog().ring<number>();
    for (let event = 1; event <= 10_001; event++) ring.append(event);
    expect(valuesAfter(ring, 0).length).toBe(10_000);
    expect([0, 1].map((position) => ring.hasLost(position))).toEqual([true, false]);
  });

  test("made later than a reader's position has lost what came before it", () => {
    const log = new EventLog();
    log.ring<number>().append(1);
    const ring = log.ring<number>();
    expect([ring.hasLost(0), ring.hasLost(log.position)]).toEqual([true, false]);
  });

  test("counts together with the other rings of its log", () => {
    const log = new EventLog();
    const [one, other] = [log.ring<number>(), log.ring<number>()];
    one.append(1);
    other.append(2);
    one.append(3);
    expect([...one.after(0), ...other.after(0)].map(({ position }) => position)).toEqual([1, 3, 2]);
    expect([log.position, one.end]).toEqual([3, 3]);
  });

  test("tells listeners of events and of losses, until they stop", () => {
    const ring = new EventLog().ring<number>();
    let told = 0;
    const stop = ring.listen(() => told++);
    ring.append(1);
    ring.markLost();
    stop();
    ring.append(2);
    expect(told).toBe(2);
    expect([ring.hasLost(1), ring.hasLost(2)]).toEqual([true, false]);
  });
});

describe("a cursor", () => {
  test("gives its position back, for what it is bound to only", () => {
    const log = new EventLog();
    for (const position of [0, 1, 255, 2 ** 40]) {
      expect(log.positionOf(log.cursor(position))).toBe(position);
      expect(log.positionOf(log.cursor(position, "a"), "a")).toBe(position);
      expect(log.positionOf(log.cursor(position, "a"), "b")).toBe("binding");
    }
  });

  test("shows nothing of the position, and cannot be made up", () => {
    const log = new EventLog();
    const cursors = Array.from({ length: 1000 }, (_, position) => log.cursor(position));
    expect(new Set(cursors.map((cursor) => cursor.slice(0, 8))).size).toBeGreaterThan(990);
    expect(cursors.every((cursor) => /^[\w-]{22}$/.test(cursor))).toBe(true);
    const [first = ""] = cursors;
    expect(log.positionOf(`${first[0] === "A" ? "B" : "A"}${first.slice(1)}`)).toBe("start");
  });

  test("of another start is told from text that is none", () => {
    expect(new EventLog().positionOf(new EventLog().cursor(1))).toBe("start");
    expect(new EventLog().positionOf("12")).toBe("malformed");
  });
});
