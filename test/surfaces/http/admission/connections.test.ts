import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, expect, test } from "@jest/globals";
import { closeAll, postInvoke, rawRequest, readAnswer, serve } from "../fixture.js";

afterAll(closeAll);

const MOST = 5;

async function open(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  return socket;
}

test("connections more than allowed are answered 503, also with a body, and there is room again when others end", async () => {
  const served = await serve({ read: () => 1 }, { http: { maxConnections: MOST } });
  const kept = await Promise.all(Array.from({ length: MOST }, () => open(served.port)));
  // Accepted for good: each has been answered.
  for (const socket of kept) {
    socket.write(rawRequest("GET /api/v1/status"));
    expect((await readAnswer(socket)).status).toBe(200);
  }
  const body = `{"operation":"file:read"}${" ".repeat(900_000)}`;
  const answers = await Promise.all(
    ["GET /api/v1/status", "POST /api/v1/invoke", "GET /nope"].map((line) =>
      line.startsWith("POST") ? postInvoke(served, body) : fetch(served.url + line.slice(4)),
    ),
  );
  for (const answer of answers) {
    expect([answer.status, answer.headers.get("retry-after"), answer.headers.get("connection")]).toEqual([
      503,
      "1",
      "close",
    ]);
    expect(await answer.json()).toEqual({ error: "Too many connections. Retry after 1 s" });
  }
  expect(served.adapter.calls).toEqual([]);
  for (const socket of kept) socket.destroy();
  let status = 503;
  while (status === 503) ({ status } = await fetch(`${served.url}/api/v1/status`));
  expect(status).toBe(200);
});

test("a flood of connections gets answers too, and leaves nothing behind", async () => {
  const served = await serve({ read: () => 1 }, { http: { maxConnections: 1 } });
  const kept = await open(served.port);
  kept.write(rawRequest("GET /api/v1/status"));
  await readAnswer(kept);
  const flood = await Promise.all(Array.from({ length: 400 }, () => open(served.port)));
  const answers = flood.map((socket) => readAnswer(socket));
  for (const socket of flood) socket.write(rawRequest("GET /api/v1/status"));
  const statuses = new Set((await Promise.all(answers)).map(({ status }) => status));
  expect([...statuses]).toEqual([503]);
  for (const socket of [kept, ...flood]) socket.destroy();
  while ((await fetch(`${served.url}/api/v1/status`)).status !== 200) await new Promise((go) => setImmediate(go));
});

test("a connection too many that asks nothing is ended", async () => {
  const served = await serve({}, { http: { maxConnections: 1 } });
  const kept = await open(served.port);
  kept.write(rawRequest("GET /api/v1/status"));
  await readAnswer(kept);
  const silent = await open(served.port);
  silent.resume();
  await once(silent, "close");
  expect(silent.bytesRead).toBe(0);
  kept.destroy();
});
