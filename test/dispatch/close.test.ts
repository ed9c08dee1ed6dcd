import { describe, expect, jest, test } from "@jest/globals";
import { failureOf } from "../ops/ground.js";
import { deferred, dispatchOn, turn } from "./fake.js";

describe("a closed dispatcher", () => {
  test("takes no more calls", async () => {
    const { dispatcher, call, audit } = dispatchOn();
    await dispatcher.close();
    expect(await failureOf(call("write", { content: "x" }))).toEqual({
      code: "ABORTED",
      message: "Operation cancelled",
      data: {},
    });
    expect(audit).toEqual([]);
  });

  test("waits for the calls that run, and for those that wait for their turn", async () => {
    const ends = [deferred(), deferred()];
    let reads = 0;
    const { dispatcher, call } = dispatchOn({
      limits: { maxConcurrent: 1 },
      backend: {
        async read() {
          await ends[reads++]?.promise;
          return { bytes: Buffer.from("x"), size: 1 };
        },
      },
    });
    const calls = [call("read"), call("read")];
    let closed = false;
    const closing = dispatcher.close().then(() => {
      closed = true;
    });
    for (const end of ends) {
      await turn();
      expect(closed).toBe(false);
      end.resolve();
    }
    await closing;
    expect(await Promise.all(calls)).toHaveLength(2);
  });

  test("does not wait for ever", async () => {
    jest.useFakeTimers({ now: 0 });
    try {
      const { dispatcher, call } = dispatchOn({ backend: { read: () => new Promise(() => {}) } });
      void call("read");
      let closed = false;
      const closing = dispatcher.close().then(() => {
        closed = true;
      });
      await jest.advanceTimersByTimeAsync(4999);
      expect(closed).toBe(false);
      await jest.advanceTimersByTimeAsync(1);
      await closing;
    } finally {
      jest.useRealTimers();
    }
  });

  test("waits for a call that has only begun", async () => {
    let looked = false;
    const { dispatcher, call } = dispatchOn({
      backend: {
        stat() {
          looked = true;
          return undefined;
        },
      },
    });
    const first = call("stat");
    expect(looked).toBe(false);
    await dispatcher.close();
    expect(looked).toBe(true);
    expect(await first).toEqual({ exists: false });
  });
});
