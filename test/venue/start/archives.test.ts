import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { createVenue, type Venue } from "../../../src/index.js";
import { readZip } from "../../ops/archives/archives.js";
import { bearer, bodyOf, run as runOverHttp } from "../../surfaces/http/client.js";

const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
const client = new Client({ name: "test", version: "1" });
let venue: Venue;
let url: string;
beforeAll(async () => {
  mkdirSync(join(base, "root/docs"), { recursive: true });
  writeFileSync(join(base, "root/docs/a.md"), "of a root");
  venue = await createVenue(
    {
      ...{ port: 0, stateDir: "state", mcp: { includeAdapters: ["archive"] }, file: { roots: { r: "root" } } },
      storage: { content: "file", path: "assets" },
    },
    { baseDir: base },
  );
  ({ url } = await venue.listen());
  const requestInit = { headers: bearer(venue.localToken) };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
});
afterAll(async () => {
  await client.close();
  await venue.close();
  rmSync(base, { recursive: true, force: true });
});

const run = (operation: string, input: object) =>
  bodyOf<Record<string, unknown>>(runOverHttp(url, operation, input, venue.localToken));

async function callTool(name: string, input: object): Promise<Record<string, unknown>> {
  const { structuredContent, _meta } = await client.callTool({ name, arguments: { ...input } });
  return (structuredContent ?? _meta?.["venue-files/result"]) as Record<string, unknown>;
}

async function contentOf(asset: unknown): Promise<Buffer> {
  const response = await fetch(`${url}/api/v1/assets/${asset}/content`);
  expect(response.headers.get("content-disposition")).toContain("docs.zip");
  return Buffer.from(await response.arrayBuffer());
}

test("tools for archives are offered where the configuration names them, in 230 tokens", async () => {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["archive_list", "archive_extract", "archive_zip"]);
  expect(
    encode(JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))))
      .length,
  ).toBeLessThanOrEqual(230);
});

test("an archive becomes an asset of whoever calls, over HTTP and over MCP", async () => {
  for (const made of [
    await run("archive:zip", { root: "r", path: "docs" }),
    await callTool("archive_zip", { root: "r", path: "docs" }),
  ]) {
    expect(made).toEqual({ entries: 2, bytes: expect.any(Number), asset: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(await readZip(await contentOf(made["asset"]))).toMatchObject([
      { name: "docs/" },
      { name: "docs/a.md", content: Buffer.from("of a root") },
    ]);
    expect(await run("file:write", { root: "r", path: "copy.zip", asset: made["asset"] })).toMatchObject({
      written: made["bytes"],
    });
  }
  expect(await run("archive:zip", { root: "r", path: "gone" })).toMatchObject({ errorCode: "NOT_FOUND" });
  expect(readFileSync(join(base, "root/copy.zip")).subarray(0, 2).toString()).toBe("PK");
});
