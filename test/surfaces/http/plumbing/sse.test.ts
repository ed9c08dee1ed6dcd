import { EventEmitter, once } from "node:events";
import { get as httpGet, type IncomingMessage } from "node:http";
import { afterAll, afterEach, describe, expect, jest, test } from "@jest/globals";
import type { FastifyReply } from "fastify";
import type { CallerJobs, JobListener, JobRecord, RecordedJob, Submission } from "../../../../src/core/ports/job.js";
import { streamJob } from "../../../../src/surfaces/http/endpoints/jobs.js";
import type { HttpHost } from "../../../../src/surfaces/http/host.js";
import type { Exchange } from "../../../../src/surfaces/http/plumbing/exchange.js";
import { type FakeOperation, gate } from "../../../venue/catalogue/fake-adapter.js";
import { ALICE as CALLER } from "../../../venue/jobs/job-store.js";
import { outcome } from "../client.js";
import { ALICE, as, closeAll, type Served, serve } from "../fixture.js";

afterAll(closeAll);

const ORIGIN = "https://app.example";

/** Serves an operation, and starts a job of Alice with it. */
async function serveJob(slow: FakeOperation, more: Partial<Submission> = {}): Promise<Served & { job: RecordedJob }> {
  const limits = { maxBytes: 100_000_000 };
  const served = await serve({ slow }, { http: { corsOrigins: [ORIGIN] }, jobs: limits });
  const submission = { operation: "file:slow", input: { root: "docs" }, caller: ALICE, context: {}, ...more };
  return { ...served, job: served.venue.submit(submission) };
}

const pathOf = ({ url, job }: { url: string; job: RecordedJob }): string => `${url}/api/v1/jobs/${job.id}/sse`;

/** Opens a stream of a job. */
async function openStream(served: { url: string; job: RecordedJob }): Promise<IncomingMessage> {
  const request = httpGet(pathOf(served), { headers: { ...as("alice"), origin: ORIGIN } });
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
  "access-control-allow-origin": ORIGIN,
  vary: "Origin",
};

describe("a stream of a job", () => {
  test("that runs begins with its state, and ends right after its end", async () => {
    const slow = gate();
    const served = await serveJob(() => slow.promise);
    const { job } = served;
    const stream = await openStream(served);
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
    const served = await serveJob(() => "text");
    await served.job.result;
    const stream = await openStream(served);
    expect(stream.statusCode).toBe(200);
    expect(stream.headers).toMatchObject(HEADERS);
    expect(await readAll(stream)).toBe(eventOf(served.job.record()));
  });

  test.each([
    ["had ended", true],
    ["ends", false],
  ])("that is private delivers it when it %s", async (_when, before) => {
    const slow = gate();
    const served = await serveJob(() => slow.promise, { private: true });
    if (before) {
      slow.open(1);
      await served.job.result;
    }
    const stream = await openStream(served);
    slow.open(1);
    expect(await readAll(stream)).toContain('"status":"COMPLETE"');
    expect(served.venue.jobs.size).toBe(0);
  });

  test("reaches a client that reads late, whole", async () => {
    const slow = gate();
    const served = await serveJob(() => slow.promise, { input: { note: "é".repeat(3_000_000) } });
    const { job } = served;
    const stream = await openStream(served);
    const started = eventOf(job.record());
    slow.open("x".repeat(3_000_000));
    await job.result;
    expect((await readAll(stream)) === started + eventOf(job.record())).toBe(true);
  });

  test("beyond 32 is refused with the time to wait, until another hangs up", async () => {
    const served = await serveJob(() => gate().promise);
    const streams = await Promise.all(Array.from({ length: 32 }, () => openStream(served)));
    expect(streams.map(({ statusCode }) => statusCode)).toEqual(streams.map(() => 200));
    const refused = await fetch(pathOf(served), { headers: as("alice") });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await outcome(refused)).toEqual({ status: 429, body: { error: expect.any(String) } });
    streams[0]?.destroy();
    let status: number | undefined = 429;
    // Its end takes a moment to get there.
    for (let tries = 0; status === 429 && tries < 1000; tries += 1) {
      const stream = await openStream(served);
      status = stream.statusCode;
      stream.resume();
    }
    expect(status).toBe(200);
    for (const stream of streams) stream.destroy();
  });

  test("ends when the venue closes, and does not keep it from closing", async () => {
    const served = await serveJob(() => gate().promise);
    const stream = await openStream(served);
    const reading = readAll(stream);
    await served.venue.close();
    expect(await reading).toBe(eventOf(served.job.record()));
  });
});

describe("a stream", () => {
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
  function stream(options?: { heartbeatMs: number }) {
    const raw = new FakeResponse();
    const stop = jest.fn();
    let update: JobListener = () => {};
    const watch: CallerJobs["watch"] = (_id, _caller, listener) => {
      update = listener;
      return { found: record("STARTED", 0), stop };
    };
    const host = { jobs: { watch }, streams: { open: 0 }, stillHolds: () => true } as unknown as HttpHost;
    const reply = { raw, hijack: () => {}, getHeaders: () => ({}) } as unknown as FastifyReply;
    streamJob(host, { reply, caller: CALLER, target: "ab" } as Exchange, options);
    return { raw, stop, update: (next: JobRecord | undefined) => update(next) };
  }
  const started = eventOf(record("STARTED", 0));

  test("is never silent for 15 seconds, and then says nothing of meaning", () => {
    jest.useFakeTimers();
    const { raw } = stream();
    for (let beats = 1; beats < 5; beats += 1) {
      jest.advanceTimersByTime(14_500);
      expect(raw.sent).toEqual([started, ...Array(beats).fill(":\n")]);
    }
    raw.emit("close");
    expect(jest.getTimerCount()).toBe(0);
  });

  test("writes nothing to a client that does not read, which gets the last of the states it missed", () => {
    jest.useFakeTimers();
    const { raw, update } = stream({ heartbeatMs: 10 });
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

  test("writes the end once its client reads again, and then nothing more", () => {
    jest.useFakeTimers();
    const { raw, update, stop } = stream({ heartbeatMs: 10 });
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

  test("writes nothing to a client that has gone", () => {
    const { raw, update, stop } = stream();
    raw.destroyed = true;
    update(record("COMPLETE", 5));
    update(undefined);
    expect(raw.sent).toEqual([started]);
    raw.emit("close");
    expect(stop).toHaveBeenCalledTimes(1);
  });
});
