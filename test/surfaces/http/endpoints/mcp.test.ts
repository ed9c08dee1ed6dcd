import { connect } from "node:net";
import { afterAll, describe, expect, test } from "@jest/globals";
import type { Abortable } from "../../../../src/core/call/scope.js";
import { MemoryLease } from "../../../../src/core/memory.js";
import type { McpAnswer, McpEndpoint, McpRequest } from "../../../../src/surfaces/mcp/http.js";
import { gate } from "../../../venue/catalogue/fake-adapter.js";
import { outcome } from "../client.js";
import { closeAll, DID, postText, rawRequest, type Served, serve } from "../fixture.js";

afterAll(closeAll);

const serveMcp = (answer: McpEndpoint["serve"]): Promise<Served> =>
  serve({ read: () => 1 }, { mcp: async () => ({ serve: answer }) });

const ANYBODY = { did: `${DID}:public`, authentication: "public", isOperator: false };

describe("/mcp hands over", () => {
  async function seen(send: (served: Served) => Promise<Response>): Promise<McpRequest> {
    const seen = gate<McpRequest>();
    const served = await serveMcp(async (request) => {
      seen.open(request);
      return { status: 202 };
    });
    const response = await send(served);
    expect([response.status, await response.text()]).toEqual([202, ""]);
    return seen.promise;
  }

  test("method, headers, body and caller of a request", async () => {
    const headers = { "content-type": "application/json", accept: "text/event-stream", "mcp-session-id": "s1" };
    const body = '{"jsonrpc":"2.0","id":1,"method":"ä"}';
    const request = await seen((served) => fetch(`${served.url}/mcp?a=b`, { method: "POST", headers, body }));
    expect(request).toMatchObject({ method: "POST", headers, caller: ANYBODY, memory: expect.any(MemoryLease) });
    expect(request.body).toEqual({ jsonrpc: "2.0", id: 1, method: "ä" });
  });

  test.each(["GET", "DELETE"])("%s without a body", async (method) => {
    const request = await seen((served) => fetch(`${served.url}/mcp`, { method }));
    expect(request).toMatchObject({ method, caller: ANYBODY });
    expect(request.body).toBeUndefined();
  });
});

describe("the answer of /mcp", () => {
  const later = <T>(value: T, ms: number): Promise<T> => new Promise((resolve) => setTimeout(() => resolve(value), ms));

  test("is a message, with status and headers, under the common headers", async () => {
    const headers = { allow: "POST", "cache-control": "no-cache" };
    const served = await serveMcp(async () => ({ status: 418, headers, message: { text: "héllo" } }));
    const response = await postText(served, "/mcp", "{}");
    expect([response.status, await response.text()]).toEqual([418, '{"text":"héllo"}']);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(response.headers.get("allow")).toBe("POST");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("is a stream of events from the first note on", async () => {
    const ends = gate<McpAnswer>();
    const served = await serveMcp(async ({ note }) => {
      note({ n: 1 });
      const message = ends.promise.then(() => {
        note({ n: 2 });
        return [{ id: 1 }, { id: 2 }];
      });
      return { status: 200, isNoted: true, message };
    });
    const response = await postText(served, "/mcp", "{}");
    const names = ["content-type", "cache-control", "x-accel-buffering"];
    expect(names.map((name) => response.headers.get(name))).toEqual(["text/event-stream", "no-store", "no"]);
    const reader = response.body?.getReader();
    const event = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(event({ n: 1 }));
    ends.open({ status: 200 });
    let rest = "";
    for (let step = await reader?.read(); step?.done === false; step = await reader?.read())
      rest += Buffer.from(step.value).toString();
    expect(rest).toBe([{ n: 2 }, { id: 1 }, { id: 2 }].map(event).join(""));
  });

  test("is JSON where notes could have come and have not", async () => {
    const served = await serveMcp(async () => ({ status: 200, isNoted: true, message: later({ id: 1 }, 700) }));
    const response = await postText(served, "/mcp", "{}");
    expect([response.headers.get("content-type"), await response.text()]).toEqual(["application/json", '{"id":1}']);
  });

  test("of an endpoint that fails is 500 without detail; if its head has been sent, the connection ends", async () => {
    const cause = new Error("/home/alice");
    const failing: (() => Promise<McpAnswer>)[] = [
      () => Promise.reject(cause),
      async () => ({ status: 200, message: Promise.reject(cause) }),
      async () => ({ status: 200, message: later(0, 800).then(() => Promise.reject(cause)) }),
    ];
    const served = await serveMcp(() => (failing.shift() as () => Promise<McpAnswer>)());
    for (const at of [0, 1]) {
      const { status, body } = await outcome(postText(served, "/mcp", "{}"));
      expect([status, body]).toEqual([500, { error: `Internal error (${served.logged[at]?.requestId})` }]);
    }
    const response = await postText(served, "/mcp", "{}");
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow("terminated");
    expect(served.logged.map(({ error }) => error)).toEqual([cause, cause, cause]);
  });
});

describe("a client that hangs up", () => {
  const post = rawRequest("POST /mcp", { "Content-Type": "application/json" }, "{}");
  const abortOf = (signal: Abortable) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

  test.each([false, true])("cancels the call it waits for, which is no error; after a note: %s", async (isNoted) => {
    const started = gate<Abortable>();
    const served = await serveMcp(async ({ hangUp, note }) => {
      const signal = hangUp();
      const ended = abortOf(signal);
      if (isNoted) note({ n: 1 });
      started.open(signal);
      return { status: 200, isNoted, message: ended.then(() => ({ id: 1 })) };
    });
    const socket = connect(served.port, "127.0.0.1");
    socket.write(post);
    const signal = await started.promise;
    socket.destroy();
    while (!signal.aborted) await new Promise((resolve) => setImmediate(resolve));
    expect((await fetch(`${served.url}/api/v1/status`)).status).toBe(200);
    await served.venue.close();
    expect(served.logged).toEqual([]);
  });
});
