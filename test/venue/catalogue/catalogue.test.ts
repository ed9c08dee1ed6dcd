import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Client } from "@modelcontextprotocol/client";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import type { Adapter, JsonObject, OperationMetadata } from "../../../src/core/ports/adapter.js";
import { createVenue, FileAdapterError, type PlugIn, type Venue, type VenueConfigInput } from "../../../src/index.js";
import { OPERATIONS } from "../../../src/ops/registry.js";
import { type Catalogue, createCatalogue, operationAsset } from "../../../src/venue/catalogue/catalogue.js";
import { createValues } from "../../../src/venue/catalogue/values.js";
import { readRecords } from "../../audit/records.js";
import { send } from "../../surfaces/http/client.js";
import { EVERYDAY } from "../../surfaces/mcp/everyday.js";
import { ask } from "../../surfaces/mcp/raw.js";
import { CLIENT_NAMES, closeSessions, connect, mcpClient } from "../../surfaces/mcp/sessions.js";
import { fakeAdapter } from "./fake-adapter.js";

describe("the catalogue", () => {
  const DID = "did:key:zVenue";
  const one = () => 1;
  const file = fakeAdapter({ read: one, list: one });
  const notes = fakeAdapter({ add: one }, "notes");
  /** Assets whose ids count up; `MINE` is somebody's asset that stands for `notes:add`. */
  const MINE = "f".repeat(64);
  const assets = new Map<string, JsonObject>([
    [MINE, { name: "My notes", operation: { adapter: "notes:add" } }],
    ["0".repeat(64), { name: "No operation" }],
    ["1".repeat(64), { name: "Of another venue", operation: { adapter: "paint:mix" } }],
  ]);

  function hosting(...adapters: Adapter[]): Catalogue {
    const made = createCatalogue({
      did: DID,
      registerOperation: (metadata) => {
        const id = `${assets.size}`.padStart(64, "a");
        assets.set(id, metadata);
        return id;
      },
      findAsset: (id) => {
        const metadata = assets.get(id);
        return metadata && { id, metadata };
      },
    });
    for (const adapter of adapters) made.add(adapter);
    return made;
  }

  const catalogue = hosting(file, notes);
  const assetOf = (name: string) => catalogue.named(name)?.asset ?? "";

  describe("an operation is found by", () => {
    test.each([
      "v/ops/file/read",
      "/v/ops/file/read",
      "file:read",
      "/file:read",
      `${DID}/v/ops/file/read`,
      `/${DID}/v/ops/file/read`,
    ])("%s", (reference) => {
      expect(catalogue.resolve(reference)).toMatchObject({ operation: { path: "v/ops/file/read", adapter: file } });
    });

    test("its own asset", () => {
      expect(catalogue.resolve(assetOf("notes:add"))).toEqual({ operation: catalogue.named("notes:add") });
    });

    test("an asset that stands for it, which is then told", () => {
      expect(catalogue.resolve(MINE)).toEqual({ operation: catalogue.named("notes:add"), asset: MINE });
    });

    test("its dispatch name alone", () => {
      expect(catalogue.named("notes:add")).toMatchObject({ path: "v/ops/notes/add", adapter: notes });
      expect(catalogue.named("v/ops/notes/add")).toBeUndefined();
    });
  });

  test("assets of operations are hashed when one is asked for, and those of later adapters from then on", () => {
    const before = assets.size;
    const made = hosting(file, notes);
    expect(made.resolve("file:read")?.operation.path).toBe("v/ops/file/read");
    expect(assets.size).toBe(before);
    expect(made.resolve("e".repeat(64))).toBeUndefined();
    expect(assets.size).toBe(before + 3);
    made.add(fakeAdapter({ mix: one }, "paint"));
    expect(assets.size).toBe(before + 4);
    const mixed = made.named("paint:mix");
    expect(mixed?.listing.asset).toBe(mixed?.asset);
    expect(assets.size).toBe(before + 4);
  });

  describe("no operation is found by", () => {
    test.each([
      "",
      "/",
      "read",
      "file",
      "file:",
      "file/read",
      "v/ops/file",
      "v/ops/file/",
      "v/ops/file/read/",
      "v/ops//file/read",
      "//v/ops/file/read",
      "V/OPS/FILE/READ",
      "v/ops/file:read",
      `${DID}/file:read`,
      `${DID}//v/ops/file/read`,
      "did:key:zOther/v/ops/file/read",
      "__proto__",
      "constructor",
      "file:constructor",
      "0".repeat(64),
      "1".repeat(64),
      "2".repeat(64),
    ])("%j", (reference) => {
      expect(catalogue.resolve(reference)).toBeUndefined();
    });
  });

  test("the list has every operation in the order of registration, with its schemas", () => {
    expect(catalogue.list().map((operation) => operation.path)).toEqual([
      "v/ops/file/read",
      "v/ops/file/list",
      "v/ops/notes/add",
    ]);
    expect(catalogue.list()[0]?.listing).toEqual({
      name: "v/ops/file/read",
      asset: assetOf("file:read"),
      description: "Does read",
      input: { type: "object", title: "read" },
      output: { type: "object" },
    });
  });

  test("the asset of an operation says what it is", () => {
    expect(assets.get(assetOf("file:list"))).toEqual({
      name: "Fake list",
      description: "Does list",
      operation: {
        adapter: "file:list",
        toolName: "file_list",
        input: { type: "object", title: "list" },
        output: { type: "object" },
      },
    });
  });

  test("its revision changes with every adapter", () => {
    const growing = hosting(file);
    const before = growing.revision;
    growing.add(notes);
    expect(growing.revision).not.toBe(before);
    expect(growing.adapters).toEqual([file, notes]);
  });

  describe("refuses, and adds nothing of,", () => {
    const named = (name: string) => ({ ...(fakeAdapter({ x: one }).operations[0] as OperationMetadata), name });
    test.each<[string, Adapter, string]>([
      ["a second adapter of one name", fakeAdapter({ other: one }), 'Cannot host "file": registered twice'],
      [
        "two operations of one name",
        { ...notes, name: "memo", operations: [named("memo:a"), named("memo:a")] },
        'Cannot host "memo:a": registered twice',
      ],
      [
        "an operation that is not named after its adapter",
        { ...file, name: "docs" },
        'Cannot host "file:read": the name must start with "docs:"',
      ],
      ["an adapter whose name is no plain word", { ...file, name: "my/files" }, 'Cannot host "my/files": names are'],
      [
        "an operation whose name is no plain word",
        { ...file, name: "docs", operations: [named("docs:a/b")] },
        'Cannot host "docs:a/b": names are',
      ],
    ])("%s", (_what, adapter, text) => {
      const growing = hosting(file);
      expect(() => growing.add(adapter)).toThrow(text);
      expect(growing.adapters).toEqual([file]);
      expect(growing.list()).toHaveLength(2);
    });
  });
});

describe("callers over MCP", () => {
  let base: string;
  let venue: Venue;
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
    mkdirSync(join(base, "docs"));
    writeFileSync(join(base, "docs/a.txt"), "alpha");
  });
  afterEach(async () => {
    await closeSessions();
    await venue.close();
    rmSync(base, { recursive: true, force: true });
  });

  const dice: PlugIn = {
    name: "dice",
    description: "Rolls dice.",
    operations: [{ name: "dice:roll", description: "Rolls.", annotations: { readOnlyHint: true } }],
    invoke: async (_operation, _input, { callerDID }) => ({ points: 4, callerDID }),
  };

  async function connect(config: VenueConfigInput = {}, token?: (venue: Venue) => string | undefined): Promise<Client> {
    venue = await createVenue(
      { port: 0, stateDir: "state", file: { roots: { docs: "docs" } }, ...config },
      { baseDir: base },
    );
    venue.register(dice);
    const { url } = await venue.listen();
    return mcpClient({ url, token: token?.(venue) });
  }

  const toolsOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
  const write = { name: "file_write", arguments: { root: "docs", path: "b.txt", content: "b" } };

  describe("over MCP", () => {
    test("a caller without credentials has the rights of one", async () => {
      const client = await connect();
      expect(await client.callTool(write)).toMatchObject({
        isError: true,
        _meta: { "venue-files/error": { errorCode: "CAPABILITY_DENIED" } },
      });
      expect(await client.callTool({ name: "dice_roll", arguments: {} })).toMatchObject({
        structuredContent: { points: 4, callerDID: `${venue.did}:public` },
      });
    });

    test("the local token makes the operator, and the call a job of theirs", async () => {
      const client = await connect({}, ({ localToken }) => localToken);
      const { structuredContent, _meta } = await client.callTool(write);
      expect(structuredContent).toMatchObject({ written: 1, created: true });
      const job = await send(`${venue.url}/api/v1/jobs/${_meta?.["venue-files/job"]}`, { token: venue.localToken });
      expect(await job.json()).toMatchObject({ status: "COMPLETE", caller: venue.did, input: { content: "HIDDEN" } });
    });

    test("the only root may be left out: the answer, the job and the audit record name it", async () => {
      const client = await connect({ audit: { file: "audit.jsonl" } }, ({ localToken }) => localToken);
      expect(client.getInstructions()).toContain("one root");
      const { structuredContent, _meta } = await client.callTool({ name: "file_stat", arguments: { path: "a.txt" } });
      expect(structuredContent).toMatchObject({ exists: true });
      expect(_meta).toMatchObject({ "venue-files/root": "docs" });
      const job = await send(`${venue.url}/api/v1/jobs/${_meta?.["venue-files/job"]}`, { token: venue.localToken });
      expect(await job.json()).toMatchObject({ input: { root: "docs", path: "a.txt" } });
      await venue.close();
      expect(readRecords(join(base, "audit.jsonl")).at(-1)).toMatchObject({
        resource: "file://docs/a.txt",
        outcome: "OK",
      });
    });

    test("a root is required where there are two, and both are named to a caller that may read them", async () => {
      const client = await connect({ file: { roots: { docs: "docs", more: { temp: true } } } });
      expect(client.getInstructions()).toContain("file_roots, then file_tree");
      const { content, _meta } = await client.callTool({ name: "file_stat", arguments: { path: "a.txt" } });
      expect(content).toMatchObject([{ text: "'root' is required. Configured: [docs, more] [INVALID_INPUT]" }]);
      expect(_meta).not.toHaveProperty("venue-files/root");
    });

    test("a wrong token is refused before anything is said", async () => {
      await expect(connect({}, () => "wrong")).rejects.toThrow();
    });
  });

  describe("the tools offered", () => {
    test("are those of the files and of every adapter that is registered", async () => {
      const tools = await toolsOf(await connect());
      expect(tools).toHaveLength(EVERYDAY.length + 1);
      expect(tools).toContain("dice_roll");
    });

    test.each<[string, NonNullable<Exclude<VenueConfigInput["mcp"], false>>, string[]]>([
      ["of the adapters that are named", { includeAdapters: ["dice"] }, ["dice_roll"]],
      ["below the paths that are named", { includePathPrefixes: ["v/ops/file/r"] }, ["file_roots", "file_read"]],
      ["of neither", { includeAdapters: ["dice"], includePathPrefixes: ["v/ops/file/"] }, []],
    ])("are those %s", async (_what, mcp, expected) => {
      expect(await toolsOf(await connect({ mcp }))).toEqual(expected);
    });

    test("are only those that look where no root can be written", async () => {
      const file = { roots: { docs: { path: "docs", readOnly: true } } };
      expect(await toolsOf(await connect({ file }))).toEqual([
        ...["file_roots", "file_list", "file_tree", "file_read", "file_stat", "file_glob", "file_grep"],
        "dice_roll",
      ]);
    });
  });

  test("the server says of itself what the configuration says", async () => {
    const client = await connect({ name: "library", mcp: { serverInfo: { title: "The library", version: "7" } } });
    expect(client.getServerVersion()).toMatchObject({ name: "library", title: "The library", version: "7" });
  });
});

describe("a host of MCP", () => {
  let base: string;
  let venue: Venue;
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "venue-mcp-host-")));
  });
  afterEach(async () => {
    await venue.close();
    rmSync(base, { recursive: true, force: true });
  });

  async function toolsOf(mcp: Exclude<VenueConfigInput["mcp"], false>): Promise<string[]> {
    venue = await createVenue({ port: 0, stateDir: "state", ...(mcp === undefined ? {} : { mcp }) }, { baseDir: base });
    const { url } = await venue.listen();
    const { result } = await ask(url, { method: "tools/list" });
    return result.tools.map(({ name }: { name: string }) => name);
  }

  test("tools about tokens and callers are offered only where they are named", async () => {
    const tools = await toolsOf(undefined);
    expect(tools).toEqual(EVERYDAY);
    expect(tools.every((name) => name.startsWith("file_"))).toBe(true);
  });

  test.each<[readonly string[], readonly string[]]>([
    [["auth"], ["auth_whoami", "auth_issue", "auth_list", "auth_revoke"]],
    [["ucan"], ["ucan_issue", "ucan_verify", "ucan_revoke"]],
  ])("tools of %j alone are offered where that is all that is named", async (includeAdapters, expected) => {
    expect((await toolsOf({ includeAdapters })).sort()).toEqual([...expected].sort());
  });

  test("tools about tokens are offered beside those of files where both are named", async () => {
    const tools = await toolsOf({ includeAdapters: ["file", "auth"] });
    expect(tools).toHaveLength(EVERYDAY.length + 4);
    expect(tools).toContain("auth_whoami");
  });
});

describe("adapters of a host", () => {
  const cyclic = (): object => {
    const one: Record<string, unknown> = { size: 1 };
    one["self"] = one;
    return one;
  };

  /** Throws at every look at it. */
  const hostile = (): object => {
    const refuse = (): never => {
      throw new Error("no look");
    };
    return new Proxy(
      {},
      { get: refuse, getPrototypeOf: refuse, has: refuse, ownKeys: refuse, getOwnPropertyDescriptor: refuse },
    );
  };

  /** As JavaScript calls it, which knows no types. */
  const loose = (...args: readonly unknown[]): FileAdapterError => Reflect.construct(FileAdapterError, args);

  const throws: Readonly<Record<string, () => unknown>> = {
    noData: () => loose("NOT_FOUND", "text"),
    nullData: () => loose("NOT_FOUND", "text", null),
    textData: () => loose("NOT_FOUND", "text", "data"),
    cyclicData: () => loose("NOT_FOUND", "text", cyclic()),
    hostileData: () => loose("NOT_FOUND", "text", hostile()),
    largeData: () => loose("NOT_FOUND", "text", { size: 2n ** 70n }),
    noCode: () => loose(undefined, "text"),
    noText: () => loose("NOT_FOUND"),
    hostile,
    hostileFault: () => new Proxy(loose("NOT_FOUND", "text"), {}),
    hostileCode: () => Object.defineProperty(loose("NOT_FOUND", "text"), "code", { get: () => hostile() }),
    text: () => "text",
    nothing: () => undefined,
    null: () => null,
    bigint: () => 1n,
    symbol: () => Symbol("one"),
    cyclic,
    error: () => Object.assign(new Error("secret"), { cause: cyclic() }),
  };
  const told: ReadonlySet<string> = new Set([
    "noData",
    "nullData",
    "textData",
    "cyclicData",
    "hostileData",
    "largeData",
  ]);

  const outputs: Readonly<Record<string, { readonly output: unknown; readonly json: unknown }>> = {
    list: { output: [1, 2], json: [1, 2] },
    text: { output: "text", json: "text" },
    number: { output: 3, json: 3 },
    no: { output: false, json: false },
    null: { output: null, json: null },
    nothing: { output: undefined, json: null },
    function: { output: () => 1, json: null },
    date: { output: new Date(0), json: "1970-01-01T00:00:00.000Z" },
    large: { output: { size: 2n ** 60n }, json: { size: 2 ** 60 } },
    largeList: { output: [2n ** 60n], json: [2 ** 60] },
    object: { output: { a: { b: [] } }, json: { a: { b: [] } } },
  };
  const unwritable: Readonly<Record<string, () => unknown>> = { cyclic, hostile };

  const operationOf = (name: string) => ({ name, description: `Does ${name}` });
  let venue: Venue;
  let url: string;

  beforeAll(async () => {
    venue = await createVenue({
      port: 0,
      stateDir: false,
      auth: { public: { enabled: true } },
      mcp: { includeAdapters: ["plug"] },
    });
    venue.register({
      name: "plug",
      description: "Misbehaves",
      operations: [
        ...Object.keys(throws).map((name) => operationOf(`plug:throw-${name}`)),
        ...Object.keys(outputs).map((name) => operationOf(`plug:give-${name}`)),
        ...Object.keys(unwritable).map((name) => operationOf(`plug:give-${name}`)),
        { ...operationOf("plug:declared"), output: { type: "array", items: { type: "number" } } },
        { ...operationOf("plug:either"), output: { anyOf: [{ type: "array" }, { type: "object" }] } },
      ],
      invoke: async (operation) => {
        const [, kind, name = ""] = /^plug:(throw|give)-(.*)$/.exec(operation) ?? [];
        if (kind === "throw") throw throws[name]?.();
        if (kind === "give") return name in unwritable ? unwritable[name]?.() : outputs[name]?.output;
        return [1];
      },
    });
    ({ url } = await venue.listen());
  });
  afterAll(async () => {
    await closeSessions();
    await venue.close();
  });

  const post = (path: string, operation: string): Promise<Response> =>
    send(`${url}/api/v1/${path}`, { json: { operation, input: {}, wait: true } });

  const run = async (operation: string): Promise<unknown> => (await post("run", operation)).json();

  describe("a job ends, whatever its adapter throws", () => {
    test.each(Object.keys(throws))("%s", async (name) => {
      const started = await post("invoke", `plug:throw-${name}`);
      expect(started.status).toBe(201);
      const code = told.has(name) ? "NOT_FOUND" : "INTERNAL";
      expect(await started.json()).toMatchObject({ status: "FAILED", errorCode: code });
      const answer = await run(`plug:throw-${name}`);
      expect(answer).toMatchObject({ errorCode: code });
      expect(JSON.stringify(answer)).not.toContain("secret");
    });

    test.each(Object.keys(unwritable))("or gives what cannot be written: %s", async (name) => {
      expect(await run(`plug:give-${name}`)).toMatchObject({ errorCode: "INTERNAL" });
      const listed = (await (await post("invoke", `plug:give-${name}`)).json()) as object;
      expect(listed).toMatchObject({ status: "FAILED", errorCode: "INTERNAL" });
    });

    test("and keeps the text and what can be written of the data", async () => {
      expect(await run("plug:throw-largeData")).toEqual({
        error: "text",
        errorCode: "NOT_FOUND",
        errorData: { size: 2 ** 70 },
      });
    });
  });

  test.each(Object.entries(outputs))("an output that is %s is given as it is over HTTP", async (name, { json }) => {
    expect(await run(`plug:give-${name}`)).toEqual(json);
  });

  describe.each(CLIENT_NAMES)("over MCP, to %s,", (client) => {
    test("every output comes as an object and as text", async () => {
      const session = await connect(client, { url });
      for (const tool of await session.list()) expect(tool.outputSchema).toMatchObject({ type: "object" });
      for (const [name, { json }] of Object.entries(outputs)) {
        const answer = await session.call(`plug_give-${name}`);
        const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
        expect([name, answer.isError ?? false, answer.structuredContent]).toEqual([
          name,
          false,
          isObject ? json : { result: json },
        ]);
        expect(JSON.parse(String(answer.content[0]?.["text"]))).toEqual(json);
      }
      expect((await session.call("plug_declared")).structuredContent).toEqual({ result: [1] });
      expect((await session.call("plug_either")).structuredContent).toEqual({ result: [1] });
    });

    test("every failure is told", async () => {
      const session = await connect(client, { url });
      for (const name of [...Object.keys(throws).map((one) => `throw-${one}`), "give-cyclic", "give-hostile"]) {
        const { isError, _meta } = await session.call(`plug_${name}`);
        const errorCode = told.has(name.slice("throw-".length)) ? "NOT_FOUND" : "INTERNAL";
        expect([name, isError, _meta?.["venue-files/error"]]).toMatchObject([name, true, { errorCode }]);
      }
    });
  });
});

const FACTS = {
  did: "did:key:zVenue",
  name: "test",
  version: "1.2.3",
  started: 1_790_000_000_000,
  protocols: ["http"],
};

const noop = () => ({});

interface Skill {
  readonly content: { readonly contentType: string; readonly inline: string };
  readonly skill: { readonly tools: readonly string[] };
}

describe("the tree of values", () => {
  /** The values of a venue that hosts these, and its catalogue. */
  function hosting(...adapters: Adapter[]) {
    const catalogue = createCatalogue({
      did: FACTS.did,
      registerOperation: () => "0".repeat(64),
      findAsset: () => undefined,
    });
    for (const adapter of adapters) catalogue.add(adapter);
    const values = createValues({
      ...FACTS,
      adapters: () => catalogue.adapters,
      operations: () => catalogue.list(),
      revision: () => catalogue.revision,
      url: () => "http://localhost:8080",
      servesDav: true,
    });
    return { values, catalogue };
  }

  test("says who the venue is, which adapters it has and what they can do", () => {
    const file = fakeAdapter({ read: noop, walk: noop });
    const { values } = hosting(file, fakeAdapter({}, "idle"));
    const [read, walk] = file.operations.map(operationAsset);
    expect(values()).toEqual({
      v: {
        info: {
          ...FACTS,
          url: "http://localhost:8080",
          adapters: {
            file: { name: "file", description: "A fake", operations: ["v/ops/file/read", "v/ops/file/walk"] },
            idle: { name: "idle", description: "A fake", operations: [] },
            documents: {
              supported: ["pdf", "docx", "xlsx", "pptx", "odt", "ods", "html", "xhtml", "ipynb", "text"],
              maxChars: 1_000_000,
            },
          },
        },
        ops: { file: { read, walk }, idle: {} },
      },
    });
  });

  test("says where the drives can be mounted", () => {
    const { values } = hosting(fakeAdapter({}, "dlfs"));
    const url = "http://localhost:8080/dlfs/";
    const webdav = { enabled: true, url, path: "/dlfs/", windows: "\\\\localhost@8080\\DavWWWRoot\\dlfs" };
    expect(values()).toMatchObject({ v: { info: { adapters: { dlfs: { webdav } } } } });
  });

  test("has a skill for files that names what is offered, and in few tokens", () => {
    const ofFiles = (names: readonly string[]) =>
      fakeAdapter(Object.fromEntries(names.map((name) => [name, noop])), "file");
    const all = hosting(ofFiles(OPERATIONS.map(({ name }) => name)), fakeAdapter({ "list-drives": noop }, "dlfs"));
    const { skills } = (all.values() as { v: { skills: { files: Skill; data: object } } }).v;
    expect(skills.data).toEqual({ files: skills.files });
    expect(skills.files.content.contentType).toBe("text/markdown");
    expect(encode(skills.files.content.inline).length).toBeLessThanOrEqual(900);
    const few = hosting(ofFiles(["roots", "read"])).values() as { v: { skills: { files: Skill } } };
    expect(few.v.skills.files.skill.tools).toEqual(["v/ops/file/roots", "v/ops/file/read"]);
    for (const { files, offered } of [
      { files: skills.files, offered: all.catalogue.list().map(({ path }) => path) },
      { files: few.v.skills.files, offered: ["v/ops/file/roots", "v/ops/file/read"] },
    ]) {
      for (const [, adapter, name] of files.content.inline.matchAll(/`(file|dlfs):([\w-]+)`/g)) {
        expect(offered).toContain(`v/ops/${adapter}/${name}`);
      }
    }
  });

  test("is JSON and nothing else", () => {
    const tree = hosting(fakeAdapter({ read: noop })).values();
    expect(JSON.parse(JSON.stringify(tree))).toEqual(tree);
  });

  test("holds adapters whose names mean something to JavaScript", () => {
    const { values } = hosting(fakeAdapter({ valueof: noop }, "constructor"));
    expect(JSON.stringify(values())).toContain('"ops":{"constructor":{"valueof":{"name":"Fake valueof"');
  });

  test("is made once for each state of the catalogue", () => {
    const { values, catalogue } = hosting(fakeAdapter({ read: noop }));
    const before = values();
    expect(values()).toBe(before);
    catalogue.add(fakeAdapter({ go: noop }, "late"));
    expect(values()).not.toBe(before);
    expect(values()).toMatchObject({ v: { info: { adapters: { late: { operations: ["v/ops/late/go"] } } } } });
    expect(values()).toBe(values());
  });
});

describe("the asset of an operation", () => {
  test("says how it is called and what it takes and gives", () => {
    const [metadata] = fakeAdapter({ read: noop }).operations;
    expect(metadata && operationAsset(metadata)).toEqual({
      name: "Fake read",
      description: "Does read",
      operation: {
        adapter: "file:read",
        toolName: "file_read",
        input: { type: "object", title: "read" },
        output: { type: "object" },
      },
    });
  });
});
