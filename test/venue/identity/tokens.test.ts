import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import type { StaticTokenConfig, VenueConfigInput } from "../../../src/config/types.js";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { type Awaitable, isPending } from "../../../src/core/io.js";
import type { JsonObject } from "../../../src/core/ports/adapter.js";
import { silentLog } from "../../../src/core/ports/log.js";
import type { LoginFault, MadeAccess } from "../../../src/venue/identity/access-entry.js";
import { openAccessStore } from "../../../src/venue/identity/access-store.js";
import { AccessTokens, SESSION_MS } from "../../../src/venue/identity/access-tokens.js";
import { resolveStaticTokens, type TokenVenue } from "../../../src/venue/identity/static-tokens.js";
import { type OpenVenue, type OpenVenueOptions, openVenue } from "../../../src/venue/start/open-venue.js";
import { configErrorOf } from "../../config/problems.js";
import { alice, bob, type Signer, signed, venue as venueKey } from "../../ucan/tokens.js";

// The limits of access tokens by the clock, which the test turns.
describe("access tokens", () => {
  const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
  const VENUE = "did:key:z6MkVenue";
  const CAPS = [{ with: "file://docs/", can: "crud/read" }];
  const OPERATOR = { kind: "operator" } as const;

  let dir = "";
  let now = 0;
  let tokens: AccessTokens;
  const opened = (): AccessTokens =>
    new AccessTokens(openAccessStore(dir, { open: () => mkdirSync(dir, { recursive: true }), log: silentLog }), {
      venue: VENUE,
      clock: { nowMs: () => now, monotonicMs: () => now },
    });
  beforeEach(() => {
    dir = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
    // Ahead of the file system's clock, so that times of files never are later than that of the test.
    now = Date.now() + DAY;
    tokens = opened();
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  /** Of one process, whatever is made is made at once. */
  const made = (one: Awaitable<MadeAccess | LoginFault | undefined>): MadeAccess => {
    if (one === undefined || isPending(one) || "fault" in one) throw new Error(`Not made: ${JSON.stringify(one)}`);
    return one;
  };
  const session = (more: object = {}) =>
    made(tokens.issue({ label: "x", maker: OPERATOR, lifetimeMs: SESSION_MS, ...more }));
  const token = (lifetimeMs: number) => made(tokens.issue({ label: "x", maker: OPERATOR, lifetimeMs, caps: CAPS }));
  const works = ({ secret }: MadeAccess, by = tokens): boolean => by.use(secret) !== undefined;

  test("a file that cannot be read is told once, by its name, and again when another one cannot", async () => {
    const told: unknown[] = [];
    const log = { ...silentLog, error: (fields: object) => void told.push(fields) };
    const store = openAccessStore(dir, { open: () => mkdirSync(dir, { recursive: true }), log });
    const names = ["a", "b"].map((letter) => `${letter.repeat(32)}.token`);
    token(HOUR);
    const look = async (): Promise<number> => {
      await new Promise((resolve) => setImmediate(resolve));
      return store.tokens().size;
    };
    for (const name of names) {
      writeFileSync(join(dir, "access", name), name.startsWith("a") ? "" : "no JSON");
      for (let request = 0; request < 5; request++) expect(await look()).toBe(1);
    }
    expect(told).toEqual(names.map((file) => ({ file })));
  });

  describe("a token with caps", () => {
    test("ends by its time, to the millisecond, used or not", () => {
      const made = token(HOUR);
      now += HOUR - 1;
      expect(works(made)).toBe(true);
      now += 1;
      expect(works(made)).toBe(false);
      expect(tokens.inForce(made.entry.id)).toBeUndefined();
      expect(tokens.list()).toMatchObject([{ state: "ended" }]);
    });

    test("that another process revokes ends here in the next turn, with what was made through it", async () => {
      const first = session();
      const second = made(
        tokens.issue({ label: "x", maker: OPERATOR, lifetimeMs: DAY, caps: CAPS, through: first.entry }),
      );
      const other = opened();
      expect([works(first, other), works(second, other)]).toEqual([true, true]);
      tokens.revoke(first.entry.id, false);
      await Promise.resolve();
      expect([works(first, other), works(second, other)]).toEqual([false, false]);
      expect(other.inForce(second.entry.id)).toBeUndefined();
    });

    test("does not end by not being used", () => {
      const made = token(30 * DAY);
      now += 29 * DAY;
      expect(works(made)).toBe(true);
    });
  });

  describe("a session", () => {
    test("ends twelve hours after its last use", () => {
      const made = session();
      now += 12 * HOUR;
      expect(works(made)).toBe(true);
      now += 12 * HOUR;
      expect(works(made)).toBe(true);
      now += 12 * HOUR + 1;
      expect(works(made)).toBe(false);
    });

    test("lives on where another process uses it, and after a restart", () => {
      const made = session();
      const other = opened();
      now += 11 * HOUR;
      expect(works(made, other)).toBe(true);
      now += 11 * HOUR;
      expect(tokens.inForce(made.entry.id)).toBeDefined();
      tokens = opened();
      expect(works(made)).toBe(true);
      now += 12 * HOUR + MINUTE;
      expect(opened().use(made.secret)).toBeUndefined();
    });

    test("ends after seven days however often it is used", () => {
      const made = session();
      for (let hour = 0; hour < 7 * 24; hour += 8) {
        expect(works(made)).toBe(true);
        now += 8 * HOUR;
      }
      expect(works(made)).toBe(false);
    });

    test("made through another ends with it at the latest", () => {
      const first = session({ lifetimeMs: 2 * HOUR });
      now += HOUR;
      const second = session({ through: first.entry });
      expect(second.entry.expires).toBe(first.entry.expires);
      now += HOUR;
      expect([works(first), works(second)]).toEqual([false, false]);
    });

    test("that has run out ends alone: what was made through it goes on", () => {
      const first = session({ lifetimeMs: HOUR });
      const agent = made(
        tokens.issue({ label: "x", maker: OPERATOR, lifetimeMs: DAY, caps: CAPS, through: first.entry }),
      );
      now += 2 * HOUR;
      expect([works(first), works(agent)]).toEqual([false, true]);
      tokens.revoke(first.entry.id, false);
      expect(works(agent)).toBe(false);
    });
  });

  describe("a link", () => {
    const link = (lifetimeMs = SESSION_MS) => made(tokens.link({ label: "x", maker: OPERATOR, lifetimeMs }));

    test("is good for fifteen minutes, and the clock of its session starts with the login", () => {
      const [early, late] = [link(), link()];
      now += 15 * MINUTE - 1;
      const { entry } = made(tokens.login(early.secret));
      expect(entry.expires - now).toBe(SESSION_MS);
      now += 1;
      expect(tokens.login(late.secret)).toEqual({ fault: "wrong" });
      expect(tokens.login(early.secret)).toEqual({ fault: "wrong" });
    });

    test("has one winner among processes that read it before", () => {
      const { secret } = link();
      const others = [opened(), opened()];
      for (const one of others) one.list();
      const answers = [tokens, ...others].map((one) => one.login(secret));
      expect(answers.filter((one) => "secret" in one)).toHaveLength(1);
    });

    test("the eleventh wrong code in any minute is told to wait until the first is a minute old; the right one never", () => {
      const right = link();
      const guess = () => tokens.login("x".repeat(43));
      for (let count = 0; count < 10; count += 1) {
        expect(guess()).toEqual({ fault: "wrong" });
        now += SECOND;
      }
      expect(guess()).toEqual({ fault: "too many", retryMs: 50 * SECOND });
      now += 50 * SECOND - 1;
      expect(guess()).toEqual({ fault: "too many", retryMs: 1 });
      expect(tokens.login("short")).toEqual({ fault: "too many", retryMs: 1 });
      now += 1;
      // Those that were told to wait do not count, or a guesser would keep everybody else from an answer.
      expect(guess()).toEqual({ fault: "wrong" });
      expect(guess()).toMatchObject({ fault: "too many" });
      expect(made(tokens.login(right.secret)).entry.login).toBe(true);
    });
  });

  test("the last use is written down once a minute", () => {
    const one = token(DAY);
    const file = join(dir, "access", `${one.entry.id}.token`);
    const written = () => statSync(file).mtimeMs;
    now += HOUR;
    works(one);
    const first = written();
    now += MINUTE - 1;
    works(one);
    expect(written()).toBe(first);
    expect(tokens.list()[0]?.lastUsed).toBe(now);
    now += 1;
    works(one);
    expect(Math.round(written())).toBe(now);
  });

  describe("the last use of a static token", () => {
    const HASH = "ab".repeat(32);

    test("is known to other processes and after a restart, a minute late at most, and tells no hash", () => {
      token(DAY);
      expect(tokens.staticUsed(HASH)).toBeUndefined();
      tokens.noteStatic(HASH);
      const first = now;
      now += MINUTE - SECOND;
      tokens.noteStatic(HASH);
      expect(tokens.staticUsed(HASH)).toBe(now);
      expect(opened().staticUsed(HASH)).toBe(first);
      now += SECOND;
      tokens.noteStatic(HASH);
      expect(opened().staticUsed(HASH)).toBe(now);
      expect(opened().staticUsed("cd".repeat(32))).toBeUndefined();
      expect(readdirSync(join(dir, "access")).join(" ")).not.toContain("abababab");
      expect(tokens.list()).toHaveLength(1);
    });

    test("makes no state directory, and is known to this process without one", () => {
      rmSync(dir, { recursive: true });
      tokens.noteStatic(HASH);
      expect(tokens.staticUsed(HASH)).toBe(now);
      expect(() => statSync(dir)).toThrow("ENOENT");
    });
  });

  test("what ended is taken away a week later, with the next token that is made", () => {
    token(HOUR);
    const revoked = token(60 * DAY);
    tokens.revoke(revoked.entry.id, false);
    now += 7 * DAY;
    token(HOUR);
    expect(tokens.list()).toHaveLength(3);
    now += HOUR + 1;
    token(HOUR);
    // The first was over an hour after it was made.
    expect(tokens.list().map(({ state }) => state)).toEqual(expect.arrayContaining(["ended", "live"]));
    now += 8 * DAY;
    token(HOUR);
    expect(tokens.list()).toHaveLength(1);
    expect(readdirSync(join(dir, "access"))).toHaveLength(1);
  });

  describe("revoking", () => {
    const files = () => readdirSync(join(dir, "access"));
    const through = ({ entry }: MadeAccess) =>
      made(tokens.issue({ label: "x", maker: OPERATOR, lifetimeMs: DAY, caps: CAPS, through: entry }));

    test.each([true, false])("needs no room: the file of the token gets another name (keep: %s)", (keep) => {
      const first = session();
      const second = through(first);
      now += HOUR;
      works(first);
      const before = files().map((name) => statSync(join(dir, "access", name)).ino);
      now += HOUR;
      tokens.revoke(first.entry.id, keep);
      expect(
        files()
          .map((name) => statSync(join(dir, "access", name)).ino)
          .sort(),
      ).toEqual(before.sort());
      for (const one of [tokens, opened()]) {
        expect([works(first, one), works(second, one)]).toEqual([false, keep]);
        const listed = one.list().find(({ entry }) => entry.id === first.entry.id);
        expect(listed).toMatchObject({ state: "revoked", revoked: now, isLink: false, lastUsed: now - HOUR });
      }
    });

    test("alone, and then with all that was made through it", () => {
      const first = session();
      const second = through(first);
      tokens.revoke(first.entry.id, true);
      expect(works(second)).toBe(true);
      now += HOUR;
      tokens.revoke(first.entry.id, false);
      tokens.revoke(first.entry.id, true);
      for (const one of [tokens, opened()]) {
        expect([works(first, one), works(second, one)]).toEqual([false, false]);
        expect(one.list().map(({ state }) => state)).toEqual(["revoked", "revoked"]);
      }
      expect(files()).toHaveLength(2);
    });

    test("ends a link that was not used, whoever has read it before", async () => {
      const link = made(tokens.link({ label: "x", maker: OPERATOR, lifetimeMs: DAY }));
      const other = opened();
      expect(other.list()).toHaveLength(1);
      tokens.revoke(link.entry.id, false);
      await Promise.resolve();
      for (const one of [tokens, opened(), other]) expect(one.login(link.secret)).toEqual({ fault: "wrong" });
      expect(tokens.list()).toEqual([]);
    });

    test("holds at once in this process when it cannot be written, and can be done again", () => {
      const one = session();
      const second = through(one);
      const taken = join(dir, "access", `${one.entry.id}.revoked-${now}`);
      // It is not looked at again in this turn.
      expect([works(one), works(second)]).toEqual([true, true]);
      mkdirSync(join(taken, "in"), { recursive: true });
      for (let turn = 0; turn < 2; turn += 1) {
        expect(() => tokens.revoke(one.entry.id, false)).toThrow(/^E[A-Z]/);
        expect([works(one), works(second)]).toEqual([false, false]);
      }
      rmSync(taken, { recursive: true });
      tokens.revoke(one.entry.id, false);
      expect(works(one, opened())).toBe(false);
    });

    test("by marks of earlier versions beside the token still holds", () => {
      const [first, other] = [session(), session()];
      const [second, kept] = [through(first), through(other)];
      const mark = ({ entry }: MadeAccess, keep: boolean) =>
        writeFileSync(join(dir, "access", `${entry.id}.revoked`), JSON.stringify({ at: now, keep }));
      mark(first, false);
      mark(other, true);
      const works2 = [first, second, other, kept].map((one) => works(one, opened()));
      expect(works2).toEqual([false, false, false, true]);
      tokens = opened();
      tokens.revoke(other.entry.id, false);
      expect(works(kept, opened())).toBe(false);
    });

    test("lasts as long as something made through it", () => {
      const first = session();
      const second = made(
        tokens.issue({ label: "x", maker: OPERATOR, lifetimeMs: 60 * DAY, caps: CAPS, through: first.entry }),
      );
      tokens.revoke(first.entry.id, false);
      for (let day = 0; day < 55; day += 11) {
        now += 11 * DAY;
        token(HOUR);
        expect(works(second, opened())).toBe(false);
      }
    });
  });
});

describe("static tokens", () => {
  const venue: TokenVenue = { did: "did:web:example.org", keyDid: "did:key:zVenue", operatorDid: "did:key:zOperator" };
  const caps = [{ with: "file://docs/", can: "crud/read" }];
  const TOKEN = "abcdefghijklmnopqrstuvwxyz-._~+/0123456789==";
  const hash = (token: string): Buffer => createHash("sha256").update(token).digest();

  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "venue-tokens-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  type Source = StaticTokenConfig["token"];
  type Env = Parameters<typeof resolveStaticTokens>[1];

  const named = (name: string, token: Source, did?: string): StaticTokenConfig => ({
    name,
    token,
    caps,
    ...(did === undefined ? {} : { did }),
  });

  function failureOf(tokens: readonly StaticTokenConfig[], env: Env = {}, at = venue) {
    const error = configErrorOf(() => resolveStaticTokens(tokens, env, at));
    // Nothing of a token may show up, not even where it goes wrong.
    expect(String(error?.stack)).not.toMatch(/abcdefgh|0123456/);
    return { exitStatus: error?.exitStatus, problems: error?.problems };
  }

  function file(content: string, name = "token"): string {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  }

  describe("a static token", () => {
    const sources: readonly [string, () => Source, Env][] = [
      ["in a variable", () => ({ env: "T" }), { T: TOKEN }],
      ["in a file", () => ({ file: file(TOKEN) }), {}],
      ["in a file that ends with a line break", () => ({ file: file(`${TOKEN}\n`) }), {}],
      ["in a file as Windows writes it", () => ({ file: file(`${TOKEN}\r\n`) }), {}],
      ["given by its hash", () => ({ sha256: hash(TOKEN).toString("hex") }), {}],
    ];
    test.each(sources)("is found %s", (_where, source, env) => {
      const [found, ...more] = resolveStaticTokens([named("ci", source())], env, venue);
      expect(more).toEqual([]);
      expect(found).toEqual({ name: "ci", sha256: hash(TOKEN), did: "did:web:example.org:token:ci", caps });
      expect(found?.sha256).toHaveLength(32);
    });

    test("may be in a link, as secrets are mounted in containers", () => {
      file(TOKEN, "data");
      symlinkSync("data", join(folder, "token"));
      const tokens = resolveStaticTokens([named("ci", { file: join(folder, "token") })], {}, venue);
      expect(tokens[0]?.sha256).toEqual(hash(TOKEN));
    });

    test("stands for the DID it was given, the venue's key for the venue", () => {
      const dids = ["did:key:zAlice", venue.keyDid].map(
        (did) => resolveStaticTokens([named("ci", { env: "T" }, did)], { T: TOKEN }, venue)[0]?.did,
      );
      expect(dids).toEqual(["did:key:zAlice", "did:web:example.org"]);
    });

    test.each([32, 8192])("may have %i characters", (length) => {
      expect(resolveStaticTokens([named("ci", { env: "T" })], { T: "x".repeat(length) }, venue)).toHaveLength(1);
      expect(resolveStaticTokens([named("ci", { file: file("x".repeat(length)) })], {}, venue)).toHaveLength(1);
    });

    const short = "holds a token of fewer than 32 characters";
    const long = "holds a token of more than 8192 characters";
    const unsendable = "holds a token that cannot be sent: only letters, digits and -._~+/ may be in it, = at its end";
    test.each([
      ["too short", TOKEN.slice(0, 31), short],
      ["empty", "", short],
      ["too long", "x".repeat(8193), long],
      ["with a space", `${TOKEN.slice(0, 40)} x`, unsendable],
      ["with two line breaks behind it", `${TOKEN}\n\n`, unsendable],
      ["with a letter outside ASCII", `é${TOKEN}`, unsendable],
      ["with = in its middle", `${TOKEN}x`, unsendable],
    ])("is refused %s", (_what, token, fault) => {
      const tokens = [named("a", { env: "T" }), named("b", { file: file(token) })];
      const { exitStatus, problems } = failureOf(tokens, { T: token });
      expect(exitStatus).toBe(78);
      expect(problems).toEqual([`'auth.tokens[0].token.env' ${fault}`, `'auth.tokens[1].token.file' ${fault}`]);
    });

    test("loses one line break of a file, and its length is counted without it", () => {
      const tokens = [named("a", { file: file(`${"x".repeat(31)}\n`) })];
      expect(failureOf(tokens).problems).toEqual([`'auth.tokens[0].token.file' ${short}`]);
    });

    test("is refused when its variable is not set", () => {
      const tokens = [named("a", { env: "NOT_SET" }), named("b", { env: "toString" })];
      expect(failureOf(tokens, { OTHER: TOKEN })).toEqual({
        exitStatus: 78,
        problems: [
          "'auth.tokens[0].token.env' names a variable that is not set: NOT_SET",
          "'auth.tokens[1].token.env' names a variable that is not set: toString",
        ],
      });
    });

    test("is refused when its file cannot be read", () => {
      const path = join(folder, "missing");
      const missing = `'auth.tokens[0].token.file' cannot be read: there is no such file: ${path}`;
      const directory = `'auth.tokens[1].token.file' cannot be read: it is not a regular file: ${folder}`;
      expect(failureOf([named("a", { file: path })])).toEqual({ exitStatus: 66, problems: [missing] });
      expect(failureOf([named("a", { file: path }), named("b", { file: folder })])).toEqual({
        exitStatus: 78,
        problems: [missing, directory],
      });
    });

    test("is refused without a source, or with a hash that is none", () => {
      expect(failureOf([named("a", {}), named("b", { sha256: "abc" })]).problems).toEqual([
        "'auth.tokens[0].token' must have one of 'env', 'file' and 'sha256'",
        "'auth.tokens[1].token.sha256' must be 64 hex digits",
      ]);
    });
  });

  describe("static tokens together", () => {
    test("keep their order", () => {
      const tokens = [named("b", { env: "B" }), named("a", { env: "A" })];
      const found = resolveStaticTokens(tokens, { A: `${TOKEN}=`, B: TOKEN }, venue);
      expect(found.map(({ name }) => name)).toEqual(["b", "a"]);
    });

    test("are refused when two are equal, however they are given", () => {
      const tokens = [
        named("a", { env: "T" }),
        named("b", { env: "U" }),
        named("c", { sha256: hash(TOKEN).toString("hex").toUpperCase() }),
      ];
      const problems = ["'auth.tokens[0].token' and 'auth.tokens[2].token' are the same token"];
      expect(failureOf(tokens, { T: TOKEN, U: `${TOKEN}=` })).toEqual({ exitStatus: 78, problems });
    });

    test("are refused with every problem at once", () => {
      const tokens = [named("a", { env: "X" }), named("b", { env: "T" }), named("c", { env: "T" }, venue.operatorDid)];
      expect(failureOf(tokens, { T: TOKEN }).problems).toEqual([
        "'auth.tokens[0].token.env' names a variable that is not set: X",
        "'auth.tokens[2].did' must not be the operator: a static token only adds capabilities",
        "'auth.tokens[1].token' and 'auth.tokens[2].token' are the same token",
      ]);
    });

    const owners: readonly [string, string, string | undefined][] = [
      ["an owner", "did:key:zOwner", "did:key:zOwner"],
      ["an owner by its name alone", "did:web:example.org:token:a", undefined],
      ["the venue, whose key is an owner", venue.keyDid, venue.did],
      ["the venue's key, when the venue is an owner", venue.did, venue.keyDid],
    ];
    test.each(owners)("never stand for %s", (_whom, owner, did) => {
      const roots = { tmp: {}, docs: { owner } };
      const problem =
        "'auth.tokens[0].did' must not be the owner of root 'docs': a static token only adds capabilities";
      const tokens = [named("a", { env: "T" }, did)];
      expect(failureOf(tokens, { T: TOKEN }, { ...venue, roots })).toEqual({ exitStatus: 78, problems: [problem] });
      expect(resolveStaticTokens(tokens, { T: TOKEN }, { ...venue, roots: { tmp: {} } })).toHaveLength(1);
    });

    const operators: readonly [string, string, string | undefined][] = [
      ["the operator", venue.operatorDid, venue.operatorDid],
      ["the venue, which is the operator", venue.did, venue.did],
      ["the venue's key, when the venue is the operator", venue.did, venue.keyDid],
      ["the venue, when its key is the operator", venue.keyDid, venue.did],
      ["the operator by its name alone", "did:web:example.org:token:a", undefined],
    ];
    test.each(operators)("never stand for %s", (_whom, operatorDid, did) => {
      const problem = "'auth.tokens[0].did' must not be the operator: a static token only adds capabilities";
      const failure = failureOf([named("a", { env: "T" }, did)], { T: TOKEN }, { ...venue, operatorDid });
      expect(failure).toEqual({ exitStatus: 78, problems: [problem] });
    });
  });
});

describe("the venue's own caller", () => {
  const DOCS = { with: "file://docs/", can: "crud/read" };
  const SEED = "01".repeat(32);

  let base: string;
  let open: OpenVenue;
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "venue-own-")));
    for (const root of ["docs", "owned"]) {
      mkdirSync(join(base, root));
      writeFileSync(join(base, root, "a.txt"), `of ${root}`);
    }
  });
  afterEach(async () => {
    await open?.close();
    rmSync(base, { recursive: true, force: true });
  });

  /** A venue that does not listen, with a root of the operator's and one of Alice's. */
  async function start(config: VenueConfigInput, options: Partial<OpenVenueOptions> = {}): Promise<OpenVenue> {
    const roots = { docs: "docs", owned: { path: "owned", owner: alice.did } };
    const parsed = parseConfig({ stateDir: "state", file: { roots }, ...config }, { baseDir: base });
    open = await openVenue(parsed, { listens: false, env: {}, log: silentLog, ...options });
    return open;
  }

  const by = ({ did, multikey, publicKey, privateKey }: Signer, proofs: readonly string[] = []) => ({
    caller: { key: { did, multikey, publicKey, privateKey }, proofs },
  });

  const token = (from: Signer, claims: Readonly<Record<string, unknown>>): string =>
    signed(
      {
        header: { alg: "EdDSA", typ: "JWT", kid: from.multikey },
        payload: { iss: from.did, ucv: "0.10.0", att: [DOCS], prf: [], exp: inAnHour(), ...claims },
      },
      from.privateKey,
    );
  const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

  const call = (root: string, input: JsonObject = {}, operation = "file:read") =>
    open.host
      .run({ operation, input: { root, path: "a.txt", ...input }, caller: "test", context: open.ownContext() })
      .result.then(
        (output) => (output as { content?: string }).content ?? output,
        (error: unknown) => (error instanceof FileAdapterError ? error.code : error),
      );

  describe("who starts a venue that does not listen", () => {
    test("is its operator, who needs no proof", async () => {
      await start({}, { filesOnly: true });
      expect(open.ownContext()).toEqual({});
      expect([await call("docs"), await call("owned")]).toEqual(["of docs", "of owned"]);
    });

    test("with a key is whom that stands for, by whose rights alone everything goes", async () => {
      await start({ auth: { grants: [{ did: bob.did, ...DOCS }], public: { caps: [] } } }, by(bob));
      expect(open.ownContext()).toEqual({ callerDID: bob.did, authentication: "key" });
      expect([await call("docs"), await call("owned")]).toEqual(["of docs", "CAPABILITY_DENIED"]);
      expect(await call("docs", { content: "x" }, "file:write")).toBe("CAPABILITY_DENIED");
      await open.close();
      await start({ auth: { public: { caps: [] } } }, by(alice));
      expect([await call("docs"), await call("owned")]).toEqual(["CAPABILITY_DENIED", "of owned"]);
    });

    test("with a key may do what everybody may", async () => {
      await start({}, by(bob));
      expect(await call("docs")).toBe("of docs");
      expect(await call("docs", { content: "x" }, "file:write")).toBe("CAPABILITY_DENIED");
    });

    test("with the key of the operator is the operator", async () => {
      await start({ operator: bob.did }, by(bob));
      expect([await call("docs"), await call("owned")]).toEqual(["of docs", "of owned"]);
    });

    test("with the key of the venue is the venue, under the name it goes by", async () => {
      await start({ seed: SEED, did: "did:web:example.org" }, by(venueKey));
      expect(open.ownContext()).toMatchObject({ callerDID: "did:web:example.org" });
      expect(await call("owned")).toBe("of owned");
    });
  });

  describe("proofs go with every call", () => {
    const noPublic = { auth: { public: { caps: [] } } };

    test("and count for the key they are for", async () => {
      const grant = token(venueKey, { aud: bob.did });
      await start({ seed: SEED, ...noPublic }, by(bob, [grant]));
      expect(open.ownContext()).toEqual({ callerDID: bob.did, authentication: "key", ucans: [grant] });
      expect(await call("docs")).toBe("of docs");
      await open.close();
      await start({ seed: SEED, ...noPublic }, by(alice, [grant]));
      expect(await call("docs")).toBe("CAPABILITY_DENIED");
    });

    test("and count in the roots of others also without a key of the venue's own", async () => {
      const grant = token(alice, { aud: bob.did, att: [{ with: "file://owned/", can: "crud/read" }] });
      await start(noPublic, by(bob, [grant]));
      expect(open.access.key).toBeUndefined();
      expect(await call("owned")).toBe("of owned");
    });

    test("and count no more once they are revoked", async () => {
      writeFileSync(join(base, "revoked.txt"), "");
      const auth = { ...noPublic.auth, ucan: { revocations: "revoked.txt" } };
      await start({ seed: SEED, auth }, by(bob, [token(venueKey, { aud: bob.did })]));
      expect(await call("docs")).toBe("of docs");
      await open.access.revocations.add([venueKey.did]);
      expect(await call("docs")).toBe("CAPABILITY_DENIED");
      expect(readFileSync(join(base, "revoked.txt"), "utf8")).toBe(`${venueKey.did}\n`);
    });

    test("over MCP together with those of the call", async () => {
      const owned = token(alice, { aud: bob.did, att: [{ with: "file://owned/", can: "crud/read" }] });
      await start({ seed: SEED, ...noPublic }, by(bob, [token(venueKey, { aud: bob.did })]));
      const mcp = open.mcpHost();
      const read = (root: string, ucans: unknown) =>
        mcp
          .submit({ operation: "file:read", input: { root, path: "a.txt" }, ucans }, new AbortController().signal)
          .result.then(
            (output) => (output as { content: string }).content,
            (error: FileAdapterError) => error.code,
          );
      expect(await read("docs", undefined)).toBe("of docs");
      expect(await read("owned", undefined)).not.toBe("of owned");
      expect([await read("owned", [owned]), await read("docs", [owned])]).toEqual(["of owned", "of docs"]);
      expect(await read("docs", "token")).toBe("CAPABILITY_DENIED");
      expect(await read("docs", [token(alice, { aud: "did:x:y" })])).toBe("of docs");
    });

    test("and a caps list narrows them over MCP", async () => {
      await start({ seed: SEED, ...noPublic }, by(bob, [token(venueKey, { aud: bob.did })]));
      const submit = (caps: unknown) =>
        open
          .mcpHost(caps)
          .submit(
            { operation: "file:read", input: { root: "docs", path: "a.txt" }, ucans: undefined },
            new AbortController().signal,
          ).result;
      expect(await submit(undefined)).toMatchObject({ content: "of docs" });
      await expect(submit([])).rejects.toMatchObject({ code: "CAPABILITY_DENIED" });
    });
  });

  describe("a venue that does not listen", () => {
    test("is who it will be when it does", async () => {
      expect((await start({ seed: SEED })).access).toMatchObject({ did: venueKey.did, operator: venueKey.did });
      expect(open.access.key).toMatchObject({ did: venueKey.did, multikey: venueKey.multikey });
      await open.close();
      writeFileSync(join(base, "venue.seed"), `${SEED}\n`, { mode: 0o600 });
      expect((await start({ seedFile: "venue.seed" })).access.key?.did).toBe(venueKey.did);
    });

    test("makes no key and no list, and leaves nothing behind", async () => {
      await start({ seedFile: "venue.seed" });
      expect(open.access.key).toBeUndefined();
      expect(existsSync(join(base, "venue.seed"))).toBe(false);
      expect(existsSync(join(base, "state"))).toBe(false);
    });

    test("and runs only file operations looks at neither", async () => {
      const auth = { ucan: { revocations: "none.txt" } };
      const { access, host } = await start({ seedFile: "docs", auth }, { filesOnly: true });
      expect([access.did, access.key]).toEqual(["operator", undefined]);
      expect(host.catalogue.adapters.map(({ name }) => name)).toEqual(["file"]);
      expect(await call("docs")).toBe("of docs");
    });

    test("but not when somebody else than the operator calls", async () => {
      const auth = { ucan: { revocations: "none.txt" } };
      await expect(start({ auth }, { filesOnly: true, ...by(bob) })).rejects.toMatchObject({ exitStatus: 66 });
    });
  });
});
