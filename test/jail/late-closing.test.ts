import fs from "node:fs";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { runIo } from "../../src/core/io.js";
import { LateClosing } from "../../src/jail/late-closing.js";
import { pool } from "../../src/jail/pool.js";

const closed: number[] = [];
const closings: (() => void)[] = [];

beforeEach(() => {
  jest.useFakeTimers();
  closed.length = 0;
  closings.length = 0;
  jest.spyOn(pool, "close").mockImplementation((fd) => {
    closed.push(fd);
    return new Promise<void>((resolve) => closings.push(resolve));
  });
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

describe("handles of replaced files", () => {
  test("are handed to the thread pool together, once there are sixteen of them", () => {
    const late = new LateClosing(() => {});
    for (let fd = 100; fd < 115; fd++) late.add(fd);
    expect(closed).toEqual([]);
    late.add(115);
    expect(closed).toHaveLength(16);
  });

  test("wait for others only an instant", () => {
    const late = new LateClosing(() => {});
    late.add(100);
    jest.advanceTimersByTime(4);
    expect(closed).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(closed).toEqual([100]);
  });

  test("are handed over at once when the root is closed, which waits for them", async () => {
    const waitedFor: Promise<unknown>[] = [];
    const late = new LateClosing((work) => waitedFor.push(work));
    late.add(100);
    late.flush();
    expect([closed, waitedFor.length, jest.getTimerCount()]).toEqual([[100], 1, 0]);
    for (const end of closings) end();
    await Promise.all(waitedFor);
  });

  test("are a few: a change waits until one is closed", async () => {
    const late = new LateClosing(() => {});
    for (let fd = 100; fd < 132; fd++) late.add(fd);
    let hasRoom = false;
    const room = Promise.resolve(runIo(late.waitForRoom())).then(() => {
      hasRoom = true;
    });
    await Promise.resolve();
    expect(hasRoom).toBe(false);
    closings[0]?.();
    await room;
    expect(hasRoom).toBe(true);
  });

  test("are closed on the spot when very many wait", () => {
    const here = jest.spyOn(fs, "closeSync").mockImplementation(() => {});
    const late = new LateClosing(() => {});
    for (let fd = 1000; fd < 1129; fd++) late.add(fd);
    expect(here.mock.calls).toEqual([[1128]]);
  });

  /** Handles of small files that the thread pool gets, where closing one here takes so long. */
  const handedOver = (tookMs: number, files: number): number => {
    jest.spyOn(fs, "closeSync").mockImplementation(() => {
      nowMs += tookMs;
    });
    let nowMs = 0;
    const late = new LateClosing(
      () => {},
      () => nowMs,
    );
    for (let fd = 1000; fd < 1000 + files; fd++) late.closerOf(10)(fd);
    late.flush();
    return closed.length;
  };

  test("of small files are closed on the spot where that is quick, as in memory", () => {
    expect(handedOver(0.005, 100)).toBe(0);
  });

  test("of small files are handed over where that is slow, but for one in thirty-two", () => {
    expect(handedOver(0.1, 64)).toBe(62);
  });

  test("of other files are always handed over", () => {
    const late = new LateClosing(() => {});
    for (let fd = 100; fd < 116; fd++) late.closerOf(100_000)(fd);
    expect(closed).toHaveLength(16);
  });
});
