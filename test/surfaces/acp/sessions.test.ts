import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import {
  type AgentContext,
  type AnyMessage,
  agent as agent1,
  agent as agentApp,
  type Stream,
} from "@agentclientprotocol/sdk";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { InvokeContext } from "../../../src/core/ports/adapter.js";
import type { Sandbox, SandboxExit } from "../../../src/core/ports/sandbox.js";
import { createFileAdapter } from "../../../src/index.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { AcpAdapter } from "../../../src/surfaces/acp/files/files.js";
import type { AcpMount } from "../../../src/surfaces/acp/options.js";
import type { AcpConnection } from "../../../src/surfaces/acp/protocol/connection.js";
import { ALICE, BOB } from "../../drives/ground.js";
import { useAcp, useStops } from "./ground.js";
import { localAgent } from "./local.js";
import { connectAgent, pair, SDKS, type Sdk, type TestAgent } from "./stage.js";
import { type Agent2Connection, connect2, WAYS } from "./versions/versions.js";

describe("sessions", () => {
  const { ground, at } = useAcp({ roots: { temp: { temp: true }, ro: { temp: true, readOnly: true } } });
  const READ = "fs/read_text_file";
  const WRITE = "fs/write_text_file";

  const newFs = (mounts: readonly AcpMount[] = [{ root: "r" }]): AcpClientFs =>
    new AcpClientFs({ adapter: ground.adapter, mounts });

  async function withAgent(acp: AcpClientFs, sdk: Sdk, use: (agent: TestAgent) => Promise<void>): Promise<void> {
    const agent = connectAgent(acp, sdk, !sdk.endsWith("in process"));
    try {
      await use(agent);
    } finally {
      await agent.stop();
    }
  }

  /** An agent in this process, all of whose sessions have one id. */
  function connectLocally(acp: AcpClientFs, protocolVersion = 1): AcpConnection {
    const { readable: toAgent, writable: fromHost } = new TransformStream();
    const { readable: toHost, writable: fromAgent } = new TransformStream();
    agentApp({ name: "local" })
      .onRequest("initialize", () => ({ protocolVersion }))
      .onRequest("session/new", () => ({ sessionId: "same" }))
      .connect({ readable: toAgent, writable: fromAgent });
    return acp.connect({ readable: toHost, writable: fromHost });
  }

  const outside = { code: -32602, data: { reason: "outside_roots" } };

  beforeEach(() => {
    for (const name of ["one", "two", "one-more"]) ground.put(`${name}/file`, `of ${name}`);
  });

  describe.each(SDKS)("sessions of an agent on SDK %s", (sdk) => {
    test("do not see each other's files, whatever way they take", async () => {
      symlinkSync("../two", at("one/link"));
      symlinkSync(at("two/file"), at("one/absolute"));
      await withAgent(newFs(), sdk, async (agent) => {
        const one = await agent.newSession({ cwd: at("one") });
        const two = await agent.newSession({ cwd: at("two") });
        expect(await agent.ask(one, READ, { path: at("one/file") })).toEqual({ result: { content: "of one" } });
        expect(await agent.ask(two, READ, { path: at("two/file") })).toEqual({ result: { content: "of two" } });
        for (const path of [
          "two/file",
          "one/../two/file",
          "one/link/file",
          "one/absolute",
          "one-more/file",
          "two",
          "",
        ]) {
          expect((await agent.ask(one, READ, { path: at(path) })).error).toMatchObject(outside);
          expect((await agent.ask(one, WRITE, { path: `${at(path)}x`, content: "x" })).error?.code).toBe(
            path === "one/absolute" ? undefined : -32602,
          );
        }
        expect(ground.get("two/file").toString()).toBe("of two");
        expect(ground.names("two")).toEqual(["file"]);
      });
    });

    test("reach their further directories too, and a request right behind the answer finds its session", async () => {
      mkdirSync(at("at-once"));
      ground.put("at-once/file", "early");
      await withAgent(newFs(), sdk, async (agent) => {
        const session = await agent.newSession({ cwd: at("at-once"), additionalDirectories: [at("two")] });
        expect(await agent.ask(session, READ, { path: at("two/file") })).toEqual({ result: { content: "of two" } });
        expect((await agent.ask(session, READ, { path: at("one/file") })).error).toMatchObject(outside);
        const greeting = await agent.greeting(session);
        expect(greeting).toMatchObject({
          initialize: {
            protocolVersion: 2,
            clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: false },
            clientInfo: { name: "venue-files", version: expect.stringMatching(/^\d/) },
          },
          session: { cwd: at("at-once"), additionalDirectories: [at("two")], mcpServers: [] },
          atOnce: { content: "early" },
        });
      });
    });
  });

  describe("a session", () => {
    test("is refused before the agent is asked, where its directories lie in no mount", async () => {
      await withAgent(newFs(), "2 in process", async (agent) => {
        for (const directories of [
          { cwd: "/elsewhere" },
          { cwd: "one" },
          { cwd: at("../x") },
          { cwd: `${ground.dir}x` },
          { cwd: at("one"), additionalDirectories: ["/elsewhere"] },
        ]) {
          await expect(agent.newSession(directories)).rejects.toThrow("must be an absolute path in a mount");
        }
        const session = await agent.newSession({ cwd: at("one") });
        // Those before would have counted.
        expect(session).toMatch(/-1$/);
      });
    });

    test("is nobody else's: of two agents, each reaches its own only", async () => {
      const acp = newFs();
      await withAgent(acp, "2 in process", async (first) => {
        await withAgent(acp, "1 in process", async (second) => {
          const one = await first.newSession({ cwd: at("one") });
          const two = await second.newSession({ cwd: at("two") });
          const path = at("one/file");
          expect((await second.ask(two, READ, { sessionId: one, path })).error).toEqual({
            code: -32002,
            message: expect.any(String),
            data: { sessionId: one },
          });
        });
      });
    });

    test("of an id that is taken is refused, whichever agent names it", async () => {
      const acp = newFs();
      const [first, second] = [connectLocally(acp), connectLocally(acp)];
      try {
        await first.newSession({ cwd: at("one") });
        await expect(second.newSession({ cwd: at("two") })).rejects.toThrow("of this id already");
        const app = acp.app();
        await acp.addSession(app, "mine", { cwd: at("one") });
        await expect(acp.addSession(app, "mine", { cwd: at("one") })).rejects.toThrow("of this id already");
        await expect(newFs().addSession(app, "x", { cwd: at("one") })).rejects.toThrow("not made here");
      } finally {
        await acp.close();
      }
    });

    test("is known after its agent has gone, until it is closed", async () => {
      const acp = newFs();
      const agent = await localAgent(acp, "s", { cwd: at("one") });
      await agent.ask(WRITE, { path: at("one/new"), content: "x" });
      agent.close();
      expect(acp.modified("s")).toHaveLength(1);
      await acp.undo("s");
      expect(ground.names("one")).toEqual(["file"]);
      await acp.closeSession("s");
      expect(() => acp.modified("s")).toThrow("no such session");
    });

    test("is known to a request that came together with the answer that named it", async () => {
      let send: (message: AnyMessage) => void = () => {};
      const readable = new ReadableStream<AnyMessage>({
        start(controller) {
          send = (message) => controller.enqueue(message);
        },
      });
      const read = (id: string): AnyMessage => ({
        ...{ jsonrpc: "2.0", id, method: READ, params: { sessionId: "s", path: at("one/file") } },
      });
      const answers: Record<string, unknown> = {};
      const answered = new Promise<void>((resolve) => {
        const writable = new WritableStream<AnyMessage>({
          write(message) {
            if (!("id" in message)) return;
            const { jsonrpc, id } = message;
            if (!("method" in message)) answers[String(id)] = "result" in message ? message.result : message.error.code;
            else if (message.method === "initialize") send({ jsonrpc, id, result: { protocolVersion: 1 } });
            else {
              send({ jsonrpc, id, result: { sessionId: "s" } });
              send(read("behind"));
            }
            if ("behind" in answers) resolve();
          },
        });
        void newFs()
          .connect({ readable, writable })
          .newSession({ cwd: at("one") });
      });
      await answered;
      expect(answers["behind"]).toEqual({ content: "of one" });
    });

    test("is not opened with an agent that speaks another version", async () => {
      const acp = newFs();
      const connection = connectLocally(acp, 7);
      await expect(connection.newSession({ cwd: at("one") })).rejects.toThrow("version 7");
      await connection.closed;
    });
  });

  test("drives are each caller's own", async () => {
    const files = await createFileAdapter({ roots: { notes: { dlfs: "notes" } } });
    const sessionOf = async (caller: InvokeContext) => {
      const acp = new AcpClientFs({ adapter: files, mounts: [{ root: "notes" }], caller });
      return localAgent(acp, "s", { cwd: "/venue-roots/notes" });
    };
    const [alice, bob] = [await sessionOf(ALICE), await sessionOf(BOB)];
    const path = "/venue-roots/notes/a/b.txt";
    expect(await alice.ask(WRITE, { path, content: "of alice" })).toEqual({ result: {} });
    expect(await alice.ask(READ, { path })).toEqual({ result: { content: "of alice" } });
    expect((await bob.ask(READ, { path })).error).toMatchObject({ code: -32002 });
    await files.close();
  });

  test("a directory that is itself a link reaches nothing", async () => {
    symlinkSync("two", at("linked"));
    const agent = await localAgent(newFs(), "s", { cwd: at("linked") });
    expect((await agent.ask(READ, { path: at("linked/file") })).error).toMatchObject(outside);
  });

  describe("mounts", () => {
    const found = async (mounts: readonly AcpMount[], cwd: string, path: string) => {
      const agent = await localAgent(newFs(mounts), "s", { cwd });
      return agent.ask(READ, { path });
    };

    test("have a prefix of their own, and the longest wins", async () => {
      const mounts = [
        { root: "r", prefix: "/a" },
        { root: "temp", prefix: "/a/b" },
      ];
      ground.put("b/file", "of r");
      await ground.adapter.invoke("file:write", { root: "temp", path: "file", content: "of temp" });
      expect(await found(mounts, "/a", "/a/b/file")).toEqual({ result: { content: "of temp" } });
      expect(await found(mounts, "/a", "/a//./one/file")).toEqual({ result: { content: "of one" } });
      expect(await found(mounts, "/a/b", "/a/b/file")).toEqual({ result: { content: "of temp" } });
      expect((await found(mounts, "/a/b", "/a/one/file")).error).toMatchObject(outside);
      // What a mount covers is nobody's: not even a link leads there.
      symlinkSync("../b/file", at("one/under"));
      expect(await found(mounts, "/a", "/a/one/under")).toEqual({ result: { content: "of r" } });
    });

    test("at the top of everything", async () => {
      expect(await found([{ root: "r", prefix: "/" }], "/one", "/one/file")).toEqual({ result: { content: "of one" } });
    });

    test.each([
      [[], "at least one root"],
      [[{ root: "none" }], "root 'none': it does not exist"],
      [[{ root: "r", prefix: "relative" }], "no absolute path"],
      [[{ root: "r", prefix: "/a/../b" }], "no absolute path"],
      [
        [
          { root: "r", prefix: "/a" },
          { root: "temp", prefix: "/a/" },
        ],
        "at one prefix",
      ],
    ] as const)("%j cannot be made", async (mounts, message) => {
      await expect((async () => newFs(mounts).capabilities())()).rejects.toThrow(message);
    });

    test("say what can be done in them", async () => {
      const capabilities = (mounts: AcpMount[]) => newFs(mounts).capabilities();
      expect(await capabilities([{ root: "ro" }])).toEqual({
        fs: { readTextFile: true, writeTextFile: false },
        terminal: false,
      });
      expect(await capabilities([{ root: "ro" }, { root: "r" }])).toMatchObject({ fs: { writeTextFile: true } });
      const agent = await localAgent(newFs([{ root: "ro", prefix: "/ro" }]), "s", { cwd: "/ro" });
      expect((await agent.ask(WRITE, { path: "/ro/x", content: "" })).error).toMatchObject({ code: -32601 });
      expect((await agent.ask(READ, { path: "/ro/x" })).error).toMatchObject({ code: -32002 });
    });

    test("of roots whose host path is not shown are below /venue-roots", async () => {
      const { adapter } = ground;
      const hidden = {
        invoke: async (operation: string, input: unknown, context?: object) =>
          operation === "file:roots"
            ? { roots: [{ name: "r", path: "file://r/", kind: "host", readOnly: false }] }
            : adapter.invoke(operation, input, context),
      };
      const agent = await localAgent(new AcpClientFs({ adapter: hidden, mounts: [{ root: "r" }] }), "s", {
        cwd: "/venue-roots/r",
      });
      expect(await agent.ask(READ, { path: "/venue-roots/r/one/file" })).toEqual({ result: { content: "of one" } });
      expect((await agent.ask(READ, { path: at("one/file") })).error).toMatchObject(outside);
    });
  });
});

describe("sessions that are resumed", () => {
  const { ground, at, text, newFs } = useAcp({ roots: { temp: { temp: true } } });

  const stops = useStops();
  beforeEach(() => {
    for (const name of ["one", "two"]) ground.put(`${name}/file`, `of ${name}\n`);
  });

  async function connect(acp: AcpClientFs, way = WAYS[0], options = {}): Promise<Agent2Connection> {
    const agent = await connect2(acp, way, options);
    stops.push(() => agent.stop());
    return agent;
  }

  describe.each(WAYS)("the sessions of an agent %s", (way) => {
    test("are listed without those outside the mounts, resumed, ended and deleted", async () => {
      const acp = newFs();
      const agent = await connect(acp, way);
      const { connection } = agent;
      const one = await connection.newSession({ cwd: at("one") });
      const two = await connection.newSession({ cwd: at("two") });
      expect(await connection.listSessions()).toEqual({
        sessions: [
          { sessionId: one, cwd: at("one"), title: "number 1" },
          { sessionId: two, cwd: at("two"), title: "number 2" },
        ],
        nextCursor: "x",
      });
      await connection.endSession(one);
      await connection.deleteSession(two);
      expect((await agent.ask(one, "greeting")).result).toMatchObject({ closed: [one, two] });
      // Tools end with their session, which the host still knows.
      expect(acp.modified(one)).toEqual([]);
      await connection.resumeSession(one, { cwd: at("one"), additionalDirectories: [at("two")] });
      const { resumed, session } = (await agent.ask(one, "greeting")).result as Record<string, object>;
      expect(session).toMatchObject({ sessionId: one, cwd: at("one"), additionalDirectories: [at("two")] });
      // It called a tool before it answered: its directories counted already.
      expect(resumed).toMatchObject({ result: { content: expect.anything() } });
      expect((await agent.call(one, "file_read", { path: "two/file" })).text).toContain("of two");
    });
  });

  describe("a session that is resumed", () => {
    test("keeps its history, undo and unsaved text after a lost connection, and is asked about anew", async () => {
      let asked = 0;
      const acp = newFs({
        approve: () => {
          asked += 1;
          return "allow_always";
        },
      });
      const first = await connect(acp);
      const session = await first.connection.newSession({ cwd: at("one") });
      await first.call(session, "file_write", { path: "one/file", content: "first" });
      await first.stop();
      expect(acp.modified(session)).toMatchObject([{ newText: "first" }]);
      await acp.openBuffer(session, at("one/open"), "unsaved");
      const second = await connect(acp);
      await second.connection.resumeSession(session, { cwd: at("one") });
      expect((await second.call(session, "file_read", { path: "one/open" })).text).toContain("unsaved");
      await second.call(session, "file_write", { path: "one/file", content: "second" });
      expect([text("one/file"), asked]).toEqual(["second", 2]);
      expect(acp.modified(session)).toMatchObject([{ oldText: "of one\n", newText: "second" }]);
      await acp.undo(session);
      await acp.undo(session);
      expect(text("one/file")).toBe("of one\n");
    });

    test("is nobody else's as long as its agent is there", async () => {
      const acp = newFs();
      const [first, second] = [await connect(acp), await connect(acp)];
      const session = await first.connection.newSession({ cwd: at("one") });
      await expect(second.connection.resumeSession(session, { cwd: at("two") })).rejects.toThrow("Another agent");
      expect((await first.call(session, "file_read", { path: "one/file" })).isError).toBe(false);
    });

    test("is as it was where the agent refuses, and unknown if it was", async () => {
      const acp = newFs();
      const agent = await connect(acp);
      await expect(agent.connection.resumeSession("unknown", { cwd: at("one") })).rejects.toMatchObject({
        code: -32002,
      });
      expect(() => acp.modified("unknown")).toThrow("no such session");
      await expect(agent.connection.resumeSession("far", { cwd: "/elsewhere" })).rejects.toThrow("in a mount");
    });
  });

  test("commands and tools of a session end with it, for the agent and here", async () => {
    const kills: string[] = [];
    const exec: AcpAdapter["exec"] = async ({ argv }) => {
      const isTrial = argv[0] === "true";
      let end = (_exit: SandboxExit): void => {};
      const exited = new Promise<SandboxExit>((resolve) => {
        end = resolve;
      });
      const exit = { exitCode: 0, signal: null, timedOut: false, truncated: false };
      if (isTrial) end(exit);
      const combined = Buffer.alloc(0);
      return {
        ...{ started: Promise.resolve(), exited },
        output: () => ({ stdout: combined, stderr: combined, combined, truncated: false }),
        kill: async () => {
          kills.push(argv[0] ?? "");
          end(exit);
        },
      };
    };
    const sandbox: Sandbox = {
      ...{ name: "none", shows: "host" },
      probe: async () => ({ available: true, network: false, realBinaries: false }),
      run: () => {
        throw new Error("not asked for");
      },
    };
    const acp = new AcpClientFs({
      adapter: { invoke: ground.adapter.invoke, exec },
      ...{ mounts: [{ root: "r" }], terminals: { sandbox } },
    });
    const [host, peer] = pair();
    let client: AgentContext | undefined;
    let count = 0;
    agent1({ name: "one" })
      .onConnect((connection) => {
        client = connection.client;
      })
      .onRequest("initialize", () => ({
        protocolVersion: 1,
        agentCapabilities: { sessionCapabilities: { close: {}, delete: {} } },
      }))
      .onRequest("session/new", () => ({ sessionId: `s${++count}` }))
      .onRequest("session/close", () => ({}))
      .onRequest("session/delete", () => ({}))
      .connect(peer);
    const connection = acp.connect(host);
    for (const end of ["endSession", "deleteSession"] as const) {
      const sessionId = await connection.newSession({ cwd: at("one") });
      await client?.request("terminal/create", { sessionId, command: sessionId });
      await connection[end](sessionId);
      await expect(client?.request("terminal/create", { sessionId, command: "again" })).rejects.toMatchObject({
        code: -32002,
      });
    }
    expect(kills).toEqual(["s1", "s2"]);
    await connection.close();
  });

  test("an agent that offers no sessions is not asked about them", async () => {
    const old = connectAgent(newFs(), "1 in process");
    stops.push(() => old.stop());
    const none = await connect(newFs(), WAYS[0], { session: null });
    const some = await connect(newFs(), WAYS[0], { session: { mcp: { acp: {} } } });
    for (const { connection } of [old, none]) {
      for (const work of [
        () => connection.listSessions(),
        () => connection.resumeSession("s", { cwd: at("one") }),
        () => connection.deleteSession("s"),
        () => connection.endSession("s"),
      ]) {
        await expect(work()).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
      }
    }
    await expect(some.connection.deleteSession("s")).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
    await some.connection.endSession("s");
  });
});

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

/** An agent that takes what it is sent only when it wants to. */
class LazyAgent {
  readonly taken: Message[] = [];
  readonly stream: Stream;
  reads = true;
  #toHost: ReadableStreamDefaultController<unknown> | undefined;
  #resume: () => void = () => {};

  constructor() {
    const readable = new ReadableStream({
      start: (controller) => {
        this.#toHost = controller;
      },
    });
    const writable = new WritableStream({
      write: async (message: Message) => {
        while (!this.reads) {
          await new Promise<void>((resolve) => {
            this.#resume = resolve;
          });
        }
        this.taken.push(message);
        if (message.method === "initialize") this.#answer(message, { protocolVersion: 1, agentCapabilities: {} });
        if (message.method === "session/new") this.#answer(message, { sessionId: "s" });
      },
    });
    this.stream = { readable, writable } as Stream;
  }

  send(message: Message): void {
    this.#toHost?.enqueue({ jsonrpc: "2.0", ...message });
  }

  readOn(): void {
    this.reads = true;
    this.#resume();
  }

  end(): void {
    this.#toHost?.close();
  }

  #answer({ id }: Message, result: unknown): void {
    this.send({ ...(id === undefined ? {} : { id }), result });
  }

  async answersTo(ids: readonly number[]): Promise<Message[]> {
    const found = () => this.taken.filter(({ id, method }) => method === undefined && ids.includes(Number(id)));
    while (found().length < ids.length) await turn();
    return found();
  }
}

describe("an agent that asks and does not read", () => {
  const { ground, newFs } = useAcp();
  const turns = async (count: number) => {
    for (let n = 0; n < count; n += 1) await turn();
  };

  type Connect = (
    acp: AcpClientFs,
    stream: Stream,
  ) => Promise<{ readonly sessionId: string; readonly closed: Promise<void> }>;
  const throughUs: Connect = async (acp, stream) => {
    const connection = acp.connect(stream);
    return { sessionId: await connection.newSession({ cwd: ground.dir }), closed: connection.closed };
  };
  const throughApp: Connect = async (acp, stream) => {
    const app = acp.app();
    await acp.addSession(app, "s", { cwd: ground.dir });
    return { sessionId: "s", closed: app.connect(stream).closed };
  };
  const throughWork: Connect = async (acp, stream) => {
    const app = acp.app();
    await acp.addSession(app, "s", { cwd: ground.dir });
    let closed: Promise<void> = Promise.resolve();
    app.onConnect((connection) => {
      closed = connection.closed;
    });
    app.connectWith(stream, () => closed).catch(() => {});
    return { sessionId: "s", closed };
  };

  test.each([
    ["connected by us", throughUs],
    ["connected by the host", throughApp],
    ["connected by the host for one piece of work", throughWork],
  ])("is not served ahead, and gets everything when it reads on: %s", async (_how, connect) => {
    ground.put("a.txt", "x".repeat(100_000));
    const acp = newFs();
    const agent = new LazyAgent();
    const { sessionId, closed } = await connect(acp, agent.stream);
    const before = ground.audit.length;
    agent.reads = false;
    const ids = Array.from({ length: 80 }, (_, id) => id + 1000);
    const path = join(ground.dir, "a.txt");
    for (const id of ids) agent.send({ id, method: "fs/read_text_file", params: { sessionId, path } });
    agent.send({ id: 2000, method: "fs/write_text_file", params: { sessionId, path, content: "new" } });
    await turns(300);
    expect(ground.audit.length - before).toBeLessThan(4);

    agent.readOn();
    const answers = await agent.answersTo([...ids, 2000]);
    expect(answers.map(({ id }) => id)).toEqual([...ids, 2000]);
    for (const { result } of answers.slice(0, -1)) expect(result).toEqual({ content: "x".repeat(100_000) });
    agent.end();
    await closed;
  });

  test("can still be asked, and answer", async () => {
    ground.put("a.txt", "x");
    const acp = newFs();
    const agent = new LazyAgent();
    const connection = acp.connect(agent.stream);
    const sessionId = await connection.newSession({ cwd: ground.dir });
    const asked = connection.agent.request("session/prompt", { sessionId, prompt: [] });
    while (!agent.taken.some(({ method }) => method === "session/prompt")) await turn();
    const prompt = agent.taken.find(({ method }) => method === "session/prompt");
    agent.reads = false;
    const path = join(ground.dir, "a.txt");
    for (let id = 1000; id < 1010; id += 1)
      agent.send({ id, method: "fs/read_text_file", params: { sessionId, path } });
    if (prompt?.id !== undefined) agent.send({ id: prompt.id, result: { stopReason: "end_turn" } });
    expect(await asked).toMatchObject({ stopReason: "end_turn" });
    agent.readOn();
    await agent.answersTo([1000, 1009]);
    agent.end();
    await connection.closed;
  });
});
