// Official clients of both generations list, read, complete and listen.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioClientTransport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpClientTransport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { CLI, cleanUp, makeFolder, serve } from "../../../cli/process.js";

const INFO = { name: "test", version: "1" };
const TEMPLATE = "venue://{root}/{+path}";
const closing: { close(): Promise<void> }[] = [];

afterAll(async () => {
  for (const one of closing) await one.close();
  await cleanUp();
});

/** What both generations of clients can do. */
type AnyClient = Pick<Client1, "listResources" | "listResourceTemplates" | "readResource" | "complete" | "close">;

const stdio = (folder: string) => ({
  ...{ command: process.execPath, args: [CLI, "mcp", "--root", `docs=${folder}`] },
  ...{ env: { TMPDIR: makeFolder() }, stderr: "inherit" as const },
});
const modern = () => new Client(INFO, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
const urlOf = async (folder: string) => new URL(`${(await serve(["--root", `docs=${folder}`])).url}/mcp`);

async function expectResources(client: AnyClient, folder: string): Promise<void> {
  closing.push(client);
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
  [
    "client 2, newest protocol, over stdio",
    async (folder: string) => [modern(), new StdioClientTransport(stdio(folder))] as const,
  ],
  [
    "client 2, newest protocol, over HTTP",
    async (folder: string) => [modern(), new StreamableHTTPClientTransport(await urlOf(folder))] as const,
  ],
])("%s", async (_, open) => {
  const folder = folderOf();
  const [client, transport] = await open(folder);
  await client.connect(transport);
  await expectResources(client as never, folder);
  const updates: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updates.push(params.uri));
  const { honoredFilter, close, closed } = await client.listen({
    ...{ toolsListChanged: true, resourceSubscriptions: ["venue://docs/a.txt", "file:///x"] },
  });
  expect(honoredFilter).toEqual({ toolsListChanged: true, resourceSubscriptions: ["venue://docs/a.txt"] });
  writeFileSync(join(folder, "a.txt"), "new");
  for (let tries = 0; tries < 60 && updates.length === 0; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 50));
  expect(updates).toEqual(["venue://docs/a.txt"]);
  expect((await client.readResource({ uri: "venue://docs/a.txt" })).contents[0]).toMatchObject({ text: "new" });
  await close();
  expect(await closed).toBe("local");
});

test.each([
  [
    "client 2, protocol of 2025, over stdio",
    async (folder: string) => [new Client(INFO), new StdioClientTransport(stdio(folder))] as const,
  ],
  [
    "client 2, protocol of 2025, over HTTP",
    async (folder: string) => [new Client(INFO), new StreamableHTTPClientTransport(await urlOf(folder))] as const,
  ],
])("%s", async (_, open) => {
  const folder = folderOf();
  const [client, transport] = await open(folder);
  await client.connect(transport);
  await expectResources(client as never, folder);
});

test("client 1 over HTTP", async () => {
  const folder = folderOf();
  const client = new Client1(INFO);
  await client.connect(new HttpClientTransport1(await urlOf(folder)) as never);
  expect(client.getServerCapabilities()).toEqual({ completions: {}, resources: {}, tools: {} });
  await expectResources(client, folder);
});

test("client 1 over stdio, which subscribes", async () => {
  const folder = folderOf();
  const client = new Client1(INFO);
  await client.connect(new StdioClientTransport1(stdio(folder)));
  await expectResources(client, folder);
  const updates: string[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updates.push(params.uri));
  await client.subscribeResource({ uri: "venue://docs/a.txt" });
  writeFileSync(join(folder, "a.txt"), "others");
  for (let tries = 0; tries < 80 && updates.length === 0; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 50));
  expect(updates).toEqual(["venue://docs/a.txt"]);
  await client.unsubscribeResource({ uri: "venue://docs/a.txt" });
});
