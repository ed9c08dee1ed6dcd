import { connect } from "node:net";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { EventReader, VenueEvents } from "../../../../../src/core/ports/changes/events.js";
import { as, closeAll, serve } from "../../fixture.js";

afterEach(closeAll);

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
