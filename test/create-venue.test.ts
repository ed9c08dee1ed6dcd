import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { aborted } from "../src/core/errors/texts.js";
import { createVenue, FileAdapterError, type PlugIn, type Venue, type VenueConfigInput } from "../src/index.js";
import { readRecords } from "./audit/records.js";
import { OURS } from "./ours.js";
import { bodyOf, invoke } from "./surfaces/http/client.js";
import { mcpClient } from "./surfaces/mcp/sessions.js";

const SEED = "11".repeat(32);
const folders: string[] = [];
let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  folders.push(base);
});
const venues: Venue[] = [];
afterEach(() => Promise.all(venues.splice(0).map((venue) => venue.close())));
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

async function open(config: VenueConfigInput = {}, env: Record<string, string> = {}): Promise<Venue> {
  const port = config.listen === undefined ? { port: 0 } : {};
  const venue = await createVenue({ ...port, stateDir: "state", ...config }, { baseDir: base, env });
  venues.push(venue);
  return venue;
}

const call = async (url: string, body: object, token?: string): Promise<object> => {
  const response = await invoke(url, { wait: true, ...body }, token);
  expect(response.status).toBe(201);
  return bodyOf<object>(response);
};

const get = (url: string): Promise<unknown> => bodyOf(fetch(url));

/** An adapter as somebody else would write it. */
function greeter(): PlugIn & { calls: unknown[]; closed: boolean } {
  return {
    name: "greet",
    description: "Greets.",
    calls: [],
    closed: false,
    operations: [
      {
        name: "greet:hello",
        description: "Says hello.",
        input: {
          type: "object",
          required: ["who"],
          additionalProperties: false,
          properties: { who: { type: "string" }, secret: { type: "string" } },
        },
        hidden: ["secret"],
      },
      { name: "greet:wait", description: "Never ends." },
      { name: "greet:fail", description: "Fails." },
    ],
    async invoke(operation, input, context) {
      this.calls.push({ operation, input, context });
      if (operation === "greet:wait") return new Promise(() => {});
      if (operation === "greet:fail" && input["known"] === true) throw new FileAdapterError("NOT_FOUND", "No such", {});
      if (operation === "greet:fail") throw new Error("a detail that is nobody's business");
      return { text: `Hello ${String(input["who"])}` };
    },
    async close() {
      this.closed = true;
    },
  };
}

describe("a venue in this process", () => {
  test("serves files over HTTP, and its operator writes where others only read", async () => {
    mkdirSync(join(base, "docs"));
    const venue = await open({ file: { roots: { docs: "docs" } } });
    const { url } = await venue.listen();
    expect(venue.url).toBe(url);
    const write = { operation: "v/ops/file/write", input: { root: "docs", path: "b.txt", content: "beta" } };
    expect(await call(url, write)).toMatchObject({ status: "FAILED", errorCode: "CAPABILITY_DENIED" });
    expect(await call(url, write, venue.localToken)).toMatchObject({ status: "COMPLETE", caller: venue.did });
    expect(readFileSync(join(base, "docs/b.txt"), "utf8")).toBe("beta");
  });

  test("has the same DID after a restart with the same seed, also from a file", async () => {
    const first = await open({ seed: SEED });
    expect(first.did).toMatch(/^did:key:z6Mk/);
    await first.close();
    const again = await open({ seed: SEED });
    expect(again.did).toBe(first.did);
    await again.close();
    const filed = await open({ seedFile: "venue.seed" });
    expect(filed.did).not.toBe(first.did);
    expect((await open({ seedFile: "venue.seed", stateDir: "b" })).did).toBe(filed.did);
    expect((await open({ stateDir: "c" })).did).not.toBe((await open({ stateDir: "d" })).did);
  });

  test("keeps its local token over a restart, but not its jobs", async () => {
    const first = await open({ seed: SEED });
    const { url } = await first.listen();
    const { id } = (await call(url, { operation: "file:roots" })) as { id: string };
    await first.close();
    const second = await open({ seed: SEED });
    expect(second.localToken).toBe(first.localToken);
    const again = await second.listen();
    expect((await fetch(`${again.url}/api/v1/jobs/${id}`)).status).toBe(404);
  });

  test("finds static tokens only in the environment it is given", async () => {
    const auth = {
      localToken: false,
      tokens: [{ name: "ci", token: { env: "CI_TOKEN" }, caps: [{ with: "file://tmp/", can: "crud/write" }] }],
      public: { caps: [] },
    };
    await expect(open({ auth })).rejects.toThrow(
      "'auth.tokens[0].token.env' names a variable that is not set: CI_TOKEN",
    );
    const token = "0123456789abcdef0123456789abcdef";
    const venue = await open({ auth }, { CI_TOKEN: token });
    expect(venue.localToken).toBeUndefined();
    const { url } = await venue.listen();
    const write = { operation: "file:write", input: { root: "tmp", path: "a", content: "" } };
    expect(await call(url, write)).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    expect(await call(url, write, token)).toMatchObject({
      status: "COMPLETE",
      caller: `${venue.did}:token:ci`,
    });
    const read = { operation: "file:read", input: { root: "tmp", path: "a" } };
    expect(await call(url, read, token)).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
  });

  test("stands beside another one, each with its own jobs, roots and identity", async () => {
    const [one, other] = [await open({ seed: SEED, name: "one" }), await open({ name: "other", stateDir: "other" })];
    const [{ url }, { url: otherUrl }] = [await one.listen(), await other.listen()];
    const { id } = (await call(url, {
      operation: "file:write",
      input: { root: "tmp", path: "a", content: "" },
    })) as { id: string };
    expect((await fetch(`${otherUrl}/api/v1/jobs/${id}`)).status).toBe(404);
    expect(await call(otherUrl, { operation: "file:stat", input: { root: "tmp", path: "a" } })).toMatchObject({
      output: { exists: false },
    });
    expect(await get(`${otherUrl}/api/v1/status`)).toMatchObject({ name: "other", did: other.did });
    await one.close();
    expect((await fetch(`${otherUrl}/api/v1/status`)).status).toBe(200);
  });

  test("listens on a socket that only its owner may use, and takes over one that was left", async () => {
    const path = join(base, "venue.sock");
    const leave = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", leave]);
    expect(statSync(path).isSocket()).toBe(true);
    const venue = await open({ listen: { socket: path } });
    await venue.listen();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const second = await open({ listen: { socket: path }, stateDir: "second" });
    await expect(second.listen()).rejects.toMatchObject({ code: "EADDRINUSE" });
    expect(existsSync(path)).toBe(true);
  });

  test("is not opened with a mistake in its configuration, and leaves nothing open", async () => {
    await expect(open({ hostname: "0.0.0.0" })).rejects.toThrow(
      "Refusing to start: '0.0.0.0' is not a loopback address.",
    );
    await expect(open({ audit: { file: "audit.jsonl" }, file: { roots: { docs: "nowhere" } } })).rejects.toThrow(
      "Root 'docs' does not exist",
    );
    await expect(open({ file: { roots: { all: "." } } })).rejects.toThrow("'stateDir' lies inside root 'all'");
  });
});

describe("an adapter of somebody else", () => {
  test("appears beside the files in operations, values, status and over MCP", async () => {
    const venue = await open();
    venue.register(greeter());
    const { url } = await venue.listen();
    expect(await get(`${url}/api/v1/operations`)).toHaveLength(OURS + 3);
    expect(await get(`${url}/api/v1/operations/greet:hello`)).toMatchObject({ name: "v/ops/greet/hello" });
    expect(await get(`${url}/api/v1/values/read?path=v/info/adapters/greet`)).toMatchObject({
      value: { description: "Greets.", operations: ["v/ops/greet/hello", "v/ops/greet/wait", "v/ops/greet/fail"] },
    });
    const client = await mcpClient({ url });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("greet_hello");
    expect(await client.callTool({ name: "greet_hello", arguments: { who: "you" } })).toMatchObject({
      structuredContent: { text: "Hello you" },
    });
    await client.close();
  });

  test("is told who calls, and how that is known", async () => {
    const venue = await open();
    const adapter = greeter();
    venue.register(adapter);
    const { url } = await venue.listen();
    const hello = { operation: "greet:hello", input: { who: "you" } };
    await call(url, hello);
    await call(url, { ...hello, caps: [{ with: "x", can: "y" }], ucans: ["token"] }, venue.localToken);
    expect(adapter.calls).toEqual([
      {
        operation: "greet:hello",
        input: { who: "you" },
        context: expect.objectContaining({ callerDID: `${venue.did}:public`, authentication: "public", ucans: [] }),
      },
      {
        operation: "greet:hello",
        input: { who: "you" },
        context: expect.objectContaining({
          callerDID: venue.did,
          authentication: "local-token",
          caps: [{ with: "x", can: "y" }],
          ucans: ["token"],
        }),
      },
    ]);
  });

  test("gets only input that fits its schema, and its hidden fields stay hidden", async () => {
    const venue = await open();
    const adapter = greeter();
    venue.register(adapter);
    const { url } = await venue.listen();
    const hello = (input: object) => call(url, { operation: "greet:hello", input });
    expect(await hello({})).toMatchObject({ errorCode: "INVALID_INPUT", error: "'who' is required" });
    expect(await hello({ who: "you", whoo: 1 })).toMatchObject({
      errorCode: "INVALID_INPUT",
      error: "Unknown field 'whoo' - did you mean 'who'?",
    });
    expect(adapter.calls).toEqual([]);
    expect(await hello({ who: "you", secret: "s3cret" })).toMatchObject({ input: { who: "you", secret: "HIDDEN" } });
  });

  test("fails with its own words, or with none when nobody foresaw it", async () => {
    const venue = await open();
    venue.register(greeter());
    const { url } = await venue.listen();
    expect(await call(url, { operation: "greet:fail", input: { known: true } })).toMatchObject({
      status: "FAILED",
      errorCode: "NOT_FOUND",
      error: "No such",
    });
    const unforeseen = await call(url, { operation: "greet:fail" });
    expect(unforeseen).toMatchObject({ status: "FAILED", errorCode: "INTERNAL" });
    expect(JSON.stringify(unforeseen)).not.toContain("detail");
  });

  test("that does not look at its signal is cancelled all the same", async () => {
    const venue = await open({ jobs: { inlineWaitMs: 10 } });
    venue.register(greeter());
    const { url } = await venue.listen();
    const { id } = (await call(url, { operation: "greet:wait", wait: false })) as { id: string };
    const cancelled = await fetch(`${url}/api/v1/jobs/${id}/cancel`, { method: "PUT" });
    expect(await cancelled.json()).toMatchObject({ status: "CANCELLED", errorCode: aborted().code });
  });

  test("leaves an audit record of every call, and is closed with the venue", async () => {
    const venue = await open({ audit: { file: "audit.jsonl" } });
    const adapter = greeter();
    venue.register(adapter);
    const { url } = await venue.listen();
    const { id } = (await call(url, { operation: "greet:hello", input: { who: "you" } })) as { id: string };
    await call(url, { operation: "greet:fail" });
    await venue.close();
    expect(adapter.closed).toBe(true);
    expect(readRecords(join(base, "audit.jsonl"))).toMatchObject([
      { operation: "greet:hello", outcome: "OK", job: id.slice(2), caller: `${venue.did}:public` },
      { operation: "greet:fail", outcome: "INTERNAL" },
    ]);
  });

  test("that fails to close leaves no temp root and no open file behind, and is heard of", async () => {
    const venue = await createVenue({ port: 0, stateDir: "state" }, { baseDir: base });
    venue.register({ ...greeter(), close: () => Promise.reject(new Error("stuck")) });
    const { url } = await venue.listen();
    const { output } = (await call(url, { operation: "file:roots" })) as { output: { roots: { path: string }[] } };
    const [root] = output.roots;
    expect(existsSync(root?.path ?? "")).toBe(true);
    await expect(venue.close()).rejects.toThrow("stuck");
    expect(existsSync(root?.path ?? "")).toBe(false);
  });

  test.each<[string, Partial<PlugIn>, string]>([
    ["a name that is taken", { name: "file", operations: [] }, 'Cannot host "file": registered twice'],
    ["a name that is no word", { name: "My Adapter", operations: [] }, 'Cannot host "My Adapter": names are'],
    ["operations of another", { name: "other" }, 'Cannot host "greet:hello": the name must start with "other:"'],
  ])("is refused with %s", async (_what, changes, text) => {
    const venue = await open();
    expect(() => venue.register({ ...greeter(), ...changes })).toThrow(text);
  });
});
