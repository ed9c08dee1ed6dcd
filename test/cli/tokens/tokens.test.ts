import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import type { DenialReason } from "../../../src/authz/denial.js";
import type { TokenReport } from "../../../src/authz/token-report.js";
import { describeToken, type TokenFacts } from "../../../src/cli/output/describe-token.js";
import { systemClock } from "../../../src/core/clock.js";
import { mintIdentity } from "../../../src/ucan/mint/claims.js";
import { decodeToken } from "../../../src/ucan/token/decode.js";
import { tokenId } from "../../../src/ucan/token/id.js";
import { invoke } from "../../surfaces/http/client.js";
import { did, makeGround, PEOPLE, secretsIn, short, tokenOf } from "../people.js";
import { cleanUp, serve } from "../process.js";

afterAll(cleanUp);
function idOf(token: string): string {
  const decoded = decodeToken(token);
  return "fault" in decoded ? "" : tokenId(decoded.signedText);
}

const q3 = { with: "file://docs/reports/q3.md", can: "crud/read" };
const reports = { with: "file://docs/reports/", can: "crud/read" };

/** Alice lets Bob read reports, who lets Carol read one of them. */
async function chain(): Promise<{ first: string; second: string }> {
  const first = await tokenOf("alice", "bob", { lifetimeSeconds: 3600 });
  return {
    first,
    second: await tokenOf("bob", "carol", { capabilities: [q3], proofs: [first], lifetimeSeconds: 1800 }),
  };
}

/** With another last character of the signature, which stays well formed. */
const spoilt = (token: string): string => `${token.slice(0, -10)}AAAAAAAA${token.slice(-2)}`;

/** Times as they will be shown, or in their place the letters T and LEFT. */
const plain = (text: string): string =>
  text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "T")
    .replace(/\((?:\d+ \w+ ?)+ (left|ago)\)|\((\d+ \w+( \d+ \w+)?) left\)/g, "(LEFT)");

describe("token inspect", () => {
  test("says who gives whom what until when, checks each link, and what it allows on a configuration", async () => {
    const { folder, venueFiles } = makeGround();
    const { first, second } = await chain();
    writeFileSync(join(folder, "carol.ucan"), `${second}\n`);
    const { status, stdout, stderr } = await venueFiles(["token", "inspect", "carol.ucan", "--config", "venue.json5"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(plain(stdout)).toBe(`${short("bob")} gives ${short("carol")}
  crud/read on file://docs/reports/q3.md
until T (LEFT)

Chain
  the token ${idOf(second)}
    ${short("bob")} to ${short("carol")}, until T (LEFT)
    ok
    a proof ${idOf(first)}
      ${short("alice")} to ${short("bob")}, until T (LEFT)
      crud/read on file://docs/reports/
      ok

With this configuration it allows
  docs  read in parts  file://docs/reports/q3.md
  work  nothing

Valid.
`);
    expect(secretsIn(stdout)).toEqual([]);
  });

  test("checks everything but ownership without a configuration, and says so", async () => {
    const { folder, venueFiles } = makeGround();
    writeFileSync(join(folder, "carol.ucan"), (await chain()).second);
    const { status, stdout } = await venueFiles(["token", "inspect", "carol.ucan"]);
    expect(status).toBe(0);
    expect(stdout).toContain(`
Where ${short("alice")} owns the root, it allows
  crud/read on file://docs/reports/q3.md
Who owns what was not checked. For that, name the configuration of the venue: --config FILE

Valid.
`);
    const spoiltChain = await tokenOf("bob", "carol", { capabilities: [q3] });
    writeFileSync(join(folder, "bad.ucan"), spoilt(spoiltChain));
    const bad = await venueFiles(["token", "inspect", "bad.ucan"]);
    expect(bad).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("! its signature is wrong (bad_signature)"),
    });
    expect(bad.stdout).toMatch(/Not valid: its signature is wrong \(bad_signature\)\.\n$/);
  });

  test("prints the report as JSON, one line for each token, with whole DIDs", async () => {
    const { venueFiles } = makeGround();
    const { first, second } = await chain();
    const line = ["token", "inspect", "-", "--json", "--config", "venue.json5"];
    const { status, stdout, stderr } = await venueFiles(line, { input: `${first}\n${second}\n` });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const reports = stdout
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text) as TokenReport);
    expect(reports).toMatchObject([
      { valid: true, reasons: [], chain: [{ issuer: did("alice"), audience: did("bob"), id: idOf(first) }] },
      { valid: true, reasons: [], grants: [q3], chain: [{ issuer: did("bob"), depth: 0 }, { depth: 1 }] },
    ]);
    const text = (await venueFiles(["token", "inspect", "-"], { input: `${first}\n${second}\n` })).stdout;
    expect(text).toContain(`Token 1: ${short("alice")} gives ${short("bob")}\n`);
    expect(text).toContain(`Valid.\n\nToken 2: ${short("bob")} gives ${short("carol")}\n`);
    const unchecked = await venueFiles(["token", "inspect", "-", "--json"], { input: first });
    expect(unchecked.stderr).toBe("Who owns what was not checked. For that, name the configuration: --config FILE\n");
  });

  test.each<[string, string, string[], number, string]>([
    [
      "what it allows",
      "env:FIRST",
      ["--with", q3.with, "--can", "crud/read"],
      0,
      `Valid. It allows crud/read on ${q3.with}.`,
    ],
    [
      "what it does not allow",
      "env:FIRST",
      ["--with", q3.with, "--can", "crud"],
      1,
      "Not valid: it does not cover that (not_covered).",
    ],
    ["whoever it is for", "env:FIRST", ["--key", "bob"], 0, "Valid."],
    ["somebody else", "env:FIRST", ["--key", "carol"], 1, "Not valid: it is for somebody else (wrong_audience)."],
    ["its own signer", "env:FIRST", ["--key", "alice"], 1, "Not valid: it is for somebody else (wrong_audience)."],
    ["whoever sends it to the venue", "env:CALL", ["--key", "bob"], 0, "Valid."],
    [
      "somebody else than whoever sends it",
      "env:CALL",
      ["--key", "alice"],
      1,
      "Not valid: it is for somebody else (wrong_audience).",
    ],
    [
      "an owner who is not the first to sign",
      "env:OTHER",
      [],
      1,
      "Not valid: whoever signed first does not own the root (issuer_not_owner).",
    ],
    [
      "one root of two that it names",
      "env:HALF",
      [],
      0,
      "Valid in part: whoever signed first does not own the root (issuer_not_owner).",
    ],
    ["revocations", "env:REVOKED", [], 1, "Not valid: it has been revoked (revoked)."],
    [
      "several of which one is not valid",
      "env:BOTH",
      [],
      1,
      "Not valid: whoever signed first does not own the root (issuer_not_owner).",
    ],
  ])("answers for %s", async (_name, token, args, status, verdict) => {
    const { folder, venueFiles } = makeGround();
    const first = await tokenOf("alice", "bob");
    const other = await tokenOf("carol", "bob");
    const call = await tokenOf("bob", "venue", { proofs: [first] });
    const half = await tokenOf("alice", "bob", { capabilities: [reports, { with: "file://work/", can: "crud" }] });
    const revoked = await tokenOf("alice", "bob");
    writeFileSync(join(folder, ".local/state/venue-files/revocations"), `${idOf(revoked)} # gone\n`);
    const env = { FIRST: first, CALL: call, OTHER: other, HALF: half, REVOKED: revoked, BOTH: `${first}\n${other}` };
    const result = await venueFiles(["token", "inspect", token, ...args, "--config", "venue.json5"], { env });
    expect(result).toMatchObject({ status, stderr: "" });
    expect(result.stdout.trim().split("\n").at(-1)).toBe(verdict);
    if (token === "env:CALL") expect(result.stdout).toContain(`whoever sends it acts as ${short("bob")}.\n`);
    if (token === "env:HALF") expect(result.stdout).toContain("gives nothing\n  crud on file://work/\n");
  });

  test("judges by the owner of each root", async () => {
    const { venueFiles } = makeGround();
    const everywhere = { with: "file://", can: "crud/read" };
    const env = {
      A: await tokenOf("alice", "bob", { capabilities: [everywhere] }),
      V: await tokenOf("venue", "bob", { capabilities: [everywhere] }),
    };
    const allowed = async (token: string) =>
      /it allows\n( {2}docs .*)\n( {2}work .*)\n/
        .exec((await venueFiles(["token", "inspect", token, "--config", "venue.json5"], { env })).stdout)
        ?.slice(1);
    expect(await allowed("env:A")).toEqual(["  docs  read     file://", "  work  nothing"]);
    expect(await allowed("env:V")).toEqual(["  docs  nothing", "  work  read     file://"]);
  });

  test("tells an identity token from one that gives something", async () => {
    const { venueFiles } = makeGround();
    const token = (to: "venue" | "alice") => mintIdentity({ key: PEOPLE.bob, audience: did(to), clock: systemClock });
    const env = { OURS: token("venue"), OTHERS: token("alice") };
    const inspect = (...args: string[]) => venueFiles(["token", "inspect", ...args], { env });
    const { status, stdout } = await inspect("env:OURS", "--config", "venue.json5");
    expect(status).toBe(0);
    expect(plain(stdout)).toBe(`Whoever holds this token is ${short("bob")} to ${short("venue")}
until T (LEFT)
id ${idOf(env.OURS)}
It says who somebody is and gives nothing.

Valid.
`);
    expect(await inspect("env:OTHERS", "--config", "venue.json5")).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("Not valid: it is for somebody else (wrong_audience)."),
    });
    expect(await inspect("env:OTHERS")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("For which venue it is was not checked. For that: --config FILE\n"),
    });
    const report = JSON.parse((await inspect("env:OURS", "--json", "--key", "alice")).stdout) as TokenReport;
    expect(report).toMatchObject({ valid: false, reasons: ["wrong_audience"], grants: [] });
  });

  test.each<[string, string[], string, number, string]>([
    ["a file that is missing", ["nope.ucan"], "", 66, `Cannot read tokens from "nope.ucan": there is no such file`],
    ["a folder", ["docs"], "", 78, `Cannot read tokens from "docs": it is not a regular file`],
    ["a variable that is not set", ["env:NONE"], "", 78, "Cannot read tokens from variable 'NONE': it is not set"],
    ["another text", ["-"], "hello\n", 78, "Standard input holds no token in line 1"],
    ["nothing", ["-"], "\n\n", 78, "Standard input holds no token"],
    ["a token with a tail", ["-"], "eyJh.eyJh.c2ln.c2ln\n", 78, "Standard input holds no token in line 1"],
    [
      "a token that is too long",
      ["-"],
      `eyJh.${"a".repeat(8200)}.c2ln`,
      78,
      "Standard input holds a token of more than 8192 bytes",
    ],
    [
      "more than a request can hold",
      ["-"],
      `${"eyJh.eyJh.c2ln\n".repeat(9)}`,
      78,
      "Too many tokens: at most 8 and 32768 bytes together",
    ],
    ["an endless text", ["-"], "\n".repeat(40_000), 78, "Standard input holds more than a request's tokens"],
  ])("refuses %s", async (_name, args, input, status, stderr) => {
    const { venueFiles } = makeGround();
    expect(await venueFiles(["token", "inspect", ...args], { input })).toEqual({
      status,
      signal: null,
      stdout: "",
      stderr: `${stderr}\n`,
    });
  });
});

describe("the description of a token", () => {
  const link = { issuer: "did:key:z", audience: "did:web:v", grants: [], depth: 0, reasons: [], id: "i" };
  const facts = (report: Partial<TokenReport>, more: Partial<TokenFacts> = {}): TokenFacts => ({
    report: { valid: false, reasons: [], grants: [], chain: [], expires: null, ...report },
    nowSeconds: 1000,
    idle: [],
    signers: [],
    isInvocation: false,
    ...more,
  });

  test.each<[string, object, string]>([
    ["ended", { expires: 940 }, "until 1970-01-01T00:15:40Z (1 min ago)"],
    [
      "begins later",
      { expires: 4600, notBefore: 2000 },
      "from 1970-01-01T00:33:20Z until 1970-01-01T01:16:40Z (1 h left)",
    ],
    ["has begun", { expires: 4600, notBefore: 900 }, "until 1970-01-01T01:16:40Z (1 h left)"],
    ["never ends", { expires: null }, "without end"],
    ["says nothing of its end", {}, "with no end that could be read"],
  ])("tells when one that %s is valid", (_name, times, text) => {
    expect(describeToken(facts({ chain: [{ ...link, ...times }] }))).toContain(`\n${text}\n`);
  });

  test("escapes what its author wrote", () => {
    const odd = { ...link, audience: "did:x:\u001b[2J", grants: [{ with: "\u202efile://", can: "a\nb" }] };
    const text = describeToken(facts({ chain: [odd] }, { wanted: { with: "\u001b", can: "\u0007" } }));
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(text).toContain("did:x:\\u{1b}[2J");
    expect(text).toContain("a\\u{a}b on \\u{202e}file://");
  });

  test("names a proof that is missing", () => {
    const chain = [link, { grants: [], depth: 1, reasons: ["proof_not_found"] as DenialReason[] }];
    expect(describeToken(facts({ chain }))).toContain(
      "    a proof that cannot be used\n      ! a token that is named only by its hash is missing (proof_not_found)\n",
    );
  });

  test("of one that cannot be read at all is its verdict", () => {
    const chain = [{ grants: [], depth: 0, reasons: ["malformed"] as DenialReason[] }];
    for (const report of [
      { reasons: ["malformed"] as DenialReason[] },
      { chain, reasons: ["malformed"] as DenialReason[] },
    ]) {
      expect(describeToken(facts(report))).toBe("Not valid: it is not well formed, or not whole (malformed).\n");
    }
  });
});

describe("token identity", () => {
  test("makes the bearer token of a key, and says who it makes of its holder", async () => {
    const { venueFiles } = makeGround();
    const { status, stdout, stderr } = await venueFiles(["token", "identity", "--to", did("venue"), "--key", "bob"]);
    expect(status).toBe(0);
    const decoded = decodeToken(stdout.trim());
    expect(decoded).toMatchObject({ kind: "identity", issuer: did("bob"), audience: did("venue") });
    expect(plain(stderr)).toBe(`Whoever holds this token is ${short("bob")} to ${short("venue")} until T (5 min)\n`);
    expect(stdout).toMatch(/^eyJ[^\n]+\n$/);
    expect(secretsIn(stderr)).toEqual([]);
  });

  test("writes it into a new file, and warns of one that lives longer than the venue allows", async () => {
    const { folder, venueFiles } = makeGround({ "strict.json5": "{ auth: { maxIdentityLifetime: 60 } }" });
    const line = ["token", "identity", "--to", did("venue"), "--key", "bob"];
    const made = await venueFiles([...line, "--for", "2h", "--out", "bob.jwt"]);
    expect(made).toMatchObject({ status: 0, stdout: "" });
    expect(made.stderr).toContain("Warning: most venues take no identity token that lives longer than 1 h\n");
    expect(statSync(join(folder, "bob.jwt")).mode & 0o777).toBe(0o600);
    expect(decodeToken(readFileSync(join(folder, "bob.jwt"), "utf8").trim())).toHaveProperty("issuer", did("bob"));
    const strict = await venueFiles([...line, "--config", "strict.json5"]);
    expect(strict.stderr).toContain("Warning: this venue takes no identity token that lives longer than 1 min\n");
  });

  test("refuses what is no venue", async () => {
    const { venueFiles } = makeGround();
    expect(await venueFiles(["token", "identity", "--to", "http://localhost", "--key", "bob"])).toMatchObject({
      status: 64,
      stdout: "",
      stderr: expect.stringContaining(
        "--to must be a did:key of an Ed25519 key, or another DID, not 'http://localhost'\n",
      ),
    });
  });
});

const LIST = ".local/state/venue-files/revocations";
const OTHER = "z6-".repeat(14).concat("A");

describe("revoke", () => {
  test("writes ids and DIDs into the list of the configuration, once", async () => {
    const { folder, venueFiles } = makeGround();
    const path = join(folder, LIST);
    const follows = `The list is ${path}; a venue that runs with this configuration follows it\n`;
    expect(await venueFiles(["revoke", OTHER, did("bob"), "--config", "venue.json5"])).toEqual({
      status: 0,
      signal: null,
      stdout: `${OTHER} is revoked\n${did("bob")} is revoked\n`,
      stderr: follows,
    });
    expect(readFileSync(path, "utf8")).toBe(`${OTHER}\n${did("bob")}\n`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = await venueFiles(["revoke", OTHER, OTHER, "--config", "venue.json5"]);
    expect(again).toMatchObject({ status: 0, stdout: `${OTHER} was revoked already\n` });
    expect(readFileSync(path, "utf8")).toBe(`${OTHER}\n${did("bob")}\n`);
  });

  test("takes the ids of tokens in a file, whoever signed them", async () => {
    const { folder, venueFiles } = makeGround({ "c.json5": "{ auth: { ucan: { revocations: 'gone.txt' } } }" });
    const tokens = [await tokenOf("alice", "bob"), await tokenOf("carol", "bob")];
    writeFileSync(join(folder, "some.ucan"), tokens.join("\n"));
    const { status, stdout, stderr } = await venueFiles(["revoke", "--token", "some.ucan", "--config", "c.json5"]);
    expect(status).toBe(0);
    expect(stdout).toBe(tokens.map((token) => `${idOf(token)} is revoked\n`).join(""));
    // It was configured, and not there yet.
    expect(readFileSync(join(folder, "gone.txt"), "utf8")).toBe(tokens.map((token) => `${idOf(token)}\n`).join(""));
    expect(secretsIn(stdout + stderr)).toEqual([]);
  });

  test("is followed at once by a venue that runs, down to what rests on the token", async () => {
    const { folder, venueFiles } = makeGround();
    const served = await serve(["--config", "venue.json5"], { cwd: folder, tmp: folder });
    const first = await tokenOf("alice", "bob");
    const ucans = [await tokenOf("bob", "carol", { proofs: [first] })];
    const bearer = mintIdentity({ key: PEOPLE.carol, audience: did("venue"), clock: systemClock });
    const read = async () => {
      const stat = { operation: "file:stat", input: { root: "docs", path: "reports/q3.md" }, ucans, wait: true };
      return (await invoke(served.url, stat, bearer)).json();
    };
    expect(await read()).toMatchObject({ status: "COMPLETE", output: { exists: true } });
    await venueFiles(["revoke", idOf(first), "--config", "venue.json5"]);
    expect(await read()).toMatchObject({ status: "FAILED", errorData: { reasons: ["revoked"] } });
    expect((await served.stop()).status).toBe(0);
  });

  test("takes a list that was cut as it is only when told so, and adds to it all the same", async () => {
    const { folder, venueFiles } = makeGround();
    const on = ["--config", "venue.json5"];
    await venueFiles(["revoke", OTHER, did("bob"), ...on]);
    writeFileSync(join(folder, LIST), `${OTHER}\n`);
    const refusal =
      /lacks 1 of the 2 entries in force: .*revocations\. Put them back, or .*: (venue-files revoke --accept-list) --config FILE/;
    const check = await venueFiles(["check", ...on]);
    expect(check).toMatchObject({ status: 78, stderr: expect.stringMatching(refusal) });
    expect((await venueFiles(["revoke", did("carol"), ...on])).status).toBe(0);
    expect((await venueFiles(["check", ...on])).status).toBe(78);
    const accepted = await venueFiles(["revoke", "--accept-list", ...on]);
    expect(accepted).toMatchObject({ status: 0, stdout: "The list is taken as it is, with 2 entries\n" });
    expect((await venueFiles(["check", ...on])).status).toBe(0);
    expect(readFileSync(join(folder, LIST), "utf8")).toBe(`${OTHER}\n${did("carol")}\n`);
    // With an id as well.
    writeFileSync(join(folder, LIST), `${OTHER}\n`);
    const both = await venueFiles(["revoke", did("bob"), "--accept-list", ...on]);
    expect(both).toMatchObject({
      ...{ status: 0, stdout: `${did("bob")} is revoked\nThe list is taken as it is, with 2 entries\n` },
    });
    expect((await venueFiles(["check", ...on])).status).toBe(0);
  });

  test.each<[string, string[], number, string | RegExp]>([
    [
      "what is no id",
      ["abc"],
      64,
      /^'abc' is neither the id of a token \(43 characters, see: token inspect\) nor a DID\n/,
    ],
    ["a comment in place of an id", ["#"], 64, /^'#' is neither/],
    ["an id that no hash is", ["z6-".repeat(14).concat("B")], 64, /is neither/],
    [
      "a token that cannot be read",
      ["--token", "odd.ucan"],
      78,
      /^--token leads to a token that cannot be read\. Give its id instead\n$/,
    ],
    [
      "a list with a slip in it",
      [OTHER, "--config", "slip.json5"],
      78,
      /^'auth\.ucan\.revocations' cannot be used: line 2 is neither/,
    ],
  ])("refuses %s, and then nothing is revoked", async (_name, args, status, stderr) => {
    const { folder, venueFiles } = makeGround({
      "odd.ucan": "eyJh.eyJh.c2ln",
      "slip.json5": "{ auth: { ucan: { revocations: 'slip.txt' } } }",
      "slip.txt": "# ours\nslip\n",
    });
    const config = args.includes("--config") ? [] : ["--config", "venue.json5"];
    const result = await venueFiles(["revoke", ...args, ...config]);
    expect(result).toMatchObject({ status, stdout: "", stderr: expect.stringMatching(stderr) });
    expect(() => statSync(join(folder, LIST))).toThrow();
    expect(readFileSync(join(folder, "slip.txt"), "utf8")).toBe("# ours\nslip\n");
  });
});
