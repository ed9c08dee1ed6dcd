// Resources: every kind of root, over both transports, in both eras.

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Aborter } from "../../../../src/core/call/scope.js";
import { parseVenueUri, venueUri } from "../../../../src/core/call/venue-uri.js";
import type { McpHost } from "../../../../src/surfaces/mcp/host.js";
import { listResources } from "../../../../src/surfaces/mcp/resources.js";
import { type McpGround, openMcpGround, WAYS, type Way } from "./ways.js";

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
    expect((await read(way, folder.slice(0, -1))).result.contents[0].text).toBe(`${folder}deep/\r\n${folder}x.pdf\r\n`);

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
    ...["venue://host/sub%2Fx.pdf", "venue://host/sub%5Cx.pdf", "venue://host/sub\\x.pdf", "venue://host/lines.txt%00"],
    ...[
      "venue://host//lines.txt",
      "venue://host/%",
      "venue://host/%ff",
      "venue://host/.venue-files/",
      "venue://host/%0a",
    ],
    ...["file:///etc/passwd", "file://host/lines.txt", "test://static-text", "http://host/lines.txt", "host/lines.txt"],
    ...["venue://host/none", "venue://none/", "venue://none/a", "venue://host/lines.txt/", "venue://host/lines.txt/x"],
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
  const { resources } = (await listResources({ ...by, takesBytes: false }, undefined)) as {
    resources: { uri: string; annotations?: object }[];
  };
  expect(resources.slice(1).map(({ uri, annotations }) => [uri, annotations])).toEqual([
    ["venue://docs/100000000000000000", undefined],
    ["venue://docs/0", { lastModified: "1970-01-01T00:00:00.000Z" }],
  ]);
});
