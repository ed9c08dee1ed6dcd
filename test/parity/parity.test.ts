import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createFileAdapter } from "../../src/index.js";
import { runHere, serveHere } from "../cli/in-process.js";
import { cleanUp, makeFolder } from "../cli/process.js";
import { invoke, send } from "../surfaces/http/client.js";
import { type RawHere, rawHere } from "../surfaces/mcp/here.js";
import { HTTP_HEADERS } from "../surfaces/mcp/raw.js";
import { CALLS, CODES, NARROWED_CALLS, type ParityCall } from "./calls.js";
import { makeGround } from "./fixture.js";
import { commandLine, http, library, mcp, type Outcome, remote, type Surface } from "./surfaces.js";

afterAll(cleanUp);

/** What a surface answers on fresh ground; times and the ground's own path are replaced by what they have in common. */
async function answersOf(surface: Surface, calls: readonly ParityCall[], narrowed: boolean): Promise<Outcome[]> {
  const ground = makeGround();
  const outcomes = await surface(ground, calls, narrowed);
  for (const [index, outcome] of outcomes.entries()) {
    if (calls[index]?.operation === "file:roots") continue;
    // Only roots may show where they are.
    expect(JSON.stringify(outcome)).not.toContain(ground.folder);
  }
  const text = JSON.stringify(outcomes)
    .replaceAll(ground.folder, "<ground>")
    .replaceAll(/"modified":\d+/g, '"modified":0')
    .replaceAll(/,"etag":"[a-z2-7]{8}"/g, "")
    // A model reads it in the note behind a list.
    .replaceAll(/,"hint":"Go on with after: \\"[^"]*\\""/g, "");
  return JSON.parse(text) as Outcome[];
}

const nameOf = ({ operation, input }: ParityCall) => `${operation} ${JSON.stringify(input).slice(0, 80)}`;

/** Tables of one row per call, so that a difference names its call. */
const labelled = (calls: readonly ParityCall[], outcomes: readonly Outcome[]) =>
  calls.map((call, index) => [nameOf(call), outcomes[index]]);

const SURFACES = { library, HTTP: http, "--url": remote, MCP: mcp, "command line": commandLine } as const;

describe.each([
  ["the operator", CALLS, false],
  ["a caller with caps", NARROWED_CALLS, true],
])("%s gets the same answers", (_who, calls, narrowed) => {
  /** Each surface has ground of its own, so that they can be asked at the same time. */
  let answers: Record<string, unknown>;
  beforeAll(async () => {
    const asked = Object.entries(SURFACES).map(async ([name, surface]): Promise<[string, unknown]> => {
      return [name, labelled(calls, await answersOf(surface, calls, narrowed))];
    });
    answers = Object.fromEntries(await Promise.all(asked));
  });

  test.each([
    ["over HTTP", "HTTP"],
    ["through --url", "--url"],
    ["over MCP", "MCP"],
    ["from the command line", "command line"],
  ])("%s as from the library", (_name, surface) => {
    expect(answers[surface]).toEqual(answers["library"]);
  });
});

test("the calls are many, and bring about every outcome that calls can bring about", async () => {
  expect(CALLS.length).toBeGreaterThanOrEqual(60);
  expect(new Set(CALLS.map(({ operation }) => operation)).size).toBeGreaterThanOrEqual(10);
  const outcomes = [...(await answersOf(library, CALLS, false)), ...(await answersOf(library, NARROWED_CALLS, true))];
  expect([...new Set(outcomes.map(({ code }) => code))].sort()).toEqual([...CODES].sort());
});

const folder = makeFolder();
const root = ["--root", `work=${folder}`];

let url: string;
let stdio: RawHere;
beforeAll(async () => {
  // Anonymous callers only read in host roots.
  const roots = { work: { path: folder }, tmp: { temp: true } };
  const config = join(makeFolder({ "c.json5": JSON.stringify({ file: { roots } }) }), "c.json5");
  ({ url } = await serveHere(["--config", config]));
  stdio = await rawHere(root);
});

async function post(path: string, body: string): Promise<string> {
  const response = await send(url + path, { method: "POST", headers: HTTP_HEADERS, body });
  return response.text();
}

let lastId = 1_000_000;
const rpc = (tool: string, input: string) =>
  `{"jsonrpc":"2.0","id":${++lastId},"method":"tools/call","params":{"name":"file_${tool}","arguments":${input}}}`;

/** @returns the line of the answer */
async function overStdio(tool: string, input: string): Promise<string> {
  stdio.write(`${rpc(tool, input)}\n`);
  const id = `"id":${lastId}`;
  for (;;) {
    // Each request takes its turn behind those before it.
    await stdio.request("ping");
    const answer = stdio.lines().find((one) => one.includes(id));
    if (answer !== undefined) return answer;
  }
}

async function byCommand(operation: string, input: string): Promise<string> {
  const { stdout, stderr } = await runHere(["call", `file:${operation}`, "-", ...root], { input });
  return stdout + stderr;
}

describe("exact numbers", () => {
  /** Written as they are by every writer that keeps digits; the first is the smallest that a double changes. */
  const VALUE =
    '{"n":9007199254740993,"list":[-9223372036854775808,18446744073709551615],"f":0.5,"s":"9007199254740993"}';
  /** Not kept by anything: beyond all doubles. */
  const TOO_LARGE = '{"n":1e999}';
  beforeAll(() => {
    writeFileSync(join(folder, "big.json"), VALUE);
    writeFileSync(join(folder, "huge.json"), TOO_LARGE);
  });

  /** The text of a tool's answer, or of the error in its place. */
  function toolText(message: string): string {
    const { result, error } = JSON.parse(message);
    return result?.content[0].text ?? error.message;
  }

  /** Makes a call from JSON texts. @returns what the caller gets, as text */
  type Caller = (operation: string, input: string) => Promise<string>;

  const CALLERS: readonly [string, Caller][] = [
    [
      "invoke",
      (operation, input) => post("/api/v1/invoke?wait=true", `{"operation":"file:${operation}","input":${input}}`),
    ],
    ["run", (operation, input) => post("/api/v1/run", `{"operation":"file:${operation}","input":${input}}`)],
    [
      "MCP over HTTP",
      async (tool, input) => {
        const text = await post("/mcp", rpc(tool, input));
        return toolText(/^data: (.*)$/m.exec(text)?.[1] ?? text);
      },
    ],
    ["MCP over stdio", async (tool, input) => toolText(await overStdio(tool, input))],
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
    const write = `{"operation":"file:write","input":{"root":"tmp","path":"a.json","value":${VALUE}}}`;
    await post("/api/v1/invoke?wait=true", write);
    await post("/mcp", rpc("write", `{"root":"tmp","path":"b.json","value":${VALUE}}`));
    for (const path of ["a.json", "b.json"]) {
      const input = `{"root":"tmp","path":"${path}","mode":"text"}`;
      const text = await post("/api/v1/run", `{"operation":"file:read","input":${input}}`);
      expect(JSON.parse(text)).toMatchObject({ content: VALUE });
    }
    const input = { root: "tmp", path: "a.json", mode: "json" };
    const read = await invoke(url, { operation: "file:read", input, wait: true });
    const job = read.headers.get("location") ?? "";
    expect(await read.text()).toContain(VALUE);
    expect(await (await send(url + job)).text()).toContain(VALUE);
    expect(await (await send(`${url}${job}/sse`)).text()).toContain(VALUE);
  });

  test("over HTTP, JSON5 with a number beyond 2^53 is refused", async () => {
    const answer = await post(
      "/api/v1/invoke",
      "{operation:'file:write',input:{root:'work',path:'x',value:9007199254740993}}",
    );
    expect(answer).toBe(
      '{"error":"Invalid JSON: numbers beyond 2^53 are kept in strict JSON only, which this is not"}',
    );
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
});

describe("large JSON", () => {
  const MB = 1_048_576;

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
      async (path, value) => ({
        answer: await post("/mcp", rpc("write", inputOf("tmp", path, value))),
        text: fromTemp(path),
      }),
    ],
    [
      "MCP over stdio",
      async (path, value) => ({
        answer: await overStdio("write", inputOf("work", path, value)),
        text: fromFolder(path),
      }),
    ],
    [
      "the command line",
      async (path, value) => ({
        answer: await byCommand("write", inputOf("work", path, value)),
        text: fromFolder(path),
      }),
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
  /** What the others are sent: one parser reads all input, and records of jobs, lines of MCP and arguments hold depth in their own ways. */
  const SOME = ["3,500 records of two fields", "depth"];
  /** Beside these, which go the same way: over HTTP from the endpoint on, in MCP from the message on. */
  const ALIKE = ["invoke", "MCP over HTTP"];

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

    if (ALIKE.includes(surface)) return;

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
});
