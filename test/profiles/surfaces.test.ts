import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Client } from "@modelcontextprotocol/client";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { parseConfig } from "../../src/config/load.js";
import { silentLog } from "../../src/core/ports/log.js";
import { ConfigError, createFileAdapter, createProfile, createVenue, type Venue } from "../../src/index.js";
import { openVenue } from "../../src/venue/start/open-venue.js";
import { runHere } from "../cli/in-process.js";
import { cleanUp, makeFolder } from "../cli/process.js";
import { jpeg } from "../ops/rendering/images.js";
import { outcome, send } from "../surfaces/http/client.js";
import { closeSessions, connect, mcpClient, type Session, textOf } from "../surfaces/mcp/sessions.js";
import { hashOf, whole } from "./everruns/bed.js";

afterAll(async () => {
  await closeSessions();
  await cleanUp();
});

/** Makes a call as the operator. @returns its job, which is over */
async function jobOf(venue: Venue, url: string, call: object): Promise<Record<string, unknown>> {
  const response = await send(`${url}/api/v1/invoke?wait=true`, { token: venue.localToken, json: call });
  return Object(await response.json());
}

describe("jettson", () => {
  const rejected = (text: string) => ({ error: `Jettson Files rejected the operation: ${text}` });
  const NO_SUCH_FILE = rejected("no such file: x");
  const JETTSON = ["read", "write", "list", "delete"].map((tool) => `jettson_files_${tool}`);

  const base = realpathSync(makeFolder());
  const auditFile = join(base, "audit.jsonl");
  const config = {
    stateDir: "state",
    file: { roots: { scratch: { temp: true }, other: { temp: true } } },
    profiles: {
      work: { profile: "jettson", root: "scratch", prefix: "a" },
      second: { profile: "jettson", root: "scratch", prefix: "b", shell: { driver: "none" } },
    },
  } as const;

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
      const client = await mcpClient({ url });
      try {
        const { tools } = await client.listTools();
        expect(tools.map(({ name }) => name)).toEqual([
          ...JETTSON.map((tool) => `work_${tool}`),
          ...JETTSON.map((tool) => `second_${tool}`),
        ]);
        const { isError, content } = await client.callTool({
          name: "work_jettson_files_read",
          arguments: { path: "x" },
        });
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
      const args = ["--profile", "jettson", "--root", `docs=${folder}/docs`];
      client = await mcpClient({ args, cwd: folder });
    });

    test("serves its tools alone, under their own names, on the only root", async () => {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(JETTSON);
      for (const { inputSchema } of tools) {
        expect(Object.keys(inputSchema)).not.toEqual(
          expect.arrayContaining([expect.stringMatching(/Of$|^enum$|^not$/)]),
        );
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
        ...{
          structuredContent: { path: "g", bytes_written: 1 },
          content: [{ text: '{"path":"g","bytes_written":1}' }],
        },
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
    const call = (...args: string[]) => runHere(["call", ...args, "--root", "docs=docs"], { cwd: folder });

    test("`call` prints the result on one line, and ends with 1 for a tool error", async () => {
      expect(await call("jettson:jettson_files_delete", '{"path":"x"}')).toEqual({
        ...{ status: 1, signal: null, stdout: `${JSON.stringify(NO_SUCH_FILE)}\n`, stderr: "" },
      });
      expect(await call("v/ops/jettson/jettson_files_read", '{"path":"f"}')).toMatchObject({
        ...{ status: 0, stdout: '{"path":"f","content":"text","size_bytes":4,"truncated":false}\n' },
      });
    });

    test.each([
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
      const { status, stderr } = await runHere(["mcp", ...args], { cwd: folder });
      expect([status, stderr]).toEqual([78, expect.stringContaining(text)]);
    });

    test("`check` shows what is configured, and refuses a root that there is not", async () => {
      writeFileSync(join(folder, "c.json5"), JSON.stringify({ ...config, stateDir: folder }));
      const shown = await runHere(["check", "--config", "c.json5"], { cwd: folder });
      expect(shown.stdout).toMatch(
        /Profiles\n {2}work +jettson +on scratch\/a +no shell\n {2}second +jettson +on scratch\/b +shell none/,
      );
      const profiles = { x: { profile: "jettson", root: "nowhere" } };
      writeFileSync(join(folder, "wrong.json5"), JSON.stringify({ profiles }));
      const refused = await runHere(["serve", "--config", "wrong.json5"], { cwd: folder });
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
});

describe("everruns", () => {
  const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

  describe("over MCP", () => {
    let session: Session;
    const call = (name: string, args: Record<string, unknown>) => session.call(name, args);

    beforeAll(async () => {
      const folder = makeFolder({ "files/f.txt": "alpha\n" });
      const args = ["--profile", "everruns", "--root", `r=${folder}/files`];
      session = await connect("client 2, newest protocol", { args, cwd: folder });
    });

    test("the tools stand alone, under their own names; only small answers have a schema", async () => {
      const listed = await session.list();
      expect(listed.map(({ name, outputSchema }) => [name, outputSchema !== undefined])).toEqual([
        ["read_file", false],
        ["write_file", true],
        ["edit_file", false],
        ["list_directory", false],
        ["grep_files", false],
        ["delete_file", true],
        ["stat_file", true],
      ]);
      expect(listed.every(({ inputSchema }) => !("additionalProperties" in inputSchema))).toBe(true);
      expect(session.instructions()).toContain("content_hash");
    });

    test("bodies and lists are compact JSON in one text, small answers an object too", async () => {
      const read = await call("read_file", { path: "/workspace/f.txt" });
      const content_hash = hashOf("alpha\n");
      const value = { path: "/workspace/f.txt", content: "alpha\n", encoding: "text", size_bytes: 6, content_hash };
      expect(read.content).toEqual([{ type: "text", text: JSON.stringify(value) }]);
      expect(read.structuredContent).toBeUndefined();
      for (const [tool, args] of [
        ["list_directory", {}],
        ["grep_files", { pattern: "alpha" }],
        ["edit_file", { path: "f.txt", expected_hash: content_hash, old_text: "alpha", new_text: "alpha" }],
      ] as const) {
        const answer = await call(tool, args);
        expect([answer.content.length, answer.structuredContent, answer.isError]).toEqual([1, undefined, undefined]);
        expect(JSON.stringify(JSON.parse(textOf(answer)))).toBe(textOf(answer));
      }
      const written = await call("write_file", { path: "g", content: "x" });
      expect(written.structuredContent).toEqual(JSON.parse(textOf(written)));
      const stat = await call("stat_file", { path: "none" });
      expect(stat.structuredContent).toEqual({ path: "/workspace/none", exists: false });
    });

    test("a picture is a picture", async () => {
      const path = "/workspace/p.png";
      await call("write_file", { path, content: PIXEL, encoding: "base64" });
      const { content } = await call("read_file", { path });
      const bytes = Buffer.from(PIXEL, "base64");
      expect(content).toHaveLength(2);
      expect(JSON.parse(String(content[0]?.["text"]))).toEqual({
        ...{ path, media_type: "image/png", size_bytes: bytes.length, content_hash: hashOf(bytes) },
      });
      expect(content[1]).toMatchObject({ type: "image", data: PIXEL, mimeType: "image/png" });
    });

    test("a failure is its text", async () => {
      const answer = await call("read_file", { path: "/workspace/none" });
      expect([answer.isError, answer.structuredContent]).toEqual([true, undefined]);
      expect(answer.content).toEqual([{ type: "text", text: "File not found: /workspace/none" }]);
      const missing = await call("edit_file", { path: "f.txt" });
      expect(textOf(missing)).toBe("Missing required parameter: expected_hash");
      await expect(call("bash", { command: "true" })).rejects.toThrow("Unknown tool: bash");
    });
  });

  describe("over HTTP", () => {
    let venue: Venue;
    let url = "";

    beforeAll(async () => {
      venue = await createVenue({
        ...{ port: 0, stateDir: makeFolder() },
        file: { roots: { scratch: { temp: true } } },
        profiles: {
          everruns: { profile: "everruns", root: "scratch", prefix: "session-1" },
          bare: { profile: "everruns", root: "scratch", prefix: "session-2", alias: null },
        },
      });
      ({ url } = await venue.listen());
    });
    afterAll(() => venue.close());

    const invoke = (operation: string, input: object) => jobOf(venue, url, { operation, input });

    test("a tool is an operation, and its result the output", async () => {
      const content_hash = hashOf("x");
      expect(await invoke("everruns:write_file", { path: "/workspace/f", content: "x" })).toMatchObject({
        status: "COMPLETE",
        output: { path: "/workspace/f", size_bytes: 1, created: true, content_hash },
      });
      expect(await invoke("v/ops/everruns/read_file", { path: "f" })).toMatchObject({
        output: { path: "/workspace/f", content: "x", encoding: "text", size_bytes: 1, content_hash },
      });
      expect(await invoke("bare:stat_file", { path: "/f" })).toMatchObject({ output: { path: "/f", exists: false } });
    });

    test("a failure is an output of a job that is complete, and keeps its code", async () => {
      expect(await invoke("everruns:read_file", { path: "none" })).toMatchObject({
        ...{ status: "COMPLETE", output: { error: "File not found: /workspace/none" }, errorCode: "NOT_FOUND" },
      });
      const edit = { path: "f", expected_hash: "sha256:0", old_text: "x", new_text: "y" };
      expect(await invoke("everruns:edit_file", edit)).toMatchObject({ status: "COMPLETE", errorCode: "CONFLICT" });
      expect(await invoke("everruns:edit_file", { ...edit, edits: [] })).toMatchObject({
        output: { error: "Provide either old_text/new_text or edits, not both" },
        errorCode: "INVALID_INPUT",
      });
    });
  });
});

describe("everruns 0.50", () => {
  const PDF = Buffer.from("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "latin1");
  const PICTURE = jpeg([2, 2]);
  const config = (folder: string) =>
    JSON.stringify({
      file: { roots: { r: { path: `${folder}/files` } } },
      profiles: {
        session: { profile: "everruns", root: "r", variant: "0.50", shell: { driver: "just-bash" } },
        bare: { profile: "everruns", root: "r", variant: "0.50", alias: null },
      },
    });

  describe("over MCP", () => {
    let session: Session;
    let folder = "";
    const call = (name: string, args: Record<string, unknown>) => session.call(name, args);

    beforeAll(async () => {
      folder = makeFolder({ "files/f.txt": "alpha\nbeta\n", "files/a b.pdf": PDF, "files/p": PICTURE });
      writeFileSync(`${folder}/config.json5`, config(folder));
      const args = ["--profile", "session", "--config", `${folder}/config.json5`];
      session = await connect("client 2, newest protocol", { args, cwd: folder });
    });

    test("the tools stand in order, in at most 2,000 tokens, and those that look say so", async () => {
      const listed = await session.list();
      const changing = ["write_file", "edit_file", "delete_file", "bash"];
      expect(listed.map(({ name, annotations }) => [name, annotations?.["readOnlyHint"]])).toEqual(
        [
          ...["read_file", "read_many_files", "write_file", "edit_file", "glob", "grep"],
          ...["list_directory", "grep_files", "delete_file", "stat_file", "bash"],
        ].map((name) => [name, !changing.includes(name)]),
      );
      const tokens = encode(JSON.stringify(listed)).length;
      expect(tokens).toBeGreaterThan(1000);
      expect(tokens).toBeLessThanOrEqual(2000);
    });

    test("reads, lists, searches and edits are compact JSON in one text", async () => {
      const content_hash = hashOf("alpha\nbeta\n");
      const read = await call("read_file", { path: "/workspace/f.txt" });
      const value = {
        ...{ path: "/workspace/f.txt", content: "1|alpha\n2|beta", total_lines: 2, lines_shown: { start: 1, end: 2 } },
        ...{ truncated: false, size_bytes: 11, content_hash, truncation: whole(14) },
      };
      expect(read.content).toEqual([{ type: "text", text: JSON.stringify(value) }]);
      for (const [tool, args] of [
        ["read_many_files", { paths: ["f.txt", "none"] }],
        ["list_directory", {}],
        ["glob", { pattern: "*" }],
        ["grep", { pattern: "alpha" }],
        ["grep_files", { pattern: "alpha", before_context: 1 }],
        ["edit_file", { path: "f.txt", expected_hash: content_hash, edits: [{ old_text: "beta", new_text: "beta" }] }],
        ["bash", { commands: "echo hi" }],
      ] as const) {
        const answer = await call(tool, args);
        expect([tool, answer.content.length, answer.structuredContent, answer.isError]).toEqual([
          ...[tool, 1, undefined, undefined],
        ]);
        expect(JSON.stringify(JSON.parse(textOf(answer)))).toBe(textOf(answer));
      }
      const written = await call("write_file", { path: "g", content: "x" });
      expect(written.structuredContent).toEqual(JSON.parse(textOf(written)));
    });

    test("a picture is a picture, and a PDF a resource", async () => {
      const picture = await call("read_file", { path: "p" });
      expect(JSON.parse(textOf(picture))).toEqual({
        ...{
          path: "/workspace/p",
          media_type: "image/jpeg",
          size_bytes: PICTURE.length,
          content_hash: hashOf(PICTURE),
        },
      });
      expect(picture.content[1]).toEqual({ type: "image", data: PICTURE.toString("base64"), mimeType: "image/jpeg" });
      const pdf = await call("read_file", { path: "a b.pdf" });
      expect(JSON.parse(textOf(pdf))).toMatchObject({ media_type: "application/pdf", content_hash: hashOf(PDF) });
      const uri = "file:///workspace/a%20b.pdf";
      expect(pdf.content[1]).toEqual({
        type: "resource",
        resource: { uri, mimeType: "application/pdf", blob: PDF.toString("base64") },
      });
      expect(pdf.content).toHaveLength(2);
      expect(JSON.stringify([picture, pdf])).not.toContain(folder);
    });

    test("a failure is its text", async () => {
      for (const [tool, args, text] of [
        ["read_file", { path: "none" }, "File not found: /workspace/none"],
        ["read_many_files", { paths: ["a"] }, "Parameter `paths` must contain between 2 and 10 paths"],
        ["grep", { pattern: "x", glob: "[" }, "Invalid glob: '[' is not closed: at 3"],
        [
          "bash",
          { commands: "true", credential_usage: [] },
          "Invalid parameter credential_usage: unknown field 'credential_usage'. Known fields: commands, working_dir, timeout_ms, output",
        ],
      ] as const) {
        const answer = await call(tool, args);
        expect([answer.isError, answer.content]).toEqual([true, [{ type: "text", text }]]);
      }
    });
  });

  describe("over HTTP and from the command line", () => {
    let venue: Venue;
    let url = "";
    let folder = "";

    beforeAll(async () => {
      folder = makeFolder({ "files/f.txt": "alpha\n", "files/p.pdf": PDF });
      writeFileSync(`${folder}/config.json5`, config(folder));
      venue = await createVenue({ port: 0, stateDir: makeFolder(), ...JSON.parse(config(folder)) });
      ({ url } = await venue.listen());
    });
    afterAll(() => venue.close());

    const invoke = (operation: string, input: object) => jobOf(venue, url, { operation, input });

    test("a tool is an operation, and its result the output", async () => {
      expect(await invoke("session:read_file", { path: "f.txt" })).toMatchObject({
        ...{ status: "COMPLETE", output: { content: "1|alpha", truncation: whole(7) } },
      });
      expect(await invoke("v/ops/session/read_file", { path: "p.pdf" })).toMatchObject({
        output: { document: { base64: PDF.toString("base64"), media_type: "application/pdf" } },
      });
      expect(await invoke("bare:glob", { pattern: "/*.txt" })).toMatchObject({ output: { paths: ["/f.txt"] } });
      const edit = { path: "/f.txt", expected_hash: "sha256:0", edits: [{ old_text: "none", new_text: "" }] };
      expect(await invoke("bare:edit_file", edit)).toMatchObject({
        ...{ status: "COMPLETE", errorCode: "CONFLICT", output: { error: expect.stringContaining("edits conflict") } },
      });
    });

    test("from the command line", async () => {
      const args = ["call", "session:grep", '{"pattern":"alpha"}', "--config", `${folder}/config.json5`];
      const { stdout, status } = await runHere(args, { cwd: folder });
      expect([status, JSON.parse(stdout).matches]).toEqual([
        ...[0, [{ path: "/workspace/f.txt", line_number: 1, line: "alpha" }]],
      ]);
    });
  });

  test("without an alias no description names one", async () => {
    const adapter = await createFileAdapter({ roots: { r: { temp: true } } });
    try {
      const profile = createProfile(adapter, { profile: "everruns", root: "r", variant: "0.50", alias: null });
      expect(profile.tools).toHaveLength(10);
      expect(JSON.stringify(profile.tools)).not.toContain("workspace");
      await profile.call("write_file", { path: "/d/f", content: "x" });
      expect(await profile.call("grep", { pattern: "x" })).toMatchObject({ matches: [{ path: "/d/f" }] });
      expect(await profile.call("glob", { pattern: "/d/*" })).toEqual({ paths: ["/d/f"], truncated: false });
    } finally {
      await adapter.close();
    }
  });
});
