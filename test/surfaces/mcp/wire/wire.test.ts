// Every answer on the wire is the one that stands in `answers.json`. With WIRE_RECORD=1 that file is written anew.

import { readFileSync, writeFileSync } from "node:fs";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { errorOutput } from "../../../../src/core/errors/errors.js";
import { createVenue, type Venue } from "../../../../src/index.js";
import type { McpHost } from "../../../../src/surfaces/mcp/host.js";
import { serveMcpStdio } from "../../../../src/surfaces/mcp/stdio.js";
import { PATIENCE_MS } from "../../../until.js";
import { sendAsIs } from "../../http/client.js";
import { HTTP_REQUESTS, type HttpRequest, STDIO_SCRIPTS, type StdioScript } from "./requests.js";

const FILE = new URL("answers.json", import.meta.url);
const IS_RECORDED = process.env["WIRE_RECORD"] === undefined;
type Answers = Record<string, unknown>;
const recorded: { http: Answers; stdio: Record<string, unknown[][]> } = IS_RECORDED
  ? JSON.parse(readFileSync(FILE, "utf8"))
  : { http: {}, stdio: {} };

afterAll(() => {
  if (!IS_RECORDED) writeFileSync(FILE, linesOfAnswers());
});

/** A line for each request, so that differences can be read. */
function linesOfAnswers(): string {
  const parts = Object.entries(recorded).map(([name, answers]) => {
    const lines = Object.entries(answers).map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
    return `"${name}": {\n${lines.join(",\n")}\n}`;
  });
  return `{\n${parts.join(",\n")}\n}\n`;
}

/** What is new in each answer. */
const VOLATILE = new Set(["date", "x-request-id", "content-length", "transfer-encoding", "keep-alive", "connection"]);
const stable = (text: string): unknown =>
  JSON.parse(
    text
      .replace(/Internal error \([0-9a-f]{32}\)/, "Internal error (id)")
      // Newer versions of Node say where else a text is no JSON.
      .replace(/ \(line \d+ column \d+\)/, ""),
    (key, value) => (key === "venue-files/job" ? "job" : value),
  );

/** Events one by one, JSON as what it says. */
function bodyOf(text: string): unknown {
  if (/^[[{]/.test(text)) return stable(text);
  if (!text.startsWith("event: ")) return text;
  return text
    .split("\n\n")
    .slice(0, -1)
    .map((event) => {
      const [, head = "", data = ""] = /^(.*)\ndata: (.*)$/s.exec(event) ?? [];
      return { head, data: stable(data) };
    });
}

describe("over HTTP", () => {
  let venue: Venue;
  let url = "";
  beforeAll(async () => {
    venue = await createVenue({
      ...{ port: 0, stateDir: false, name: "wire", file: { roots: { tmp: { temp: true } } } },
      mcp: { includeAdapters: ["t"], serverInfo: { name: "wire", version: "1" } },
    });
    venue.register({
      name: "t",
      description: "Tests.",
      operations: [
        { name: "t:echo", description: "Echoes.", input: { type: "object", properties: { text: { type: "string" } } } },
        { name: "t:list", description: "Lists.", output: { type: "array" } },
      ],
      async invoke(operation, { text, fail }) {
        if (fail === true) throw new Error("failed");
        return operation === "t:list" ? [1, "two"] : { text: text ?? null };
      },
      async close() {},
    });
    ({ url } = await venue.listen());
    await send(HTTP_REQUESTS[0] as HttpRequest);
  });
  afterAll(() => venue.close());

  const send = async ({ method, headers, body: sent }: HttpRequest): Promise<unknown> => {
    const { status, headers: all, body } = await sendAsIs(url, { path: "/mcp", method, headers, body: sent });
    const found = Object.entries(all).filter(([name]) => !VOLATILE.has(name));
    return { status, headers: Object.fromEntries(found), body: bodyOf(body.toString()) };
  };

  test("no two requests have one name", () => {
    expect(new Set(HTTP_REQUESTS.map(({ name }) => name)).size).toBe(HTTP_REQUESTS.length);
    expect(new Set(STDIO_SCRIPTS.map(({ name }) => name)).size).toBe(STDIO_SCRIPTS.length);
  });

  test.each(HTTP_REQUESTS.map((one) => [one.name, one] as const))("%s", async (name, one) => {
    const answer = await send(one);
    if (IS_RECORDED) expect(answer).toEqual(recorded.http[name]);
    else recorded.http[name] = answer;
  });
});

const TOOLS = ["echo", "list", "ask"].map((name) => ({
  ...{ name: `t:${name}`, toolName: `t_${name}`, title: name, description: `Does ${name}.`, ability: "crud/read" },
  ...{ changes: false, annotations: { readOnlyHint: true }, hidden: [] },
  ...{ input: { type: "object" }, output: { type: name === "list" ? "array" : "object" } },
}));

/** A host whose tool `t_ask` asks until that is allowed. */
const hostOf = (asksUsers: boolean): McpHost =>
  ({
    ...{ serverInfo: { name: "wire", version: "1" }, instructions: "Hello", tools: TOOLS, maxWaitMs: undefined },
    asksUsers,
    logInternal() {},
    answer: (_token: string, answer: string) => (answer === "allowed" ? "approval" : undefined),
    submit({ operation, input, onQuestion, approval }: Parameters<McpHost["submit"]>[0]) {
      const { text, fail } = input as { text?: string; fail?: boolean };
      if (operation === "t:ask" && (approval === undefined || text === "again")) {
        onQuestion?.({ token: "token", operation, effects: [{ root: "r", path: "a.txt", action: "delete" }] });
        return { id: "j", result: Promise.resolve(errorOutput({ error: "Ask first" }, "APPROVAL_REQUIRED")) };
      }
      if (fail === true) return { id: "j", result: Promise.reject(new Error("failed")) };
      return { id: "j", result: Promise.resolve(operation === "t:list" ? [1, "two"] : { text: text ?? null }) };
    },
  }) as never;

/** How long a recording waits for what does not come. */
const SILENCE_MS = 80;

/** The lines that follow each message. */
async function linesOf({ messages, asksUsers }: StdioScript, expected: unknown[][] | undefined) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let text = "";
  output.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const streams = { input, output, maxMessageBytes: 1_000_000, maxHeldBytes: 1_000_000, onError: () => {} };
  const served = serveMcpStdio(hostOf(asksUsers === true), streams);
  const taken: unknown[][] = [];
  for (const message of messages) {
    input.write(`${JSON.stringify(message)}\n`);
    const count = expected?.[taken.length]?.length;
    const untilMs = performance.now() + (count === undefined ? SILENCE_MS : PATIENCE_MS);
    const lines = () => text.split("\n").length - 1;
    while (performance.now() < untilMs && lines() < (count ?? 99)) await sleep(1);
    if (count !== undefined) for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    taken.push(text.split("\n").slice(0, -1).map(stable));
    text = text.split("\n").at(-1) ?? "";
  }
  output.destroy();
  input.end();
  await served;
  return taken;
}

describe("over stdio", () => {
  test.each(STDIO_SCRIPTS.map((one) => [one.name, one] as const))("%s", async (name, script) => {
    const lines = await linesOf(script, recorded.stdio[name]);
    if (IS_RECORDED) expect(lines).toEqual(recorded.stdio[name]);
    else recorded.stdio[name] = lines;
  });
});
