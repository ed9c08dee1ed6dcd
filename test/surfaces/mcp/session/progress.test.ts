import { afterAll, describe, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { ReportProgress } from "../../../../src/core/call/progress.js";
import { createVenue, type Venue } from "../../../../src/index.js";
import { progressNotes } from "../../../../src/surfaces/mcp/progress.js";
import { overStdio, toolCall } from "../raw.js";

interface Note {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

function notesAt(token: string | number | undefined = "t") {
  let now = 1000;
  const sent: Note[] = [];
  const cancelling = new AbortController();
  const request = {
    progressToken: token,
    signal: cancelling.signal,
    note: ({ params }: { params?: unknown }) => void sent.push(params as Note),
  };
  const notes = progressNotes(request, () => now);
  const report: ReportProgress = (...progress) => notes?.report(...progress);
  const wait = (ms: number): void => {
    now += ms;
  };
  return { sent, notes, report, cancelling, wait };
}

describe("progress of a call", () => {
  test("is sent only to a client that asked for it, by its own token", () => {
    expect(progressNotes({ signal: new AbortController().signal, note: () => {} })).toBeUndefined();
    const { sent, report, wait } = notesAt(0);
    wait(500);
    report(3, 7, () => "3 of 7");
    expect(sent).toEqual([{ progressToken: 0, progress: 3, total: 7, message: "3 of 7" }]);
  });

  test("is silent for half a second, and then for half a second after each", () => {
    const { sent, report, wait } = notesAt();
    report(1);
    wait(499);
    report(2);
    expect(sent).toEqual([]);
    wait(1);
    report(3);
    wait(499);
    report(4);
    wait(1);
    report(5);
    expect(sent.map(({ progress }) => progress)).toEqual([3, 5]);
  });

  test("always rises, and makes no text that is not sent", () => {
    const { sent, report, wait } = notesAt();
    const never = (): string => {
      throw new Error("made in vain");
    };
    report(1, undefined, never);
    for (const done of [5, 5, 4, 6]) {
      wait(500);
      if (done === 4) report(done, undefined, never);
      else report(done);
    }
    expect(sent).toEqual([
      { progressToken: "t", progress: 5 },
      { progressToken: "t", progress: 6 },
    ]);
  });

  test("ends with the call, and when that is cancelled", () => {
    const ended = notesAt();
    ended.wait(500);
    ended.notes?.end();
    ended.report(1);
    const cancelled = notesAt();
    cancelled.wait(500);
    cancelled.cancelling.abort();
    cancelled.report(1);
    expect([ended.sent, cancelled.sent]).toEqual([[], []]);
  });
});

const INFO = { name: "test", version: "1" };
const ERAS = [
  ["newest", { versionNegotiation: { mode: { pin: "2026-07-28" } } }],
  ["2025", {}],
] as const;

describe("a client over stdio", () => {
  test.each(["2025-06-18", "2025-03-26"])("hears of progress while a call runs: %s", async (protocolVersion) => {
    const isNote = ({ method }: { method?: string }) => method === "notifications/progress";
    const host = {
      ...{ serverInfo: INFO, instructions: "", maxWaitMs: undefined, logInternal() {} },
      tools: [{ toolName: "work", name: "slow:work", title: "", description: "", input: {}, output: {} }],
      submit: ({ report }: { report?: ReportProgress }) => {
        let done = 0;
        const work = async (): Promise<object> => {
          while (!way.messages.some(isNote)) {
            report?.(++done);
            await new Promise((resolve) => setImmediate(resolve));
          }
          return {};
        };
        return { id: "job", result: work() };
      },
    };
    const way = overStdio(host, "legacy", false);
    await way.ask("initialize", { protocolVersion, capabilities: {}, clientInfo: INFO });
    way.send({ method: "notifications/initialized" });
    const { id } = await way.ask("tools/call", toolCall("work", {}, { _meta: { progressToken: "p" } }).params);
    const { params } = await way.until(isNote);
    expect(params).toEqual({ progressToken: "p", progress: expect.any(Number) });
    expect(way.messages.at(-1)?.id).toBe(id);
    await way.close();
  });
});

describe("a client over HTTP", () => {
  let venue: Venue | undefined;
  afterAll(async () => venue?.close());

  /** A venue with an operation that reports, again and again, until the client has heard of it. */
  const open = async (isHeard: () => boolean): Promise<string> => {
    await venue?.close();
    venue = await createVenue({ port: 0, stateDir: false, file: { roots: { tmp: { temp: true } } } });
    venue.register({
      name: "slow",
      description: "Takes its time.",
      operations: [{ name: "slow:work", description: "Works." }],
      async invoke(_operation, { quick }, { report }) {
        for (let done = 1; report !== undefined && quick !== true && !isHeard(); done++) {
          report(done, undefined, () => `${done} done`);
          await new Promise((resolve) => setImmediate(resolve));
        }
        return { asked: report !== undefined };
      },
      async close() {},
    });
    return (await venue.listen()).url;
  };

  test.each(ERAS)("hears of progress while a call runs: %s", async (_era, options) => {
    const heard: Note[] = [];
    const url = await open(() => heard.length >= 2);
    const client = new Client(INFO, options);
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
    const onprogress = (note: Note) => void heard.push(note);
    const { structuredContent } = await client.callTool({ name: "slow_work", arguments: {} }, { onprogress });
    expect(structuredContent).toEqual({ asked: true });
    expect(heard.map(({ message }) => message)).toEqual(heard.map(({ progress }) => `${progress} done`));
    expect(heard[1]?.progress).toBeGreaterThan(heard[0]?.progress ?? Number.POSITIVE_INFINITY);
    // Nobody asked.
    const quick = await client.callTool({ name: "slow_work", arguments: { quick: true } });
    expect(quick.structuredContent).toEqual({ asked: false });
    await client.close();
  });

  test.each(ERAS)("that takes no events hears of none, and gets its answer: %s", async (_era, options) => {
    const url = await open(() => sent >= 2);
    let sent = 0;
    const only: typeof fetch = async (input, init) => {
      const headers = new Headers(init?.headers);
      headers.set("accept", "application/json");
      const answer = fetch(input, { ...init, headers });
      // The call goes on until its notes could have been sent.
      setTimeout(() => (sent += 2), 1200);
      return answer;
    };
    const client = new Client(INFO, options);
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { fetch: only }));
    const heard: Note[] = [];
    const onprogress = (note: Note) => void heard.push(note);
    const { structuredContent } = await client.callTool({ name: "slow_work", arguments: {} }, { onprogress });
    expect([structuredContent, heard]).toEqual([{ asked: true }, []]);
    await client.close();
  });

  test.each(ERAS)("gets plain JSON for a short call, though it asked for progress: %s", async (_era, options) => {
    const url = await open(() => true);
    const seen: (string | null)[] = [];
    const watch: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      seen.push(response.headers.get("content-type"));
      return response;
    };
    const client = new Client(INFO, options);
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { fetch: watch }));
    const heard: Note[] = [];
    const onprogress = (note: Note) => void heard.push(note);
    await client.callTool({ name: "slow_work", arguments: { quick: true } }, { onprogress });
    await client.close();
    expect(seen.at(-1)).toMatch(/^application\/json/);
    expect(heard).toEqual([]);
  });
});
