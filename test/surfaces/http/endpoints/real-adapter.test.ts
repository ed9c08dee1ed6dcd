import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../../src/config/load.js";
import type { VenueConfigInput } from "../../../../src/config/types.js";
import { type Log, silentLog } from "../../../../src/core/ports/log.js";
import { type OpenVenue, openVenue } from "../../../../src/venue/start/open-venue.js";
import { recordsOf } from "../../../audit/records.js";
import { newKeyPair } from "../../../clients/key-pair.js";
import { mcpClient } from "../../mcp/sessions.js";
import { invoke } from "../client.js";
import { rawRequest, serve as serveFake } from "../fixture.js";

interface Job {
  readonly id: string;
  readonly status: string;
  readonly input: unknown;
  readonly output?: unknown;
  readonly error?: string;
  readonly errorCode?: string;
  readonly errorData?: Readonly<Record<string, unknown>>;
}

interface Venue {
  readonly url: string;
  readonly venue: OpenVenue;
  readonly logged: unknown[];
  /** Runs an operation; the reply must be a job. */
  invoke(operation: string, input?: object, more?: object): Promise<Job>;
}

const open: OpenVenue[] = [];
let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  folders.push(base);
  mkdirSync(join(base, "docs/pub"), { recursive: true });
  writeFileSync(join(base, "docs/a.txt"), "alpha");
  symlinkSync("/etc", join(base, "docs/out"));
});
const folders: string[] = [];
afterAll(async () => {
  await Promise.all(open.splice(0).map((venue) => venue.close()));
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A venue of the real adapter on a real socket, with a host root `docs` and a temp root `tmp`. */
async function serve(config: VenueConfigInput = {}): Promise<Venue> {
  const logged: unknown[] = [];
  const file = { roots: { docs: "docs", tmp: { temp: true as const } }, ...config.file };
  const checked = parseConfig({ port: 0, stateDir: "state", ...config, file }, { baseDir: base });
  const log: Log = { ...silentLog, error: (fields) => logged.push(fields) };
  const venue = await openVenue(checked, { listens: true, env: {}, log });
  open.push(venue);
  const { port } = await venue.host.listen();
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    venue,
    logged,
    async invoke(operation, input = {}, more = {}) {
      const response = await invoke(url, { operation, input, wait: true, ...more });
      expect(response.status).toBe(201);
      return (await response.json()) as Job;
    },
  };
}

const CHANGES: [string, string, object][] = [
  ["write", "file:write", { path: "a.txt", content: "changed" }],
  ["append", "file:append", { path: "a.txt", content: "changed" }],
  ["mkdir", "file:mkdir", { path: "new" }],
  ["delete", "file:delete", { path: "a.txt" }],
];

describe("on loopback, by default,", () => {
  test.each(CHANGES)("anybody may do everything in a temp root: %s", async (_name, operation, input) => {
    const { invoke } = await serve();
    await invoke("file:write", { root: "tmp", path: "a.txt", content: "x" });
    expect(await invoke(operation, { root: "tmp", ...input })).toMatchObject({ status: "COMPLETE" });
  });

  test.each(["file:list", "file:tree", "file:stat", "file:read"])("anybody may read in a host root: %s", async (op) => {
    const { invoke } = await serve();
    const path = ["file:stat", "file:read"].includes(op) ? { path: "a.txt" } : {};
    expect(await invoke(op, { root: "docs", ...path })).toMatchObject({ status: "COMPLETE" });
  });

  test.each(CHANGES)("nobody may do more in a host root: %s", async (verb, operation, input) => {
    const { invoke } = await serve();
    const job = await invoke(operation, { root: "docs", ...input });
    const ability = verb === "delete" ? "crud/delete" : "crud/write";
    const path = "path" in input ? input.path : "";
    expect(job).toMatchObject({ status: "FAILED", errorCode: "CAPABILITY_DENIED" });
    expect(job.error).toBe(
      `Capability denied: ${operation} requires ${ability} on file://docs/${path}. Your capabilities are: ` +
        "crud/read on file://, crud on file://tmp/. Retrying the same call will not succeed - the denial is structural.",
    );
    expect(job.errorData).toMatchObject({
      required: { with: `file://docs/${path}`, can: ability },
      denied_by: ["authority"],
    });
    expect(readFileSync(join(base, "docs/a.txt"), "utf8")).toBe("alpha");
    expect(existsSync(join(base, "docs/new"))).toBe(false);
  });

  test("the same holds over /mcp", async () => {
    const { url } = await serve();
    const client = await mcpClient({ url });
    const write = (root: string) =>
      client.callTool({ name: "file_write", arguments: { root, path: "b.txt", content: "b" } });
    expect((await write("tmp")).structuredContent).toMatchObject({ written: 1, created: true });
    expect(await write("docs")).toMatchObject({
      isError: true,
      _meta: { "venue-files/error": { errorCode: "CAPABILITY_DENIED", errorData: { denied_by: ["authority"] } } },
    });
    await client.close();
  });

  test("roots are shown with their host paths", async () => {
    const { invoke } = await serve();
    const { output } = await invoke("file:roots");
    expect(output).toMatchObject({
      roots: [
        { name: "docs", path: join(base, "docs"), kind: "host" },
        { name: "tmp", path: expect.stringMatching(/^\/.*\/covia-tmp-/), kind: "temp" },
      ],
    });
  });
});

describe("off loopback, by default,", () => {
  const strangers = { hostname: "0.0.0.0", auth: { public: { enabled: true } } };

  test("anybody may only read, in temp roots too", async () => {
    const { invoke } = await serve(strangers);
    expect(await invoke("file:stat", { root: "tmp", path: "" })).toMatchObject({ status: "COMPLETE" });
    expect(await invoke("file:write", { root: "tmp", path: "a", content: "" })).toMatchObject({
      errorCode: "CAPABILITY_DENIED",
    });
  });

  test("roots are shown without host paths", async () => {
    const { invoke } = await serve(strangers);
    expect((await invoke("file:roots")).output).toMatchObject({
      roots: [{ path: "file://docs/" }, { path: "file://tmp/" }],
    });
  });
});

describe("the configuration decides", () => {
  test("what anybody may do, in place of the defaults", async () => {
    const { invoke } = await serve({ auth: { public: { caps: [{ with: "file://docs/pub/", can: "crud/write" }] } } });
    expect(await invoke("file:write", { root: "docs", path: "pub/n.txt", content: "n" })).toMatchObject({
      status: "COMPLETE",
    });
    for (const [operation, input] of [
      ["file:read", { root: "docs", path: "pub/n.txt" }],
      ["file:write", { root: "docs", path: "n.txt", content: "n" }],
      ["file:write", { root: "tmp", path: "n.txt", content: "n" }],
      ["file:roots", {}],
    ] as const) {
      expect(await invoke(operation, input)).toMatchObject({ status: "FAILED", errorCode: "CAPABILITY_DENIED" });
    }
  });

  test("whether host paths are shown", async () => {
    const { invoke } = await serve({ file: { discloseHostPaths: false } });
    expect((await invoke("file:roots")).output).toMatchObject({ roots: [{ path: "file://docs/" }, { kind: "temp" }] });
  });

  test("whether anybody is served at all", async () => {
    const { url } = await serve({ auth: { public: { enabled: false } } });
    expect((await invoke(url, { operation: "file:roots" })).status).toBe(401);
  });
});

test("caps of a call narrow it, and never widen it", async () => {
  const { invoke } = await serve();
  const caps = [{ with: "file://docs/pub/", can: "crud" }];
  expect(await invoke("file:list", { root: "docs", path: "pub" }, { caps })).toMatchObject({ status: "COMPLETE" });
  expect(await invoke("file:read", { root: "docs", path: "a.txt" }, { caps })).toMatchObject({
    errorData: { denied_by: ["agent_caps"], have: [{ with: "file://docs/pub/", can: "crud/read" }] },
  });
  expect(await invoke("file:write", { root: "docs", path: "pub/x", content: "" }, { caps })).toMatchObject({
    errorData: { denied_by: ["authority"] },
  });
});

describe("tokens sent with a call", () => {
  const grant = [{ with: "file://docs/", can: "crud" }];

  test("about capabilities switch off what everybody may do, until they are understood", async () => {
    const { invoke } = await serve();
    const keys = newKeyPair();
    const denied = await invoke(
      "file:read",
      { root: "docs", path: "a.txt" },
      { ucans: [keys.delegation("did:key:z", grant)] },
    );
    expect(denied).toMatchObject({ status: "FAILED", errorCode: "CAPABILITY_DENIED", errorData: { have: [] } });
    expect(JSON.stringify(denied)).not.toContain("eyJhbGci");
  });

  test("without capabilities change nothing", async () => {
    const { invoke, venue } = await serve();
    const ucans = [newKeyPair().identity(venue.host.did)];
    expect(await invoke("file:read", { root: "docs", path: "a.txt" }, { ucans })).toMatchObject({ status: "COMPLETE" });
  });
});

describe("the record of a job", () => {
  test.each<[string, object]>([
    ["content", { content: "top secret" }],
    ["value", { value: { top: "secret" } }],
    ["bytes", { bytes: Buffer.from("top secret").toString("base64") }],
  ])("hides %s", async (field, source) => {
    const { url, invoke } = await serve();
    const reply = await invoke("file:write", { root: "tmp", path: "a", ...source });
    const hidden = { root: "tmp", path: "a", [field]: "HIDDEN" };
    expect(reply).toMatchObject({ status: "COMPLETE", input: hidden });
    const later = await (await fetch(`${url}/api/v1/jobs/${reply.id}`)).text();
    expect(JSON.parse(later)).toMatchObject({ input: hidden });
    expect(later).not.toMatch(/secret|dG9wIHNlY3JldA/);
  });

  test("of a failed operation has text, code and data", async () => {
    const { invoke } = await serve();
    expect(await invoke("file:read", { root: "docs", path: "nope" })).toMatchObject({
      status: "FAILED",
      error: "Not found: docs:nope",
      errorCode: "NOT_FOUND",
      errorData: { root: "docs", path: "nope" },
    });
  });
});

test("no failure shows a host path", async () => {
  const { invoke, logged } = await serve({ auth: { public: { caps: [{ with: "file://", can: "crud" }] } } });
  const paths = ["nope", "out/passwd", "out", "a.txt/b", "../x", `${base}/docs/a.txt`, "x".repeat(300), "", "a\0b"];
  const operations = ["file:list", "file:tree", "file:stat", "file:read", "file:write", "file:append", "file:mkdir"];
  let failures = 0;
  for (const path of paths) {
    for (const operation of [...operations, "file:delete"]) {
      const content = /write|append/.test(operation) ? { content: "" } : {};
      const job = await invoke(operation, { root: "docs", path, ...content });
      if (job.status !== "FAILED") continue;
      failures += 1;
      // The caller's own path may come back.
      expect(JSON.stringify({ ...job, input: {} }).replaceAll(path, "")).not.toContain(base);
    }
  }
  expect(failures).toBeGreaterThan(30);
  expect(logged).toEqual([]);
});

test("a client that hangs up during invoke does not lose its write", async () => {
  const { venue, url, invoke } = await serve();
  const content = "x".repeat(4_000_000);
  const body = JSON.stringify({ operation: "file:write", input: { root: "tmp", path: "big.txt", content } });
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.end(rawRequest("POST /api/v1/invoke", { "Content-Type": "application/json" }, body), () => socket.destroy());
  await once(socket, "close");
  let found: unknown;
  do found = (await invoke("file:stat", { root: "tmp", path: "big.txt" })).output;
  while (!(found as { exists: boolean }).exists);
  expect(found).toMatchObject({ size: content.length });
  await venue.close();
});

const HEAD = "GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n";
test.each([
  ["nothing was ever asked", ""],
  ["half a request has come", HEAD],
  ["half a request has come after a whole one", `${HEAD}\r\n${HEAD}`],
])("closing does not wait for a connection on which %s", async (_, sent) => {
  const { venue, port } = await serveFake(
    {},
    { http: { listen: { hostname: "localhost", port: 0 }, timeouts: { closeMs: 600_000 } } },
  );
  for (const address of ["127.0.0.1", "::1"]) {
    const socket = connect(port, address).on("error", () => {});
    await once(socket, "connect");
    socket.write(sent);
    if (sent.length > HEAD.length) await once(socket, "data");
  }
  // The server has seen both once it has answered on a third.
  await fetch(`http://localhost:${port}/api/v1/status`);
  await venue.close();
});

test("the audit names the anonymous caller, the job and the outcome, and no content", async () => {
  const { invoke, venue } = await serve({ audit: { file: "audit.jsonl" } });
  const written = await invoke("file:write", { root: "tmp", path: "a", content: "top secret" });
  await invoke("file:write", { root: "docs", path: "a.txt", content: "top secret" });
  await venue.close();
  const audit = readFileSync(join(base, "audit.jsonl"), "utf8");
  const caller = `${venue.host.did}:public`;
  expect(recordsOf(audit)).toMatchObject([
    { caller, operation: "file:write", resource: "file://tmp/a", outcome: "OK", bytes: 10, job: written.id.slice(2) },
    { caller, operation: "file:write", resource: "file://docs/a.txt", outcome: "CAPABILITY_DENIED", bytes: 0 },
  ]);
  expect(audit).not.toContain("secret");
  expect(audit).not.toContain(base);
});
