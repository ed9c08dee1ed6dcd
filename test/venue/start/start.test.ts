import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Client } from "@modelcontextprotocol/client";
import fc from "fast-check";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import type { AuditRecord } from "../../../src/audit/record.js";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfig, VenueConfigInput } from "../../../src/config/types.js";
import { contextOf } from "../../../src/core/call/attribute.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { packageFile } from "../../../src/core/package-files.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import type { JournalFault } from "../../../src/core/ports/changes/journal.js";
import { silentLog } from "../../../src/core/ports/log.js";
import type { RootJournalAccess } from "../../../src/core/ports/operation.js";
import { createVenue, type Log, type LogFields, type Venue } from "../../../src/index.js";
import { tokenId } from "../../../src/ucan/token/id.js";
import { overviewOf } from "../../../src/venue/start/http-options.js";
import { openAudit } from "../../../src/venue/start/open-parts.js";
import { type OpenVenue, openVenue } from "../../../src/venue/start/open-venue.js";
import { createRateLimit, type SenderLimit, senderOfAddress } from "../../../src/venue/start/rate-limit.js";
import { newKeyPair } from "../../clients/key-pair.js";
import { needs } from "../../needs.js";
import { readZip } from "../../ops/archives/archives.js";
import { run as runHttp, send as sendHttp } from "../../surfaces/http/client.js";
import { mcpClient } from "../../surfaces/mcp/sessions.js";
import { alice, bob, type Signer, signed, venue as venueKey } from "../../ucan/tokens.js";

needs(existsSync("/dev/full"), "it writes to /dev/full")(
  "of records that wait for a full disk the log says that they wait, and none counts as lost",
  async () => {
    const told: string[] = [];
    const log = { ...silentLog, error: (_fields: object, text: string) => void told.push(text) };
    const config = { audit: { file: "/dev/full", maxBytes: 1_000_000, keep: 1 }, stateDir: false } as VenueConfig;
    const audit = await openAudit(config, { env: {}, log, key: undefined });
    for (let count = 0; count < 3; count++) audit?.write({ operation: "file:read" } as unknown as AuditRecord);
    await audit?.written();
    expect(told).toEqual([expect.stringMatching(/^the audit cannot be written: records wait/)]);
    expect(audit?.lost).toBe(0);
    await audit?.close();
    expect(audit?.lost).toBe(3);
  },
);

// A venue that is out of descriptors for a moment serves as before once it has some again.
/** The connection is open before, and so served without another descriptor. */
const VENUE = `
  import { closeSync, openSync, readFileSync } from "node:fs";
  import { Agent, request } from "node:http";
  import { createVenue } from ${JSON.stringify(packageFile("dist/index.js").href)};
  const venue = await createVenue({
    ...{ port: 0, seedFile: "seed", stateDir: "state", file: { roots: { r: { path: "r" } } } },
    auth: { public: { enabled: true, caps: [{ with: "file://r/", can: "crud" }] } },
  });
  const { url } = await venue.listen();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = (body) => new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const sent = request(new URL("/api/v1/run", url), { method: "POST", agent, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece) => (text += piece)).on("end", () => resolve([answer.statusCode, JSON.parse(text)]));
    });
    sent.on("error", reject).end(body);
  });
  const json5 = (operation, input) => "{ operation: '" + operation + "', input: " + JSON.stringify(input) + " }";
  const stat = { root: "r", path: "" };
  await send(JSON.stringify({ operation: "file:stat", input: stat }));
  const had = [];
  try { for (;;) had.push(openSync("/dev/null")); } catch {}
  const without = await send(json5("file:stat", stat));
  for (const fd of had) closeSync(fd);
  const withSome = await send(json5("file:stat", stat));
  const lmdb = readFileSync("/proc/self/maps", "latin1").includes("lmdb");
  console.log(JSON.stringify({ without: without[0], withSome: withSome[0], lmdb }));
  agent.destroy();
  await venue.close();
`;

test("no module stays lost, and the journal's is there before the first change", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-ahead-")));
  mkdirSync(join(folder, "r"));
  try {
    const node = [process.execPath, "--input-type=module", "--eval", VENUE];
    const { stdout, stderr } = spawnSync("sh", ["-c", `ulimit -n 256; exec "$@"`, "sh", ...node], {
      ...{ cwd: folder, encoding: "utf8" },
    });
    expect([stderr, stdout]).toEqual(["", '{"without":500,"withSome":200,"lmdb":true}\n']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const STATIC = "static-token-static-token-static-token";
const SECRET = "s3cret-content-of-a-file";
const lines: string[] = [];
const line = (fields: LogFields, text: string) =>
  void lines.push(JSON.stringify({ ...fields, text, err: String(fields["err"]) }));
const log: Log = { debugs: true, debug: line, info: line, warn: line, error: line };
let venue: Venue;
const answers: string[] = [];
const secrets: string[] = [STATIC, SECRET];

async function send(method: string, path: string, init: { token?: string; body?: unknown } = {}): Promise<void> {
  const response = await sendHttp(venue.url + path, { method, token: init.token, json: init.body });
  answers.push(`${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`);
}

describe("nothing that was said or written while everything was called", () => {
  let base: string;

  beforeAll(async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
    mkdirSync(join(base, "docs"));
    writeFileSync(join(base, "docs/a.txt"), "alpha");
    writeFileSync(join(base, "ci.token"), STATIC);
    venue = await createVenue(
      {
        ...{ port: 0, stateDir: "state", seedFile: "venue.seed", audit: { file: "audit.jsonl" } },
        auth: {
          tokens: [{ name: "ci", token: { file: "ci.token" }, caps: [{ with: "file://docs/", can: "crud" }] }],
        },
        file: { discloseHostPaths: false, roots: { docs: "docs" } },
      },
      { baseDir: base, log },
    );
    venue.register({
      name: "broken",
      description: "Fails.",
      operations: [{ name: "broken:fail", description: "Fails with a path." }],
      invoke: async () => {
        readFileSync(join(base, "no/such/file"));
      },
    });
    await venue.listen();
    await callEverything();
  });
  afterAll(async () => {
    await venue.close();
    rmSync(base, { recursive: true, force: true });
  });

  /** Right and wrong tokens, everywhere, with operations that succeed, are denied, and fail. */
  async function callEverything(): Promise<void> {
    const alice = newKeyPair();
    const grant = [{ with: "file://docs/", can: "crud" }];
    const right = [venue.localToken ?? "", STATIC, alice.identity(venue.did)];
    const wrong = [
      ...right.map((token) => `${token.slice(0, -2)}xx`),
      alice.identity("did:key:z6MkOther"),
      alice.delegation(newKeyPair().did, grant),
    ];
    secrets.push(...right, ...wrong, readFileSync(join(base, "venue.seed"), "utf8").trim());
    for (const token of [...right, ...wrong, undefined]) {
      const who = token === undefined ? {} : { token };
      const input = { root: "docs", path: "a.txt" };
      for (const [operation, more] of [
        ["file:read", {}],
        ["file:write", { content: SECRET }],
        ["file:read", { path: "no/such" }],
        ["broken:fail", {}],
        ["file:roots", undefined],
      ] as const) {
        const body = { operation, input: more === undefined ? {} : { ...input, ...more }, wait: true };
        await send("POST", "/api/v1/invoke", {
          ...who,
          body: { ...body, ucans: [alice.delegation(venue.did, grant)] },
        });
        await send("POST", "/api/v1/invoke", {
          ...who,
          body: { ...body, operation: operation.replace("read", "stat") },
        });
      }
      for (const path of ["/api/v1/status", "/api/v1/jobs", "/api/v1/assets", "/nope", "/metrics", "/openapi.json"]) {
        await send("GET", path, who);
      }
    }
  }

  const texts = (): [string, string[]][] => [
    ["answers", answers],
    ["log lines", lines],
    ["audit records", [readFileSync(join(base, "audit.jsonl"), "utf8")]],
  ];

  test("is empty, or this test would prove nothing", () => {
    expect(answers.length).toBeGreaterThan(100);
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.filter((text) => text.includes("internal error")).length).toBeGreaterThan(3);
    expect(answers.filter((text) => text.startsWith("401")).length).toBeGreaterThan(30);
  });

  test("holds a token, a key or the content of a file", () => {
    for (const [where, all] of texts()) {
      for (const secret of secrets) {
        // What was written may be read again, by whoever may read it.
        const found = all.filter((text) => text.includes(secret) && !text.includes(`"content":"${SECRET}"`));
        expect([where, found]).toEqual([where, []]);
      }
    }
  });

  test("holds a host path", () => {
    const [[, said], , [, audited]] = texts() as [[string, string[]], unknown, [string, string[]]];
    expect([...said, ...audited].filter((text) => text.includes(base))).toEqual([]);
  });
});

/** The journal of a root that is open, or is not. */
function journal(fault?: JournalFault | "none"): RootJournalAccess {
  const numbers = { entries: 1, bytes: 1, unkept: 0, lost: 0 };
  const facts = fault === undefined ? undefined : { ...numbers, ...(fault !== "none" && { fault }) };
  return { mode: "on", open: () => undefined, facts: () => facts };
}

test("the operator's status names roots whose journal is not whole, and why", () => {
  const roots = [
    { name: "whole", readOnly: false, journal: journal("none") },
    { name: "broken", readOnly: false, journal: journal("damaged") },
    { name: "full", readOnly: false, journal: journal("waiting") },
    { name: "unused", readOnly: false, journal: journal() },
    { name: "notes", readOnly: true, drive: "notes" },
  ];
  expect(overviewOf({ roots }, {})).toEqual({
    roots: [
      { name: "whole", readOnly: false },
      { name: "broken", readOnly: false, journal: "damaged" },
      { name: "full", readOnly: false, journal: "waiting" },
      { name: "unused", readOnly: false },
      { name: "notes", readOnly: true, drive: true },
    ],
    tokens: { access: 0, sessions: 0 },
  });
});

/** How many of so many requests go through, one after the other at the same moment. */
async function passed(limit: SenderLimit, requests: number, sender = "a"): Promise<number> {
  let count = 0;
  for (let request = 0; request < requests; request++) if ((await limit(sender)) === 0) count++;
  return count;
}

describe("the rate limit", () => {
  // The library looks at the time of the system.
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test("lets a burst through, and tells the rest how long to wait", async () => {
    const limit = createRateLimit({ perSecond: 10, burst: 20 });
    expect(await passed(limit, 20)).toBe(20);
    expect(await limit("a")).toBe(2000);
    await jest.advanceTimersByTimeAsync(1500);
    expect(await limit("a")).toBe(500);
  });

  test("is shared out among as many instances as there are, one request each at least", async () => {
    let instances = 1;
    const limit = createRateLimit({ perSecond: 10, burst: 20 }, undefined, () => instances);
    expect(await passed(limit, 30)).toBe(20);
    instances = 3;
    expect(await passed(limit, 30, "b")).toBe(6);
    // Whoever has had more must wait until the window ends.
    expect(await limit("a")).toBe(2000);
    instances = 100;
    expect(await passed(limit, 30, "c")).toBe(1);
    instances = 1;
    expect(await passed(limit, 30, "c")).toBe(0);
    expect(await passed(limit, 30, "d")).toBe(20);
  });

  test("lets as many through again after that wait", async () => {
    const limit = createRateLimit({ perSecond: 10, burst: 20 });
    await passed(limit, 30);
    await jest.advanceTimersByTimeAsync(await limit("a"));
    expect(await passed(limit, 30)).toBe(20);
  });

  test.each([
    [{ perSecond: 100, burst: 200 }, 10],
    [{ perSecond: 5, burst: 1 }, 10],
    [{ perSecond: 1, burst: 50 }, 100],
  ])("keeps the mean of %j whoever always tries", async (config, seconds) => {
    const limit = createRateLimit(config);
    let count = 0;
    for (let step = 0; step < seconds * 10; step++) {
      count += await passed(limit, config.perSecond);
      await jest.advanceTimersByTimeAsync(100);
    }
    expect(count / seconds).toBeLessThanOrEqual(config.perSecond * 1.1);
    expect(count / seconds).toBeGreaterThanOrEqual(config.perSecond * 0.9);
  });

  test("slows nobody down who keeps to the rate", async () => {
    const limit = createRateLimit({ perSecond: 10, burst: 20 });
    for (let request = 0; request < 200; request++) {
      expect(await limit("a")).toBe(0);
      await jest.advanceTimersByTimeAsync(100);
    }
  });

  test("holds when a burst is worth more than a timer can wait", async () => {
    const limit = createRateLimit({ perSecond: 1, burst: 10_000_000 });
    await limit("a");
    await jest.advanceTimersByTimeAsync(1000);
    expect(jest.getTimerCount()).toBe(1);
  });

  test("counts each sender alone, also those whose names are long and nearly the same", async () => {
    const limit = createRateLimit({ perSecond: 1, burst: 2 });
    const long = "did:web:".padEnd(10_000, "x");
    for (const sender of ["a", "b", `${long}1`, `${long}2`]) expect(await passed(limit, 5, sender)).toBe(2);
  });

  test("counts requests that come at the same time", async () => {
    const limit = createRateLimit({ perSecond: 1, burst: 5 });
    const waits = await Promise.all(Array.from({ length: 50 }, () => limit("a")));
    expect(waits.filter((ms) => ms === 0)).toHaveLength(5);
  });

  test("remembers a bounded number of senders, those that came last", async () => {
    const limit = createRateLimit({ perSecond: 0.001, burst: 1 }, 100);
    const timers = jest.getTimerCount();
    for (let sender = 0; sender < 5000; sender++) {
      expect(await limit(`s${sender}`)).toBe(0);
      // Somebody who never stops is not forgotten for the sake of others.
      expect((await limit("busy")) === 0).toBe(sender === 0);
    }
    // The library has a timer for each sender it knows.
    expect(jest.getTimerCount() - timers).toBeLessThanOrEqual(100);
    expect(await limit("s4999")).toBeGreaterThan(0);
    expect(await limit("s0")).toBe(0);
  });
});

describe("the sender behind an address", () => {
  test.each([
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::FFFF:c000:0207", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::9", "2001:db8:1:2::/64"],
    ["2001:db8:1:3::9", "2001:db8:1:3::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b::192.0.2.7", "64:ff9b:0:0::/64"],
    ["", ""],
    ["unix", "unix"],
  ])("of %j is %j", (address, sender) => {
    expect(senderOfAddress(address)).toBe(sender);
  });

  test("is the same within a network of 64 bits, and another outside", () => {
    const groups = (count: number) =>
      fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: count, maxLength: count });
    const print = (parts: readonly number[]) => parts.map((part) => part.toString(16)).join(":");
    fc.assert(
      fc.property(groups(4), groups(4), groups(4), (network, one, other) => {
        fc.pre(network.some((group) => group !== 0));
        const sender = senderOfAddress(print([...network, ...one]));
        expect(senderOfAddress(print([...network, ...other]))).toBe(sender);
        const [first = 0, ...rest] = network;
        expect(senderOfAddress(print([first ^ 1, ...rest, ...one]))).not.toBe(sender);
      }),
    );
  });
});

describe("a reload", () => {
  const DOCS = { with: "file://docs/", can: "crud/read" };
  const SEED = "01".repeat(32);

  let base: string;
  let open: OpenVenue;
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "venue-reload-")));
    mkdirSync(join(base, "docs"));
    writeFileSync(join(base, "docs/a.txt"), "alpha");
  });
  afterEach(async () => {
    await open.close();
    rmSync(base, { recursive: true, force: true });
  });

  type Auth = NonNullable<VenueConfigInput["auth"]>;

  const configOf = (auth: Auth = {}, owner?: string) =>
    parseConfig(
      {
        port: 0,
        seed: SEED,
        stateDir: "state",
        file: { roots: { docs: { path: "docs", ...(owner === undefined ? {} : { owner }) } } },
        auth: { public: { caps: [] }, ...auth },
      },
      { baseDir: base },
    );

  async function start(auth?: Auth, owner?: string): Promise<void> {
    open = await openVenue(configOf(auth, owner), { listens: true, env: {}, log: silentLog });
  }

  const reload = (auth?: Auth, owner?: string) => open.prepareReload(configOf(auth, owner)).commit();

  /** What a caller with some UCANs reads, or why it cannot. */
  async function read(did: string, ucans: readonly string[] = [], more: SurfaceContext = {}): Promise<unknown> {
    const context = { callerDID: did, authentication: "identity", ucans, ...more } as const;
    try {
      return (await open.adapter.invoke("file:read", { root: "docs", path: "a.txt" }, context)).content;
    } catch (error) {
      if (!(error instanceof FileAdapterError)) throw error;
      return error.code;
    }
  }

  const grant = (claims: Readonly<Record<string, unknown>> = {}, by: Signer = venueKey): string =>
    signed(
      {
        header: { alg: "EdDSA", typ: "JWT", kid: by.multikey },
        payload: { iss: by.did, aud: bob.did, ucv: "0.10.0", att: [DOCS], prf: [], exp: inAnHour(), ...claims },
      },
      by.privateKey,
    );
  const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

  describe("a reload applies", () => {
    test("what the configuration gives to a DID", async () => {
      await start();
      expect(await read(alice.did)).toBe("CAPABILITY_DENIED");
      expect(await reload({ grants: [{ did: alice.did, ...DOCS }] })).toEqual([]);
      expect([await read(alice.did), await read(bob.did)]).toEqual(["alpha", "CAPABILITY_DENIED"]);
      await reload();
      expect(await read(alice.did)).toBe("CAPABILITY_DENIED");
    });

    test("what the maker of an access token has lost: so has the token, and it gets it back with its maker", async () => {
      const grants = [{ did: alice.did, with: "file://docs/", can: "crud" }];
      await start({ grants });
      const made = await open.access.accessTokens?.issue({
        ...{ label: "agent", lifetimeMs: 3_600_000, caps: [DOCS] },
        maker: { kind: "identity", did: alice.did },
      });
      const readBy = async () => {
        const known = await open.access.authenticate(`Bearer ${made?.secret}`);
        return "caller" in known ? read(known.caller.did, [], contextOf(known.caller)) : known.refused;
      };
      expect(await readBy()).toBe("alpha");
      await reload({ grants: [{ did: alice.did, with: "file://docs/other/", can: "crud" }] });
      expect([await readBy(), await read(alice.did)]).toEqual(["CAPABILITY_DENIED", "CAPABILITY_DENIED"]);
      await reload({ grants });
      expect(await readBy()).toBe("alpha");
      await reload();
      expect(await readBy()).toBe("CAPABILITY_DENIED");
    });

    test("who owns a root, and with it whose grants count there", async () => {
      await start();
      const grants = [grant()];
      expect([await read(alice.did), await read(bob.did, grants)]).toEqual(["CAPABILITY_DENIED", "alpha"]);
      expect(await reload({}, alice.did)).toEqual([]);
      expect(await read(alice.did)).toBe("alpha");
      expect(await read(bob.did, grants)).not.toBe("alpha");
      expect(await read(bob.did, [grant({}, alice)])).toBe("alpha");
    });

    test("how UCANs are judged", async () => {
      await start();
      const lasting = [grant({ exp: null })];
      expect([await read(bob.did, lasting), await read(bob.did, [grant()])]).toEqual(["CAPABILITY_DENIED", "alpha"]);
      expect(await reload({ ucan: { allowNoExpiry: true, maxLifetime: 60 } })).toEqual([]);
      expect([await read(bob.did, lasting), await read(bob.did, [grant()])]).toEqual(["alpha", "CAPABILITY_DENIED"]);
    });

    test("another revocation list, also to what was judged before and to bearers", async () => {
      writeFileSync(join(base, "revoked.txt"), `${alice.did}\n`);
      const ours = grant();
      writeFileSync(join(base, "other.txt"), `${idOf(ours)}\n`);
      await start({ ucan: { revocations: "revoked.txt" } });
      const bearer = `Bearer ${identity(alice)}`;
      expect([await read(bob.did, [ours]), open.access.authenticate(bearer)]).toMatchObject([
        "alpha",
        { refused: "invalid_token" },
      ]);
      expect(await reload({ ucan: { revocations: "other.txt" } })).toEqual([]);
      expect([await read(bob.did, [ours]), open.access.authenticate(bearer)]).toMatchObject([
        "CAPABILITY_DENIED",
        { caller: { did: alice.did } },
      ]);
      expect(open.access.revocations.has(idOf(ours))).toBe(true);
    });

    test("nothing to what was learnt of tokens, when their rules stay", async () => {
      await start();
      const ours = grant();
      await read(bob.did, [ours]);
      await reload({ grants: [{ did: alice.did, ...DOCS }] });
      expect([...(open.access.verifier.issuersOf(idOf(ours)) ?? [])]).toEqual([venueKey.did]);
    });
  });

  describe("a reload applies nothing when", () => {
    const secret = "s".repeat(40);
    const wrong: readonly [string, Auth, string | undefined][] = [
      ["the revocation list is not there", { ucan: { revocations: "none.txt" } }, undefined],
      ["the revocation list is malformed", { ucan: { revocations: "malformed.txt" } }, undefined],
      ["the revocation list lies in a root", { ucan: { revocations: "docs/a.txt" } }, undefined],
      [
        "a static token stands for the new owner",
        { tokens: [{ name: "ci", token: { env: "T" }, caps: [] }] },
        `${venueKey.did}:token:ci`,
      ],
    ];
    test.each(wrong)("%s", async (_what, auth, owner) => {
      writeFileSync(join(base, "malformed.txt"), "bob\n");
      open = await openVenue(configOf(), { listens: true, env: { T: secret }, log: silentLog });
      const next = configOf({ grants: [{ did: alice.did, ...DOCS }], ...auth }, owner);
      expect(() => open.prepareReload(next)).toThrow(expect.objectContaining({ name: "ConfigError" }));
      expect([await read(alice.did), await read(bob.did, [grant()])]).toEqual(["CAPABILITY_DENIED", "alpha"]);
      expect(open.config.auth.grants).toEqual([]);
    });

    test("it is thought better of", async () => {
      await start();
      await open.prepareReload(configOf({ grants: [{ did: alice.did, ...DOCS }] }, bob.did)).discard();
      expect([await read(alice.did), await read(bob.did)]).toEqual(["CAPABILITY_DENIED", "CAPABILITY_DENIED"]);
    });
  });

  const idOf = (token: string): string => tokenId(token.slice(0, token.lastIndexOf(".")));

  function identity(by: Signer): string {
    const exp = Math.floor(Date.now() / 1000) + 300;
    const payload = { sub: by.did, iss: by.did, aud: venueKey.did, exp };
    return signed({ header: { alg: "EdDSA", typ: "JWT" }, payload }, by.privateKey);
  }
});

describe("archives", () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  let client: Client;
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
    client = await mcpClient({ url, token: venue.localToken });
  });
  afterAll(async () => {
    await client.close();
    await venue.close();
    rmSync(base, { recursive: true, force: true });
  });

  async function run(operation: string, input: object): Promise<Record<string, unknown>> {
    const response = await runHttp(url, operation, input, venue.localToken);
    return (await response.json()) as Record<string, unknown>;
  }

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
});
