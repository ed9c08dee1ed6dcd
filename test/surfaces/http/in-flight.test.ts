import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, describe, expect, test } from "@jest/globals";
import { InFlight } from "../../../src/surfaces/http/in-flight.js";
import { gate } from "../../venue/fake-adapter.js";
import { closeAll, postInvoke, rawRequest, type Served, sendRaw, serve } from "./fixture.js";

afterAll(closeAll);

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

describe("a venue whose memory is taken by requests", () => {
  const json = { "Content-Type": "application/json" };
  const invoke = (served: Served, bytes: number) => {
    const body = JSON.stringify({ operation: "file:read", input: { text: "x".repeat(bytes) } });
    return postInvoke(served, body);
  };

  test("refuses more, before anything is run, until there is room again", async () => {
    const held = gate();
    const started = gate();
    const served = await serve(
      {
        read: () => 1,
        hold: () => {
          started.open(1);
          return held.promise;
        },
      },
      { http: { maxInFlightBytes: 100_000 }, jobs: { inlineWaitMs: 4000 } },
    );
    const body = { operation: "file:hold", input: { text: "x".repeat(80_000) } };
    const first = postInvoke(served, body);
    await started.promise;
    const refused = await invoke(served, 40_000);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(served.adapter.calls).toHaveLength(1);
    // What is small goes on.
    expect((await invoke(served, 10)).status).toBe(201);
    held.open("done");
    expect((await first).status).toBe(201);
    expect((await invoke(served, 40_000)).status).toBe(201);
  });

  test("has room again when a sender goes away in the middle", async () => {
    const served = await serve({ read: () => 1 }, { http: { maxInFlightBytes: 100_000 } });
    const socket = connect(served.port, "127.0.0.1");
    socket.write(rawRequest("POST /api/v1/invoke", { ...json, "Content-Length": "90000" }));
    while ((await invoke(served, 40_000)).status !== 429) await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    while ((await invoke(served, 40_000)).status !== 201) await new Promise((resolve) => setImmediate(resolve));
    expect((await sendRaw(served.port, rawRequest("GET /api/v1/status"))).status).toBe(200);
  });
});

test("a connection without a byte in either direction is ended", async () => {
  const served = await serve({}, { http: { timeouts: { idleMs: 50 } } });
  const socket = connect(served.port, "127.0.0.1");
  socket.resume();
  socket.write("GET /api/v1/status HTTP/1.1\r\n");
  await once(socket, "close");
  expect(socket.bytesRead).toBe(0);
});
