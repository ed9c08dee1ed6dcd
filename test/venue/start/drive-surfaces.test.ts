import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createVenue, type Venue } from "../../../src/index.js";
import { invoke } from "../../surfaces/http/client.js";

interface Answer {
  readonly output?: Record<string, unknown>;
  readonly code?: unknown;
}

type Call = (operation: string, input: object) => Promise<Answer>;

describe("whole drives, over HTTP and over MCP", () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  const client = new Client({ name: "test", version: "1" });
  let venue: Venue;
  let url: string;
  beforeAll(async () => {
    venue = await createVenue(
      { port: 0, stateDir: "state", drives: { store: "memory" }, mcp: { includeAdapters: ["dlfs", "drive"] } },
      { baseDir: base },
    );
    ({ url } = await venue.listen());
    const requestInit = { headers: { authorization: `Bearer ${venue.localToken}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  });
  afterAll(async () => {
    await client.close();
    await venue.close();
    rmSync(base, { recursive: true, force: true });
  });

  const call = (operation: string, input: object) => invoke(url, { operation, input, wait: true }, venue.localToken);

  const http: Call = async (operation, input) => {
    const job = (await (await call(operation, input)).json()) as {
      output?: Record<string, unknown>;
      errorCode?: string;
    };
    return job.errorCode === undefined ? { output: job.output ?? {} } : { code: job.errorCode };
  };

  const mcp: Call = async (operation, input) => {
    const name = operation.replace(/[:-]/g, "_");
    const { isError, content, structuredContent, _meta } = await client.callTool({ name, arguments: { ...input } });
    const failure = _meta?.["venue-files/error"] as { errorCode: string } | undefined;
    if (isError === true) return { code: failure?.errorCode };
    // A body comes as a resource, and what else there is to say beside it.
    const [block] = content;
    const body = block?.type === "resource" && "blob" in block.resource ? { content: block.resource.blob } : {};
    return { output: { ...body, ...((structuredContent ?? _meta?.["venue-files/result"]) as object) } };
  };

  test.each<[string, Call, Call]>([
    ["over HTTP, and in over MCP", http, mcp],
    ["over MCP, and in over HTTP", mcp, http],
  ])("go out %s", async (way, out, into) => {
    const [from, to] = [`from ${way.slice(5, 8)}`, `to ${way.slice(5, 8)}`];
    expect(await into("dlfs:write", { drive: from, path: "a.txt", content: "of a drive" })).toMatchObject({
      output: { written: 10 },
    });
    const { output = {} } = await out("drive:export", { drive: from, top: "drive" });
    expect(output).toMatchObject({ top: "drive", encoding: "base64", size: expect.any(Number) });
    expect(await into("dlfs:create-drive", { drive: to })).toHaveProperty("output");
    expect(await into("drive:import", { drive: to, bytes: output["content"] })).toMatchObject({
      output: { drives: [to], refused: 0 },
    });
    expect(await out("drive:verify", { drive: to })).toMatchObject({
      output: { files: 1, bytes: 10, damagedCount: 0, damaged: [] },
    });
    expect(await out("drive:import", { drive: to, bytes: "AAAA" })).toEqual({ code: "BAD_FORMAT" });
  });

  test("and a key only where the operator lets it go", async () => {
    expect((await call("drive:export-key", {})).status).toBe(400);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["drive_export", "drive_import", "drive_verify"]),
    );
    expect(tools.map(({ name }) => name)).not.toContain("drive_export_key");
  });
});

test("the log of drives keeps what the configuration says", async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  const drives = { store: "memory", journalQuota: { entries: 10 } } as const;
  const venue = await createVenue(
    { port: 0, stateDir: "state", drives, file: { roots: { d: { dlfs: "work" } } } },
    { baseDir: base },
  );
  try {
    const { url } = await venue.listen();
    const outputOf = async (operation: string, input: object) => {
      const response = await invoke(url, { operation, input, wait: true }, venue.localToken);
      return ((await response.json()) as { output: { entries: unknown[] } }).output;
    };
    for (let place = 0; place < 40; place += 1)
      await outputOf("file:write", { root: "d", path: "f", content: `${place}` });
    const { entries } = await outputOf("file:history", { root: "d", limit: 100 });
    expect(entries.length).toBeGreaterThanOrEqual(10);
    expect(entries.length).toBeLessThan(30);
  } finally {
    await venue.close();
    rmSync(base, { recursive: true, force: true });
  }
});
