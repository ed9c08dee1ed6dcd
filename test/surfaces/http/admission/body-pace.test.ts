import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, describe, expect, test } from "@jest/globals";
import { Pace } from "../../../../src/surfaces/http/admission/body-pace.js";
import { closeAll, rawRequest, readAnswer, serve } from "../fixture.js";

afterAll(closeAll);

const RULE = { graceMs: 5000, windowMs: 15_000, bytesPerSecond: 1024 };

/** The look at which a body is found too slow, when so many bytes come between two of them. */
function tooSlowAt(bytesAtLook: (look: number) => number, looks: number): number | undefined {
  const pace = new Pace(RULE);
  let bytes = 0;
  for (let look = 0; look < looks; look += 1) {
    bytes += bytesAtLook(look);
    if (pace.isTooSlow(bytes, true)) return look;
  }
  return undefined;
}

describe("the pace of a body", () => {
  test("is an average: what comes in bursts is not too slow", () => {
    expect(tooSlowAt(() => 1024, 600)).toBeUndefined();
    expect(tooSlowAt((look) => (look % 15 === 0 ? 15 * 1024 : 0), 600)).toBeUndefined();
  });

  test("is judged once a whole window has passed", () => {
    expect(tooSlowAt(() => 0, 600)).toBe(15);
    expect(tooSlowAt(() => 1023, 600)).toBe(15);
  });

  test("is judged over and over: what came in time at first does not help later", () => {
    expect(tooSlowAt((look) => (look < 100 ? 100_000 : 0), 600)).toBe(114);
  });

  test("says nothing of a sender whose bytes are not taken", () => {
    const pace = new Pace(RULE);
    for (let look = 0; look < 100; look += 1) expect(pace.isTooSlow(0, false)).toBe(false);
    for (let look = 0; look < 14; look += 1) expect(pace.isTooSlow(0, true)).toBe(false);
    expect(pace.isTooSlow(0, true)).toBe(true);
  });
});

describe("a body that does not come", () => {
  const timeouts = { pace: { graceMs: 20, windowMs: 60, bytesPerSecond: 1024 } };
  const headers = { "Content-Type": "application/json" };

  test.each([
    ["of announced length", { ...headers, "Content-Length": "100000" }],
    ["in chunks", { ...headers, "Transfer-Encoding": "chunked" }],
  ])("ends its connection with 408: %s", async (_name, announced) => {
    const served = await serve({ read: () => 1 }, { http: { timeouts } });
    const socket = connect(served.port, "127.0.0.1");
    socket.write(rawRequest("POST /api/v1/invoke", announced));
    expect((await readAnswer(socket)).status).toBe(408);
    await once(socket, "close");
  });

  test("ends its connection also where several begin together and some are complete", async () => {
    const served = await serve({ read: () => 1 }, { http: { timeouts } });
    const body = JSON.stringify({ operation: "file:read" });
    const send = (sent: string) => {
      const socket = connect(served.port, "127.0.0.1");
      socket.write(`${rawRequest("POST /api/v1/invoke", { ...headers, "Content-Length": `${body.length}` })}${sent}`);
      return readAnswer(socket);
    };
    const answers = await Promise.all(["", body, body.slice(1), "", body].map(send));
    expect(answers.map(({ status }) => status)).toEqual([408, 201, 408, 408, 201]);
  });

  test("is not one that comes as fast as it must, however long it takes", async () => {
    const served = await serve({ read: () => 1 }, { http: { timeouts } });
    const socket = connect(served.port, "127.0.0.1");
    const body = JSON.stringify({ operation: "file:read", input: { text: "x".repeat(2000) } });
    socket.write(rawRequest("POST /api/v1/invoke", { ...headers, "Content-Length": `${body.length}` }));
    const answer = readAnswer(socket);
    for (let at = 0; at < body.length; at += 50) {
      socket.write(body.slice(at, at + 50));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect((await answer).status).toBe(201);
  });
});
