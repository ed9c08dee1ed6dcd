import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../../src/config/load.js";
import { Aborter } from "../../../../src/core/call/scope.js";
import { parseVenueUri, venueUri } from "../../../../src/core/call/venue-uri.js";
import type { McpHost } from "../../../../src/surfaces/mcp/host.js";
import { listResources } from "../../../../src/surfaces/mcp/resources.js";
import { steadyMs, until } from "../../../until.js";
import { send } from "../../http/client.js";
import { httpRequestOf, type Message, MODERN_META, messagesIn, overStdio, type StdioWay } from "../raw.js";
import { type McpGround, openMcpGround, WAYS, type Way } from "./ways.js";

// Resources: every kind of root, over both transports, in both eras.
describe("resources", () => {
  const KINDS = ["host", "temp", "drive"] as const;
  const BYTES = Buffer.from([0x25, 0x50, 0x44, 0x46, 0x2d, 0x31, 0x0a, 0x00, 0xff]);
  const LINES = Array.from({ length: 3000 }, (_, index) => `line ${index + 1}\n`).join("");
  const TEMPLATE = "venue://{root}/{+path}";

  let ground: McpGround;
  beforeAll(async () => {
    ground = await openMcpGround({
      drives: { store: "memory" },
      mcp: { defaultReadLines: 100, maxReadBytes: 100_000 },
      auth: { public: { enabled: true, caps: [{ with: "file://temp/", can: "crud/read" }] } },
      roots: (home) => {
        mkdirSync(join(home, "host"));
        return {
          host: { path: join(home, "host"), deny: ["*.key"], description: "On the disk" },
          ...{ temp: { temp: true }, drive: { dlfs: "work" } },
        };
      },
    });
    const caller = { callerDID: ground.venue.access.did, authentication: "identity" } as const;
    const write = (root: string, path: string, content: object) =>
      ground.venue.adapter.invoke("file:write", { root, path, parents: true, ...content } as never, caller);
    for (const root of KINDS) {
      await write(root, "a b#?%.txt", { content: "hello\n" });
      await write(root, "lines.txt", { content: LINES });
      await write(root, "sub/x.pdf", { bytes: BYTES.toString("base64") });
      await write(root, "sub/deep/y.md", { content: "# y" });
      await write(root, "big.bin", { bytes: Buffer.alloc(100_001).toString("base64") });
      await write(root, "ä.ipynb", { content: '{"cells":[],"nbformat":4,"nbformat_minor":5,"metadata":{}}' });
    }
    writeFileSync(join(ground.home, "host/secret.key"), "no");
    writeFileSync(join(ground.home, "outside.txt"), "no");
    symlinkSync(join(ground.home, "outside.txt"), join(ground.home, "host/out"));
    symlinkSync("sub", join(ground.home, "host/in"));
  });
  afterAll(() => ground.close());

  const read = async (way: Way, uri: string) => {
    const { result, error } = await way.ask("resources/read", { uri });
    return { result, error };
  };

  /** The one answer for what is not there or not for the caller. */
  const missing = ({ era }: Way, uri: string) => ({
    error: { code: era === "legacy" ? -32002 : -32602, message: "Resource not found", data: { uri } },
  });

  describe.each(WAYS)("%s", (name) => {
    let way: Way;
    beforeAll(() => {
      way = ground.way(name);
    });

    test("says what it has, and no more", async () => {
      const isLegacy = name.startsWith("legacy");
      const { result } = isLegacy
        ? await way.ask("initialize", {
            ...{ protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
          })
        : await way.ask("server/discover");
      const isTold = name !== "legacy over HTTP";
      expect(result.capabilities).toEqual({
        completions: {},
        resources: isTold ? { subscribe: true, listChanged: true } : {},
        tools: isTold ? { listChanged: true } : {},
      });
    });

    test.each(KINDS)("reads what a %s root has", async (root) => {
      const uri = `venue://${root}/a%20b%23%3F%25.txt`;
      const { result } = await read(way, uri);
      expect(result.contents).toEqual([{ uri, mimeType: "text/plain", text: "hello\n" }]);

      const pdf = `venue://${root}/sub/x.pdf`;
      expect((await read(way, pdf)).result.contents).toEqual([
        { uri: pdf, mimeType: "application/pdf", blob: BYTES.toString("base64") },
      ]);

      const lines = (await read(way, `venue://${root}/lines.txt`)).result;
      expect(lines.contents[0].text).toBe(LINES.slice(0, LINES.indexOf("line 101\n")));
      expect(lines._meta["venue-files/result"]).toMatchObject({
        complete: false,
        nextLine: 101,
        totalBytes: LINES.length,
      });

      const notebook = (await read(way, `venue://${root}/%C3%A4.ipynb`)).result;
      expect(JSON.parse(notebook.contents[0].text).nbformat).toBe(4);

      const folder = `venue://${root}/sub/`;
      expect((await read(way, folder)).result.contents).toEqual([
        { uri: folder, mimeType: "text/uri-list", text: `${folder}deep/\r\n${folder}x.pdf\r\n` },
      ]);
      // Behind a link nobody knows what is there, so the slash may be missing.
      expect((await read(way, folder.slice(0, -1))).result.contents[0].text).toBe(
        `${folder}deep/\r\n${folder}x.pdf\r\n`,
      );

      const big = `venue://${root}/big.bin`;
      const { error } = await read(way, big);
      expect(error).toMatchObject({ code: -32603, data: { uri: big, errorCode: "TOO_LARGE" } });
      expect(Object.keys(error?.data ?? {}).sort()).toEqual(["errorCode", "uri"]);
    });

    test("lists the roots and what is at their top", async () => {
      const { result } = await way.ask("resources/list");
      const found = result.resources as Record<string, unknown>[];
      const roots = found.slice(0, 3);
      expect(roots.map(({ uri, name: last, title, mimeType }) => [uri, last, title, mimeType])).toEqual(
        KINDS.map((root) => [`venue://${root}/`, root, `${root}:`, "inode/directory"]),
      );
      expect(roots[0]?.["description"]).toBe("On the disk");
      const uris = found.map(({ uri }) => String(uri));
      for (const root of KINDS) expect(uris).toContain(`venue://${root}/sub/`);
      expect(uris).not.toContain("venue://host/secret.key");
      expect(uris.some((uri) => uri.includes("x.pdf"))).toBe(false);
      const file = found.find(({ uri }) => uri === "venue://temp/a%20b%23%3F%25.txt");
      expect(file).toEqual({
        ...{ uri: "venue://temp/a%20b%23%3F%25.txt", name: "a b#?%.txt", title: "temp:a b#?%.txt" },
        ...{ mimeType: "text/plain", size: 6 },
        annotations: { lastModified: expect.stringMatching(/^20\d\d-.*Z$/) },
      });
      expect(result.nextCursor).toBeUndefined();
      if (way.era === "modern") expect(result).toMatchObject({ ttlMs: 0, cacheScope: "private" });
    });

    test("lists one template", async () => {
      const { result } = await way.ask("resources/templates/list");
      expect(result.resourceTemplates).toEqual([expect.objectContaining({ uriTemplate: TEMPLATE, name: "file" })]);
      if (way.era === "modern") expect(result).toMatchObject({ ttlMs: 300_000, cacheScope: "private" });
    });

    test.each(KINDS)("completes roots, and paths in a %s root", async (root) => {
      const values = async (argument: string, value: string, args?: object) => {
        const { result, error } = await way.ask("completion/complete", {
          ref: { type: "ref/resource", uri: TEMPLATE },
          argument: { name: argument, value },
          ...(args === undefined ? {} : { context: { arguments: args } }),
        });
        return error?.code ?? result.completion;
      };
      expect(await values("root", "")).toEqual({ values: ["drive", "host", "temp"], hasMore: false });
      expect(await values("root", "t")).toEqual({ values: ["temp"], hasMore: false });
      expect(await values("path", "s", { root })).toEqual({ values: ["sub/"], hasMore: false });
      expect(await values("path", "sub/", { root })).toEqual({ values: ["sub/deep/", "sub/x.pdf"], hasMore: false });
      expect(await values("path", "sub/deep/y.md", { root })).toEqual({ values: ["sub/deep/y.md"], hasMore: false });
      for (const value of ["none/", "../", "sub/../", "./", "sub/x.pdf/", "secret", "out/", "\0/"])
        expect(await values("path", value, { root })).toEqual({ values: [], hasMore: false });
      expect(await values("path", "", { root: "none" })).toEqual({ values: [], hasMore: false });
      expect(await values("path", "")).toBe(-32602);
      expect(await values("else", "")).toBe(-32602);
    });

    test("refuses other references, cursors and shapes", async () => {
      const argument = { name: "root", value: "" };
      for (const ref of [
        { type: "ref/prompt", name: "p" },
        { type: "ref/resource", uri: "venue://host/" },
        { type: "x" },
      ])
        expect((await way.ask("completion/complete", { ref, argument })).error?.code).toBe(-32602);
      const cursorOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
      for (const cursor of [
        "x",
        "",
        ...[[0], [1, "none"], [-1], [2000], [1, 2], [1, "host", "a", "b"], {}].map(cursorOf),
      ])
        expect((await way.ask("resources/list", { cursor })).error?.code).toBe(-32602);
      expect((await way.ask("resources/read", {})).error?.code).toBe(-32602);
    });

    const HOSTILE = [
      ...["", "venue://", "venue:///a", "venue:host/lines.txt", "VENUE://host/lines.txt", "venue://host/lines.txt?x"],
      ...[
        "venue://host/lines.txt#x",
        "venue://u@host/lines.txt",
        "venue://u:p@host/lines.txt",
        "venue://host:80/lines.txt",
      ],
      ...["venue://host/./lines.txt", "venue://host/sub/../lines.txt", "venue://host/%2e%2e/outside.txt"],
      ...[
        "venue://host/sub%2Fx.pdf",
        "venue://host/sub%5Cx.pdf",
        "venue://host/sub\\x.pdf",
        "venue://host/lines.txt%00",
      ],
      ...[
        "venue://host//lines.txt",
        "venue://host/%",
        "venue://host/%ff",
        "venue://host/.venue-files/",
        "venue://host/%0a",
      ],
      ...[
        "file:///etc/passwd",
        "file://host/lines.txt",
        "test://static-text",
        "http://host/lines.txt",
        "host/lines.txt",
      ],
      ...[
        "venue://host/none",
        "venue://none/",
        "venue://none/a",
        "venue://host/lines.txt/",
        "venue://host/lines.txt/x",
      ],
      ...["venue://host/secret.key", "venue://host/out", `venue://host/${"a".repeat(300)}`, "venue://host%2Fsub/x.pdf"],
    ];
    test.each(HOSTILE)("has one answer for what is not to be had: %j", async (uri) => {
      expect(await read(way, uri)).toEqual(missing(way, uri));
    });

    test("follows links that stay inside", async () => {
      const { result } = await read(way, "venue://host/in/x.pdf");
      expect(result.contents[0].blob).toBe(BYTES.toString("base64"));
    });
  });

  describe("without rights", () => {
    test.each(["modern over HTTP", "legacy over HTTP"] as const)(
      "all else is as if it were not there, %s",
      async (name) => {
        const way = ground.way(name, "");
        for (const uri of ["venue://host/lines.txt", "venue://host/none", "venue://drive/lines.txt", "venue://none/"])
          expect(await read(way, uri)).toEqual(missing(way, uri));
        expect((await read(way, "venue://temp/lines.txt")).error).toBeUndefined();
        const uris = (await way.ask("resources/list")).result.resources.map(({ uri }: { uri: string }) => uri);
        expect(new Set(uris.map((uri: string) => uri.split("/")[2]))).toEqual(new Set(["temp"]));
        const complete = (root: string) =>
          way.ask("completion/complete", {
            ...{ ref: { type: "ref/resource", uri: TEMPLATE }, argument: { name: "path", value: "l" } },
            context: { arguments: { root } },
          });
        expect((await complete("host")).result.completion).toEqual((await complete("none")).result.completion);
        expect((await complete("temp")).result.completion.values).toEqual(["lines.txt"]);
      },
    );
  });

  test("a URI stands for one place, and is written one way", () => {
    for (const [root, path] of [
      ["docs", ""],
      ["docs", "a b/ä#?%/c.txt"],
      ["docs", "%41/100%"],
    ] as const) {
      const place = { root, segments: path === "" ? [] : path.split("/"), isDirectory: path === "" };
      expect(parseVenueUri(venueUri(place))).toEqual(place);
    }
    expect(parseVenueUri("venue://docs/sub/")).toEqual({ root: "docs", segments: ["sub"], isDirectory: true });
  });

  test("a file with a time that no date can hold is listed without one, and spoils no list", async () => {
    const entries = [1e17, 0].map((modified) => ({ name: `${modified}`, type: "file", size: 1, modified }));
    const outputs: Readonly<Record<string, object>> = {
      "file:roots": { roots: [{ name: "docs" }] },
      "file:list": { entries, total: 2, truncated: false, complete: true },
    };
    const submit: McpHost["submit"] = ({ operation }) => ({ id: "1", result: Promise.resolve(outputs[operation]) });
    const by = { host: { submit } as McpHost, era: "modern", signal: new Aborter(), memory: undefined } as const;
    const { resources } = (await listResources({ ...by, takesBytes: false }, {})) as {
      resources: { uri: string; annotations?: object }[];
    };
    expect(resources.slice(1).map(({ uri, annotations }) => [uri, annotations])).toEqual([
      ["venue://docs/100000000000000000", undefined],
      ["venue://docs/0", { lastModified: "1970-01-01T00:00:00.000Z" }],
    ]);
  });
});

// Changes: what a client is told of, over both transports; what ends that; and that it tells nothing to who has no rights.
describe("news of changes", () => {
  const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
  const UPDATED = "notifications/resources/updated";
  const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
  const ROOTS = { temp: { temp: true }, drive: { dlfs: "work" } };
  const PUBLIC = { public: { enabled: true, caps: [{ with: "file://temp/", can: "crud/read" }] } };

  let ground: McpGround;
  const ends: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    ground = await openMcpGround({
      ...{ drives: { store: "memory" }, auth: PUBLIC },
      roots: (home) => {
        mkdirSync(join(home, "host/sub"), { recursive: true });
        writeFileSync(join(home, "host/sub/b.txt"), "b");
        return { host: { path: join(home, "host") }, ...ROOTS };
      },
    });
  });
  afterEach(async () => {
    await Promise.all(ends.splice(0).map((end) => end()));
    await ground.close();
  });

  const caller = () => ({ callerDID: ground.venue.access.did, authentication: "identity" }) as never;
  const invoke = (operation: string, input: object): Promise<unknown> =>
    ground.venue.adapter.invoke(operation as never, input as never, caller());
  const write = (root: string, path: string, content = String(Math.random())) =>
    invoke("file:write", { root, path, content, parents: true });

  /** A stream of news. */
  interface Stream {
    readonly status: number;
    readonly messages: readonly Message[];
    until(isMeant: (message: Message) => boolean): Promise<Message>;
    /** Resolves when nothing more comes. */
    readonly over: Promise<void>;
    close(): Promise<void>;
  }

  const listening = (notifications: object) => ({
    id: "listen",
    method: "subscriptions/listen",
    params: { notifications },
  });

  async function listenOverHttp(notifications: object, bearer = ground.venue.access.localToken): Promise<Stream> {
    const closing = new AbortController();
    const request = { ...httpRequestOf("modern", listening(notifications)), token: bearer, signal: closing.signal };
    const response = await send(`${ground.url}/mcp`, request);
    const messages: Message[] = [];
    const looks = new Set<() => void>();
    const read = async (): Promise<void> => {
      let text = "";
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        const events = text.split("\n\n");
        text = events.pop() ?? "";
        for (const event of events) messages.push(...messagesIn(event));
        for (const look of looks) look();
      }
      messages.push(...messagesIn(text));
    };
    const over = read().catch(() => {});
    ends.push(async () => closing.abort());
    return {
      status: response.status,
      messages,
      until: untilIn(messages, looks),
      over,
      close: async () => closing.abort(),
    };
  }

  const untilIn =
    (messages: readonly Message[], looks: Set<() => void>): Stream["until"] =>
    (isMeant) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = messages.find(isMeant);
          if (found !== undefined) resolve(found);
        };
        looks.add(look);
        look();
      });

  async function listenOverStdio(notifications: object): Promise<Stream> {
    const way = overStdio(ground.venue.mcpHost(), "modern");
    ends.push(way.close);
    const { params, ...request } = listening(notifications);
    way.send({ ...request, params: { ...params, _meta: MODERN_META } });
    const over = way.until(({ id }) => id === "listen").then(() => {});
    const close = async () => way.send({ method: "notifications/cancelled", params: { requestId: "listen" } });
    return { status: 200, messages: way.messages, until: way.until, over, close };
  }

  const STREAMS = { HTTP: listenOverHttp, stdio: listenOverStdio };
  const isUpdate = (uri: string) => (message: Message) => message.method === UPDATED && message.params?.["uri"] === uri;
  const isAcknowledged = ({ method }: Message) => method === ACKNOWLEDGED;
  const updatesIn = ({ messages }: Pick<Stream, "messages">): unknown[] =>
    messages.filter(({ method }) => method === UPDATED).map(({ params }) => params?.["uri"]);
  /** Time in which whatever is to be told is told. */
  const settle = () => sleep(600);

  describe.each(Object.entries(STREAMS))("a listener over %s", (transport, listen) => {
    test.each(["host", "temp", "drive"])("hears of what comes, changes, moves and goes in a %s root", async (root) => {
      for (const path of ["there.txt", "sub/b.txt"]) await write(root, path);
      const uris = ["a.txt", "there.txt", "sub/", "new/deep/c.txt", ""].map((path) => `venue://${root}/${path}`);
      const [file = "", there = "", folder = "", deep = "", top = ""] = uris;
      const stream = await listen({ resourceSubscriptions: uris });
      const acknowledged = await stream.until(isAcknowledged);
      expect(acknowledged.params).toEqual({
        notifications: { resourceSubscriptions: uris },
        _meta: { [SUBSCRIPTION]: "listen" },
      });
      const hears = async (change: Promise<unknown>, ...expected: string[]): Promise<void> => {
        const before = stream.messages.length;
        await change;
        const heard = () => new Set(updatesIn({ messages: stream.messages.slice(before) }));
        await until(() => heard().size >= expected.length);
        await settle();
        expect(heard()).toEqual(new Set(expected));
      };
      await hears(write(root, "a.txt"), file, top);
      await hears(write(root, "a.txt"), file);
      await hears(write(root, "sub/x.txt"), folder);
      await hears(write(root, "sub/x.txt"));
      await hears(write(root, "new/deep/c.txt"), deep, top);
      await hears(invoke("file:move", { root, path: "there.txt", to: "sub/there.txt" }), there, folder, top);
      await hears(invoke("file:delete", { root, path: "new", recursive: true }), deep, top);
      for (const { params } of stream.messages.filter(({ method }) => method === UPDATED))
        expect(params).toEqual({ uri: expect.any(String), _meta: { [SUBSCRIPTION]: "listen" } });
    });

    test("hears what others do, and many changes as one", async () => {
      const uri = "venue://host/sub/b.txt";
      const stream = await listen({ resourceSubscriptions: [uri] });
      await stream.until(isAcknowledged);
      writeFileSync(join(ground.home, "host/sub/b.txt"), "others");
      await stream.until(isUpdate(uri));
      await settle();
      expect(updatesIn(stream)).toEqual([uri]);
      const begun = performance.now();
      for (let times = 0; times < 5; times += 1) await write("host", "sub/b.txt");
      // One each tenth of a second, however long the changes take.
      const windows = 2 + Math.floor((performance.now() - begun) / 100);
      await settle();
      expect(updatesIn(stream).length).toBeLessThanOrEqual(1 + windows);
    });

    test("is acknowledged what can be told, and nothing else", async () => {
      const uris = ["venue://host/none", "venue://none/a", "venue://host/.venue-files/x", "venue://host/"];
      const stream = await listen({
        ...{ promptsListChanged: true, toolsListChanged: true, resourcesListChanged: true },
        resourceSubscriptions: [...uris, "venue://host/../a", "file:///etc/passwd", "venue://host/?a", "venue://host/"],
      });
      const { params } = await stream.until(isAcknowledged);
      expect(params?.["notifications"]).toEqual({
        ...{ toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: uris },
      });
    });

    test.each([
      ["nothing", {}],
      ["prompts", { promptsListChanged: true }],
      ["no URI that is one", { resourceSubscriptions: ["venue://host/?"] }],
    ])("ends at once where it asks for %s", async (_, wanted) => {
      const stream = await listen(wanted);
      await stream.over;
      expect(stream.messages[0]).toMatchObject({ method: ACKNOWLEDGED, params: { notifications: {} } });
      expect(stream.messages[1]).toMatchObject({ id: "listen", result: { _meta: { [SUBSCRIPTION]: "listen" } } });
    });

    test("is refused more than 256 URIs", async () => {
      const stream = await listen({
        resourceSubscriptions: Array.from({ length: 257 }, (_, index) => `venue://host/${index}`),
      });
      await stream.over;
      expect(stream.messages).toEqual([expect.objectContaining({ error: expect.objectContaining({ code: -32602 }) })]);
    });

    test("is told of other roots and other tools after a reload, and of each URI", async () => {
      const uri = "venue://host/sub/b.txt";
      const all = { toolsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [uri] };
      const [stream, ofTools] = [await listen(all), await listen({ toolsListChanged: true })];
      for (const one of [stream, ofTools]) await one.until(isAcknowledged);
      const reload = async (roots: object) => {
        const file = { roots: { host: { path: join(ground.home, "host") }, ...roots } };
        const next = parseConfig({ ...ground.given, file } as never, { baseDir: ground.home, isGrant: () => true });
        await ground.venue.prepareReload(next).commit();
      };
      await reload({ ...ROOTS, more: { temp: true } });
      await stream.until(({ method }) => method === "notifications/resources/list_changed");
      await stream.until(isUpdate(uri));
      await settle();
      expect(stream.messages.map(({ method }) => method)).not.toContain("notifications/tools/list_changed");
      // With one root calls need not name it: the tools are others.
      await reload({});
      await stream.until(({ method }) => method === "notifications/tools/list_changed");
      await ofTools.until(({ method }) => method === "notifications/tools/list_changed");
      expect(updatesIn(ofTools)).toEqual([]);
      // And still hears.
      const before = stream.messages.length;
      writeFileSync(join(ground.home, "host/sub/b.txt"), "after");
      await until(() => updatesIn({ messages: stream.messages.slice(before) }).includes(uri));
    });

    test("hears nothing more once it has had enough", async () => {
      const uri = "venue://temp/a.txt";
      const stream = await listen({ resourceSubscriptions: [uri] });
      await stream.until(isAcknowledged);
      await stream.close();
      await sleep(100);
      await write("temp", "a.txt");
      await settle();
      expect(updatesIn(stream)).toEqual([]);
      if (transport === "stdio") expect(stream.messages.some(({ id }) => id === "listen")).toBe(false);
    });

    test("is answered when the venue closes", async () => {
      const stream = await listen({ resourceSubscriptions: ["venue://temp/a.txt"] });
      await stream.until(isAcknowledged);
      const closing = ground.venue.close();
      const { result } = await stream.until(({ id }) => id === "listen");
      expect(result._meta[SUBSCRIPTION]).toBe("listen");
      if (transport === "stdio")
        await stream.until(
          ({ method, params }) => method === "notifications/cancelled" && params?.["requestId"] === "listen",
        );
      await closing;
    });
  });

  describe("rights", () => {
    const issue = async (caps: object[]) =>
      (await ground.venue.host.catalogue
        .named("auth:issue")
        ?.adapter.invoke("auth:issue", { label: "agent", caps, lifetimeSeconds: 3600 }, caller())) as {
        readonly token: string;
        readonly id: string;
      };
    const revoke = (id: string) =>
      ground.venue.host.catalogue.named("auth:revoke")?.adapter.invoke("auth:revoke", { id }, caller());

    test("are judged at each delivery: others hear nothing, and learn nothing", async () => {
      const { token } = await issue([{ with: "file://host/sub/", can: "crud/read" }]);
      const uris = [
        "venue://host/sub/b.txt",
        "venue://host/a.txt",
        "venue://drive/a.txt",
        "venue://none/x",
        "venue://host/",
      ];
      const stream = await listenOverHttp({ resourceSubscriptions: uris }, token);
      const { params } = await stream.until(isAcknowledged);
      expect(params?.["notifications"]).toEqual({ resourceSubscriptions: uris });
      for (const [root, path] of [
        ["host", "a.txt"],
        ["drive", "a.txt"],
        ["host", "sub/b.txt"],
      ] as const)
        await write(root, path);
      await stream.until(isUpdate("venue://host/sub/b.txt"));
      rmSync(join(ground.home, "host/a.txt"));
      await settle();
      expect(new Set(updatesIn(stream))).toEqual(new Set(["venue://host/sub/b.txt"]));
    });

    test("that are withdrawn end a stream within two seconds, and nothing comes after", async () => {
      const { token, id } = await issue([{ with: "file://host/", can: "crud/read" }]);
      const uri = "venue://host/a.txt";
      const stream = await listenOverHttp({ resourceSubscriptions: [uri] }, token);
      await stream.until(isAcknowledged);
      await write("host", "a.txt");
      await stream.until(isUpdate(uri));
      await revoke(id);
      const heard = updatesIn(stream).length;
      await write("host", "a.txt");
      const { result } = await stream.until((message) => message.id === "listen");
      await stream.over;
      expect(result).toMatchObject({ resultType: "complete", _meta: { [SUBSCRIPTION]: "listen" } });
      expect(updatesIn(stream).length).toBe(heard);
    });

    test("of one caller are good for 64 streams, with those of the events, and a place that is free is taken", async () => {
      const { token } = await issue([{ with: "file://host/", can: "crud/read" }]);
      const ending = new AbortController();
      ends.push(async () => ending.abort());
      const events = await send(`${ground.url}/api/v1/events?topic=files:host`, { token, signal: ending.signal });
      expect(events.status).toBe(200);
      const wanted = { resourceSubscriptions: ["venue://host/a.txt"] };
      const streams = await Promise.all(Array.from({ length: 63 }, () => listenOverHttp(wanted, token)));
      expect(streams.every(({ status }) => status === 200)).toBe(true);
      const refused = await listenOverHttp(wanted, token);
      await refused.over;
      expect(refused.status).toBe(429);
      expect(refused.messages).toEqual([
        { jsonrpc: "2.0", id: "listen", error: { code: -32603, message: expect.stringContaining("Too many streams") } },
      ]);
      await streams[0]?.close();
      await until(async () => (await listenOverHttp(wanted, token)).status === 200);
    });

    test("64 streams of one caller are all there are over stdio too", async () => {
      const way = overStdio(ground.venue.mcpHost(), "modern");
      ends.push(way.close);
      const params = { notifications: { toolsListChanged: true }, _meta: MODERN_META };
      for (let id = 0; id < 65; id += 1) way.send({ id, method: "subscriptions/listen", params });
      const { error } = await way.until(({ id, method }) => id === 64 && method === undefined);
      expect(error).toMatchObject({ code: -32603 });
    });
  });

  describe("a client of before over stdio", () => {
    let way: StdioWay;
    beforeEach(() => {
      way = overStdio(ground.venue.mcpHost(), "legacy");
      ends.push(way.close);
    });

    test("subscribes and unsubscribes", async () => {
      const uris = ["venue://temp/a.txt", "venue://temp/b.txt"];
      for (const uri of uris) expect((await way.ask("resources/subscribe", { uri })).result).toEqual({});
      for (const path of ["a.txt", "b.txt"]) await write("temp", path);
      for (const uri of uris) expect((await way.until(isUpdate(uri))).params).toEqual({ uri });
      expect((await way.ask("resources/unsubscribe", { uri: uris[0] })).result).toEqual({});
      expect((await way.ask("resources/unsubscribe", { uri: "venue://temp/never" })).result).toEqual({});
      await settle();
      const before = way.messages.length;
      for (const path of ["a.txt", "b.txt"]) await write("temp", path);
      await settle();
      expect(updatesIn({ messages: way.messages.slice(before) })).toEqual([uris[1]]);
    });

    test("is told nothing by the answer, but that a URI is none", async () => {
      for (const uri of ["venue://none/x", "venue://host/none"])
        expect((await way.ask("resources/subscribe", { uri })).result).toEqual({});
      const uri = "venue://host/../x";
      expect((await way.ask("resources/subscribe", { uri })).error).toMatchObject({ code: -32002, data: { uri } });
    });

    test("has 256 at most", async () => {
      const subscribe = (index: number) => way.ask("resources/subscribe", { uri: `venue://temp/${index}` });
      await Promise.all(Array.from({ length: 256 }, (_, index) => subscribe(index)));
      expect((await subscribe(256)).error?.code).toBe(-32602);
      expect((await subscribe(255)).result).toEqual({});
      await way.ask("resources/unsubscribe", { uri: "venue://temp/0" });
      expect((await subscribe(256)).result).toEqual({});
    });
  });

  test("over HTTP a client of before has no such methods", async () => {
    const way = ground.way("legacy over HTTP");
    for (const method of ["resources/subscribe", "resources/unsubscribe", "subscriptions/listen"])
      expect((await way.ask(method, { uri: "venue://host/", notifications: {} })).error?.code).toBe(-32601);
  });

  test("a client that ends its input waits for no news", async () => {
    const way = overStdio(ground.venue.mcpHost(), "modern");
    const params = { notifications: { toolsListChanged: true }, _meta: MODERN_META };
    way.send({ id: 1, method: "subscriptions/listen", params });
    await way.until(isAcknowledged);
    expect(await steadyMs(() => way.close())).toBeLessThan(4000);
  });

  test("a client that takes no events is told so", async () => {
    const { headers, ...request } = httpRequestOf("modern", listening({ toolsListChanged: true }));
    const init = {
      ...request,
      headers: { ...headers, accept: "application/json" },
      token: ground.venue.access.localToken,
    };
    expect((await send(`${ground.url}/mcp`, init)).status).toBe(406);
  });
});
