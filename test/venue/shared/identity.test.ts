import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { systemClock } from "../../../src/core/clock.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { revokeBefore } from "../../../src/ucan/verify/revocation-list.js";
import type { MadeAccess, TokenStore } from "../../../src/venue/identity/access-entry.js";
import { AccessTokens } from "../../../src/venue/identity/access-tokens.js";
import type { RevocationList } from "../../../src/venue/identity/revocations.js";
import { openList, openTokens } from "../../../src/venue/shared/memory.js";
import type { PostgresShared } from "../../../src/venue/shared/postgres.js";
import { hasPostgres, NO_POSTGRES } from "../../postgres.js";
import { until } from "../../until.js";
import { configOf, useInstances } from "./ground.js";

const VENUE = "did:key:venue";
const CAPS = [{ with: "file://docs/", can: "crud/read" }];
const HOUR = 3_600_000;
const ID = Buffer.alloc(32, 7).toString("base64url");

/** Revocations and tokens as one process or instance has them. */
interface Place {
  readonly revocations: RevocationList;
  readonly tokens: AccessTokens;
  readonly shared?: PostgresShared;
}

function accessOf(store: TokenStore, revocations: RevocationList): AccessTokens {
  return new AccessTokens(store, {
    ...{ venue: VENUE, clock: systemClock },
    notBefore: () => revocations.notBefore,
  });
}

const ground = useInstances();
let schemas = 0;

/** Two processes of one venue with one state directory. */
async function memory(): Promise<() => Promise<Place>> {
  const config = configOf();
  return async () => {
    const revocations = openList(config, { env: {}, log: silentLog });
    const store = openTokens(config, { env: {}, log: silentLog });
    if (store === undefined) throw new Error("There is no store");
    return { revocations, tokens: accessOf(store, revocations) };
  };
}

/** Instances, each with a state directory of its own. */
async function postgres(): Promise<() => Promise<Place>> {
  const schema = `venue_${++schemas}`;
  await ground.init(configOf({}, schema));
  return async () => {
    const shared = await ground.start(configOf({}, schema));
    const { revocations } = shared;
    return { revocations, tokens: accessOf(shared.tokens, revocations), shared };
  };
}

const request = { label: "x", maker: { kind: "operator" }, lifetimeMs: HOUR, caps: CAPS } as const;

async function made(one: unknown): Promise<MadeAccess> {
  const value = (await one) as MadeAccess | undefined;
  if (value === undefined || "fault" in value) throw new Error("It was not made");
  return value;
}

if (!hasPostgres) console.warn(`Skipped: ${NO_POSTGRES}`);
const kinds = [["files of one process", memory], ...(hasPostgres ? [["PostgreSQL", postgres] as const] : [])] as const;

describe.each(kinds)("identity in %s", (_, open) => {
  let start: () => Promise<Place>;
  let one: Place;
  let two: Place;
  beforeEach(async () => {
    start = await open();
    [one, two] = [await start(), await start()];
  });

  test("a revocation holds here at once, and there soon", async () => {
    await one.revocations.add([ID]);
    expect(one.revocations.has(ID)).toBe(true);
    await until(() => two.revocations.has(ID));
    expect([one.revocations.size, two.revocations.size]).toEqual([1, 1]);
    await two.revocations.add([ID, "did:web:other.example"]);
    await until(() => one.revocations.has("did:web:other.example"));
    await expect(one.revocations.add(["no entry"])).rejects.toThrow(RangeError);
    expect((await start()).revocations.size).toBe(2);
  });

  test("a moment before which all is revoked is known to all", async () => {
    await one.revocations.add([revokeBefore(1000)]);
    await until(() => two.revocations.notBefore === 1000);
  });

  test("a token that is made here is known there at once, until it is revoked", async () => {
    const { secret, entry } = await made(one.tokens.issue(request));
    expect(await two.tokens.use(secret)).toEqual(entry);
    expect(await one.tokens.use(secret)).toEqual(entry);
    expect(await two.tokens.use(`vft_${"A".repeat(43)}`)).toBeUndefined();
    await two.tokens.revoke(entry.id, false);
    expect(await two.tokens.use(secret)).toBeUndefined();
    await until(async () => (await one.tokens.use(secret)) === undefined);
    expect(one.tokens.list()).toEqual([expect.objectContaining({ state: "revoked" })]);
  });

  test("what was made through a session ends with it, and goes on where it ends alone", async () => {
    const { caps: _, ...session } = request;
    const { entry: first } = await made(one.tokens.issue(session));
    const { secret } = await made(one.tokens.issue({ ...request, through: first }));
    await until(() => two.tokens.use(secret));
    await two.tokens.revoke(first.id, true);
    expect(await two.tokens.use(secret)).toBeDefined();
    await one.tokens.revoke(first.id, false);
    await until(async () => (await two.tokens.use(secret)) === undefined);
  });

  test("a link is used once, wherever, and never at two places", async () => {
    const link = await made(one.tokens.link(request));
    const logins = await Promise.all([one.tokens.login(link.secret), two.tokens.login(link.secret)]);
    const worked = logins.filter((login) => "secret" in login) as MadeAccess[];
    expect(worked).toHaveLength(1);
    expect(await two.tokens.use(worked[0]?.secret ?? "")).toMatchObject({ id: link.entry.id, login: true });
    for (const { tokens } of [one, two, await start()]) {
      expect(await tokens.login(link.secret)).toEqual({ fault: "wrong" });
    }
  });

  test("what the venue signed is in every list", async () => {
    const signed = { id: ID, did: "did:web:a", grants: CAPS, by: VENUE, via: [], created: Date.now() };
    await one.tokens.noteUcan({ ...signed, expires: Date.now() + HOUR });
    await until(() => two.tokens.ucans().length === 1);
    expect(two.tokens.ucans()).toMatchObject([signed]);
  });
});

const whereEngine = hasPostgres ? describe : describe.skip;

whereEngine("identity of instances", () => {
  let start: () => Promise<Place>;
  let one: Place;
  let two: Place;
  beforeEach(async () => {
    start = await postgres();
    [one, two] = [await start(), await start()];
  });
  afterEach(() => ground.engine.start());

  const sharedOf = ({ shared }: Place): PostgresShared => {
    if (shared === undefined) throw new Error("It is no instance");
    return shared;
  };
  const run = (text: string) => sharedOf(one).query(text);

  /** A standby takes over that had not got the last writes, which breaks all connections. */
  async function lose(text: string): Promise<void> {
    await run(text);
    await run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'venue-files'").catch(
      () => {},
    );
  }

  test("a revocation tells when it holds, and on request waits until all live instances know it", async () => {
    await one.revocations.add([ID]);
    const { effect } = sharedOf(one);
    const asked = Date.now();
    const { effectiveBy, missing } = await effect(false);
    expect(effectiveBy - asked).toBeGreaterThan(3000);
    expect(missing).toBeUndefined();
    const known = await effect(true);
    expect(known.missing).toBeUndefined();
    expect(two.revocations.has(ID)).toBe(true);
  });

  test("who does not answer is named after six seconds", async () => {
    await run(`INSERT INTO instance (number, boot, name, version, digest, beat, clock)
      VALUES (77, 'x', 'silent', '1', '{}', clock_timestamp() + interval '1 minute', now())`);
    await one.revocations.add([ID]);
    await expect(sharedOf(one).effect(true)).resolves.toMatchObject({ missing: [77] });
  });

  test("what the engine has lost is put back, and links from before end", async () => {
    await one.revocations.add([ID]);
    const ended = await made(one.tokens.issue(request));
    const link = await made(one.tokens.link(request));
    await one.tokens.revoke(ended.entry.id, false);
    await until(() => two.revocations.has(ID));
    await lose("DELETE FROM revocation; DELETE FROM ended; UPDATE epoch SET n = 1");
    const three = await start();
    await until(() => three.revocations.has(ID));
    await until(async () => (await three.tokens.use(ended.secret)) === undefined);
    await until(() => three.tokens.list().every(({ state }) => state === "revoked"));
    expect(await three.tokens.login(link.secret)).toEqual({ fault: "wrong" });
    expect(await one.tokens.use(ended.secret)).toBeUndefined();
  });

  test("links end, too, where the engine has lost that one was used and others have changed something since", async () => {
    const link = await made(one.tokens.link(request));
    await run("CREATE TABLE standby AS SELECT * FROM access");
    const { entry } = await made(one.tokens.login(link.secret));
    await until(() => two.tokens.find(entry.id)?.isLink === false);
    // Its number has gone to a later change.
    await lose("DELETE FROM access; INSERT INTO access SELECT * FROM standby");
    const three = await start();
    await until(() => three.tokens.list().every(({ state }) => state === "revoked"));
    expect(await three.tokens.login(link.secret)).toEqual({ fault: "wrong" });
  });

  test("a token that was revoked long ago stays so where only half of its rows could be removed", async () => {
    const { entry, secret } = await made(one.tokens.issue({ ...request, lifetimeMs: 720 * HOUR }));
    await one.tokens.use(secret);
    await one.tokens.revoke(entry.id, false);
    const store = sharedOf(one).tokens;
    await store.exchangeUses(sharedOf(one).query);
    const later = { nowMs: () => Date.now() + 200 * HOUR, monotonicMs: () => performance.now() };
    const sweep = () => new AccessTokens(store, { venue: VENUE, clock: later }).issue(request);
    const rows = async () =>
      await run("SELECT id FROM access UNION ALL SELECT id FROM ended UNION ALL SELECT id FROM used");
    const left = async () => (await rows()).filter(({ id }) => id === entry.id).length;
    await run(
      "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''held''; END'; CREATE TRIGGER held BEFORE DELETE ON access EXECUTE FUNCTION hold()",
    );
    await made(sweep());
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await (await start()).tokens.use(secret)).toBeUndefined();
    await run("DROP TRIGGER held ON access");
    await made(sweep());
    await until(async () => (await left()) === 0);
    expect(await (await start()).tokens.use(secret)).toBeUndefined();
  });

  test("without the engine nothing is made or revoked, and after 5 s nothing is judged", async () => {
    const { secret } = await made(one.tokens.issue(request));
    await ground.engine.stop();
    const unavailable = { code: "SHARED_STATE_UNAVAILABLE" };
    await expect(one.revocations.add([ID])).rejects.toMatchObject(unavailable);
    expect(one.revocations.has(ID)).toBe(false);
    await expect(Promise.resolve(one.tokens.issue(request))).rejects.toMatchObject(unavailable);
    const shared = sharedOf(one);
    await until(() => shared.tick.isStale);
    expect(() => shared.requireFresh()).toThrow(expect.objectContaining(unavailable));
    await expect(shared.fresh()).rejects.toMatchObject(unavailable);
    await ground.engine.start();
    await until(() => !shared.tick.isStale);
    expect(shared.fresh()).toBeUndefined();
    expect(await one.tokens.use(secret)).toBeDefined();
  });

  test("unknown tokens are looked for 20 times a second", async () => {
    const unknown = Array.from({ length: 30 }, (_, index) => `vft_${String(index).padStart(43, "x")}`);
    const results = await Promise.allSettled(unknown.map((token) => Promise.resolve(one.tokens.use(token))));
    const refused = results.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(10);
    expect(refused[0]).toMatchObject({ reason: { name: "Overloaded" } });
  });

  test("rows hold neither secrets nor contents, and those of another place give nobody anything", async () => {
    const { secret, entry } = await made(one.tokens.issue({ ...request, label: "a label of somebody" }));
    const [row] = await run("SELECT encode(sealed, 'escape') AS sealed, sha256 FROM access");
    expect(JSON.stringify(row)).not.toMatch(/label of|crud|operator/);
    expect(JSON.stringify(row)).not.toContain(secret);
    await run(`WITH changed AS (SELECT next_epoch() AS n) INSERT INTO access (kind, id, sha256, sealed, expires, n)
      SELECT 'link', id, sha256, sealed, expires, changed.n FROM access, changed`);
    await sharedOf(two).tick.now();
    expect(two.tokens.list()).toHaveLength(1);
    expect(two.tokens.find(entry.id)?.isLink).toBe(false);
  });

  test("last uses are exchanged", async () => {
    const { secret, entry } = await made(one.tokens.issue(request));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await one.tokens.use(secret);
    const shared = sharedOf(one);
    await shared.tokens.exchangeUses(shared.query);
    await sharedOf(two).tokens.exchangeUses(shared.query);
    expect(two.tokens.list()).toMatchObject([{ entry: { id: entry.id }, lastUsed: expect.any(Number) }]);
  });

  test("an entry that a command writes into the list of one is known to all", async () => {
    const config = configOf();
    const list = openList(config, { env: {}, log: silentLog });
    sharedOf(one).revocations.over(list);
    await openList(config, { env: {}, log: silentLog }).add([ID]);
    await until(() => two.revocations.has(ID));
  });
});
