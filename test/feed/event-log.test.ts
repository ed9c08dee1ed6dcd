import { describe, expect, test } from "@jest/globals";
import { EventLog, type Filter, LogReader, Topic } from "../../src/feed/event-log.js";

const valuesAfter = (topic: Topic<number>, position: number) => [...topic.after(position)].map(({ event }) => event);

/** A topic of so many events. */
const topicOf = (size: number) => {
  const log = new EventLog();
  return { log, topic: new Topic<number>(log, "numbers", size) };
};

describe("a topic", () => {
  test("gives what came after a position, oldest first", () => {
    const { log, topic } = topicOf(4);
    const positions = [1, 2, 3].map((event) => {
      topic.append(event);
      return log.position;
    });
    expect(valuesAfter(topic, 0)).toEqual([1, 2, 3]);
    expect(positions.map((position) => valuesAfter(topic, position))).toEqual([[2, 3], [3], []]);
  });

  test("forgets the oldest, and says so to readers that had not got so far", () => {
    const { topic } = topicOf(3);
    for (let event = 1; event <= 7; event++) topic.append(event);
    expect(valuesAfter(topic, 0)).toEqual([5, 6, 7]);
    expect([0, 3, 4, 7].map((position) => topic.hasLost(position))).toEqual([true, true, false, false]);
    expect(valuesAfter(topic, 5)).toEqual([6, 7]);
  });

  test("holds ten thousand", () => {
    const topic = new EventLog().topic<number>("numbers");
    for (let event = 1; event <= 10_001; event++) topic.append(event);
    expect(valuesAfter(topic, 0).length).toBe(10_000);
    expect([0, 1].map((position) => topic.hasLost(position))).toEqual([true, false]);
  });

  test("made later than a reader's position has lost what came before it", () => {
    const log = new EventLog();
    log.topic<number>("one").append(1);
    const topic = log.topic<number>("other");
    expect([topic.hasLost(0), topic.hasLost(log.position)]).toEqual([true, false]);
  });

  test("counts together with the other topics of its log", () => {
    const log = new EventLog();
    const [one, other] = [log.topic<number>("one"), log.topic<number>("other")];
    one.append(1);
    other.append(2);
    one.append(3);
    expect([...one.after(0), ...other.after(0)].map(({ position }) => position)).toEqual([1, 3, 2]);
    expect(log.position).toBe(3);
  });

  test("is recorded from the first time on that somebody asks for it", () => {
    const log = new EventLog();
    expect(log.wants("auth")).toBe(false);
    log.publish("auth", 1);
    const topic = log.topic<number>("auth");
    expect(log.wants("auth")).toBe(true);
    log.publish("auth", 2);
    log.publish("job", 3);
    expect(valuesAfter(topic, 0)).toEqual([2]);
    expect(log.topic("auth")).toBe(topic);
  });

  test("tells listeners of events and of losses, until they stop", () => {
    const { topic } = topicOf(10);
    let told = 0;
    const stop = topic.listen(() => told++);
    topic.append(1);
    topic.markLost();
    stop();
    topic.append(2);
    expect(told).toBe(2);
    expect([topic.hasLost(1), topic.hasLost(2)]).toEqual([true, false]);
  });
});

describe("a reader", () => {
  const all = (topic: Topic<number>): Filter<number> => ({ topic, judge: () => (event: number) => event });
  const told = (reader: LogReader<number>, after: number) =>
    [...reader.read(after)].map(({ topic, data }) => `${topic} ${data}`);

  test("gives the events of all its topics in order; one that two filters let pass, by both", () => {
    const log = new EventLog();
    const [a, b, c] = ["a", "b", "c"].map((key) => log.topic<number>(key)) as [
      Topic<number>,
      Topic<number>,
      Topic<number>,
    ];
    const even: Filter<number> = { topic: a, judge: () => (event: number) => (event % 2 === 0 ? event : undefined) };
    const reader = new LogReader(log, [
      ["all", all(a)],
      ["even", even],
      ["b", all(b)],
    ]);
    for (const [event, topic] of [a, b, a, c, b, a].entries()) topic.append(event);
    expect(told(reader, 0)).toEqual(["all 0", "even 0", "b 1", "all 2", "even 2", "b 4", "all 5"]);
    expect(told(reader, 3)).toEqual(["b 4", "all 5"]);
    expect(told(reader, reader.end)).toEqual([]);
  });

  test("judges at each reading anew", () => {
    const log = new EventLog();
    const topic = log.topic<number>("a");
    let isAllowed = true;
    const judge = () => {
      const allows = isAllowed;
      return (event: number) => (allows ? event : undefined);
    };
    const reader = new LogReader(log, [["a", { topic, judge }]]);
    topic.append(1);
    expect(told(reader, 0)).toEqual(["a 1"]);
    isAllowed = false;
    expect(told(reader, 0)).toEqual([]);
  });

  test("has lost what any of its topics or filters has, and all that was before a cursor of another start", () => {
    const log = new EventLog();
    const [a, b] = [log.topic<number>("a"), log.topic<number>("b")];
    const reader = new LogReader(log, [
      ["a", all(a)],
      ["b", { ...all(b), hasLost: (position) => position < 1 }],
    ]);
    expect([0, 1].map((position) => reader.hasLost(position))).toEqual([true, false]);
    a.append(1);
    b.markLost();
    expect([1, 2].map((position) => reader.hasLost(position))).toEqual([true, false]);
    const none = new LogReader(log, []);
    expect(none.hasLost(none.positionOf("A".repeat(22)))).toBe(true);
  });

  test("takes a cursor of another reader only where neither is bound", () => {
    const log = new EventLog();
    log.step();
    const [free, one, other] = ["", "one", "other"].map((binding) => new LogReader(log, [], binding)) as [
      LogReader<never>,
      LogReader<never>,
      LogReader<never>,
    ];
    expect(new LogReader(log, []).positionOf(free.cursorAt(1))).toBe(1);
    expect(one.positionOf(one.cursorAt(1))).toBe(1);
    expect(one.positionOf(new LogReader(new EventLog(), [], "one").cursorAt(1))).toBeLessThan(0);
    for (const cursor of [other.cursorAt(1), free.cursorAt(1), "1"])
      expect(() => one.positionOf(cursor)).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
    for (const cursor of [one.cursorAt(1), "1"]) expect(free.positionOf(cursor)).toBeLessThan(0);
  });

  test("is told of events, losses and the end, until it stops", () => {
    const log = new EventLog();
    const topic = log.topic<number>("a");
    const reader = new LogReader(log, [["a", all(topic)]]);
    let count = 0;
    const stop = reader.listen(() => count++);
    topic.append(1);
    topic.markLost();
    log.topic("b").markLost();
    expect([count, reader.isOver]).toEqual([2, false]);
    log.end();
    expect([count, reader.isOver]).toEqual([3, true]);
    stop();
    topic.append(2);
    log.end();
    expect(count).toBe(3);
  });
});

describe("a cursor", () => {
  test("gives its position back, for what it is bound to only", () => {
    const log = new EventLog();
    for (const position of [0, 1, 255, 2 ** 40]) {
      expect(log.positionOf(log.cursor(position, ""), "")).toBe(position);
      expect(log.positionOf(log.cursor(position, "a"), "a")).toBe(position);
      expect(log.positionOf(log.cursor(position, "a"), "b")).toBe("other");
    }
  });

  test("shows nothing of the position, and cannot be made up", () => {
    const log = new EventLog();
    const cursors = Array.from({ length: 1000 }, (_, position) => log.cursor(position, ""));
    expect(new Set(cursors.map((cursor) => cursor.slice(0, 8))).size).toBeGreaterThan(990);
    expect(cursors.every((cursor) => /^[\w-]{22}$/.test(cursor))).toBe(true);
    const [first = ""] = cursors;
    expect(log.positionOf(`${first[0] === "A" ? "B" : "A"}${first.slice(1)}`, "")).toBe("start");
  });

  test("of another start is told from text that is none", () => {
    expect(new EventLog().positionOf(new EventLog().cursor(1, ""), "")).toBe("start");
    expect(new EventLog().positionOf("12", "")).toBe("other");
  });
});
