import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { readRecords } from "../../../audit/records.js";
import { cleanUp, makeFolder, serve } from "../../../cli/process.js";
import { send as sendHttp } from "../../http/client.js";
import { httpRequestOf, type Sending, startRaw, toolCall } from "../raw.js";
import { type ClientName, closeSessions, connect, textOf } from "../sessions.js";

afterAll(async () => {
  await closeSessions();
  await cleanUp();
});

const ENTRIES = 2000;
const big = makeFolder();
for (let i = 0; i < ENTRIES; i++) writeFileSync(join(big, `${i}`), "");

/** A root in which a tree takes longer than a millisecond, and a record of what became of each call. */
function slowRoot(more: { file?: object; jobs?: object; auth?: object } = {}): {
  config: string;
  outcomes: () => string[];
  /** Jobs of a venue, as its operator sees them. */
  jobsOf: (url: string) => Promise<number>;
} {
  const file = { roots: { big: { path: big, io: "pool" } }, ...more.file };
  const folder = makeFolder({
    "c.json5": JSON.stringify({
      stateDir: "state",
      audit: { file: "audit.jsonl" },
      mcp: { tools: "full" },
      ...more,
      file,
    }),
  });
  const outcomes = () => readRecords(join(folder, "audit.jsonl")).map(({ outcome }) => String(outcome));
  const jobsOf = async (url: string) => {
    const token = readFileSync(join(folder, "state/local-token"), "utf8").trim();
    const status = (await (await sendHttp(`${url}/api/v1/status`, { token })).json()) as { stats: { jobs?: number } };
    if (status.stats.jobs === undefined) throw new Error("The status tells no jobs");
    return status.stats.jobs;
  };
  return { config: join(folder, "c.json5"), outcomes, jobsOf };
}

const slow = { root: "big", info: "size", maxEntries: ENTRIES };
/** Without a cursor a watch answers at once, with one. */
const look = { root: "big", path: "" };
/** Waits for a change, so that it runs until it is cancelled or {@link change} ends it. */
function waiting(answer: object | string): typeof look & { waitMs: number; cursor: string } {
  const [, cursor] = /cursor ([\w-]+)/.exec(JSON.stringify(answer)) ?? [];
  if (cursor === undefined) throw new Error(`No cursor: ${JSON.stringify(answer)}`);
  return { ...look, waitMs: 30_000, cursor };
}
const change = () => writeFileSync(join(big, "0"), "changed");

interface SendOptions {
  readonly signal?: AbortSignal | null;
  readonly token?: string;
  readonly revision?: string | undefined;
}

/** A message of the 2025 protocol without any client. */
async function send(url: string, message: Sending, { revision, ...more }: SendOptions = {}): Promise<string> {
  const { headers, ...request } = httpRequestOf("legacy", message);
  const named = revision === undefined ? {} : { "mcp-protocol-version": revision };
  return (await sendHttp(`${url}/mcp`, { ...request, ...more, headers: { ...headers, ...named } })).text();
}

const callOf = (id: number, args: object) => ({ id, ...toolCall("file_watch", args) });
const CANCEL = { method: "notifications/cancelled", params: { requestId: 1 } };

describe("a client that", () => {
  test("waits gets the tree", async () => {
    const { config, outcomes } = slowRoot();
    const raw = await startRaw(["--config", config]);
    expect(textOf((await raw.call("file_tree", slow)).result).split("\n")).toHaveLength(ENTRIES + 2);
    raw.process.child.stdin.end();
    await raw.process.ended;
    expect(outcomes()).toEqual(["OK"]);
  });

  test.each([
    ["a call may wait", { jobs: { maxWaitMs: 1 } }],
    ["an operation may run", { file: { limits: { timeoutMs: 1 } } }],
  ])("waits longer than %s is told so", async (_name, more) => {
    const raw = await startRaw(["--config", slowRoot(more).config]);
    const { result } = await raw.call("file_tree", slow);
    expect(result).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "Operation timed out after 1 ms [TIMEOUT]" }],
    });
    expect(result._meta).toMatchObject({ "venue-files/error": { errorCode: "TIMEOUT", errorData: {} } });
    await raw.process.stop();
  });

  test.each<ClientName>(["client 2, newest protocol", "client 1"])("cancels aborts its call: %s", async (client) => {
    const { config, outcomes } = slowRoot();
    const session = await connect(client, { args: ["--config", config] });
    const begun = await session.call("file_watch", look);
    const cancelling = new AbortController();
    const call = session.call("file_watch", waiting(begun), cancelling.signal);
    // A client does not even send what is cancelled at once; behind the call in the pipe is soon enough.
    setImmediate(() => cancelling.abort());
    await expect(call).rejects.toThrow();
    await session.call("file_stat", { root: "big", path: "0" });
    await session.close();
    // The aborted call ends when it next looks whether it should, which may be after the other one.
    expect(outcomes().sort()).toEqual(["ABORTED", "OK", "OK"]);
  });

  test("goes away aborts its call, over stdio", async () => {
    const { config, outcomes } = slowRoot();
    const raw = await startRaw(["--config", config]);
    const begun = (await raw.call("file_watch", look)).result;
    raw.call("file_watch", waiting(begun)).catch(() => {});
    raw.process.child.stdin.end();
    expect((await raw.process.ended).status).toBe(0);
    expect(outcomes()).toEqual(["OK", "ABORTED"]);
  });

  test.each<[string, string, string[], string | undefined]>([
    ["newest", "aborts its call", ["ABORTED", "OK", "OK"], undefined],
    ["2025", "leaves its call running", ["OK", "OK", "OK"], "2025-11-25"],
    ["2025 without a header", "leaves its call running", ["OK", "OK", "OK"], undefined],
  ])("hangs up, over HTTP, in the protocol of %s, %s", async (era, _effect, expected, revision) => {
    const isNewest = era === "newest";
    const { config, outcomes, jobsOf } = slowRoot();
    const served = await serve(["--config", config]);
    const session = await connect("client 2, newest protocol", { url: served.url });
    const watch = async (args: object, signal: AbortSignal | null = null): Promise<object | string> => {
      if (isNewest) return session.call("file_watch", { ...args }, signal ?? undefined);
      return send(served.url, callOf(signal === null ? 2 : 1, args), { revision, signal });
    };
    const input = waiting(await watch(look));
    const cancelling = new AbortController();
    const call = watch(input, cancelling.signal);
    call.catch(() => {});
    while ((await jobsOf(served.url)) < 2);
    cancelling.abort();
    await expect(call).rejects.toThrow();
    await session.call("file_stat", { root: "big", path: "0" });
    // Stopping would cancel what still runs.
    if (!isNewest) change();
    while (outcomes().length < 3) await new Promise((resolve) => setImmediate(resolve));
    await served.stop();
    expect(outcomes().sort()).toEqual(expected);
  });

  test.each([
    ["aborts its call", "secret", "ABORTED"],
    ["reaches no call of others", "other", "OK"],
    ["reaches no call of a client without credentials, whose number anybody can guess", undefined, "OK"],
  ] as const)("of 2025 cancels over HTTP %s", async (_effect, canceller, outcome) => {
    const names = ["secret", "other"];
    const tokens = names.map((name) => ({
      ...{ name, token: { sha256: createHash("sha256").update(name).digest("hex") } },
      caps: [{ with: "file://", can: "crud/read" }],
    }));
    const { config, outcomes, jobsOf } = slowRoot({ auth: { tokens } });
    const served = await serve(["--config", config]);
    const owner = { revision: "2025-11-25", ...(canceller === undefined ? {} : { token: "secret" }) };
    const input = waiting(await send(served.url, callOf(2, look), owner));
    const call = send(served.url, callOf(1, input), owner);
    while ((await jobsOf(served.url)) < 2);
    await send(served.url, CANCEL, canceller === undefined ? {} : { token: canceller });
    if (outcome === "OK") change();
    const text = await call;
    expect(text.includes("ABORTED")).toBe(outcome === "ABORTED");
    // The record is written behind the answer.
    while (outcomes().length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(outcomes()).toEqual(["OK", outcome]);
    await served.stop();
  });
});
