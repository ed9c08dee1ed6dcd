import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type AnyMessage, agent as agentApp } from "@agentclientprotocol/sdk";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { InvokeContext } from "../../../src/core/ports/adapter.js";
import { createFileAdapter } from "../../../src/index.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { AcpMount } from "../../../src/surfaces/acp/options.js";
import type { AcpConnection } from "../../../src/surfaces/acp/protocol/connection.js";
import { ALICE, BOB } from "../../drives/ground.js";
import { useGround } from "../../ops/ground.js";
import { localAgent } from "./local.js";
import { connectAgent, SDKS, type Sdk, type TestAgent } from "./stage.js";

const ground = useGround({ roots: { temp: { temp: true }, ro: { temp: true, readOnly: true } } });
const at = (path: string): string => join(ground.dir, path);
const READ = "fs/read_text_file";
const WRITE = "fs/write_text_file";

const newFs = (mounts: readonly AcpMount[] = [{ root: "r" }]): AcpClientFs =>
  new AcpClientFs({ adapter: ground.adapter, mounts });

async function withAgent(acp: AcpClientFs, sdk: Sdk, use: (agent: TestAgent) => Promise<void>): Promise<void> {
  const agent = connectAgent(acp, sdk);
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
      for (const path of ["two/file", "one/../two/file", "one/link/file", "one/absolute", "one-more/file", "two", ""]) {
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
    await withAgent(newFs(), "2", async (agent) => {
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
    await withAgent(acp, "2", async (first) => {
      await withAgent(acp, "1", async (second) => {
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
