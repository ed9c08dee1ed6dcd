import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createVenue, type PlugIn, type Venue, type VenueConfigInput } from "../../../src/index.js";
import { readRecords } from "../../audit/records.js";
import { send } from "../../surfaces/http/client.js";
import { EVERYDAY } from "../../surfaces/mcp/everyday.js";

let base: string;
let venue: Venue;
const clients: Client[] = [];
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  mkdirSync(join(base, "docs"));
  writeFileSync(join(base, "docs/a.txt"), "alpha");
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
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
  const headers = token === undefined ? {} : { authorization: `Bearer ${token(venue)}` };
  const client = new Client({ name: "test", version: "1" });
  clients.push(client);
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  return client;
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
