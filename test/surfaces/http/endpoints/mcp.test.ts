import { connect } from "node:net";
import { afterAll, describe, expect, test } from "@jest/globals";
import { MemoryLease } from "../../../../src/core/memory.js";
import type { McpContext, McpHandler } from "../../../../src/surfaces/http/host.js";
import { gate } from "../../../venue/catalogue/fake-adapter.js";
import { closeAll, DID, outcome, postText, rawRequest, type Served, serve } from "../fixture.js";

afterAll(closeAll);

const serveMcp = (answer: McpHandler["serve"]): Promise<Served> =>
  serve({ read: () => 1 }, { mcp: async () => ({ serve: answer }) });

const ANYBODY = { did: `${DID}:public`, authentication: "public", isOperator: false };

describe("/mcp hands over", () => {
  interface Seen {
    method: string;
    url: string;
    headers: Headers;
    text: string;
    context: McpContext;
  }

  async function seen(send: (served: Served) => Promise<Response>): Promise<Seen> {
    const seen = gate<Seen>();
    const served = await serveMcp(async (request, context) => {
      const { method, url, headers } = request;
      seen.open({ method, url, headers, text: await request.text(), context });
      return new Response(null, { status: 202 });
    });
    expect((await send(served)).status).toBe(202);
    const result = await seen.promise;
    return { ...result, url: result.url.replace(served.url, "") };
  }

  test("method, URL, headers, body and caller of a request", async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"ä"}';
    const request = await seen((served) =>
      fetch(`${served.url}/mcp?a=b`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "text/event-stream",
          "mcp-session-id": "s1",
          cookie: "a=b",
        },
        body,
      }),
    );
    expect(request).toMatchObject({ method: "POST", url: "/mcp?a=b", text: body });
    expect(request.headers.get("mcp-session-id")).toBe("s1");
    expect(request.headers.get("accept")).toBe("text/event-stream");
    for (const name of ["connection", "content-length", "cookie"]) expect(request.headers.has(name)).toBe(false);
    expect(request.context).toEqual({
      caller: ANYBODY,
      parsedBody: { jsonrpc: "2.0", id: 1, method: "ä" },
      memory: expect.any(MemoryLease),
    });
  });

  test.each(["GET", "DELETE"])("%s without a body", async (method) => {
    const request = await seen((served) => fetch(`${served.url}/mcp`, { method }));
    expect(request).toMatchObject({ method, text: "", context: { caller: ANYBODY } });
    expect(request.context).not.toHaveProperty("parsedBody");
  });
});

describe("the answer of /mcp", () => {
  test("keeps status, headers and body, under the common headers", async () => {
    const served = await serveMcp(async () => {
      const headers = new Headers({ "mcp-session-id": "s1", "cache-control": "no-cache", "content-type": "text/x" });
      headers.append("set-cookie", "a=1");
      headers.append("set-cookie", "b=2");
      return new Response("héllo", { status: 418, headers });
    });
    const response = await postText(served, "/mcp", "{}");
    expect([response.status, await response.text()]).toEqual([418, "héllo"]);
    expect(response.headers.get("content-type")).toBe("text/x");
    expect(response.headers.get("mcp-session-id")).toBe("s1");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  });

  test("is streamed: headers first, then each part as it comes", async () => {
    const parts = new TransformStream<Uint8Array, Uint8Array>();
    const writer = parts.writable.getWriter();
    const served = await serveMcp(
      async () => new Response(parts.readable, { headers: { "content-type": "text/event-stream" } }),
    );
    const response = await fetch(`${served.url}/mcp`);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reader = response.body?.getReader();
    for (const part of ["data: 1\n\n", "data: 2\n\n"]) {
      await writer.write(Buffer.from(part));
      const read = await reader?.read();
      expect(Buffer.from(read?.value ?? []).toString()).toBe(part);
    }
    await writer.close();
    expect((await reader?.read())?.done).toBe(true);
  });

  test("of a handler that fails is 500 without detail", async () => {
    const cause = new Error("/home/alice");
    const served = await serveMcp(async () => {
      throw cause;
    });
    const answer = await outcome(postText(served, "/mcp", "{}"));
    expect(served.logged[0]?.error).toBe(cause);
    expect(answer).toEqual({ status: 500, body: { error: `Internal error (${served.logged[0]?.requestId})` } });
  });

  test("that breaks off ends the connection, and is logged", async () => {
    const cause = new Error("broken");
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from("part")),
      pull: (controller) => controller.error(cause),
    });
    const served = await serveMcp(async () => new Response(body));
    await expect(postText(served, "/mcp", "{}").then((response) => response.text())).rejects.toThrow("terminated");
    await served.venue.close();
    expect(served.logged.map((entry) => entry.error)).toEqual([cause]);
  });
});

describe("a call that is answered by a message", () => {
  const serveCall = (call: () => Promise<object> | undefined): Promise<Served> => {
    return serve({ read: () => 1 }, { mcp: async () => ({ serve: async () => new Response("served"), call }) });
  };
  /** The first request goes another way, since it loads the endpoint. */
  const post = async (served: Served) => {
    await postText(served, "/mcp", "{}");
    return postText(served, "/mcp", "{}");
  };

  test("is JSON; anything else is served", async () => {
    const response = await post(await serveCall(async () => ({ id: 1 })));
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.text()).toBe('{"id":1}');
    expect(await (await post(await serveCall(() => undefined))).text()).toBe("served");
  });

  test("and fails is 500 without detail; if its head has been sent, the connection ends", async () => {
    const cause = new Error("/home/alice");
    let takesMs = 0;
    const served = await serveCall(async () => {
      await new Promise((resolve) => setTimeout(resolve, takesMs));
      throw cause;
    });
    const { status, body } = await outcome(post(served));
    expect([status, body]).toEqual([500, { error: `Internal error (${served.logged[0]?.requestId})` }]);
    takesMs = 800;
    const response = await postText(served, "/mcp", "{}");
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow("terminated");
    expect(served.logged.map(({ error }) => error)).toEqual([cause, cause]);
  });
});

describe("a client that hangs up", () => {
  const post = rawRequest("POST /mcp", { "Content-Type": "application/json" }, "{}");
  const abortOf = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

  test("cancels the call it waits for, which is no error", async () => {
    const started = gate<AbortSignal>();
    const served = await serveMcp(async (request) => {
      started.open(request.signal);
      await abortOf(request.signal);
      throw request.signal.reason;
    });
    const socket = connect(served.port, "127.0.0.1");
    socket.write(post);
    const signal = await started.promise;
    const cancelled = abortOf(signal);
    socket.destroy();
    await cancelled;
    expect((await fetch(`${served.url}/api/v1/status`)).status).toBe(200);
    expect(served.logged).toEqual([]);
  });

  test("cancels the stream it was reading", async () => {
    const cancelled = gate();
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from("part")),
      cancel: () => cancelled.open("cancelled"),
    });
    const served = await serveMcp(async () => new Response(body));
    const socket = connect(served.port, "127.0.0.1");
    socket.write(post);
    socket.once("data", () => socket.destroy());
    await expect(cancelled.promise).resolves.toBe("cancelled");
    await served.venue.close();
    expect(served.logged).toEqual([]);
  });

  test("only after its answer cancels nothing", async () => {
    const seen = gate<AbortSignal>();
    const served = await serveMcp(async (request) => {
      seen.open(request.signal);
      return new Response("done");
    });
    const answer = await fetch(`${served.url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", connection: "close" },
      body: "{}",
    });
    expect(await answer.text()).toBe("done");
    await served.venue.close();
    expect((await seen.promise).aborted).toBe(false);
  });
});
