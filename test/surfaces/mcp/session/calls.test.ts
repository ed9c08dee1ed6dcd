import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/client";
import type { ReportProgress } from "../../../../src/core/call/progress.js";
import { createVenue, type Venue } from "../../../../src/index.js";
import { progressNotes } from "../../../../src/surfaces/mcp/progress.js";
import { readRecords } from "../../../audit/records.js";
import { serveHere } from "../../../cli/in-process.js";
import { cleanUp, makeFolder } from "../../../cli/process.js";
import { ALL, approvalsOf } from "../../../venue/operations/approval/approval-calls.js";
import { useGround } from "../../../venue/operations/fixture.js";
import { send as sendHttp } from "../../http/client.js";
import { rawHere } from "../here.js";
import { ask, httpRequestOf, overStdio, type Sending, toolCall } from "../raw.js";
import {
  type Answer,
  CLIENT_NAMES,
  type ClientName,
  closeSessions,
  connect,
  type Form,
  MODERN,
  mcpClient,
  type OnForm,
  type Reply,
  type Session,
  textOf,
} from "../sessions.js";

afterAll(async () => {
  await closeSessions();
  await cleanUp();
});
const INFO = { name: "test", version: "1" };

const ENTRIES = 2000;
const big = makeFolder();
const small = makeFolder({ 0: "" });

/** A root in which a tree takes longer than a millisecond, and a record of what became of each call. */
function slowRoot(more: { file?: object; jobs?: object; auth?: object } = {}): {
  config: string;
  outcomes: () => string[];
  /** Jobs of a venue, as its operator sees them. */
  jobsOf: (url: string) => Promise<number>;
} {
  const file = { roots: { big: { path: big, io: "pool" }, small: { path: small } }, ...more.file };
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
const look = { root: "small", path: "" };
/** Waits for a change, so that it runs until it is cancelled or {@link changeUntil} ends it. */
function waiting(answer: object | string): typeof look & { waitMs: number; cursor: string } {
  const [, cursor] = /cursor ([\w-]+)/.exec(JSON.stringify(answer)) ?? [];
  if (cursor === undefined) throw new Error(`No cursor: ${JSON.stringify(answer)}`);
  return { ...look, waitMs: 30_000, cursor };
}
/** Changes of others are looked for now and then, so that one may come before that has begun. */
async function changeUntil(isOver: () => boolean): Promise<void> {
  for (let count = 0; !isOver(); count++) {
    writeFileSync(join(small, "0"), `changed ${count}`);
    await sleep(50);
  }
}

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
  for (let i = 0; i < ENTRIES; i++) writeFileSync(join(big, `${i}`), "");

  test("waits gets the tree", async () => {
    const { config, outcomes } = slowRoot();
    const raw = await rawHere(["--config", config]);
    expect(textOf((await raw.call("file_tree", slow)).result).split("\n")).toHaveLength(ENTRIES + 2);
    raw.process.child.stdin.end();
    await raw.process.ended;
    expect(outcomes()).toEqual(["OK"]);
  });

  test.each([
    ["a call may wait", { jobs: { maxWaitMs: 1 } }],
    ["an operation may run", { file: { limits: { timeoutMs: 1 } } }],
  ])("waits longer than %s is told so", async (_name, more) => {
    const raw = await rawHere(["--config", slowRoot(more).config]);
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
    await session.call("file_stat", { root: "small", path: "0" });
    await session.close();
    // The aborted call ends when it next looks whether it should, which may be after the other one.
    expect(outcomes().sort()).toEqual(["ABORTED", "OK", "OK"]);
  });

  test("goes away aborts its call, over stdio", async () => {
    const { config, outcomes } = slowRoot();
    const raw = await rawHere(["--config", config]);
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
    const served = await serveHere(["--config", config]);
    const session = await connect("client 2, newest protocol", { url: served.url });
    const watch = async (args: object, signal: AbortSignal | null = null): Promise<object | string> => {
      if (isNewest) return session.call("file_watch", { ...args }, signal ?? undefined);
      return send(served.url, callOf(signal === null ? 2 : 1, args), { revision, signal });
    };
    const input = waiting(await watch(look));
    const cancelling = new AbortController();
    const call = watch(input, cancelling.signal);
    call.catch(() => {});
    while ((await jobsOf(served.url)) < 2) await sleep(1);
    cancelling.abort();
    await expect(call).rejects.toThrow();
    await session.call("file_stat", { root: "small", path: "0" });
    // Stopping would cancel what still runs.
    if (!isNewest) await changeUntil(() => outcomes().length === 3);
    while (outcomes().length < 3) await sleep(5);
    await served.stop();
    expect(outcomes().sort()).toEqual(expected);
  });

  test.each(["modern", "legacy"] as const)(
    "has its answer before the call has ended leaves that running: %s",
    async (era) => {
      const { config, outcomes } = slowRoot({ jobs: { maxWaitMs: 300 } });
      const served = await serveHere(["--config", config]);
      let calls = 0;
      const watch = async (args: object) => {
        calls++;
        return (await sendHttp(`${served.url}/mcp`, httpRequestOf(era, callOf(calls, args)))).text();
      };
      // What changed before may be told late, and end a wait at once.
      for (let answer = ""; !answer.includes("TIMEOUT"); ) {
        const begun = await watch(look);
        if (begun.includes("cursor ")) answer = await watch(waiting(begun));
      }
      await changeUntil(() => outcomes().length === calls);
      await served.stop();
      expect([...new Set(outcomes())]).toEqual(["OK"]);
    },
  );

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
    const served = await serveHere(["--config", config]);
    const owner = { revision: "2025-11-25", ...(canceller === undefined ? {} : { token: "secret" }) };
    const input = waiting(await send(served.url, callOf(2, look), owner));
    const call = send(served.url, callOf(1, input), owner);
    while ((await jobsOf(served.url)) < 2) await sleep(1);
    await send(served.url, CANCEL, canceller === undefined ? {} : { token: canceller });
    let isOver = false;
    const answered = call.finally(() => {
      isOver = true;
    });
    if (outcome === "OK") await changeUntil(() => isOver);
    const text = await answered;
    expect(text.includes("ABORTED")).toBe(outcome === "ABORTED");
    // The record is written behind the answer.
    while (outcomes().length < 2) await sleep(5);
    expect(outcomes()).toEqual(["OK", outcome]);
    await served.stop();
  });
});

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
const ERAS = [
  ["newest", MODERN],
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
            await sleep(1);
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
          await sleep(1);
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
    const client = await mcpClient({ url }, options);
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
    const client = await mcpClient({ url, fetch: only }, options);
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
    const client = await mcpClient({ url, fetch: watch }, options);
    const heard: Note[] = [];
    const onprogress = (note: Note) => void heard.push(note);
    await client.callTool({ name: "slow_work", arguments: { quick: true } }, { onprogress });
    await client.close();
    expect(seen.at(-1)).toMatch(/^application\/json/);
    expect(heard).toEqual([]);
  });
});

describe("forms for users", () => {
  type Call = (name: string, args: Record<string, unknown>) => Promise<Answer>;
  const YES: Reply = { action: "accept", content: { allow: true } };
  const refuseForm: OnForm = () => {
    throw new Error("asked");
  };
  const ENVELOPE = {
    [PROTOCOL_VERSION_META_KEY]: "2026-07-28",
    [CLIENT_INFO_META_KEY]: INFO,
    [CLIENT_CAPABILITIES_META_KEY]: { elicitation: { form: {} } },
  };
  /** Connections that end with their test. */
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

  describe.each(CLIENT_NAMES)("a client on standard input and output that can ask its user: %s", (client) => {
    let folder = "";
    /** The one server of these tests, which is started again once a test has ended it. */
    let session: Session | undefined;
    let onForm: OnForm;
    let tests = 0;
    let name = "";
    const server = () => ({ args: ["--config", join(folder, "venue.json5")], cwd: folder });

    beforeAll(() => {
      folder = makeFolder({ "docs/x": "", "quiet/x": "" });
      const approve = { for: ["overwrite", "delete"] };
      const roots = {
        docs: { path: join(folder, "docs"), approve },
        quiet: { path: join(folder, "quiet"), approve: { ...approve, elicit: false } },
      };
      const config = { file: { roots }, audit: { file: join(folder, "audit.jsonl") }, mcp: { tools: "full" } };
      writeFileSync(join(folder, "venue.json5"), JSON.stringify(config));
    });
    // A file of its own for each test: what one decided about another is no matter here.
    beforeEach(async () => {
      tests += 1;
      name = `${tests}.txt`;
      for (const root of ["docs", "quiet"]) writeFileSync(join(folder, root, name), "one\n");
      onForm = refuseForm;
      session ??= await connect(client, server(), (form) => onForm(form));
    });
    const end = async (): Promise<void> => {
      await session?.close();
      session = undefined;
    };
    afterAll(end);

    const call = (tool: string, more: object = {}): Promise<Answer> =>
      (session as Session).call(tool, { root: "docs", path: name, ...more });
    const write = (more: object = {}): Promise<Answer> => call("file_write", { content: "new\n", ...more });
    const content = (root = "docs"): string => readFileSync(join(folder, root, name), "utf8");
    const records = (): Record<string, unknown>[] =>
      readFileSync(join(folder, "audit.jsonl"), "utf8")
        .split("\n")
        .filter((line) => line.includes('"operation"') && line.includes(name))
        .map((line) => JSON.parse(line) as Record<string, unknown>);

    test("shows what the call would do, and once that is allowed, it is done", async () => {
      const [forms, before]: [Form[], string[]] = [[], []];
      onForm = (form) => {
        forms.push(form);
        before.push(content());
        return YES;
      };
      expect((await write()).isError).not.toBe(true);
      expect(content()).toBe("new\n");
      expect(forms).toHaveLength(1);
      const [first, second] = forms[0]?.message.split("\n") ?? [];
      expect(first).toBe("Allow file:write once?");
      expect(second).toMatch(`- overwrite "${name}" in root 'docs'`);
      expect(forms[0]?.message).toContain("-one\n+new\n");
      // The next call is another one.
      await write({ content: "newer\n" });
      expect(forms).toHaveLength(2);
      expect(before).toEqual(["one\n", "new\n"]);
      expect(content()).toBe("newer\n");
    });

    test.each<[string, Reply, string]>([
      ["declines", { action: "decline" }, "APPROVAL_DENIED"],
      ["sends the form without a yes", { action: "accept", content: { allow: false } }, "APPROVAL_DENIED"],
      ["dismisses it", { action: "cancel" }, "APPROVAL_REQUIRED"],
    ])("leaves everything as it is when the user %s", async (_title, reply, code) => {
      let forms = 0;
      onForm = () => {
        forms += 1;
        return reply;
      };
      const answer = await write();
      expect(answer.isError).toBe(true);
      expect(JSON.stringify(answer._meta)).toContain(code);
      expect(forms).toBe(1);
      expect(content()).toBe("one\n");
    });

    test("is not done to a file that changed while the user thought", async () => {
      let forms = 0;
      onForm = () => {
        forms += 1;
        writeFileSync(join(folder, "docs", name), "somebody else\n");
        return YES;
      };
      const answer = await call("file_delete");
      expect(JSON.stringify(answer._meta)).toContain('"reason":"changed"');
      expect(content()).toBe("somebody else\n");
      expect(forms).toBe(1);
    });

    test("is not asked where the operator says so", async () => {
      expect(textOf(await write({ root: "quiet" }))).toContain("venue-files serve");
      expect(content("quiet")).toBe("one\n");
    });

    test("that cannot ask is told how", async () => {
      const plain = await connect(client, server());
      closing.push(() => plain.close());
      const refused = await plain.call("file_write", { root: "docs", path: name, content: "new\n" });
      expect(textOf(refused)).toContain("venue-files serve");
      expect(JSON.stringify(refused._meta)).not.toContain("approvalId");
      expect(content()).toBe("one\n");
    });

    test("tells its user how many effects are not shown", async () => {
      const forms: Form[] = [];
      onForm = (form) => {
        forms.push(form);
        return { action: "decline" };
      };
      const names = Array.from({ length: 22 }, (_, index) => `${index}.many`);
      for (const file of names) writeFileSync(join(folder, "docs", file), "one\n");
      const sections = names.map((file) => `*** Update File: ${file}\n@@\n-one\n+two\n`);
      const patch = `*** Begin Patch\n${sections.join("")}*** End Patch\n`;
      await (session as Session).call("file_patch", { root: "docs", patch });
      const lines = forms[0]?.message.split("\n") ?? [];
      expect(lines.filter((line) => line.startsWith("- overwrite "))).toHaveLength(20);
      expect(lines).toContain("- and 2 more, which are not shown");
    });

    test("stands in the record as the one who allowed it", async () => {
      onForm = () => YES;
      await write();
      await end();
      const [first, second] = records();
      expect(first).toMatchObject({ operation: "file:write", outcome: "APPROVAL_REQUIRED" });
      expect(first).not.toHaveProperty("approvedBy");
      expect(second).toMatchObject({ operation: "file:write", outcome: "OK", approvedBy: "client" });
    });
  });

  describe("a client by URL", () => {
    const ground = useGround();
    const { issue, open, textOf: fileOf, logIn } = approvalsOf(ground);
    const callAs = async (
      token: string,
      onForm: OnForm,
      client: ClientName = "client 2, newest protocol",
    ): Promise<Call> => {
      const { call, close } = await connect(client, { url: ground.venue.url, token }, onForm);
      closing.push(close);
      return call;
    };
    const DOCS_WRITE = { root: "docs", path: "sub/a.txt", content: "new\n" };

    test.each([{}, { elicit: false }])("asks its user only by the operator's word: %j", async (more) => {
      await open({ for: ["overwrite"], ...more });
      const { token } = await issue({ label: "agent", caps: [ALL] });
      const call = await callAs(token, refuseForm);
      const answer = await call("file_write", DOCS_WRITE);
      expect(JSON.stringify(answer._meta)).toContain("approvalId");
      expect(fileOf("sub/a.txt")).toBe("one\ntwo\n");
    });

    test("asks its user where the operator says so, and others see who decided", async () => {
      await open({ for: ["overwrite"], elicit: true });
      const { token } = await issue({ label: "agent", caps: [ALL] });
      const call = await callAs(token, () => YES);
      // From its second call on the client is known, and asked nevertheless.
      await call("file_stat", { root: "docs", path: "sub/a.txt" });
      expect((await call("file_write", DOCS_WRITE)).isError).not.toBe(true);
      expect(fileOf("sub/a.txt")).toBe("new\n");
      const listed = await ground.call("approval:list", { state: "all" }, { bearer: await logIn() });
      expect(listed.output).toMatchObject({ approvals: [{ state: "used", by: "client" }] });
    });

    test("of a protocol of 2025 is told of the approval: there is no stream by which its user could be asked", async () => {
      await open({ for: ["overwrite"], elicit: true });
      const { token } = await issue({ label: "agent", caps: [ALL] });
      const call = await callAs(token, refuseForm, "client 2, protocol of 2025");
      const answer = await call("file_write", DOCS_WRITE);
      expect(textOf(answer)).toContain("venue-files approvals");
      const [, id = ""] = /"approvalId":"([0-9a-f]{32})"/.exec(JSON.stringify(answer._meta)) ?? [];
      await ground.call("approval:decide", { id, decision: "once" }, { bearer: await logIn() });
      expect((await call("file_write", { ...DOCS_WRITE, approval: id })).isError).not.toBe(true);
      expect(fileOf("sub/a.txt")).toBe("new\n");
    });

    test("answers its own questions alone, each once, and no approval's id is one", async () => {
      await open({ for: ["overwrite"], elicit: true });
      const agent = (await issue({ label: "agent", caps: [ALL] })).token;
      const other = (await issue({ label: "other", caps: [ALL] })).token;
      const send = async (bearer: string, more: object, content = "new\n") => {
        const call = toolCall("file_write", { ...DOCS_WRITE, content }, { ...more, _meta: ENVELOPE });
        const { result } = await ask(ground.venue.url, call, "modern", { token: bearer });
        return result as Answer & { resultType?: string; requestState?: string };
      };
      const asks = await send(agent, {});
      expect(asks.resultType).toBe("input_required");
      const inputResponses = { approval: YES };
      const listed = await ground.call("approval:list", {}, { bearer: agent });
      const [{ id }] = (listed.output as { approvals: [{ id: string }] }).approvals;
      for (const requestState of [id, "guess", undefined]) {
        const answer = await send(agent, { inputResponses, ...(requestState === undefined ? {} : { requestState }) });
        expect(answer.resultType).toBe("input_required");
      }
      const { requestState } = asks;
      expect((await send(other, { inputResponses, requestState })).resultType).toBe("input_required");
      expect(fileOf("sub/a.txt")).toBe("one\ntwo\n");
      const changed = await send(agent, { inputResponses, requestState }, "evil\n");
      expect(JSON.stringify(changed._meta)).toContain('"reason":"other_input"');
      expect((await send(agent, { inputResponses, requestState })).resultType).toBe("input_required");
      expect(fileOf("sub/a.txt")).toBe("one\ntwo\n");
    });
  });
});
