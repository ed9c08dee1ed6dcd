import { EventEmitter, once } from "node:events";
import { get as httpGet, type IncomingMessage } from "node:http";
import { afterAll, afterEach, describe, expect, jest, test } from "@jest/globals";
import type { FastifyReply } from "fastify";
import type { CallerJobs, JobListener, JobRecord } from "../../../src/core/job.js";
import type { Exchange } from "../../../src/surfaces/http/exchange.js";
import type { HttpHost } from "../../../src/surfaces/http/host.js";
import { streamJob } from "../../../src/surfaces/http/sse.js";
import { gate } from "../../venue/fake-adapter.js";
import { ALICE, call } from "../../venue/job-store.js";
import { closeAll, type JobServer, serveJobs } from "./job-server.js";

afterAll(closeAll);

/** Opens a stream of one of Alice's jobs. */
async function openStream(server: JobServer, id: string): Promise<IncomingMessage> {
  const headers = { caller: JSON.stringify(ALICE) };
  const request = httpGet(`${server.url}/api/v1/jobs/${id}/sse`, { headers });
  request.on("error", () => {});
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response.setEncoding("utf8");
}

/** Reads until a text has come. */
async function readUntil(stream: IncomingMessage, text: string): Promise<string> {
  let read = "";
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    read += chunk;
    if (read.includes(text)) return read;
  }
  throw new Error(`Ended without '${text}': ${read}`);
}

async function readAll(stream: IncomingMessage): Promise<string> {
  let read = "";
  for await (const chunk of stream) read += chunk;
  return read;
}

const eventOf = (record: JobRecord | undefined): string => `event: job-update\ndata: ${JSON.stringify(record)}\n\n`;

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-accel-buffering": "no",
  "access-control-allow-origin": "https://app.example",
  vary: "Origin",
};
const fromBefore = { "access-control-allow-origin": "https://app.example", vary: "Origin" };

describe("a stream of a job", () => {
  test("that runs begins with its state, and ends right after its end", async () => {
    const slow = gate();
    const server = await serveJobs({ slow: () => slow.promise }, { headers: fromBefore });
    const job = server.jobs.submit(call("file:slow", { root: "docs" }));
    const stream = await openStream(server, job.id);
    expect(stream.statusCode).toBe(200);
    expect(stream.headers).toMatchObject({ ...HEADERS, connection: "close" });
    const started = await readUntil(stream, "\n\n");
    expect(started).toBe(eventOf(job.record()));
    expect(started).toContain('"status":"STARTED"');
    slow.open({ text: "line 1\r\nline 2\n" });
    const rest = await readAll(stream);
    expect(rest).toBe(eventOf(job.record()));
    expect(rest).toContain('"status":"COMPLETE"');
    expect(rest).not.toContain("\r");
  });

  test("that has ended is one event", async () => {
    const server = await serveJobs({ read: () => "text" }, { headers: fromBefore });
    const job = server.jobs.submit(call("file:read"));
    await job.result;
    const stream = await openStream(server, job.id);
    expect(stream.statusCode).toBe(200);
    expect(stream.headers).toMatchObject(HEADERS);
    expect(await readAll(stream)).toBe(eventOf(job.record()));
  });

  test.each([
    ["had ended", true],
    ["ends", false],
  ])("that is private delivers it when it %s", async (_when, before) => {
    const slow = gate();
    const server = await serveJobs({ slow: () => slow.promise });
    const job = server.jobs.submit(call("file:slow", {}, { private: true }));
    if (before) slow.open(1);
    if (before) await job.result;
    const stream = await openStream(server, job.id);
    slow.open(1);
    expect(await readAll(stream)).toContain('"status":"COMPLETE"');
    expect(server.jobs.size).toBe(0);
  });

  test("is never silent for long", async () => {
    const slow = gate();
    const server = await serveJobs({ slow: () => slow.promise }, { heartbeatMs: 5 });
    const job = server.jobs.submit(call("file:slow"));
    const stream = await openStream(server, job.id);
    const first = eventOf(job.record());
    const read = await readUntil(stream, ":\n:\n:\n");
    expect(read.slice(0, first.length)).toBe(first);
    expect(read.slice(first.length)).toMatch(/^(?::\n)+$/);
    slow.open(1);
    expect((await readAll(stream)).replace(/^(?::\n)+/, "")).toBe(eventOf(job.record()));
  });

  test("reaches a client that reads late, whole", async () => {
    const slow = gate();
    const server = await serveJobs({ slow: () => slow.promise });
    const job = server.jobs.submit(call("file:slow", { note: "é".repeat(3_000_000) }));
    const stream = await openStream(server, job.id);
    const started = eventOf(job.record());
    slow.open("x".repeat(3_000_000));
    await job.result;
    expect((await readAll(stream)) === started + eventOf(job.record())).toBe(true);
  });

  test("beyond 32 is refused with the time to wait, until another hangs up", async () => {
    const server = await serveJobs({ slow: () => gate().promise });
    const { id } = server.jobs.submit(call("file:slow"));
    const streams = await Promise.all(Array.from({ length: 32 }, () => openStream(server, id)));
    expect(streams.map(({ statusCode }) => statusCode)).toEqual(streams.map(() => 200));
    const refused = await server.request(`/api/v1/jobs/${id}/sse`, ALICE);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    expect(await refused.json()).toEqual({ error: expect.any(String) });
    streams[0]?.destroy();
    let status: number | undefined = 429;
    // Its end takes a moment to get there.
    for (let tries = 0; status === 429 && tries < 1000; tries += 1) {
      const stream = await openStream(server, id);
      status = stream.statusCode;
      stream.resume();
    }
    expect(status).toBe(200);
    for (const stream of streams) stream.destroy();
  });

  test("ends when the venue closes, and does not keep it from closing", async () => {
    const server = await serveJobs({ slow: () => gate().promise });
    const job = server.jobs.submit(call("file:slow"));
    const stream = await openStream(server, job.id);
    const reading = readAll(stream);
    await server.close();
    expect(await reading).toBe(eventOf(job.record()));
  });
});

describe("to a client that does not read", () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  /** A response that says of itself how full it is. */
  class FakeResponse extends EventEmitter {
    readonly sent: string[] = [];
    writableNeedDrain = false;
    writableEnded = false;
    destroyed = false;
    setHeader(): void {}
    writeHead(): void {}
    write(text: string): void {
      this.sent.push(text);
    }
    end(text = "end"): void {
      this.writableEnded = true;
      this.sent.push(text);
    }
  }

  const record = (status: JobRecord["status"], updated: number) => ({ status, updated }) as JobRecord;

  /** A stream of a job whose states the test makes up. */
  function stream() {
    const raw = new FakeResponse();
    const stop = jest.fn();
    let update: JobListener = () => {};
    const watch: CallerJobs["watch"] = (_id, _caller, listener) => {
      update = listener;
      return { found: record("STARTED", 0), stop };
    };
    const host = { jobs: { watch } } as unknown as HttpHost;
    const reply = { raw, hijack: () => {}, getHeaders: () => ({}) } as unknown as FastifyReply;
    streamJob(host, { reply, caller: ALICE, target: "ab" } as Exchange, { heartbeatMs: 10 });
    return { raw, stop, update: (next: JobRecord | undefined) => update(next) };
  }
  const started = eventOf(record("STARTED", 0));

  test("nothing is written, and of the states it missed it gets the last", () => {
    jest.useFakeTimers();
    const { raw, update } = stream();
    raw.writableNeedDrain = true;
    jest.advanceTimersByTime(1000);
    for (let i = 1; i < 100; i += 1) update(record("STARTED", i));
    expect(raw.sent).toEqual([started]);
    raw.writableNeedDrain = false;
    raw.emit("drain");
    expect(raw.sent).toEqual([started, eventOf(record("STARTED", 99))]);
    jest.advanceTimersByTime(20);
    expect(raw.sent.slice(2)).toEqual([":\n", ":\n"]);
    raw.emit("close");
  });

  test("the end is written once it reads again, and then nothing more", () => {
    jest.useFakeTimers();
    const { raw, update, stop } = stream();
    raw.writableNeedDrain = true;
    update(record("COMPLETE", 5));
    expect(raw.sent).toEqual([started]);
    raw.writableNeedDrain = false;
    raw.emit("drain");
    expect(raw.sent).toEqual([started, eventOf(record("COMPLETE", 5))]);
    expect(raw.writableEnded).toBe(true);
    jest.advanceTimersByTime(1000);
    expect(raw.sent).toHaveLength(2);
    expect(stop).not.toHaveBeenCalled();
    raw.emit("close");
    expect(stop).toHaveBeenCalledTimes(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  test("nothing is written once it has gone", () => {
    const { raw, update, stop } = stream();
    raw.destroyed = true;
    update(record("COMPLETE", 5));
    update(undefined);
    expect(raw.sent).toEqual([started]);
    raw.emit("close");
    expect(stop).toHaveBeenCalledTimes(1);
  });
});
