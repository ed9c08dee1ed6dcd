// The limits of access tokens by the clock, which the test turns.

import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type Awaitable, isPending } from "../../../src/core/io.js";
import { silentLog } from "../../../src/core/ports/log.js";
import type { AccessTokens, LoginFault, MadeAccess } from "../../../src/venue/identity/access-entry.js";
import { openAccessStore } from "../../../src/venue/identity/access-store.js";
import { createAccessTokens, SESSION_MS } from "../../../src/venue/identity/access-tokens.js";

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
const VENUE = "did:key:z6MkVenue";
const CAPS = [{ with: "file://docs/", can: "crud/read" }];
const OPERATOR = { kind: "operator" } as const;

let dir = "";
let now = 0;
let tokens: AccessTokens;
const opened = (): AccessTokens =>
  createAccessTokens(openAccessStore(dir, { open: () => mkdirSync(dir, { recursive: true }), log: silentLog }), {
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
    expect(readdirSync(join(dir, "access")).join(" ")).not.toContain("abab");
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
