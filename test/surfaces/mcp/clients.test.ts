import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { serveHere } from "../../cli/in-process.js";
import { cleanUp, makeFolder, tempRootsIn } from "../../cli/process.js";
import { png } from "../../ops/rendering/images.js";
import { until } from "../../until.js";
import { EVERYDAY } from "./everyday.js";
import { rawHere } from "./here.js";
import { linesOf, type RawClient, startRaw, toolCall } from "./raw.js";
import {
  type Answer,
  CLIENT_NAMES,
  type ClientName,
  closeSessions,
  connect,
  MODERN,
  mcpClient,
  mcpClient1,
  restOf,
  type Session,
  textOf,
} from "./sessions.js";

afterAll(async () => {
  await closeSessions();
  await cleanUp();
});

describe("official clients", () => {
  let served: Awaited<ReturnType<typeof serveHere>>;
  beforeAll(async () => {
    served = await serveHere([]);
  });

  const TOOLS = EVERYDAY.join(" ");

  const combinations = CLIENT_NAMES.flatMap((client) =>
    (["stdio", "HTTP"] as const).map((transport): [ClientName, "stdio" | "HTTP"] => [client, transport]),
  );

  describe.each(combinations)("%s over %s", (client, transport) => {
    let session: Session;
    const folder = `${client} ${transport}`;
    const place = { root: "tmp", path: `${folder}/a.txt` };
    /** Official clients check structured content against the schema that was listed. */
    const small = async (name: string, args: Record<string, unknown>) => {
      const answer = await session.call(name, args);
      expect(answer.isError ?? false).toBe(false);
      expect(JSON.parse(textOf(answer))).toEqual(answer.structuredContent);
      expect(answer.content).toHaveLength(1);
      return answer.structuredContent;
    };
    const body = async (name: string, args: Record<string, unknown>) => {
      const answer = await session.call(name, args);
      expect(answer.isError ?? false).toBe(false);
      expect(answer).not.toHaveProperty("structuredContent");
      return textOf(answer);
    };

    beforeAll(async () => {
      session = await connect(client, transport === "stdio" ? { args: [] } : { url: served.url });
    });

    test("learns who serves", () => {
      expect(session.serverVersion()).toMatchObject({ name: "venue-files", version: expect.any(String) });
      expect(session.instructions()).toContain("file_roots");
    });

    test("lists the tools", async () => {
      expect((await session.list()).map(({ name }) => name).join(" ")).toBe(TOOLS);
    });

    test("uses the tools", async () => {
      expect(await small("file_roots", {})).toMatchObject({ roots: [{ name: "tmp", kind: "temp", readOnly: false }] });
      expect(await small("file_mkdir", { root: "tmp", path: folder })).toEqual({ created: true, path: folder });
      expect(await small("file_write", { ...place, content: "one\n" })).toMatchObject({ written: 4, created: true });
      expect(await small("file_append", { ...place, bytes: "dHdvCg==" })).toMatchObject({
        appended: 4,
        created: false,
      });
      expect(await body("file_edit", { ...place, oldText: "one", newText: "1" })).toContain("-one\n+1\n two\n");
      expect(await body("file_edit", { ...place, edits: [{ oldText: "1", newText: "one" }] })).toContain("+one\n");
      expect(await body("file_read", place)).toBe("one\ntwo\n");
      expect(await small("file_stat", place)).toMatchObject({
        exists: true,
        type: "file",
        size: 8,
        mime: "text/plain",
      });
      expect(JSON.parse(await body("file_list", { root: "tmp", path: folder, format: "json" }))).toEqual({
        entries: [{ name: "a.txt", type: "file", size: 8, modified: expect.any(Number) }],
        total: 1,
        truncated: false,
        complete: true,
      });
      expect(await body("file_tree", { root: "tmp", path: folder, info: "size" })).toBe(
        `tmp/${folder}/\n\ta.txt (8 B)\n`,
      );
      expect(await small("file_delete", { root: "tmp", path: folder, recursive: true })).toEqual({
        deleted: true,
        existed: true,
      });
      expect(await small("file_stat", place)).toEqual({ exists: false });
    });

    test.each([
      ["a body", "file_read", { root: "tmp", path: "nope" }, "Not found: tmp:nope [NOT_FOUND]", "NOT_FOUND"],
      ["a small answer", "file_stat", { root: "tmp" }, "'path' is required [INVALID_INPUT]", "INVALID_INPUT"],
    ])("is told of a failure, instead of %s", async (_name, tool, args, text, errorCode) => {
      const answer = await session.call(tool, args);
      expect(answer).toMatchObject({ isError: true, content: [{ type: "text", text }] });
      expect(answer).not.toHaveProperty("structuredContent");
      expect(answer._meta).toMatchObject({ "venue-files/error": { errorCode, errorData: expect.any(Object) } });
    });

    test("is told of an unknown tool by the protocol", async () => {
      await expect(session.call("file_nope")).rejects.toMatchObject({
        code: -32602,
        message: expect.stringMatching(/Unknown tool: file_nope$/),
      });
    });
  });

  test("serve has said nothing on standard error meanwhile", () => {
    expect(served.stderr()).toBe("");
  });
});

// Official clients of both generations list, read, complete and listen.
const TEMPLATE = "venue://{root}/{+path}";

/** What both generations of clients can do. */
type AnyClient = Pick<
  Awaited<ReturnType<typeof mcpClient1>>,
  "listResources" | "listResourceTemplates" | "readResource" | "complete"
>;

const overStdio = (folder: string) => ({ args: ["--root", `docs=${folder}`] });
const overHttp = (folder: string) => serveHere(["--root", `docs=${folder}`]);

async function expectResources(client: AnyClient, folder: string): Promise<void> {
  const { resources } = await client.listResources();
  expect(resources.map(({ uri }) => uri)).toEqual(["venue://docs/", "venue://docs/a.txt", "venue://docs/sub/"]);
  const { resourceTemplates } = await client.listResourceTemplates();
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([TEMPLATE]);
  const { contents } = await client.readResource({ uri: "venue://docs/a.txt" });
  expect(contents).toEqual([{ uri: "venue://docs/a.txt", mimeType: "text/plain", text: "a" }]);
  const { completion } = await client.complete({
    ref: { type: "ref/resource", uri: TEMPLATE },
    argument: { name: "path", value: "s" },
    context: { arguments: { root: "docs" } },
  });
  expect(completion.values).toEqual(["sub/"]);
  await expect(client.readResource({ uri: "venue://docs/none" })).rejects.toThrow("Resource not found");
  writeFileSync(join(folder, "unseen.txt"), "");
}

const folderOf = (): string => makeFolder({ "a.txt": "a", "sub/b.txt": "b" });

test.each([
  ["client 2, newest protocol, over stdio", overStdio],
  ["client 2, newest protocol, over HTTP", overHttp],
])("%s", async (_, open) => {
  const folder = folderOf();
  const client = await mcpClient(await open(folder), MODERN);
  await expectResources(client as never, folder);
  const updates: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updates.push(params.uri));
  const { honoredFilter, close, closed } = await client.listen({
    ...{ toolsListChanged: true, resourceSubscriptions: ["venue://docs/a.txt", "file:///x"] },
  });
  expect(honoredFilter).toEqual({ toolsListChanged: true, resourceSubscriptions: ["venue://docs/a.txt"] });
  writeFileSync(join(folder, "a.txt"), "new");
  await until(() => updates.length > 0);
  expect(updates).toEqual(["venue://docs/a.txt"]);
  expect((await client.readResource({ uri: "venue://docs/a.txt" })).contents[0]).toMatchObject({ text: "new" });
  await close();
  expect(await closed).toBe("local");
});

test.each([
  ["client 2, protocol of 2025, over stdio", overStdio],
  ["client 2, protocol of 2025, over HTTP", overHttp],
])("%s", async (_, open) => {
  const folder = folderOf();
  const client = await mcpClient(await open(folder));
  await expectResources(client as never, folder);
});

test("client 1 over HTTP", async () => {
  const folder = folderOf();
  const client = await mcpClient1(await overHttp(folder));
  expect(client.getServerCapabilities()).toEqual({ completions: {}, resources: {}, tools: {} });
  await expectResources(client, folder);
});

test("client 1 over stdio, which subscribes", async () => {
  const folder = folderOf();
  const client = await mcpClient1(overStdio(folder));
  await expectResources(client, folder);
  const updates: string[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updates.push(params.uri));
  await client.subscribeResource({ uri: "venue://docs/a.txt" });
  writeFileSync(join(folder, "a.txt"), "others");
  await until(() => updates.length > 0);
  expect(updates).toEqual(["venue://docs/a.txt"]);
  await client.unsubscribeResource({ uri: "venue://docs/a.txt" });
});

const MIB = 1_048_576;
const lines = (count: number, text: string) => Array.from({ length: count }, (_, i) => `${i} ${text}\n`).join("");

const FILES = {
  "long.txt": lines(5000, "an ordinary line of forty characters ☃"),
  "many.txt": lines(3000, "."),
  "one-line.txt": "☃".repeat(50_000),
  "crlf.txt": "line\r\n".repeat(20_000),
  "big.txt": lines(50_000, "0123456789 0123456789"),
  "big.json": JSON.stringify({ text: "x".repeat(100_000) }),
  "huge.json": JSON.stringify({ text: "x".repeat(MIB) }),
  "bytes.bin": Buffer.alloc(200_000, "\0\u00ff"),
  "huge.bin": Buffer.alloc(MIB + 1),
  "exact.txt": `${"x".repeat(65_535)}\n`,
};
const folder = makeFolder(FILES);

async function reader(args: readonly string[]): Promise<(path: string, more?: object) => Promise<Answer>> {
  const raw = await rawHere([...args, "--root", `r=${folder}`], { cwd: folder });
  return async (path, more = {}) => (await raw.call("file_read", { root: "r", path, ...more })).result;
}

const NOTE =
  /^Cut: (?:lines \d+-\d+|bytes \d+-\d+ of \d+)\. Go on with (line|offset): (\d+)(?:, (limit|length): (\d+))?(?:\. etag [a-z2-7]{8})?$/;
const ETAG = /^etag [a-z2-7]{8}$/;

describe("by default", () => {
  let read: Awaited<ReturnType<typeof reader>>;
  beforeAll(async () => {
    read = await reader([]);
  });

  test("long text is cut after the last whole line of 65,536 bytes, and says so in one line", async () => {
    const answer = await read("long.txt");
    const text = textOf(answer);
    const whole = FILES["long.txt"];
    expect(whole.startsWith(text)).toBe(true);
    expect(text.endsWith("\n")).toBe(true);
    const end = Buffer.byteLength(text);
    const nextLine = Buffer.byteLength(whole.slice(text.length).split("\n")[0] ?? "") + 1;
    expect(end).toBeLessThanOrEqual(65_536);
    expect(end + nextLine).toBeGreaterThan(65_536);
    const size = Buffer.byteLength(whole);
    expect(answer.content).toHaveLength(2);
    const endLine = text.split("\n").length - 1;
    expect(textOf(answer, 1)).toBe(`Cut: lines 1-${endLine}. Go on with line: ${endLine + 1}`);
    expect(restOf(answer)).toEqual({
      ...{ encoding: "utf-8", size, mime: "text/plain", truncated: true, complete: false, reason: "bytes" },
      ...{ startLine: 1, endLine, nextLine: endLine + 1, offset: 0, length: end, eof: false },
      ...{ nextOffset: end, totalBytes: size },
    });
  });

  test("text of many lines is cut after 2,000", async () => {
    expect(textOf(await read("many.txt"))).toBe(lines(2000, "."));
  });

  test("a line that alone is too long is cut at a whole code point", async () => {
    expect(textOf(await read("one-line.txt"))).toBe("☃".repeat(Math.floor(65_536 / 3)));
  });

  test("text of exactly the limit is not cut", async () => {
    const answer = await read("exact.txt");
    expect(textOf(answer)).toBe(FILES["exact.txt"]);
    expect(textOf(answer, 1)).toMatch(ETAG);
  });

  test("a range as wide as asked for with maxBytes is not cut, and has no note", async () => {
    const answer = await read("big.txt", { offset: 10, length: 500_000, maxBytes: 500_000 });
    expect(textOf(answer)).toBe(FILES["big.txt"].slice(10, 500_010));
    expect(answer.content).toHaveLength(1);
  });

  test.each([
    ...[{ offset: 7 }, { line: 2 }, { offset: 10, length: 500_000 }, { line: 3, limit: 40_000 }],
    ...[{ head: 40_000 }, { line: 1, limit: 50_000, lineNumbers: true }],
  ])("a range is cut as the whole file is: %j", async (more) => {
    const answer = await read("big.txt", more);
    const text = textOf(answer);
    expect(FILES["big.txt"]).toContain(text.replace(/^\d+\t/gm, ""));
    expect(text.length).toBeGreaterThan(32_768);
    expect(text.length).toBeLessThanOrEqual(65_536);
    expect(textOf(answer, 1)).toMatch(NOTE);
  });

  test("the end of a file is cut before it", async () => {
    for (const more of [{ tail: 50_000 }, { tail: 49_000, lineNumbers: true }]) {
      const answer = await read("big.txt", more);
      const text = textOf(answer);
      expect(FILES["big.txt"].endsWith(text.replace(/^\d+\t/gm, ""))).toBe(true);
      expect([text.length > 60_000, text.length <= 65_536]).toEqual([true, true]);
      expect(textOf(answer, 1)).toMatch(/^Cut: bytes \d+-\d+ of \d+\. Before them: offset: \d+, length: \d+$/);
    }
    const [end, start] = [await read("one-line.txt", { tail: 1 }), await read("one-line.txt", { head: 1 })];
    expect([textOf(end), textOf(start)]).toEqual(["☃".repeat(21_845), "☃".repeat(21_845)]);
    expect(restOf(end)).toMatchObject({ offset: 84_465, length: 65_535, eof: true });
  });

  test("a range returns up to 1 MiB by maxBytes, and says where to go on", async () => {
    const answer = await read("big.txt", { offset: 7, length: 2 * MIB, maxBytes: 2 * MIB });
    const text = textOf(answer);
    expect(text).toBe(FILES["big.txt"].slice(7, 7 + text.length));
    expect(text.endsWith("\n")).toBe(true);
    expect(text.length).toBeLessThanOrEqual(MIB);
    expect(text.length).toBeGreaterThan(MIB - 40);
    expect(textOf(answer, 1)).toMatch(NOTE);
  });

  test.each([
    ["JSON", "big.json", { mode: "json", maxBytes: MIB }],
    ["bytes", "bytes.bin", { mode: "bytes", maxBytes: MIB }],
  ])("%s over 65,536 bytes comes whole with maxBytes", async (_name, path, more) => {
    const answer = await read(path, more);
    expect(answer.isError ?? false).toBe(false);
    expect(answer.content).toEqual([answer.content[0], { type: "text", text: expect.stringMatching(ETAG) }]);
    expect(JSON.stringify(answer.content[0]).length).toBeGreaterThan(100_000);
  });

  test("JSON over 65,536 bytes names the maxBytes that it takes", async () => {
    const answer = await read("big.json", { mode: "json" });
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toMatch(/: 100011 bytes, limit 65536\. Pass maxBytes: 100011\. Use mode: text/);
  });

  test.each([["JSON", "huge.json", { mode: "json", maxBytes: 2 * MIB }]])(
    "%s over 1 MiB is TOO_LARGE",
    async (_name, path, more) => {
      const size = Buffer.byteLength(FILES[path as keyof typeof FILES]);
      const answer = await read(path, more);
      expect(textOf(answer)).toMatch(new RegExp(`^File is too large to read in one call: ${size} bytes, limit ${MIB}`));
      expect(answer._meta?.["venue-files/error"]).toMatchObject({
        errorCode: "TOO_LARGE",
        errorData: { root: "r", size, limit: MIB },
      });
    },
  );
});

test("bytes come as 65,536 bytes unless more is asked for", async () => {
  const read = await reader([]);
  for (const [path, more] of [
    ["bytes.bin", { mode: "bytes" }],
    ["bytes.bin", { offset: 0 }],
    ["huge.bin", { offset: 0, length: 100_000 }],
  ] as const) {
    const answer = await read(path, more);
    const resource = answer.content[0]?.["resource"] as { blob: string } | undefined;
    expect(Buffer.from(resource?.blob ?? "", "base64")).toHaveLength(65_536);
    expect(textOf(answer, 1)).toMatch(/^Cut: bytes 0-65536 of \d+\. Go on with offset: 65536/);
  }
  expect(textOf(await read("huge.bin"))).toMatch(/^No text: /);
  // An image of more than a megabyte would take much of a context, whatever the limit of reads.
  writeFileSync(join(folder, "photo"), Buffer.concat([png([640, 480]), Buffer.alloc(MIB)]));
  writeFileSync(join(folder, "wide.png"), png([30_000, 10]));
  writeFileSync(join(folder, "fine.png"), png([640, 480]));
  const roomy = await reader(["--config", configOf({ defaultReadBytes: 20_000, maxReadBytes: 4 * MIB })]);
  expect(textOf(await roomy("photo"))).toMatch(/^Image, too large to show: image\/png, 640x480 px, \d+ bytes/);
  expect(textOf(await roomy("wide.png"))).toMatch(/^Image, a side is over 8000 px: image\/png, 30000x10 px/);
  expect((await roomy("wide.png", { mode: "bytes" })).content[0]).toMatchObject({ type: "resource" });
  expect((await roomy("fine.png")).content[0]).toMatchObject({ type: "image", mimeType: "image/png" });
});

describe("reading on with the call of the note gives the file byte for byte:", () => {
  let read: Awaited<ReturnType<typeof reader>>;
  beforeAll(async () => {
    read = await reader(["--config", configOf({ defaultReadBytes: 20_000, maxReadBytes: 40_001 })]);
  });

  test.each(["long.txt", "one-line.txt", "crlf.txt", "many.txt"])("%s", async (path) => {
    const parts: string[] = [];
    for (let next: object | undefined = {}; next !== undefined; ) {
      const answer: Answer = await read(path, next);
      parts.push(textOf(answer));
      const said = answer.content[1] === undefined ? "" : textOf(answer, 1);
      const note: RegExpExecArray | null = NOTE.exec(said);
      expect(note !== null || said === "" || ETAG.test(said)).toBe(true);
      next = note === null ? undefined : { [String(note[1])]: Number(note[2]) };
    }
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.join("") === FILES[path as "long.txt"]).toBe(true);
  });
});

describe("with raised limits 5 MB of text arrive in one piece", () => {
  const limits = { defaultReadBytes: 8 * MIB, maxReadBytes: 8 * MIB, defaultReadLines: 10_000_000 };
  const text = lines(110_000, "0123456789 0123456789 0123456789 ☃ 0123");
  if (Buffer.byteLength(text) < 5_000_000) throw new Error("The text is too short");
  const config = configOf(limits);
  const big = makeFolder({ "5mb.txt": text });

  test.each(CLIENT_NAMES)("at %s over stdio", async (client) => {
    const session = await connect(client, { args: ["--config", config, "--root", `big=${big}`] });
    const answer = await session.call("file_read", { root: "big", path: "5mb.txt" });
    expect(textOf(answer) === text).toBe(true);
    expect(answer.content).toHaveLength(2);
  });

  test("on a line that is hardly longer", async () => {
    const raw = await rawHere(["--config", config, "--root", `big=${big}`]);
    const { line } = await raw.call("file_read", { root: "big", path: "5mb.txt" });
    expect(Buffer.byteLength(line)).toBeLessThan(1.1 * Buffer.byteLength(text));
  });
});

function configOf(mcp: object): string {
  return `${makeFolder({ "c.json5": JSON.stringify({ mcp }) })}/c.json5`;
}

const LIMIT = 8_388_608;

const hash = (data: Buffer | string) => createHash("sha256").update(data).digest("hex");

test("a real client writes 8 MiB in one call, and not a byte more", async () => {
  const folder = makeFolder({ "c.json5": `{ file: { roots: { r: { path: ".", durability: "none" } } } }` });
  const session = await connect("client 2, newest protocol", { args: ["--config", "c.json5"], cwd: folder });
  const write = (path: string, source: object) => session.call("file_write", { root: "r", path, ...source });

  const bytes = Buffer.alloc(LIMIT, "\u0000\u00ffinteresting bytes \u0010", "latin1");
  const written = await write("b.bin", { bytes: bytes.toString("base64") });
  expect(written.structuredContent).toMatchObject({ written: LIMIT, created: true });
  expect(hash(readFileSync(join(folder, "b.bin")))).toBe(hash(bytes));

  const text = 'é\n"'.repeat(LIMIT / 4);
  expect((await write("a.txt", { content: text })).structuredContent).toMatchObject({ written: LIMIT, created: true });
  const tooMuch = await write("a.txt", { content: `${text}x` });
  expect(textOf(tooMuch)).toBe(`Content too large: ${LIMIT + 1} bytes, limit ${LIMIT} [TOO_LARGE]`);
  expect(tooMuch._meta?.["venue-files/error"]).toEqual({
    errorCode: "TOO_LARGE",
    errorData: { root: "r", path: "a.txt", size: LIMIT + 1, limit: LIMIT },
  });
  expect(hash(readFileSync(join(folder, "a.txt")))).toBe(hash(text));
});

describe("a message too long for any write", () => {
  /** With limits this small a message of 2 MiB is too long. */
  async function sendTooLong(): Promise<RawClient> {
    const tmp = makeFolder({ "c.json5": "{ file: { limits: { maxWriteBytes: 1000 } } }" });
    const client = await startRaw(["--config", "c.json5"], { cwd: tmp, tmp });
    const args = { root: "tmp", path: "a.txt", content: "x".repeat(2_097_152) };
    client.write(linesOf({ id: 99, ...toolCall("file_write", args) }));
    return client;
  }

  test("is answered, or ends the connection with a reason", async () => {
    const { process } = await sendTooLong();
    const never = new Promise<never>(() => {});
    const outcome = await Promise.race([
      process.until(/"id":99/).then(
        ([line]) => line,
        () => never,
      ),
      process.ended.then(({ stderr }) => stderr),
    ]);
    expect(outcome).not.toBe("");
    await process.stop();
    expect(process.stdout()).not.toContain('"written"');
  });

  // Until surfaces/mcp/stdio.ts ends when the transport has closed itself; the process then just runs out of work.
  test("leaves no temp root behind", async () => {
    const { process } = await sendTooLong();
    process.child.stdin.end();
    expect((await process.ended).signal).toBeNull();
    expect(tempRootsIn(process.tmp)).toEqual([]);
  });
});
