import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, serve, start } from "../cli/process.js";
import { type RawClient, startRaw } from "../surfaces/mcp/raw.js";

const MB = 1_048_576;
const folder = makeFolder();
const root = ["--root", `work=${folder}`];

let url: string;
let stdio: RawClient;
beforeAll(async () => {
  ({ url } = await serve([]));
  stdio = await startRaw(root);
});
afterAll(cleanUp);

const post = async (path: string, body: string): Promise<string> => {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  return (await fetch(url + path, { method: "POST", headers, body })).text();
};

let lastId = 1_000_000;
const rpc = (input: string): string =>
  `{"jsonrpc":"2.0","id":${++lastId},"method":"tools/call","params":{"name":"file_write","arguments":${input}}}`;

async function overStdio(line: string): Promise<string> {
  stdio.write(`${line}\n`);
  const id = `"id":${lastId}`;
  for (;;) {
    // Each request takes its turn behind those before it.
    await stdio.request("ping");
    const answer = stdio.lines().find((one) => one.includes(id));
    if (answer !== undefined) return answer;
  }
}

async function onStandardInput(input: string): Promise<string> {
  const process = start(["call", "file:write", "-", ...root]);
  process.child.stdin.end(input);
  const { stdout, stderr } = await process.ended;
  return stdout + stderr;
}

/** Writes `value` to a file. @returns the answer, as text, and what the file holds */
type Writer = (path: string, value: string) => Promise<{ answer: string; text: () => Promise<string> }>;

const fromTemp = (path: string) => async (): Promise<string> => {
  const input = { root: "tmp", path, mode: "text" };
  return JSON.parse(await post("/api/v1/run", JSON.stringify({ operation: "file:read", input }))).content;
};
const fromFolder = (path: string) => async () => readFileSync(join(folder, path), "utf8");
const inputOf = (to: string, path: string, value: string) => `{"root":"${to}","path":"${path}","value":${value}}`;

const WRITERS: readonly [string, Writer][] = [
  ...["invoke", "run"].map((endpoint): [string, Writer] => [
    endpoint,
    async (path, value) => {
      const body = `{"operation":"file:write","input":${inputOf("tmp", path, value)},"wait":true}`;
      return { answer: await post(`/api/v1/${endpoint}`, body), text: fromTemp(path) };
    },
  ]),
  [
    "MCP over HTTP",
    async (path, value) => ({ answer: await post("/mcp", rpc(inputOf("tmp", path, value))), text: fromTemp(path) }),
  ],
  [
    "MCP over stdio",
    async (path, value) => ({ answer: await overStdio(rpc(inputOf("work", path, value))), text: fromFolder(path) }),
  ],
  [
    "the command line",
    async (path, value) => ({ answer: await onStandardInput(inputOf("work", path, value)), text: fromFolder(path) }),
  ],
];

const list = (item: string, count: number): string => `[${Array(count).fill(item).join(",")}]`;
const numbered = (count: number, item: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => item(n)).join(",");

/** A little less than 1 MB each, for the rest of the call. */
const ANY: Readonly<Record<string, string>> = {
  "3,500 records of two fields": list('{"id":"0123456789","name":"a person with a name"}', 3500),
  "empty objects": list("{}", 340_000),
  numbers: list("1", 520_000),
  "new names": `{${numbered(85_000, (n) => `"k${n}":0`)}}`,
  "new names in each of many objects": `[${numbered(68_000, (n) => `{"k${n}":0}`)}]`,
  "one name again and again": `{${numbered(170_000, () => '"a":1')}}`,
  depth: "[".repeat(520_000) + "]".repeat(520_000),
  "depth of objects": `${'[{"a":'.repeat(100_000)}1${"}]".repeat(100_000)}`,
  "large integers": list("12345678901234567890", 49_000),
  "one large integer": "9".repeat(100_000),
};
/** What every surface is sent. */
const SOME = ["3,500 records of two fields", "depth", "large integers"];

/** Where names repeat, the last one stands. */
const written = (value: string): string => (value.startsWith('{"a":1,"a"') ? '{"a":1}' : value);

describe.each(WRITERS)("by %s", (surface, write) => {
  const path = (name: string) => `${surface} ${name}.json`;

  // Each surface reads its input by the same parser: what it makes of each kind is shown once, by the way that costs least.
  const kinds = Object.keys(ANY).filter((name) => surface === "run" || SOME.includes(name));
  test.each(kinds)("1 MB of %s is written as it is", async (name) => {
    const value = ANY[name] ?? "";
    expect(value.length).toBeLessThan(MB - 500);
    const { answer, text } = await write(path(name), value);
    expect(answer).toContain('"created":true');
    expect((await text()) === written(value)).toBe(true);
  });

  test("8 MB of records are written as they are, with their large integers", async () => {
    const value = `[${numbered(49_000, (n) => `{"id":${n + 1}1234567890123456789,"text":"${"x".repeat(125)}"}`)}]`;
    expect(value.length).toBeGreaterThan(7.5 * MB);
    const { answer, text } = await write(path("8 MB"), value);
    expect(answer).toContain('"created":true');
    expect((await text()) === value).toBe(true);
  });

  test("more is refused with the bound and the way out", async () => {
    const { answer } = await write(path("never"), list("{}", 350_000 + 100_000));
    expect(answer).toContain(
      "it is longer than 1 MB and holds more than 150000 fields, objects and lists, 4194304 items, or 500000 integers beyond 2^53. " +
        "Send it as text, in one string, or in parts of at most 1 MB",
    );
  });
});
