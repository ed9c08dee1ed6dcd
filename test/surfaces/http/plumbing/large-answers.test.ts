import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, describe, expect, test } from "@jest/globals";
import type { MemoryLease } from "../../../../src/core/memory.js";
import { outcome } from "../client.js";
import { closeAll, postInvoke, postText, rawRequest, readAnswer, type Served, serve } from "../fixture.js";

afterAll(closeAll);

/** More than the system takes of an answer that nobody reads. */
const BIG = 16_000_000;
const CONTENT = 'ä"\n'.padEnd(BIG, "x");

/** A venue whose reads hold what they answer, and what has been begun and made there. */
async function serveLarge(): Promise<Served & { made: () => number; begun: () => number }> {
  let made = 0;
  let begun = 0;
  const read = async (_input: unknown, { memory }: { memory?: unknown }) => {
    begun += 1;
    await (memory as MemoryLease).hold(BIG);
    made += 1;
    return { content: CONTENT };
  };
  const served = await serve(
    { read, stat: () => ({ size: 1 }) },
    { http: { maxInFlightBytes: 4 * BIG }, jobs: { maxBytes: 40_000_000, inlineWaitMs: 4000 } },
  );
  return { ...served, made: () => made, begun: () => begun };
}

const CALL = '{"operation":"file:read"}';
const ask = async (port: number) => {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(rawRequest("POST /api/v1/invoke", { "Content-Type": "application/json" }, CALL));
  return socket;
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a large answer", () => {
  test("is that of the operation, byte for byte, as invoke, run and the record give it", async () => {
    const served = await serveLarge();
    const invoked = await outcome(postInvoke(served, CALL));
    expect(invoked).toMatchObject({ status: 201, body: { status: "COMPLETE", output: { content: CONTENT } } });
    expect(await outcome(postText(served, "/api/v1/run", CALL))).toEqual({ status: 200, body: { content: CONTENT } });
    const { id } = invoked.body as { id: string };
    const kept = await fetch(`${served.url}/api/v1/jobs/${id}`);
    expect(kept.headers.get("content-type")).toBe("application/json");
    expect(await kept.json()).toEqual(invoked.body);
    const head = await fetch(`${served.url}/api/v1/jobs/${id}`, { method: "HEAD" });
    expect([head.status, Number(head.headers.get("content-length"))]).toEqual([
      200,
      Buffer.byteLength(JSON.stringify(invoked.body)),
    ]);
  });

  test("is made only when those before it have been taken, and small ones go on meanwhile", async () => {
    const served = await serveLarge();
    const sockets = await Promise.all(Array.from({ length: 3 }, () => ask(served.port)));
    while (served.begun() < 3) await turn();
    for (let n = 0; n < 50; n += 1) await turn();
    // One sender has a quarter, which is one answer.
    expect(served.made()).toBe(1);
    expect((await postInvoke(served, '{"operation":"file:stat"}')).status).toBe(201);
    for (const socket of sockets) socket.on("data", () => {}).on("end", () => socket.destroy());
    while (served.made() < 3) await turn();
    for (const socket of sockets) socket.destroy();
  });

  test("whose client goes makes room", async () => {
    const served = await serveLarge();
    const first = await ask(served.port);
    while (served.made() < 1) await turn();
    const second = await ask(served.port);
    while (served.begun() < 2) await turn();
    first.destroy();
    const answer = readAnswer(second);
    expect((await answer).status).toBe(201);
    expect(served.made()).toBe(2);
    second.destroy();
  });
});
