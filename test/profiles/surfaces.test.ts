import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { parseConfig } from "../../src/config/load.js";
import { silentLog } from "../../src/core/ports/log.js";
import { ConfigError, createFileAdapter, createProfile, createVenue, type Venue } from "../../src/index.js";
import { openVenue } from "../../src/venue/start/open-venue.js";
import { CLI, cleanUp, makeFolder, run } from "../cli/process.js";
import { outcome, send } from "../surfaces/http/client.js";

const rejected = (text: string) => ({ error: `Jettson Files rejected the operation: ${text}` });
const NO_SUCH_FILE = rejected("no such file: x");
const JETTSON = ["read", "write", "list", "delete"].map((tool) => `jettson_files_${tool}`);

const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-profiles-")));
const auditFile = join(base, "audit.jsonl");
const config = {
  stateDir: "state",
  file: { roots: { scratch: { temp: true }, other: { temp: true } } },
  profiles: {
    work: { profile: "jettson", root: "scratch", prefix: "a" },
    second: { profile: "jettson", root: "scratch", prefix: "b", shell: { driver: "none" } },
  },
} as const;
afterAll(async () => {
  await cleanUp();
  rmSync(base, { recursive: true, force: true });
});

describe("over HTTP a profile", () => {
  let venue: Venue;
  let url: string;
  beforeAll(async () => {
    const audit = { file: auditFile };
    venue = await createVenue(
      { port: 0, ...config, audit, mcp: { includeAdapters: ["work", "second"] } },
      { baseDir: base },
    );
    ({ url } = await venue.listen());
  });
  afterAll(() => venue.close());

  const get = async (path: string) => (await fetch(`${url}${path}`)).json() as Promise<Record<string, unknown>>;
  const post = async (path: string, body: object) => {
    const answer = await outcome(send(`${url}${path}`, { json: body }));
    return { status: answer.status, body: answer.body as Record<string, unknown> };
  };
  const invoke = async (operation: string, input: object, more: object = {}) =>
    (await post("/api/v1/invoke", { operation, input, wait: true, ...more })).body;

  test("is operations whose output is the result, by their names and by their paths", async () => {
    const written = await invoke("work:jettson_files_write", { path: "f", content: "secret text" });
    expect(written).toMatchObject({
      ...{ status: "COMPLETE", operation: "v/ops/work/jettson_files_write" },
      ...{ input: { path: "f", content: "HIDDEN" }, output: { path: "f", bytes_written: 11 } },
    });
    expect(await invoke("v/ops/work/jettson_files_read", { path: "f" })).toMatchObject({
      output: { path: "f", content: "secret text", size_bytes: 11, truncated: false },
    });
    expect(await invoke("file:read", { root: "scratch", path: "a/f" })).toMatchObject({ status: "COMPLETE" });
  });

  test("is bound to its place: another sees nothing of it", async () => {
    expect(await invoke("second:jettson_files_list", {})).toMatchObject({ output: { entries: [] } });
    expect(await invoke("work:jettson_files_list", { root: "other" })).toMatchObject({
      output: rejected("invalid argument: Unknown field 'root'. Known fields: path"),
    });
  });

  test.each<[string, object, object, string, object]>([
    ["a missing file", { path: "x" }, {}, "NOT_FOUND", NO_SUCH_FILE],
    [
      "a path that leads out",
      { path: "../x" },
      {},
      "PATH_ESCAPES_ROOT",
      rejected("path escapes /workspace or is empty."),
    ],
    [
      "an argument that is none",
      { path: 1 },
      {},
      "INVALID_INPUT",
      rejected("invalid argument: 'path' must be a string"),
    ],
    [
      "a denial",
      { path: "x" },
      { caps: [] },
      "CAPABILITY_DENIED",
      rejected("permission denied: requires crud/read on file://scratch/…/x"),
    ],
  ])(
    "completes with an error value, and the core's code on record, for %s",
    async (_what, input, more, errorCode, output) => {
      const record = await invoke("work:jettson_files_read", input, more);
      expect(record).toMatchObject({ status: "COMPLETE", output, errorCode });
      expect(record).not.toHaveProperty("error");
      expect(await get(`/api/v1/jobs/${record["id"]}`)).toEqual(record);
      expect(await post("/api/v1/run", { operation: "work:jettson_files_read", input, ...more })).toEqual({
        ...{ status: 200, body: output },
      });
    },
  );

  test("is in the catalogue, with schemas, but for what cannot be used here", async () => {
    const listed = (await get("/api/v1/operations")) as unknown as { name: string; output: object }[];
    const own = listed.filter(({ name }) => name.startsWith("v/ops/second/"));
    expect(own.map(({ name }) => name)).toEqual(JETTSON.map((tool) => `v/ops/second/${tool}`));
    expect(await invoke("second:jettson_shell_run", { command: "id" })).toMatchObject({
      ...{ status: "COMPLETE", errorCode: "NOT_SUPPORTED" },
      output: { error: "Jettson Shell rejected the command: no sandbox available" },
    });
    const unknown = await post("/api/v1/invoke", { operation: "work:jettson_shell_run", input: { command: "id" } });
    expect(unknown.status).toBe(400);
  });

  test("is among the tools of MCP only where it is named, each instance under its own names", async () => {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
    try {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([
        ...JETTSON.map((tool) => `work_${tool}`),
        ...JETTSON.map((tool) => `second_${tool}`),
      ]);
      const { isError, content } = await client.callTool({ name: "work_jettson_files_read", arguments: { path: "x" } });
      expect([isError, content]).toEqual([true, [{ type: "text", text: JSON.stringify(NO_SUCH_FILE) }]]);
      const gone = await client.callTool({ name: "second_jettson_shell_run", arguments: { command: "id" } });
      expect(gone.isError).toBe(true);
    } finally {
      await client.close();
    }
  });

  test("is audited with the tool that was called, and counted", async () => {
    const metrics = await (await send(`${url}/metrics`, { token: venue.localToken })).text();
    expect(metrics).toMatch(
      /operation="work:jettson_files_read".*PATH_ESCAPES_ROOT|PATH_ESCAPES_ROOT.*operation="work:jettson_files_read"/,
    );
  });
});

describe("a reload", () => {
  test("says that changed profiles need a new start, and those there are go on", async () => {
    const options = { baseDir: base };
    const open = await openVenue(parseConfig({ port: 0, ...config }, options), {
      listens: true,
      env: {},
      log: silentLog,
    });
    try {
      const { second, work } = config.profiles;
      const next = parseConfig({ port: 0, ...config, profiles: { second, work: { ...work, prefix: "c" } } }, options);
      expect(await open.prepareReload(next).commit()).toEqual(["profiles.work"]);
      const { result } = open.host.run({
        ...{ operation: "work:jettson_files_list", input: {}, caller: open.host.did, context: {} },
      });
      expect(await result).toEqual({ path: ".", entries: [] });
    } finally {
      await open.close();
    }
  });
});

describe("`mcp --profile`", () => {
  let client: Client;
  let folder: string;
  beforeAll(async () => {
    folder = makeFolder({ "docs/f": "text" });
    client = new Client({ name: "test", version: "1" });
    const args = [CLI, "mcp", "--profile", "jettson", "--root", `docs=${folder}/docs`];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: folder }));
  });
  afterAll(() => client.close());

  test("serves its tools alone, under their own names, on the only root", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(JETTSON);
    for (const { inputSchema } of tools) {
      expect(Object.keys(inputSchema)).not.toEqual(expect.arrayContaining([expect.stringMatching(/Of$|^enum$|^not$/)]));
      expect(inputSchema).not.toHaveProperty("additionalProperties");
    }
    const hints = tools.map(({ annotations }) => annotations);
    expect(hints).toMatchObject([
      ...[{ readOnlyHint: true }, { idempotentHint: true }, { readOnlyHint: true }, { destructiveHint: true }],
    ]);
    // What is read, and lists, are bodies: they have no schema and stand in the content alone.
    expect(tools.map(({ outputSchema }) => outputSchema !== undefined)).toEqual([false, true, false, true]);
  });

  test("gives reads and lists as compact JSON, small answers also as structured content", async () => {
    const call = (tool: string, args: Record<string, unknown>) =>
      client.callTool({ name: `jettson_files_${tool}`, arguments: args });
    const read = await call("read", { path: "f", ucans: [] });
    const value = { path: "f", content: "text", size_bytes: 4, truncated: false };
    expect(read.content).toEqual([{ type: "text", text: JSON.stringify(value) }]);
    expect(read).not.toHaveProperty("structuredContent");
    expect(await call("write", { path: "g", content: "x" })).toMatchObject({
      ...{ structuredContent: { path: "g", bytes_written: 1 }, content: [{ text: '{"path":"g","bytes_written":1}' }] },
    });
    expect(await call("delete", { path: "g" })).toMatchObject({ structuredContent: { path: "g", deleted: true } });
    const failed = await call("delete", { path: "x" });
    expect(failed).toMatchObject({ isError: true, content: [{ type: "text", text: JSON.stringify(NO_SUCH_FILE) }] });
    expect(failed).not.toHaveProperty("structuredContent");
    await expect(client.callTool({ name: "file_read", arguments: {} })).rejects.toThrow("Unknown tool");
  });
});

describe("on the command line", () => {
  const folder = makeFolder({ "docs/f": "text", "two/f": "" });
  const call = (...args: string[]) => run(["call", ...args, "--root", "docs=docs"], { cwd: folder });

  test.concurrent("`call` prints the result on one line, and ends with 1 for a tool error", async () => {
    expect(await call("jettson:jettson_files_delete", '{"path":"x"}')).toEqual({
      ...{ status: 1, signal: null, stdout: `${JSON.stringify(NO_SUCH_FILE)}\n`, stderr: "" },
    });
    expect(await call("v/ops/jettson/jettson_files_read", '{"path":"f"}')).toMatchObject({
      ...{ status: 0, stdout: '{"path":"f","content":"text","size_bytes":4,"truncated":false}\n' },
    });
  });

  test.concurrent.each([
    [
      "a profile that there is not",
      ["--profile", "jetson", "--root", "docs=docs"],
      "Profile 'jetson' does not exist - did you mean 'jettson'? Built in: jettson, everruns. Configured: none",
    ],
    [
      "a profile like none",
      ["--profile", "x", "--root", "docs=docs"],
      "Profile 'x' does not exist. Built in: jettson, everruns.",
    ],
    [
      "one of several roots",
      ["--profile", "jettson", "--root", "docs=docs", "--root", "two=two"],
      "Profile 'jettson' does not exist: it has to be configured, since there are several roots",
    ],
  ])("`mcp` refuses %s", async (_what, args, text) => {
    const { status, stderr } = await run(["mcp", ...args], { cwd: folder });
    expect([status, stderr]).toEqual([78, expect.stringContaining(text)]);
  });

  test.concurrent("`check` shows what is configured, and refuses a root that there is not", async () => {
    writeFileSync(join(folder, "c.json5"), JSON.stringify({ ...config, stateDir: folder }));
    const shown = await run(["check", "--config", "c.json5"], { cwd: folder });
    expect(shown.stdout).toMatch(
      /Profiles\n {2}work +jettson +on scratch\/a +no shell\n {2}second +jettson +on scratch\/b +shell none/,
    );
    const profiles = { x: { profile: "jettson", root: "nowhere" } };
    writeFileSync(join(folder, "wrong.json5"), JSON.stringify({ profiles }));
    const refused = await run(["serve", "--config", "wrong.json5"], { cwd: folder });
    expect([refused.status, refused.stderr]).toEqual([78, expect.stringContaining("does not exist: nowhere")]);
  });
});

describe("in the library", () => {
  test("a profile needs a root and a profile that exist, and knows its tools", async () => {
    const files = await createFileAdapter({ roots: { r: { temp: true } } });
    try {
      expect(() => createProfile(files, { profile: "jettson", root: "s" })).toThrow(ConfigError);
      expect(() => createProfile(files, { profile: "jettson", root: "s" })).toThrow("does not exist");
      expect(() => createProfile(files, { profile: "other", root: "r" })).toThrow("does not exist");
      expect(() => createProfile(files, { profile: "jettson", root: "r", prefix: "../x" })).toThrow("Prefix '../x'");
      expect(() => createProfile({} as never, { profile: "jettson", root: "r" })).toThrow(TypeError);
      const jettson = createProfile(files, { profile: "jettson", root: "r", shell: { driver: "none" } });
      await jettson.ready;
      expect(jettson.tools.map(({ name }) => name)).toEqual(JETTSON);
      await expect(jettson.call("file:read", {})).rejects.toMatchObject({ code: "UNKNOWN_OPERATION" });
      // An error is a value like any other to whoever does not ask.
      expect(JSON.stringify(await jettson.call("jettson_files_read", { path: "x" }))).toBe(
        JSON.stringify(NO_SUCH_FILE),
      );
    } finally {
      await files.close();
    }
  });
});
