import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { Stream } from "@agentclientprotocol/sdk";
import { describe, expect, test } from "@jest/globals";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import { useGround } from "../../ops/ground.js";

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
  const ground = useGround();
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
    const acp = new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r" }] });
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
    const acp = new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r" }] });
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
