import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { createRateLimit, type SenderLimit, senderOfAddress } from "../../../src/venue/start/rate-limit.js";

/** How many of so many requests go through, one after the other at the same moment. */
async function passed(limit: SenderLimit, requests: number, sender = "a"): Promise<number> {
  let count = 0;
  for (let request = 0; request < requests; request++) if ((await limit(sender)) === 0) count++;
  return count;
}

describe("the rate limit", () => {
  // The library looks at the time of the system.
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test("lets a burst through, and tells the rest how long to wait", async () => {
    const limit = createRateLimit({ perSecond: 10, burst: 20 });
    expect(await passed(limit, 20)).toBe(20);
    expect(await limit("a")).toBe(2000);
    await jest.advanceTimersByTimeAsync(1500);
    expect(await limit("a")).toBe(500);
  });

  test("lets as many through again after that wait", async () => {
    const limit = createRateLimit({ perSecond: 10, burst: 20 });
    await passed(limit, 30);
    await jest.advanceTimersByTimeAsync(await limit("a"));
    expect(await passed(limit, 30)).toBe(20);
  });

  test.each([
    [{ perSecond: 100, burst: 200 }, 10],
    [{ perSecond: 5, burst: 1 }, 10],
    [{ perSecond: 1, burst: 50 }, 100],
  ])("keeps the mean of %j whoever always tries", async (config, seconds) => {
    const limit = createRateLimit(config);
    let count = 0;
    for (let step = 0; step < seconds * 10; step++) {
      count += await passed(limit, config.perSecond);
      await jest.advanceTimersByTimeAsync(100);
    }
    expect(count / seconds).toBeLessThanOrEqual(config.perSecond * 1.1);
    expect(count / seconds).toBeGreaterThanOrEqual(config.perSecond * 0.9);
  });

  test("slows nobody down who keeps to the rate", async () => {
    const limit = createRateLimit({ perSecond: 10, burst: 20 });
    for (let request = 0; request < 200; request++) {
      expect(await limit("a")).toBe(0);
      await jest.advanceTimersByTimeAsync(100);
    }
  });

  test("holds when a burst is worth more than a timer can wait", async () => {
    const limit = createRateLimit({ perSecond: 1, burst: 10_000_000 });
    await limit("a");
    await jest.advanceTimersByTimeAsync(1000);
    expect(jest.getTimerCount()).toBe(1);
  });

  test("counts each sender alone, also those whose names are long and nearly the same", async () => {
    const limit = createRateLimit({ perSecond: 1, burst: 2 });
    const long = "did:web:".padEnd(10_000, "x");
    for (const sender of ["a", "b", `${long}1`, `${long}2`]) expect(await passed(limit, 5, sender)).toBe(2);
  });

  test("counts requests that come at the same time", async () => {
    const limit = createRateLimit({ perSecond: 1, burst: 5 });
    const waits = await Promise.all(Array.from({ length: 50 }, () => limit("a")));
    expect(waits.filter((ms) => ms === 0)).toHaveLength(5);
  });

  test("remembers a bounded number of senders, those that came last", async () => {
    const limit = createRateLimit({ perSecond: 0.001, burst: 1 }, 100);
    const timers = jest.getTimerCount();
    for (let sender = 0; sender < 5000; sender++) {
      expect(await limit(`s${sender}`)).toBe(0);
      // Somebody who never stops is not forgotten for the sake of others.
      expect((await limit("busy")) === 0).toBe(sender === 0);
    }
    // The library has a timer for each sender it knows.
    expect(jest.getTimerCount() - timers).toBeLessThanOrEqual(100);
    expect(await limit("s4999")).toBeGreaterThan(0);
    expect(await limit("s0")).toBe(0);
  });
});

describe("the sender behind an address", () => {
  test.each([
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::FFFF:c000:0207", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::9", "2001:db8:1:2::/64"],
    ["2001:db8:1:3::9", "2001:db8:1:3::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b::192.0.2.7", "64:ff9b:0:0::/64"],
    ["", ""],
    ["unix", "unix"],
  ])("of %j is %j", (address, sender) => {
    expect(senderOfAddress(address)).toBe(sender);
  });

  test("is the same within a network of 64 bits, and another outside", () => {
    const groups = (count: number) =>
      fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: count, maxLength: count });
    const print = (parts: readonly number[]) => parts.map((part) => part.toString(16)).join(":");
    fc.assert(
      fc.property(groups(4), groups(4), groups(4), (network, one, other) => {
        fc.pre(network.some((group) => group !== 0));
        const sender = senderOfAddress(print([...network, ...one]));
        expect(senderOfAddress(print([...network, ...other]))).toBe(sender);
        const [first = 0, ...rest] = network;
        expect(senderOfAddress(print([first ^ 1, ...rest, ...one]))).not.toBe(sender);
      }),
    );
  });
});
