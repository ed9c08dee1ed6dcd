import { EventEmitter } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { EventReader, VenueEvents } from "../../../../src/core/ports/changes/events.js";
import { createVenue, type Venue } from "../../../../src/index.js";
import { EventStreams } from "../../../../src/surfaces/http/endpoints/event-streams.js";
import { outcome, run, send } from "../client.js";
import { as, closeAll, serve } from "../fixture.js";

const TOKENS = { alice: "a".repeat(32), reader: "r".repeat(32), gone: "g".repeat(32) };
type Name = keyof typeof TOKENS;
const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-events-")));
let venue: Venue;
let url: string;
afterAll(async () => {
  await venue.close();
  rmSync(base, { recursive: true, force: true });
});

async function write(path: string, name: Name = "alice"): Promise<void> {
  const sent = { method: "PUT", body: String(Math.random()), token: TOKENS[name] };
  const answer = await send(`${url}/api/v1/files/docs/${path}`, sent);
  expect([201, 204]).toContain(answer.status);
}

describe("GET /api/v1/events", () => {
  beforeAll(async () => {
    mkdirSync(join(base, "docs/open"), { recursive: true });
    mkdirSync(join(base, "docs/closed"));
    for (const [name, token] of Object.entries(TOKENS))
      writeFileSync(join(base, `${name}.token`), token, { mode: 0o600 });
    const token = (name: Name, caps: object[]) => ({ name, token: { file: `${name}.token` }, caps });
    venue = await createVenue(
      {
        ...{ port: 0, stateDir: "state", corsOrigins: ["https://app.example"] },
        file: { roots: { docs: { path: "docs", deny: ["secret"] } } },
        auth: {
          public: { enabled: false },
          tokens: [
            token("alice", [{ with: "file://docs/", can: "crud" }]),
            token("reader", [{ with: "file://docs/open/", can: "crud/read" }]),
            token("gone", [{ with: "file://docs/", can: "crud" }]),
          ],
        },
      } as never,
      { baseDir: base },
    );
    ({ url } = await venue.listen());
  });
  const open: Stream[] = [];
  afterEach(() => {
    for (const stream of open.splice(0)) stream.close();
  });

  interface Event {
    readonly id: string;
    readonly event: string;
    readonly data: Record<string, unknown>;
  }

  interface Stream {
    readonly response: Response;
    /** The next event; ids without data are left out. `undefined`: the stream has ended. */
    next(): Promise<Event | undefined>;
    lastId: string;
    close(): void;
  }

  async function follow(name: Name, topics: readonly string[], headers: Record<string, string> = {}): Promise<Stream> {
    const end = new AbortController();
    const query = topics.map((topic) => `topic=${encodeURIComponent(topic)}`).join("&");
    const sent = { token: TOKENS[name], headers, signal: end.signal };
    const response = await send(`${url}/api/v1/events?${query}`, sent);
    const chunks = response.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    let text = "";
    const stream: Stream = {
      response,
      lastId: "",
      close: () => end.abort(),
      async next() {
        for (;;) {
          const at = text.indexOf("\n\n");
          if (at < 0) {
            const chunk = await chunks?.next();
            if (chunk === undefined || chunk.done === true) return undefined;
            text += chunk.value;
            continue;
          }
          const fields = Object.fromEntries(
            text
              .slice(0, at)
              .split("\n")
              .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
          ) as Record<string, string>;
          text = text.slice(at + 2);
          stream.lastId = fields["id"] ?? stream.lastId;
          if (fields["data"] !== undefined)
            return { id: fields["id"] ?? "", event: fields["event"] ?? "", data: JSON.parse(fields["data"]) };
        }
      },
    };
    open.push(stream);
    return stream;
  }

  const pathOf = (event: Event | undefined) => event?.data["path"];

  test("tells of files by their topic, as they change", async () => {
    const stream = await follow("alice", ["files:docs/open"]);
    expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
    await write("closed/a");
    await write("open/a");
    expect(await stream.next()).toEqual({
      ...{ id: expect.stringMatching(/^[\w-]{22}$/), event: "files:docs/open" },
      data: { type: "created", path: "open/a", entryType: "file", etag: expect.any(String), origin: "adapter" },
    });
    writeFileSync(join(base, "docs/open/other"), "1");
    expect(await stream.next()).toMatchObject({ data: { path: "open/other", origin: "external" } });
  });

  test("leaves out what the caller may not see, without a gap; a root without rights is one in which nothing happens", async () => {
    const stream = await follow("reader", ["files:docs", "files:none", "audit"]);
    await write("closed/b");
    await write("secret").catch(() => {});
    await write("open/b");
    expect(await stream.next()).toMatchObject({ event: "files:docs", data: { path: "open/b" } });
  });

  test("orders topics, and tells each caller of its own jobs and calls only", async () => {
    const stream = await follow("alice", ["files:docs", "job", "audit"]);
    const other = await follow("reader", ["job", "audit"]);
    const stat = (name: Name, path: string) => run(url, "file:stat", { root: "docs", path }, TOKENS[name]);
    await stat("alice", "open/c");
    const found = [await stream.next(), await stream.next(), await stream.next()];
    expect(found.map((event) => [event?.event, event?.data["status"] ?? event?.data["operation"]])).toEqual([
      ["job", "STARTED"],
      ["audit", "file:stat"],
      ["job", "COMPLETE"],
    ]);
    expect(Object.keys(found[2]?.data ?? {})).not.toEqual(expect.arrayContaining(["input"]));
    await stat("reader", "open/c");
    expect(await other.next()).toMatchObject({ data: { caller: expect.stringMatching(/:reader$/) } });
  });

  test("goes on behind the last id, and overflows for one of another start", async () => {
    const first = await follow("alice", ["files:docs"]);
    await write("open/d");
    const event = await first.next();
    first.close();
    await write("open/e");
    const second = await follow("alice", ["files:docs"], { "last-event-id": event?.id ?? "" });
    expect(pathOf(await second.next())).toBe("open/e");
    const third = await follow("alice", ["files:docs"], { "last-event-id": "A".repeat(22) });
    expect(await third.next()).toMatchObject({ event: "overflow", data: {} });
    await write("open/f");
    expect(pathOf(await third.next())).toBe("open/f");
  });

  test("loses nothing for a reader that keeps up", async () => {
    const stream = await follow("alice", ["files:docs"]);
    const count = 300;
    const calls = (async () => {
      for (let index = 0; index < count; index++) await write(`open/many${index}`);
    })();
    for (let index = 0; index < count; index++) expect(pathOf(await stream.next())).toBe(`open/many${index}`);
    await calls;
  });

  test("ends upon a revocation, and tells nothing more", async () => {
    const stream = await follow("gone", ["files:docs"]);
    await write("open/g");
    expect(pathOf(await stream.next())).toBe("open/g");
    writeFileSync(join(base, "state/revocations"), `${venue.did}:token:gone\n`);
    expect(await stream.next()).toMatchObject({ event: "end" });
    expect(await stream.next()).toBeUndefined();
  });

  test("is open 64 times for a caller, then 429", async () => {
    const streams = await Promise.all(Array.from({ length: 64 }, () => follow("reader", ["audit"])));
    expect(streams.map(({ response }) => response.status)).toEqual(streams.map(() => 200));
    const one = await follow("reader", ["audit"]);
    expect([one.response.status, one.response.headers.get("retry-after")]).toEqual([429, "5"]);
    expect((await follow("alice", ["audit"])).response.status).toBe(200);
  });

  test.each([
    ["without a topic", ""],
    ["for an unknown topic", "?topic=everything"],
    ["for a root without a name", "?topic=files:"],
    ["for a path that leads out", "?topic=files:docs/../x"],
  ])("is 400 %s", async (_what, query) => {
    const answer = await outcome(send(`${url}/api/v1/events${query}`, { token: TOKENS.alice }));
    expect(answer).toMatchObject({ status: 400, body: { error: expect.any(String) } });
  });

  test("lets pages of allowed origins read it", async () => {
    const stream = await follow("alice", ["audit"], { origin: "https://app.example" });
    expect(stream.response.headers.get("access-control-allow-origin")).toBe("https://app.example");
  });

  test("ends when the venue closes", async () => {
    const stream = await follow("alice", ["files:docs"]);
    await venue.close();
    expect(await stream.next()).toMatchObject({ event: "end" });
  });
});

const EVENT_BYTES = 10_000;
const EVENTS = 100_000;
const TEXT = "x".repeat(EVENT_BYTES);

/** More events than any client takes at once; counts those that were asked for. */
function endlessEvents(servesAnonymous: boolean) {
  const counted = { pulled: 0 };
  const looks: (() => void)[] = [];
  let listener = (): void => {};
  const reader: EventReader = {
    ready: Promise.resolve(),
    sight: "",
    end: 0,
    *read(after) {
      for (let position = after + 1; position <= EVENTS; position += 1) {
        counted.pulled += 1;
        yield { position, topic: "audit", data: { TEXT } };
      }
    },
    hasLost: () => false,
    cursorAt: String,
    positionOf: Number,
    listen(one) {
      listener = one;
      return () => {};
    },
    get isOver() {
      for (const look of looks.splice(0)) look();
      // Whoever judges the reader is told of events again: a reader that is behind is always told.
      listener();
      return false;
    },
    close() {},
  };
  const events: VenueEvents = { servesAnonymous, open: () => reader };
  const judged = () => new Promise<void>((resolve) => looks.push(resolve));
  return { events, counted, judged };
}

/** Readers of one event each, `happen()`; what they see goes by their topic. Counts how often each topic is read. */
function readersByTopic() {
  const counted = new Map<string, number>();
  const listeners: (() => void)[] = [];
  let end = 0;
  const open = (topic: string): EventReader => {
    return {
      ready: Promise.resolve(),
      sight: topic,
      get end() {
        return end;
      },
      *read(after) {
        counted.set(topic, (counted.get(topic) ?? 0) + 1);
        if (after < end) yield { position: end, topic, data: { seenBy: topic } };
      },
      hasLost: () => false,
      cursorAt: String,
      positionOf: Number,
      listen(one) {
        listeners.push(one);
        return () => {};
      },
      isOver: false,
      close() {},
    };
  };
  const events: VenueEvents = { servesAnonymous: true, open: ([topic]) => open(topic?.name ?? "") };
  const happen = () => {
    counted.clear();
    end += 1;
    for (const listener of listeners) listener();
  };
  return { events, counted, happen };
}

describe("events", () => {
  afterEach(closeAll);

  test("are judged and read once for all streams of one credential and the same topics", async () => {
    const { events, counted, happen } = readersByTopic();
    const { url } = await serve({}, { events });
    const end = new AbortController();
    const follow = async (topic: string, headers = {}) => {
      const { body } = await fetch(`${url}/api/v1/events?topic=${topic}`, { headers, signal: end.signal });
      const chunks = body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
      const next = async () => String((await chunks?.next())?.value);
      expect(await next()).toBe("retry: 2000\nid: 0\n\n");
      return next;
    };
    const audit = await Promise.all(Array.from({ length: 8 }, () => follow("audit")));
    audit.push(await follow("audit", as("alice")));
    const job = await follow("job");
    happen();
    for (const next of audit) expect(await next()).toBe('id: 1\nevent: audit\ndata: {"seenBy":"audit"}\n\n');
    expect(await job()).toBe('id: 1\nevent: job\ndata: {"seenBy":"job"}\n\n');
    // Eight of nobody in particular, and one of somebody.
    expect(Object.fromEntries(counted)).toEqual({ audit: 2, job: 1 });
    end.abort();
  });

  test("that a client does not read stay in their rings, and go on when it reads", async () => {
    const { events, counted, judged } = endlessEvents(true);
    const { port } = await serve({}, { events });
    const socket = connect(port, "127.0.0.1");
    socket.pause();
    socket.write("GET /api/v1/events?topic=audit HTTP/1.1\r\nhost: localhost\r\n\r\n");
    for (let before = -1; before !== counted.pulled || before === 0; ) {
      before = counted.pulled;
      for (let looks = 0; looks < 3; looks += 1) await judged();
    }
    const held = counted.pulled;
    expect(held * EVENT_BYTES).toBeLessThan((EVENTS * EVENT_BYTES) / 20);
    let bytes = 0;
    await new Promise<void>((resolve) => {
      socket.on("data", (chunk) => {
        bytes += chunk.length;
        if (bytes > 2 * held * EVENT_BYTES) resolve();
      });
      socket.resume();
    });
    expect(counted.pulled).toBeGreaterThan(held);
    socket.destroy();
  });

  test("are for callers with credentials where anybody reaches the venue", async () => {
    const { url } = await serve({}, { events: endlessEvents(false).events });
    const answer = await fetch(`${url}/api/v1/events?topic=audit`);
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
  });
});

describe("turns of a stream", () => {
  let now = 0;
  beforeEach(() => {
    now = 1000;
    jest.useFakeTimers({ doNotFake: ["performance"] });
    jest.spyOn(performance, "now").mockImplementation(() => now);
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  /** A stream on which reading takes some time. `happen`: so many events. */
  function follow(readMs: number) {
    let [end, listener] = [0, (): void => {}];
    const raw = Object.assign(new EventEmitter(), {
      ...{ destroyed: false, writableEnded: false, writableNeedDrain: false },
      write: (_chunk: string | Buffer) => true,
    });
    const reader: EventReader = {
      ...{ ready: Promise.resolve(), sight: "", isOver: false, hasLost: () => false, close: () => {} },
      ...{ cursorAt: String, positionOf: Number },
      get end() {
        return end;
      },
      *read(after) {
        now += readMs;
        for (let position = after + 1; position <= end; position += 1) yield { position, topic: "audit", data: {} };
      },
      listen(one) {
        listener = one;
        return () => {};
      },
    };
    const streams = new EventStreams();
    streams.begin({ raw: raw as unknown as ServerResponse, reader, isRefused: () => false, sight: "" }, undefined);
    const happen = (count: number): void => {
      end += count;
      listener();
    };
    return { raw, happen };
  }

  test.each([
    ["a short turn", 0.125, 1, 50],
    ["a longer turn", 2, 1, 200],
    ["a very long turn", 40, 1, 250],
    ["a very long turn in which a stream got behind", 40, 501, 50],
  ])("after %s the next one comes in its time", (_what, readMs, events, waitMs) => {
    const { raw, happen } = follow(readMs);
    happen(events);
    const timed = jest.spyOn(globalThis, "setTimeout");
    jest.advanceTimersByTime(0);
    if (timed.mock.calls.length === 0) happen(1);
    expect(timed.mock.calls.map(([, ms]) => ms)).toEqual([waitMs]);
    raw.emit("close");
    expect(jest.getTimerCount()).toBe(0);
  });

  test("an event that two topics tell of is never cut in between", () => {
    const written: string[] = [];
    const raw = Object.assign(new EventEmitter(), {
      ...{ destroyed: false, writableEnded: false, writableNeedDrain: false },
      write: (chunk: string | Buffer) => written.push(String(chunk)) > 0,
    });
    const reader: EventReader = {
      ...{ ready: Promise.resolve(), sight: "", isOver: false, end: 502, hasLost: () => false, close: () => {} },
      ...{ cursorAt: String, positionOf: Number, listen: () => () => {} },
      *read(after) {
        for (let position = after + 1; position <= 502; position += 1) {
          yield { position, topic: "audit", data: {} };
          if (position === 500) yield { position, topic: "job", data: {} };
        }
      },
    };
    new EventStreams().begin({ raw: raw as unknown as ServerResponse, reader, isRefused: () => false, sight: "" }, "0");
    jest.advanceTimersByTime(1000);
    const told = [...written.join("").matchAll(/^id: (\d+)\nevent: (\w+)$/gm)].map(([, id, topic]) => `${id} ${topic}`);
    expect(told.slice(498)).toEqual(["499 audit", "500 audit", "500 job", "501 audit", "502 audit"]);
    raw.emit("close");
  });
});
