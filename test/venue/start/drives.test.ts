import { existsSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Client } from "@modelcontextprotocol/client";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { type Log, silentLog } from "../../../src/core/ports/log.js";
import { openEmbeddedStore } from "../../../src/drive/store/embedded/embedded.js";
import { createVenue, type Venue } from "../../../src/index.js";
import { signingKeyFromSeed } from "../../../src/ucan/mint/signing-key.js";
import type { OwnCaller } from "../../../src/venue/identity/access.js";
import { type OpenVenue, openVenue } from "../../../src/venue/start/open-venue.js";
import { BUCKET, CREDENTIALS, type FakeS3, REGION, startFakeS3 } from "../../drive/store/s3/fake-s3.js";
import { failureOf } from "../../ops/ground.js";
import { invoke } from "../../surfaces/http/client.js";
import { mcpClient } from "../../surfaces/mcp/sessions.js";

const ALICE: SurfaceContext = { callerDID: "did:key:z6MkAlice", authentication: "identity" };

describe("drives", () => {
  const SEED = "11".repeat(32);

  let home = "";
  let open: OpenVenue[] = [];
  let lines: string[] = [];
  let onError: () => void = () => {};

  const log: Log = {
    debug() {},
    info() {},
    warn: (_, text) => void lines.push(`warn ${text}`),
    error: (fields, text) => {
      lines.push(`error ${text} ${JSON.stringify(fields)}`);
      onError();
    },
  };

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "venue-files-drives-"));
    lines = [];
  });

  afterEach(async () => {
    await Promise.all(open.map((venue) => venue.close()));
    open = [];
    rmSync(home, { recursive: true, force: true });
  });

  interface How {
    readonly listens?: boolean;
    readonly caller?: OwnCaller;
  }

  const configOf = (given: VenueConfigInput) =>
    parseConfig({ port: 0, stateDir: join(home, "state"), ...given }, { baseDir: home });

  async function venueOf(given: VenueConfigInput, { listens = true, caller }: How = {}): Promise<OpenVenue> {
    const venue = await openVenue(configOf(given), { listens, env: {}, log, ...(caller ? { caller } : {}) });
    open.push(venue);
    return venue;
  }

  const call = (venue: OpenVenue, operation: string, input: object, context: SurfaceContext = ALICE) =>
    venue.host.run({ operation, input, caller: context.callerDID ?? venue.host.did, context }).result;

  const close = async (venue: OpenVenue): Promise<void> => {
    await venue.close();
    open = open.filter((one) => one !== venue);
  };

  const WRITE = { drive: "notes", path: "a.txt", content: "kept" };
  const READ = { drive: "notes", path: "a.txt" };

  describe("drives of a venue", () => {
    test("last from start to start in the state directory, where the key of the venue does", async () => {
      const first = await venueOf({ seed: SEED });
      expect(existsSync(join(home, "state", "drives"))).toBe(false);
      await call(first, "dlfs:write", WRITE);
      await close(first);
      expect(statSync(join(home, "state", "drives")).mode & 0o077).toBe(0);
      const second = await venueOf({ seed: SEED });
      expect(await call(second, "dlfs:read", READ)).toMatchObject({ content: "kept" });
      expect(lines).toEqual([]);
    });

    test("last in a folder of their own", async () => {
      const given: VenueConfigInput = { seedFile: "venue.seed", drives: { store: { path: "drives" } } };
      const first = await venueOf(given);
      await call(first, "dlfs:write", WRITE);
      await close(first);
      expect(existsSync(join(home, "drives"))).toBe(true);
      expect(await call(await venueOf(given), "dlfs:read", READ)).toMatchObject({ content: "kept" });
    });

    test("are gone with the venue in memory, which the log says once unless that is meant", async () => {
      const first = await venueOf({});
      expect(lines).toEqual([]);
      await call(first, "dlfs:write", WRITE);
      await call(first, "dlfs:list", { drive: "notes" });
      expect(lines).toEqual(["warn Drives are kept in memory and will not survive"]);
      await close(first);
      const second = await venueOf({ drives: { store: "memory" } });
      expect(await call(second, "dlfs:list-drives", {})).toEqual({ drives: [] });
      expect(lines).toHaveLength(1);
      expect(existsSync(join(home, "state", "drives"))).toBe(false);
    });

    test("under another key of the venue can be read, and not changed, and that key makes no new one", async () => {
      const first = await venueOf({ seed: SEED });
      await call(first, "dlfs:write", WRITE);
      await close(first);
      const second = await venueOf({ seed: "22".repeat(32), file: { roots: { mine: { dlfs: "notes" } } } });
      expect(await call(second, "file:read", { root: "mine", path: "a.txt" })).toMatchObject({ content: "kept" });
      const write = { root: "mine", path: "b.txt", content: "x" };
      expect(await failureOf(call(second, "file:write", write))).toMatchObject({
        code: "READ_ONLY_ROOT",
        message: "Root 'mine' is read-only",
      });
    });

    test("that cannot be opened stop a start where they were asked for, and else fail the call that needs them", async () => {
      writeFileSync(join(home, "taken"), "");
      const store = { path: join("taken", "drives") };
      await expect(venueOf({ seed: SEED, drives: { store } })).rejects.toMatchObject({
        name: "ConfigError",
        message: expect.stringMatching(/^'drives\.store' cannot be opened: /),
      });
      writeFileSync(join(home, "drives-in-the-way"), "");
      const venue = await venueOf({ seed: SEED, drives: { store } }, { listens: false, caller: callerOf("33") });
      const failure = await failureOf(call(venue, "dlfs:list", { drive: "notes" }));
      expect(failure).toMatchObject({ code: "STORE_UNAVAILABLE", message: "Drive store is not reachable: notes" });
      expect(JSON.stringify([failure, lines])).not.toContain(home);
      expect(await call(venue, "file:list", { root: "tmp" })).toMatchObject({ total: 0 });
    });

    test("with a root that is damaged are told of behind the start, and never because the store is being closed", async () => {
      const given: VenueConfigInput = { seed: SEED, drives: { store: { path: "drives" } } };
      const first = await venueOf(given);
      await call(first, "dlfs:write", WRITE);
      await close(first);
      for (let start = 0; start < 3; start += 1) await close(await venueOf(given));
      expect(lines).toEqual([]);
      const store = await openEmbeddedStore({ path: join(home, "drives") });
      expect(await store.batch().commit("ab".repeat(32), null, Buffer.from([0x10, 1]))).not.toBe("conflict");
      await store.close();
      await close(await venueOf(given, { listens: false, caller: callerOf("33") }));
      expect(lines).toEqual([]);
      const told = new Promise<void>((resolve) => {
        onError = resolve;
      });
      const second = await venueOf(given);
      await told;
      expect(lines).toEqual([
        `error The root of an owner's drives is damaged ${JSON.stringify({ owner: "ab".repeat(32) })}`,
      ]);
      expect(await call(second, "dlfs:read", READ)).toMatchObject({ content: "kept" });
    });

    test("cannot be kept for good by a venue whose key is not", () => {
      expect(() => configOf({ drives: { store: { path: "drives" } } })).toThrow(
        `'drives.store' outlasts the key of the venue: set 'seed' or 'seedFile', or make it "memory"`,
      );
    });

    test("do not lie inside a root", async () => {
      const given = { seed: SEED, drives: { store: { path: "drives" } }, file: { roots: { all: home } } };
      await expect(venueOf({ ...given, stateDir: tmpdir() })).rejects.toThrow(
        "'drives.store.path' lies inside root 'all'",
      );
    });

    test("that are roots and end with the venue are warned of", () => {
      const file = { roots: { mine: { dlfs: "notes" } } };
      const warning =
        "Drives are kept in memory and will not survive: set 'seed' or 'seedFile', or 'drives.store' to \"memory\" if that is meant";
      expect(configOf({ file }).warnings).toEqual([warning]);
      for (const other of [{ seed: SEED }, { seedFile: "x" }, { drives: { store: "memory" as const } }]) {
        expect(configOf({ file, ...other }).warnings).toEqual([]);
      }
      expect(configOf({}).warnings).toEqual([]);
    });
  });

  const callerOf = (digits: string): OwnCaller => ({
    key: signingKeyFromSeed(Buffer.from(digits.repeat(32), "hex")),
    proofs: [],
  });

  describe("whoever starts a venue that does not listen", () => {
    test("has drives by a key, and none as the operator", async () => {
      const venue = await venueOf({ seed: SEED }, { listens: false, caller: callerOf("33") });
      await call(venue, "dlfs:write", WRITE, venue.ownContext());
      await close(venue);
      const again = await venueOf({ seed: SEED }, { listens: false, caller: callerOf("33") });
      expect(await call(again, "dlfs:read", READ, again.ownContext())).toMatchObject({ content: "kept" });
      const other = await venueOf({ seed: SEED }, { listens: false, caller: callerOf("44") });
      expect(await call(other, "dlfs:list-drives", {}, other.ownContext())).toEqual({ drives: [] });
      const operator = await venueOf({ seed: SEED }, { listens: false });
      expect((await failureOf(call(operator, "dlfs:list-drives", {}, operator.ownContext()))).code).toBe(
        "DRIVE_REQUIRES_AUTH",
      );
    });
  });

  describe("MCP", () => {
    const names = (venue: OpenVenue) => venue.mcpHost().tools.map(({ toolName }) => toolName);

    test("offers the operations on drives only where they are named", async () => {
      expect(names(await venueOf({})).filter((name) => name.startsWith("dlfs"))).toEqual([]);
      const venue = await venueOf({ stateDir: "other", mcp: { includeAdapters: ["dlfs"] } });
      expect(names(venue)).toEqual([
        ...["dlfs_list_drives", "dlfs_create_drive", "dlfs_delete_drive", "dlfs_list", "dlfs_tree", "dlfs_read"],
        ...[
          "dlfs_create",
          "dlfs_write",
          "dlfs_append",
          "dlfs_mkdir",
          "dlfs_move",
          "dlfs_copy",
          "dlfs_delete",
          "dlfs_stat",
        ],
      ]);
    });

    test("shows what is no text under the name of its drive", async () => {
      const venue = await venueOf({ mcp: { includeAdapters: ["dlfs"] } });
      const read = venue.mcpHost().tools.find(({ name }) => name === "dlfs:read");
      const output = { content: "AAEC", encoding: "base64", size: 3, mime: "application/octet-stream" };
      expect(read?.render?.(output, { drive: "my notes", path: "a/b" })).toMatchObject({
        kind: "blob",
        uri: "dlfs://my%20notes/a/b",
      });
    });
  });
});

const BOB: SurfaceContext = { callerDID: "did:key:z6MkBob", authentication: "identity" };

const submit = (venue: OpenVenue, operation: string, input: object, context: SurfaceContext = ALICE) =>
  venue.host.submit({ operation, input, caller: context.callerDID ?? "", context });

const write = (venue: OpenVenue, who: SurfaceContext) =>
  submit(venue, "dlfs:write", { drive: "notes", path: "a", content: "x" }, who).result;

describe("drive:export-key", () => {
  let open: OpenVenue | undefined;

  afterEach(async () => {
    await open?.close();
    open = undefined;
  });

  async function venueOf(drives: object): Promise<OpenVenue> {
    const config = parseConfig({ port: 0, drives: { store: "memory", ...drives } }, { baseDir: "/" });
    open = await openVenue(config, { listens: true, env: {}, log: silentLog });
    return open;
  }

  test("is not there unless the operator allows it", async () => {
    const venue = await venueOf({});
    const ask = async () => submit(venue, "drive:export-key", {}).result;
    expect((await failureOf(ask())).code).toBe("UNKNOWN_OPERATION");
  });

  test("gives each caller the key of its own, in the answer and in no record", async () => {
    const venue = await venueOf({ allowKeyExport: true });
    expect((await failureOf(submit(venue, "drive:export-key", {}).result)).code).toBe("NOT_FOUND");
    for (const who of [ALICE, BOB]) await write(venue, who);
    const job = submit(venue, "drive:export-key", {});
    const { output } = await job.settled(10_000);
    expect(output).toEqual({
      publicKey: expect.stringMatching(/^[0-9a-f]{64}$/),
      seed: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(job.record().output).toMatchObject({ seed: "HIDDEN" });
    expect(await job.result).toBeUndefined();
    const other = await submit(venue, "drive:export-key", {}, BOB).result;
    expect(other).not.toEqual(output);
    expect((await failureOf(submit(venue, "drive:export-key", { owner: ALICE.callerDID }, BOB).result)).code).toBe(
      "INVALID_INPUT",
    );
  });

  test.each(["crud/read", "crud/write", "crud/delete"])("needs %s on all drives", async (can) => {
    const venue = await venueOf({ allowKeyExport: true });
    await write(venue, ALICE);
    const others = ["crud/read", "crud/write", "crud/delete"].filter((other) => other !== can);
    const caps = others.map((other) => ({ with: "dlfs://", can: other }));
    expect((await failureOf(submit(venue, "drive:export-key", {}, { ...ALICE, caps }).result)).code).toBe(
      "CAPABILITY_DENIED",
    );
  });
});

interface Answer {
  readonly output?: Record<string, unknown>;
  readonly code?: unknown;
}

type Call = (operation: string, input: object) => Promise<Answer>;

describe("whole drives, over HTTP and over MCP", () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  let client: Client;
  let venue: Venue;
  let url: string;
  beforeAll(async () => {
    venue = await createVenue(
      { port: 0, stateDir: "state", drives: { store: "memory" }, mcp: { includeAdapters: ["dlfs", "drive"] } },
      { baseDir: base },
    );
    ({ url } = await venue.listen());
    client = await mcpClient({ url, token: venue.localToken });
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

const ENV = {
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  AWS_REGION: REGION,
};
let fake: FakeS3;

describe("drives of venues that share a bucket", () => {
  const SEED = "11".repeat(32);

  let home = "";
  let open: OpenVenue[] = [];

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "venue-files-s3-"));
    fake = await startFakeS3();
  });

  afterEach(async () => {
    await Promise.all(open.map((venue) => venue.close()));
    open = [];
    await fake.close();
    rmSync(home, { recursive: true, force: true });
  });

  const configOf = (name: string, given: VenueConfigInput = {}) =>
    parseConfig(
      {
        ...{ port: 0, seed: SEED, stateDir: join(home, name) },
        drives: { store: { s3: { bucket: BUCKET, endpoint: fake.endpoint, prefix: "venues/" } } },
        ...given,
      },
      { baseDir: home },
    );

  async function venueOf(name: string, env: Readonly<Record<string, string>> = ENV): Promise<OpenVenue> {
    const venue = await openVenue(configOf(name), { listens: true, env, log: silentLog });
    open.push(venue);
    return venue;
  }

  const call = (venue: OpenVenue, operation: string, input: object) =>
    venue.host.run({ operation, input, caller: ALICE.callerDID ?? "", context: ALICE }).result;

  test("are the same in all of them, below the prefix", async () => {
    const [one, other] = [await venueOf("one"), await venueOf("other")];
    await call(one, "dlfs:write", { drive: "notes", path: "a.txt", content: "from one" });
    expect(await call(other, "dlfs:read", { drive: "notes", path: "a.txt" })).toMatchObject({ content: "from one" });
    await call(other, "dlfs:append", { drive: "notes", path: "a.txt", content: ", and other" });
    expect(await call(one, "dlfs:read", { drive: "notes", path: "a.txt" })).toMatchObject({
      content: "from one, and other",
    });
    expect([...fake.objects.keys()].filter((key) => !key.startsWith("venues/"))).toEqual([]);
  });

  test("need credentials, of which the start says where they belong", async () => {
    await expect(venueOf("one", {})).rejects.toMatchObject({
      name: "ConfigError",
      message: expect.stringContaining("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    });
  });

  test("need a key of the venue that lasts, and one place", () => {
    const s3 = { bucket: BUCKET };
    expect(() => parseConfig({ drives: { store: { s3 } } }, { baseDir: home })).toThrow(
      /outlasts the key of the venue/,
    );
    const both = { seed: SEED, drives: { store: { s3, path: "drives" } } };
    expect(() => parseConfig(both, { baseDir: home })).toThrow(/only one of path and s3/);
    const neither = { seed: SEED, drives: { store: {} } };
    expect(() => parseConfig(neither, { baseDir: home })).toThrow(/either path or s3/);
  });

  test("that travel unencrypted off this machine are warned of", () => {
    const at = (endpoint: string) => ({ drives: { store: { s3: { bucket: BUCKET, endpoint } } } });
    expect(configOf("one", at("http://s3.example.com")).warnings.join()).toContain("Drives travel unencrypted");
    expect(configOf("one", at("https://s3.example.com")).warnings).toEqual([]);
    expect(configOf("one").warnings).toEqual([]);
  });
});
