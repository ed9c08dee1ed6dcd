import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createFileAdapter } from "../../src/index.js";
import { runHere } from "../cli/in-process.js";
import { cleanUp, makeFolder, serve } from "../cli/process.js";
import { type RawClient, startRaw } from "../surfaces/mcp/raw.js";

/** Written as they are by every writer that keeps digits; the first is the smallest that a double changes. */
const VALUE =
  '{"n":9007199254740993,"list":[-9223372036854775808,18446744073709551615],"f":0.5,"s":"9007199254740993"}';
/** Not kept by anything: beyond all doubles. */
const TOO_LARGE = '{"n":1e999}';

const folder = makeFolder({ "big.json": VALUE, "huge.json": TOO_LARGE });
const root = ["--root", `work=${folder}`];

let url: string;
let stdio: RawClient;
beforeAll(async () => {
  ({ url } = await serve(root));
  stdio = await startRaw(root);
});
afterAll(cleanUp);

async function post(path: string, body: string): Promise<string> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const response = await fetch(url + path, { method: "POST", headers, body });
  return response.text();
}

let lastId = 1000;
const rpc = (tool: string, input: string) =>
  `{"jsonrpc":"2.0","id":${++lastId},"method":"tools/call","params":{"name":"file_${tool}","arguments":${input}}}`;

/** The text of a tool's answer, or of the error in its place. */
function toolText(message: string): string {
  const { result, error } = JSON.parse(message);
  return result?.content[0].text ?? error.message;
}

async function overStdio(tool: string, input: string): Promise<string> {
  stdio.write(`${rpc(tool, input)}\n`);
  const id = `"id":${lastId}`;
  let line: string | undefined;
  // Each request takes its turn behind those before it.
  while (line === undefined) {
    await stdio.request("ping");
    line = stdio.lines().find((one) => one.includes(id));
  }
  return toolText(line);
}

/** Makes a call from JSON texts. @returns what the caller gets, as text */
type Caller = (operation: string, input: string) => Promise<string>;

const CALLERS: readonly [string, Caller][] = [
  ["invoke", (operation, input) => post("/api/v1/invoke", `{"operation":"file:${operation}","input":${input}}`)],
  ["run", (operation, input) => post("/api/v1/run", `{"operation":"file:${operation}","input":${input}}`)],
  [
    "MCP over HTTP",
    async (tool, input) => {
      const text = await post("/mcp", rpc(tool, input));
      return toolText(/^data: (.*)$/m.exec(text)?.[1] ?? text);
    },
  ],
  ["MCP over stdio", overStdio],
  [
    "the command line",
    async (operation, input) => {
      const { stdout, stderr } = await runHere(["call", `file:${operation}`, input, ...root]);
      return stdout + stderr;
    },
  ],
];

describe.each(CALLERS)("by %s", (name, call) => {
  test("mode: json keeps every digit", async () => {
    expect(await call("read", '{"root":"work","path":"big.json","mode":"json"}')).toContain(VALUE);
  });

  test("a number that cannot be kept is refused, with what to do", async () => {
    const answer = await call("read", '{"root":"work","path":"huge.json","mode":"json"}');
    expect(answer).toContain("File cannot be read with mode: json, since a number is too large. Pass mode: text");
    const write = await call("write", `{"root":"work","path":"never.json","value":${TOO_LARGE}}`);
    expect(write).toContain("a number is too large. Send it as a string");
  });

  test("where a number of a field is too large, the bounds are told", async () => {
    const answer = await call("read", '{"root":"work","path":"big.json","offset":9007199254740993}');
    expect(answer).toContain("'offset' must be between 0 and 9007199254740991");
  });

  // Anonymous callers only read in host roots.
  if (!["invoke", "run", "MCP over HTTP"].includes(name)) {
    test("value is written with every digit", async () => {
      const path = `${name}.json`;
      await call("write", `{"root":"work","path":"${path}","value":${VALUE}}`);
      expect(readFileSync(join(folder, path), "utf8")).toBe(VALUE);
    });
  }
});

test("over HTTP, value is written with every digit, and the record of the job keeps them", async () => {
  const tmp = await serve([]);
  const send = (path: string, body: string) =>
    fetch(tmp.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body,
    });
  await send("/api/v1/invoke", `{"operation":"file:write","input":{"root":"tmp","path":"a.json","value":${VALUE}}}`);
  await send("/mcp", rpc("write", `{"root":"tmp","path":"b.json","value":${VALUE}}`));
  for (const path of ["a.json", "b.json"]) {
    const input = `{"root":"tmp","path":"${path}","mode":"text"}`;
    const text = await send("/api/v1/run", `{"operation":"file:read","input":${input}}`);
    expect(await text.json()).toMatchObject({ content: VALUE });
  }
  const read = await send(
    "/api/v1/invoke",
    '{"operation":"file:read","input":{"root":"tmp","path":"a.json","mode":"json"}}',
  );
  const job = read.headers.get("location") ?? "";
  expect(await read.text()).toContain(VALUE);
  expect(await (await fetch(tmp.url + job)).text()).toContain(VALUE);
  expect(await (await fetch(`${tmp.url}${job}/sse`)).text()).toContain(VALUE);
});

test("over HTTP, JSON5 with a number beyond 2^53 is refused", async () => {
  const answer = await post(
    "/api/v1/invoke",
    "{operation:'file:write',input:{root:'work',path:'x',value:9007199254740993}}",
  );
  expect(answer).toBe('{"error":"Invalid JSON: numbers beyond 2^53 are kept in strict JSON only, which this is not"}');
});

describe("in the library", () => {
  test("they are bigints, in and out", async () => {
    const files = await createFileAdapter({ roots: { work: { path: folder } } });
    const { value } = await files.invoke("file:read", { root: "work", path: "big.json", mode: "json" });
    expect(value).toEqual({
      ...{ n: 9007199254740993n, list: [-9223372036854775808n, 18446744073709551615n] },
      ...{ f: 0.5, s: "9007199254740993" },
    });
    await files.invoke("file:write", { root: "work", path: "copy.json", value });
    expect(readFileSync(join(folder, "copy.json"), "utf8")).toBe(VALUE);
    await files.close();
  });

  test("a long file with one is read, and with more values than are given it is refused and read as text", async () => {
    const text = `[9007199254740993,"${"x".repeat(1_048_576)}"]`;
    const many = `[${Array(350_000).fill("{}").join(",")}]`;
    writeFileSync(join(folder, "long.json"), text);
    writeFileSync(join(folder, "many.json"), many);
    const files = await createFileAdapter({ roots: { work: { path: folder } } });
    const read = (path: string, mode: string) => files.invoke("file:read", { root: "work", path, mode });
    expect(await read("long.json", "json")).toMatchObject({ value: [9007199254740993n, "x".repeat(1_048_576)] });
    await expect(read("many.json", "json")).rejects.toMatchObject({
      code: "NOT_JSON",
      message:
        "File cannot be read with mode: json, since it is longer than 1 MB and holds more than 150000 fields, objects " +
        "and lists, 4194304 items, or 500000 integers beyond 2^53. Pass mode: text",
    });
    expect(await read("many.json", "text")).toMatchObject({ content: many });
    await files.close();
  });
});
