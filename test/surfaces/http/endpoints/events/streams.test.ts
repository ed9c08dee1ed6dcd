import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import type { EventReader } from "../../../../../src/core/ports/changes/events.js";
import { EventStreams } from "../../../../../src/surfaces/http/endpoints/event-streams.js";

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
