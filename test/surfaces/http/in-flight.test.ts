import { describe, expect, test } from "@jest/globals";
import { InFlight } from "../../../src/surfaces/http/in-flight.js";

describe("bytes in flight", () => {
  test("are bounded in all, and free again once they are gone", () => {
    const inFlight = new InFlight(100);
    const release = inFlight.hold(60);
    expect([inFlight.admits(40), inFlight.admits(41)]).toEqual([true, false]);
    release();
    expect([inFlight.bytes, inFlight.admits(41)]).toEqual([0, true]);
  });

  test("of one request alone may be more than the bound", () => {
    expect(new InFlight(100).admits(1000)).toBe(true);
  });

  test("are given back once, however often that is said", () => {
    const inFlight = new InFlight(100);
    inFlight.hold(10);
    const release = inFlight.hold(20);
    release();
    release();
    expect(inFlight.bytes).toBe(10);
  });
});
