import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, describe, expect, test } from "@jest/globals";
import { gate } from "../../venue/catalogue/fake-adapter.js";
import { as, closeAll, postInvoke, postText, rawRequest, readAnswer, type Served, sendRaw, serve } from "./fixture.js";

afterAll(closeAll);

const JSON_TYPE = { "Content-Type": "application/json" };
const bodyOf = (bytes: number): string =>
  JSON.stringify({ operation: "file:read", input: { text: "x".repeat(bytes) } });
const invoke = (served: Served, bytes: number) => postInvoke(served, bodyOf(bytes));
/** The same as somebody who has a share of its own. */
const invokeAs = (served: Served, who: Parameters<typeof as>[0], bytes: number) =>
  postText(served, "/api/v1/invoke", bodyOf(bytes), as(who));
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Sends the beginning of a request and no more. */
async function begin(port: number, headers: Record<string, string>, start: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(rawRequest("POST /api/v1/invoke", { ...JSON_TYPE, ...headers }, ""));
  socket.write(start);
  return socket;
}

describe("requests that announce much and send nothing", () => {
  test.each([
    ["by a length", { "Content-Length": "16777216" }],
    ["in chunks", { "Transfer-Encoding": "chunked" }],
  ])("keep nobody else out: announced %s", async (_name, announced) => {
    const http = { maxRequestBytes: 16_777_216, maxInFlightBytes: 16_777_216 };
    const served = await serve({ read: () => 1 }, { http });
    const idle = await Promise.all(Array.from({ length: 100 }, () => begin(served.port, announced, "")));
    const statuses = await Promise.all([10, 1000, 60_000, 500_000].map(async (n) => (await invoke(served, n)).status));
    expect(statuses).toEqual([201, 201, 201, 201]);
    for (const socket of idle) socket.destroy();
  });
});

describe("a venue whose memory is taken by requests", () => {
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
      { http: { maxInFlightBytes: 400_000 }, jobs: { inlineWaitMs: 4000 } },
    );
    const body = { operation: "file:hold", input: { text: "x".repeat(80_000) } };
    const first = postInvoke(served, body);
    await started.promise;
    const refused = await invoke(served, 70_000);
    expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("connection")]).toEqual([
      429,
      "1",
      "close",
    ]);
    expect(served.adapter.calls).toHaveLength(1);
    // What is small goes on, and so do others, who have a share of their own.
    expect((await invoke(served, 60_000)).status).toBe(201);
    expect((await invokeAs(served, "alice", 70_000)).status).toBe(201);
    held.open("done");
    expect((await first).status).toBe(201);
    expect((await invoke(served, 70_000)).status).toBe(201);
  });

  test("lets the newest bodies go that are not whole, and keeps the oldest", async () => {
    const served = await serve({ read: () => 1 }, { http: { maxInFlightBytes: 800_000 } });
    const body = bodyOf(180_000);
    const announced = { "Content-Length": `${body.length}` };
    const oldest = await begin(served.port, announced, body.slice(0, 120_000));
    // Until all that was sent is there, another would be the oldest.
    while ((await invoke(served, 90_000)).status !== 429) await turn();
    const newest = await begin(served.port, announced, body.slice(0, 70_000));
    const answer = readAnswer(oldest);
    oldest.write(body.slice(120_000));
    expect((await answer).status).toBe(201);
    newest.destroy();
  });

  test("has room again when a sender goes away in the middle", async () => {
    const served = await serve({ read: () => 1 }, { http: { maxInFlightBytes: 400_000 } });
    const socket = await begin(served.port, { "Content-Length": "95000" }, "x".repeat(90_000));
    while ((await invoke(served, 70_000)).status !== 429) await turn();
    socket.destroy();
    while ((await invoke(served, 70_000)).status !== 201) await turn();
    expect((await sendRaw(served.port, rawRequest("GET /api/v1/status"))).status).toBe(200);
  });
});

test("a connection without a byte in either direction is ended", async () => {
  const served = await serve({}, { http: { timeouts: { idleMs: 50 } } });
  const socket = connect(served.port, "127.0.0.1");
  socket.resume();
  // What the server has not read when it closes makes it a reset.
  socket.on("error", () => {});
  socket.write("GET /api/v1/status HTTP/1.1\r\n");
  await new Promise((resolve) => socket.once("close", resolve));
  expect(socket.bytesRead).toBe(0);
});
