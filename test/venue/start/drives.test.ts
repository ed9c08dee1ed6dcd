import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import type { Log } from "../../../src/core/ports/log.js";
import { openEmbeddedStore } from "../../../src/drive/store/embedded/embedded.js";
import { signingKeyFromSeed } from "../../../src/ucan/mint/signing-key.js";
import type { OwnCaller } from "../../../src/venue/identity/own-caller.js";
import { type OpenVenue, openVenue } from "../../../src/venue/start/open-venue.js";
import { failureOf } from "../../ops/ground.js";

const SEED = "11".repeat(32);
const ALICE: SurfaceContext = { callerDID: "did:key:z6MkAlice", authentication: "identity" };

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
    expect(await store.swapRoot("ab".repeat(32), null, Buffer.from([0x10, 1]))).not.toBe("conflict");
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
