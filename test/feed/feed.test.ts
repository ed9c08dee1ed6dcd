import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { systemClock } from "../../src/core/clock.js";
import { EventLog, type Filter, LogReader, Topic } from "../../src/feed/event-log.js";
import { type FileEvent, Merging } from "../../src/feed/file-event.js";
import { createFileAdapter, createVenue, type FileAdapter } from "../../src/index.js";
import { inArena } from "../jail/arena.js";
import { ROOT } from "../jail/files.js";
import { foldEverywhere } from "../jail/fold-everywhere.js";
import { run } from "../surfaces/http/client.js";
import { until } from "../until.js";

afterEach(() => {
  jest.restoreAllMocks();
});

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

// On a root that folds names, a place is watched under whatever spelling it is asked for.
describe("names that fold", () => {
  /** Runs `work` on a root that folds and has `Place/Sub/file`. */
  const onFolding = (work: (root: string, adapter: FileAdapter) => Promise<void>): Promise<void> =>
    inArena(async ({ root }) => {
      rmSync(root, { recursive: true });
      mkdirSync(join(root, "Place/Sub"), { recursive: true });
      writeFileSync(join(root, "Place/Sub/file"), "0");
      foldEverywhere();
      const adapter = await createFileAdapter({ roots: { [ROOT]: { path: root, durability: "none" } } });
      try {
        await work(root, adapter);
      } finally {
        await adapter.close();
      }
    });

  /** Follows a path, does what is told, and gives so many events. @param change gets what comes of it meanwhile */
  async function told(
    adapter: FileAdapter,
    path: string,
    change: (found: readonly string[]) => unknown,
    count: number,
  ): Promise<string[]> {
    const found: string[] = [];
    const changes = adapter.watch({ root: ROOT, path });
    let next = changes[Symbol.asyncIterator]().next();
    // It is watched once the first call for it is answered.
    await adapter.invoke("file:watch", { root: ROOT, path });
    const follow = async (): Promise<void> => {
      while (found.length < count) {
        const { value } = await next;
        if (value.type === "overflow") throw new Error("Changes were missed");
        found.push(`${value.type} ${value.path} ${value.origin}`);
        if (found.length < count) next = changes[Symbol.asyncIterator]().next();
      }
    };
    await Promise.all([change(found), follow()]);
    await changes[Symbol.asyncIterator]().return?.(undefined);
    return found;
  }

  test.each(["PLACE", "place/sub", "Place/Sub", "place/SUB/file"])(
    "%s: own changes and those of others are told",
    (path) =>
      onFolding(async (root, adapter) => {
        const own = () => adapter.invoke("file:write", { root: ROOT, path: "Place/Sub/file", content: "1" });
        expect(await told(adapter, path, own, 1)).toEqual(["modified Place/Sub/file adapter"]);
        const others = () => writeFileSync(join(root, "Place/Sub/file"), "another");
        expect(await told(adapter, path, others, 1)).toEqual(["modified Place/Sub/file external"]);
      }),
  );

  test("a place that is taken away and comes again under another spelling is told of, and what happens in it", () =>
    onFolding(async (root, adapter) => {
      mkdirSync(join(root, "made"));
      const change = async (found: readonly string[]) => {
        rmSync(join(root, "Place"), { recursive: true });
        await until(() => found.length === 1);
        renameSync(join(root, "made"), join(root, "pLACE"));
        await until(() => found.length === 2);
        writeFileSync(join(root, "pLACE/new"), "1");
      };
      expect(await told(adapter, "place", change, 3)).toEqual([
        "deleted Place external",
        "created pLACE external",
        "created pLACE/new external",
      ]);
    }));
});

// A reader that stays on a path over links is told of the place that they lead to, as file:watch is.
describe("links in a feed", () => {
  const onLinks = (work: (root: string, outside: string) => Promise<void>): Promise<void> =>
    inArena(async ({ root, outside }) => {
      mkdirSync(join(root, "real/sub"), { recursive: true });
      writeFileSync(join(root, "real/sub/file"), "0");
      symlinkSync("real", join(root, "link"));
      symlinkSync(outside, join(root, "out"));
      await work(root, outside);
    });

  test.each(["link", "link/sub", "link/sub/file"])("the library's watch of %s", (path) =>
    onLinks(async (root) => {
      const adapter = await createFileAdapter({ roots: { [ROOT]: { path: root, durability: "none" } } });
      try {
        const changes = adapter.watch({ root: ROOT, path })[Symbol.asyncIterator]();
        const next = changes.next();
        await adapter.invoke("file:watch", { root: ROOT, path });
        await adapter.invoke("file:write", { root: ROOT, path: "real/sub/file", content: "1" });
        expect((await next).value).toMatchObject({ type: "modified", path: "real/sub/file" });
        await changes.return?.(undefined);
      } finally {
        await adapter.close();
      }
    }),
  );

  /** Events of a topic, told by the path in each, while `act` runs; it ends with a change at `end`. */
  async function told(
    root: string,
    { topic, caps = ["file://r/"] }: { topic: string; caps?: readonly string[] },
    act: (write: (path: string) => Promise<void>) => Promise<void>,
  ): Promise<string> {
    const venue = await createVenue({
      ...{ port: 0, file: { roots: { r: { path: root, journal: "off" } } }, assets: { write: "operator" } },
      auth: { public: { enabled: true, caps: caps.map((of) => ({ with: of, can: "crud" })) } },
    });
    try {
      const { url } = await venue.listen();
      const stop = new AbortController();
      const stream = await fetch(`${url}/api/v1/events?topic=${topic}&topic=files:r/end`, { signal: stop.signal });
      const write = async (path: string): Promise<void> => {
        const input = { root: "r", path, content: "x", parents: true };
        const { status } = await run(url, "file:write", input, venue.localToken);
        expect(status).toBe(200);
      };
      await act(write);
      await write("end/end");
      let text = "";
      for await (const piece of stream.body ?? []) {
        text += Buffer.from(piece).toString();
        if (text.includes("end/end")) break;
      }
      stop.abort();
      return text;
    } finally {
      await venue.close();
    }
  }

  test("the events of a venue", () =>
    onLinks(async (root) => {
      expect(await told(root, { topic: "files:r/link" }, (write) => write("real/sub/new"))).toContain("real/sub/new");
    }));

  test("who may not read a link is not told by its name what happens where it leads", () =>
    onLinks(async (root) => {
      const caps = ["file://r/real/", "file://r/end/"];
      const text = await told(root, { topic: "files:r/link", caps }, (write) => write("real/sub/new"));
      expect(text).not.toContain("real/sub/new");
    }));

  test("a link out of the root tells nothing of what happens there", () =>
    onLinks(async (root, outside) => {
      const text = await told(root, { topic: "files:r/out" }, async () => {
        writeFileSync(join(outside, "new-outside"), "x");
      });
      expect(text).not.toContain("new-outside");
    }));
});

type Step = readonly [type: FileEvent["type"], path: string, from?: string];

const event = ([type, path, from]: Step): FileEvent => ({
  ...{ type, path: path.split("/"), entryType: path.endsWith("dir") ? "directory" : "file", origin: "adapter" },
  ...(from === undefined ? {} : { from: from.split("/") }),
});

const shown = ({ type, path, from }: FileEvent) =>
  [type, path.join("/"), ...(from === undefined ? [] : [from.join("/")])].join(" ");

describe("changes of one path", () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** What is told at once, and what is told at the end of the time in which changes become one. */
  function told(steps: readonly Step[]): { atOnce: string[]; later: string[] } {
    const all: string[] = [];
    const merging = new Merging(systemClock, (one) => all.push(shown(one)));
    for (const step of steps) merging.add(event(step));
    const atOnce = [...all];
    jest.advanceTimersByTime(100);
    merging.close();
    return { atOnce, later: all.slice(atOnce.length) };
  }

  test.each<[string, Step[], string[], string[]]>([
    ["one", [["created", "a"]], ["created a"], []],
    [
      "of different paths",
      [
        ["created", "a"],
        ["created", "b"],
      ],
      ["created a", "created b"],
      [],
    ],
    [
      "created and modified often",
      [
        ["created", "a"],
        ["modified", "a"],
        ["modified", "a"],
      ],
      ["created a"],
      ["modified a"],
    ],
    [
      "created and deleted",
      [
        ["created", "a"],
        ["deleted", "a"],
      ],
      ["created a"],
      ["deleted a"],
    ],
    [
      "deleted and made again",
      [
        ["deleted", "a"],
        ["created", "a"],
      ],
      ["deleted a"],
      ["created a"],
    ],
    [
      "deleted, made and changed",
      [
        ["deleted", "a"],
        ["created", "a"],
        ["modified", "a"],
      ],
      ["deleted a"],
      ["created a"],
    ],
    [
      "deleted, made and deleted",
      [
        ["deleted", "a"],
        ["created", "a"],
        ["deleted", "a"],
      ],
      ["deleted a"],
      [],
    ],
    [
      "modified, deleted and made",
      [
        ["modified", "a"],
        ["deleted", "a"],
        ["created", "a"],
      ],
      ["modified a"],
      ["modified a"],
    ],
    [
      "moved, at once",
      [
        ["created", "a"],
        ["moved", "b", "a"],
      ],
      ["created a", "moved b a"],
      [],
    ],
    [
      "modified, then moved: nothing is left out",
      [
        ["created", "a"],
        ["modified", "a"],
        ["moved", "b", "a"],
      ],
      ["created a", "modified a", "moved b a"],
      [],
    ],
    [
      "there and back",
      [
        ["moved", "b", "a"],
        ["moved", "a", "b"],
      ],
      ["moved b a", "moved a b"],
      [],
    ],
    [
      "below a directory that is deleted: the directory says it",
      [
        ["created", "dir/a"],
        ["modified", "dir/a"],
        ["deleted", "dir"],
      ],
      ["created dir/a", "deleted dir"],
      [],
    ],
  ])("%s", (_what, steps, atOnce, later) => {
    expect(told(steps)).toEqual({ atOnce, later });
  });

  test("that never end are told every tenth of a second, with the last one at the end", () => {
    const times: number[] = [];
    const merging = new Merging(systemClock, () => times.push(performance.now()));
    const began = performance.now();
    for (let change = 0; change < 150; change += 1) {
      merging.add(event(["modified", "a"]));
      jest.advanceTimersByTime(3);
    }
    jest.advanceTimersByTime(250);
    expect(times.map((time) => time - began)).toEqual([0, 100, 200, 300, 400, 500]);
  });
});
