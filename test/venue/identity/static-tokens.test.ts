import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { StaticTokenConfig } from "../../../src/config/types.js";
import { resolveStaticTokens, type TokenVenue } from "../../../src/venue/identity/static-tokens.js";
import { configErrorOf } from "../../config/problems.js";

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
    const problem = "'auth.tokens[0].did' must not be the owner of root 'docs': a static token only adds capabilities";
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
