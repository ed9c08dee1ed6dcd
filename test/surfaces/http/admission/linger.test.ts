import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { linger } from "../../../../src/surfaces/http/admission/connections.js";

const MEBI = 1 << 20;

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

/** A request whose body does not end. `answer` is what Node does when the last answer of the connection is written. */
function sendingOn() {
  const destroySoon = jest.fn();
  const socket = { destroySoon, end: jest.fn() };
  const body = { complete: false, destroyed: false, headers: { "content-length": "1000000000" }, socket };
  const request = Object.assign(new EventEmitter(), { ...body, resume: jest.fn() });
  const arrive = (mebis: number): void => {
    for (let at = 0; at < mebis; at += 1) request.emit("data", Buffer.alloc(MEBI));
  };
  const seen = () => ({ ended: socket.end.mock.calls.length, closed: destroySoon.mock.calls.length });
  linger(request as unknown as Parameters<typeof linger>[0]);
  return { request, arrive, seen, answer: () => socket.destroySoon() };
}

describe("a body that goes on arriving after the answer", () => {
  test("is read, with our side ended, for 10 seconds", () => {
    const { request, answer, seen } = sendingOn();
    expect(request.resume).toHaveBeenCalled();
    answer();
    expect(seen()).toEqual({ ended: 1, closed: 0 });
    jest.advanceTimersByTime(9_999);
    expect(seen()).toEqual({ ended: 1, closed: 0 });
    jest.advanceTimersByTime(1);
    expect(seen()).toEqual({ ended: 1, closed: 1 });
  });

  test("is read up to 64 MiB", () => {
    const { answer, arrive, seen } = sendingOn();
    answer();
    arrive(64);
    expect(seen()).toEqual({ ended: 1, closed: 0 });
    arrive(1);
    expect(seen()).toEqual({ ended: 1, closed: 1 });
  });

  test("counts with what came before the answer", () => {
    const { answer, arrive, seen } = sendingOn();
    arrive(65);
    expect(seen()).toEqual({ ended: 0, closed: 0 });
    answer();
    expect(seen()).toEqual({ ended: 1, closed: 1 });
  });

  test("is over when it ends", () => {
    const { request, answer, seen } = sendingOn();
    answer();
    request.emit("end");
    expect(seen()).toEqual({ ended: 1, closed: 1 });
    jest.advanceTimersByTime(20_000);
    expect(seen()).toEqual({ ended: 1, closed: 1 });
  });
});
