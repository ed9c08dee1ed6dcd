import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { createFileVerifier } from "../../../src/authz/file-verifier.js";
import { UsageError } from "../../../src/cli/arguments/options.js";
import { checkTokenOutput } from "../../../src/cli/tokens/token-output.js";
import type { Capability } from "../../../src/core/call/capability.js";
import { signingKeyFromSeed } from "../../../src/ucan/mint/signing-key.js";
import { decodeToken } from "../../../src/ucan/token/decode.js";
import { runHere } from "../in-process.js";
import { did, makeGround, secretsIn, short, tokenOf } from "../people.js";
import { cleanUp, makeFolder } from "../process.js";

afterAll(cleanUp);

const READ_REPORTS = ["--with", "file://docs/reports/", "--can", "crud/read"];
const TO_BOB = ["--to", did("bob")];

/** What a token says, and what it gives when somebody is the owner. */
function read(text: string, owner: string): { payload: Record<string, unknown>; gives: readonly Capability[] } {
  const [token] = createFileVerifier().read([text.trim()]);
  const gives = token?.verdict(owner).grants.map(({ grant }) => grant.written) ?? [];
  return { payload: { ...token?.decoded?.payload }, gives };
}

const lifetimeOf = (text: string): number => Number(read(text, "").payload["exp"]) - Date.now() / 1000;

describe("grant", () => {
  test("signs with a key that has a name, and says in one line who gives whom what until when", async () => {
    const { venueFiles } = makeGround();
    const { status, stdout, stderr } = await venueFiles(["grant", ...TO_BOB, ...READ_REPORTS, "--key", "alice"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^eyJ[^\n]*\n$/);
    const { payload, gives } = read(stdout, did("alice"));
    expect(payload).toMatchObject({ iss: did("alice"), aud: did("bob"), ucv: "0.10.0", prf: [] });
    expect(gives).toEqual([{ with: "file://docs/reports/", can: "crud/read" }]);
    const end = new Date(Number(payload["exp"]) * 1000).toISOString().replace(".000Z", "Z");
    const [token] = createFileVerifier().read([stdout.trim()]);
    expect(stderr).toMatch(/ \((?:1 h|59 min \d+ s)\)\. Id /);
    expect(stderr.replace(/ \([^)]*\)/, "")).toBe(
      `${short("alice")} gives ${short("bob")} crud/read on file://docs/reports/ until ${end}. Id ${token?.id}\n`,
    );
  });

  test("gives several things at once, for as long as it is told", async () => {
    const { venueFiles } = makeGround();
    const more = ["--with", "file://docs/out", "--can", "crud", "--for", "7d"];
    const { stdout } = await venueFiles(["grant", ...TO_BOB, ...READ_REPORTS, ...more, "--key", "alice"]);
    expect(read(stdout, did("alice")).gives).toEqual([
      { with: "file://docs/reports/", can: "crud/read" },
      { with: "file://docs/out", can: "crud" },
    ]);
    expect(Math.abs(lifetimeOf(stdout) - 7 * 86_400)).toBeLessThan(60);
  });

  test.each<[string, string[], Record<string, string>]>([
    ["a path", ["--key", "./alice.key"], {}],
    ["a variable", ["--key", "env:ALICE"], { ALICE: "a1".repeat(32) }],
  ])("signs with a key in %s", async (_name, key, env) => {
    const { folder, venueFiles } = makeGround();
    writeFileSync(join(folder, "alice.key"), "a1".repeat(32), { mode: 0o600 });
    const { stdout } = await venueFiles(["grant", ...TO_BOB, ...READ_REPORTS, ...key], { env });
    expect(read(stdout, did("alice")).gives).toHaveLength(1);
  });

  test.each([["venue.json5"], ["seed.json5"]])("signs with the key of the venue: %s", async (config) => {
    const { venueFiles } = makeGround({
      "seed.json5": `{ seed: "${"0f".repeat(32)}", file: { roots: { work: "work" } } }`,
    });
    const given = ["--with", "file://work/", "--can", "crud"];
    const { status, stdout, stderr } = await venueFiles(["grant", ...TO_BOB, ...given, "--config", config]);
    expect(status).toBe(0);
    expect(read(stdout, did("venue")).gives).toEqual([{ with: "file://work/", can: "crud" }]);
    expect(stderr).not.toContain("Warning");
  });

  test("passes on what a proof gives, no longer than that lasts", async () => {
    const { folder, venueFiles } = makeGround();
    const proof = await tokenOf("alice", "bob", { lifetimeSeconds: 600 });
    writeFileSync(join(folder, "bob.ucan"), `\n${proof}\r\n`);
    const given = ["--with", "file://docs/reports/q3.md", "--can", "crud/read"];
    const line = ["grant", "--to", did("carol"), ...given, "--key", "bob", "--config", "venue.json5"];
    for (const source of ["bob.ucan", "env:PROOF"]) {
      const { status, stdout, stderr } = await venueFiles([...line, "--proof", source], { env: { PROOF: proof } });
      expect({ status, warned: stderr.includes("Warning") }).toEqual({ status: 0, warned: false });
      expect(read(stdout, did("alice")).gives).toEqual([{ with: "file://docs/reports/q3.md", can: "crud/read" }]);
      expect(read(stdout, did("carol")).gives).toEqual([]);
      expect(lifetimeOf(stdout)).toBeLessThanOrEqual(600);
    }
  });

  test("passes it on for longer if told so, and says that it ends with the proof", async () => {
    const { folder, venueFiles } = makeGround();
    writeFileSync(join(folder, "bob.ucan"), await tokenOf("alice", "bob", { lifetimeSeconds: 600 }));
    const line = ["grant", "--to", did("carol"), ...READ_REPORTS, "--key", "bob", "--proof", "bob.ucan", "--for", "2h"];
    const { status, stdout, stderr } = await venueFiles(line);
    expect(status).toBe(0);
    expect(lifetimeOf(stdout)).toBeGreaterThan(600);
    expect(stderr).toMatch(/ \((?:10 min|9 min \d+ s)\)\. Id /);
  });

  test("writes the other profile", async () => {
    const { venueFiles } = makeGround();
    const line = ["grant", ...TO_BOB, ...READ_REPORTS, "--key", "alice", "--profile", "ucan-0.8"];
    const { stdout } = await venueFiles(line);
    const [header = ""] = stdout.split(".");
    expect(JSON.parse(Buffer.from(header, "base64url").toString())).toMatchObject({ ucv: "0.8.1" });
    expect(read(stdout, did("alice")).gives).toHaveLength(1);
  });

  test("writes into a new file that only its user can read, and over none", async () => {
    const { folder, venueFiles } = makeGround({ "taken.ucan": "precious" });
    const line = ["grant", ...TO_BOB, ...READ_REPORTS, "--key", "alice", "--out"];
    const { status, stdout, stderr } = await venueFiles([...line, "bob.ucan"]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
    expect(stderr).toMatch(/^did:key:\S+ gives /);
    expect(statSync(join(folder, "bob.ucan")).mode & 0o777).toBe(0o600);
    expect(read(readFileSync(join(folder, "bob.ucan"), "utf8"), did("alice")).gives).toHaveLength(1);
    expect(await venueFiles([...line, "taken.ucan"])).toMatchObject({
      status: 78,
      stdout: "",
      stderr: `--out: something is there already, and is not overwritten: ${folder}/taken.ucan\n`,
    });
    expect(readFileSync(join(folder, "taken.ucan"), "utf8")).toBe("precious");
  });

  test("shows no token on a terminal unless it is told to", () => {
    const context = (isTTY: boolean) => ({ stdout: { isTTY } }) as unknown as Parameters<typeof checkTokenOutput>[1];
    expect(() => checkTokenOutput(undefined, context(true))).toThrow(
      new UsageError(
        "The token would be shown on this terminal. Write it to a file with --out FILE, or pipe it; --out - shows it",
      ),
    );
    for (const out of ["-", "bob.ucan"]) expect(() => checkTokenOutput(out, context(true))).not.toThrow();
    expect(() => checkTokenOutput(undefined, context(false))).not.toThrow();
  });
});

describe("grant warns, and makes the token all the same, when", () => {
  const nobodyKnows = "the key of this venue is not there yet, or another at each start";
  test.each<[string, string[], string]>([
    [
      "the signer does not own the root",
      [...TO_BOB, ...READ_REPORTS, "--config", "venue.json5"],
      `the token gives nothing on file://docs/reports/: root 'docs' belongs to ${short("alice")}, ` +
        `not to ${short("venue")}, and no proof goes back to that owner`,
    ],
    [
      "the signer is not the operator, who owns what has no owner of its own",
      [...TO_BOB, "--with", "file://", "--can", "crud/read", "--key", "alice", "--config", "venue.json5"],
      `the token gives nothing on file://: what has no owner of its own belongs to ${short("venue")}, ` +
        `not to ${short("alice")}, and no proof goes back to that owner`,
    ],
    [
      "there is no such root",
      [...TO_BOB, "--with", "file://dosc/", "--can", "crud", "--key", "alice", "--config", "venue.json5"],
      "there is no root 'dosc' in this configuration, so file://dosc/ leads nowhere",
    ],
    [
      "nobody knows the owner",
      [...TO_BOB, "--with", "file://work/", "--can", "crud", "--key", "alice", "--config", "keyless.json5"],
      `nobody can say yet who owns file://work/: ${nobodyKnows}`,
    ],
    [
      "it is for its own signer",
      ["--to", did("alice"), ...READ_REPORTS, "--key", "alice"],
      "the token is for its own signer",
    ],
    [
      "the venue takes no bearer that lives so long",
      ["--to", did("venue"), ...READ_REPORTS, "--key", "alice", "--config", "venue.json5", "--for", "2h"],
      "as a bearer this venue takes tokens that live at most 1 h; beside another one this is fine",
    ],
  ])("%s", async (_name, args, warning) => {
    const { venueFiles } = makeGround({ "keyless.json5": `{ file: { roots: { work: "work" } } }` });
    const { status, stdout, stderr } = await venueFiles(["grant", ...args]);
    expect(status).toBe(0);
    expect(decodeToken(stdout.trim())).toHaveProperty("kind", "ucan");
    expect(stderr.split("\n").slice(1)).toEqual([`Warning: ${warning}`, ""]);
  });

  test("but not when the operator is the signer by another name", async () => {
    const { venueFiles } = makeGround({
      "web.json5": `{ seedFile: "venue.seed", did: "did:web:files.example", file: { roots: { work: "work" } } }`,
    });
    const line = ["grant", ...TO_BOB, "--with", "file://work/", "--can", "crud", "--config", "web.json5"];
    const { status, stderr } = await venueFiles(line);
    expect({ status, warned: stderr.includes("Warning") }).toEqual({ status: 0, warned: false });
  });
});

describe("grant makes no token, and says why,", () => {
  test.each<[string, string[], number, RegExp]>([
    [
      "that is wider than its proof",
      ["--with", "file://docs/", "--can", "crud/read"],
      1,
      /covered by none of the proofs/,
    ],
    ["that lives too long", [...READ_REPORTS, "--for", "400d"], 1, /would live too long/],
  ])("%s", async (_name, args, status, stderr) => {
    const { folder, venueFiles } = makeGround();
    writeFileSync(join(folder, "p.ucan"), await tokenOf("alice", "bob"));
    const result = await venueFiles(["grant", "--to", did("carol"), ...args, "--key", "bob", "--proof", "p.ucan"]);
    expect(result).toMatchObject({ status, stdout: "", stderr: expect.stringMatching(stderr) });
    expect(secretsIn(result.stderr)).toEqual([]);
  });

  test.each<[string, string[], number, RegExp]>([
    [
      "whose proof is somebody else's",
      [...TO_BOB, ...READ_REPORTS, "--key", "alice", "--proof", "p.ucan"],
      1,
      /somebody else/,
    ],
    [
      "by a proof that is none",
      [...TO_BOB, ...READ_REPORTS, "--key", "alice", "--proof", "text"],
      78,
      /^"text" holds no token in line 1\n$/,
    ],
    [
      "by a proof that is missing",
      [...TO_BOB, ...READ_REPORTS, "--key", "alice", "--proof", "nope"],
      66,
      /^Cannot read tokens from "nope": there is no such file\n$/,
    ],
    [
      "by a key that is missing",
      [...TO_BOB, ...READ_REPORTS, "--key", "dave"],
      66,
      /^Cannot use key 'dave': there is no such file\. Make it with: venue-files key new dave\n$/,
    ],
    [
      "for nobody",
      ["--to", "bob", ...READ_REPORTS, "--key", "alice"],
      64,
      /^--to must be a did:key of an Ed25519 key, or another DID, not 'bob'\n/,
    ],
    [
      "for a key of another type",
      ["--to", "did:key:z4MXj1wBzi9jUstyPMS4jQqB6KdJai", ...READ_REPORTS, "--key", "alice"],
      64,
      /^--to must be a did:key of an Ed25519 key, or another DID, not an RSA did:key/,
    ],
    ["for a key that cannot be", ["--to", `${did("bob")}x`, ...READ_REPORTS, "--key", "alice"], 64, /^--to must be/],
    [
      "on no resource",
      [...TO_BOB, "--with", "docs/", "--can", "crud", "--key", "alice"],
      64,
      /^--with must be file:\/\/ .*, not 'docs\/'\n/,
    ],
    [
      "on a resource that could be two",
      [...TO_BOB, "--with", "file://docs/../x", "--can", "crud", "--key", "alice"],
      64,
      /^--with must be/,
    ],
    [
      "for no ability",
      [...TO_BOB, "--with", "file://docs/", "--can", "read", "--key", "alice"],
      64,
      /^--can must be an ability: crud\/read, .*, not 'read'\n/,
    ],
    [
      "by a venue without a key",
      [...TO_BOB, ...READ_REPORTS, "--config", "keyless.json5"],
      78,
      /^The key of this venue cannot sign: it has another one at each start\. Set 'seedFile', or name a key with --key\n$/,
    ],
    [
      "by a venue that was never started",
      [...TO_BOB, ...READ_REPORTS, "--config", "new.json5"],
      78,
      /^The key of this venue cannot sign: there is no file yet: .*new\.seed\. Start the venue once, or /,
    ],
  ])("%s", async (_name, args, status, stderr) => {
    const { folder, venueFiles } = makeGround({
      "keyless.json5": "{}",
      "new.json5": "{ seedFile: 'new.seed' }",
      text: "hello",
    });
    writeFileSync(join(folder, "p.ucan"), await tokenOf("alice", "bob"));
    const result = await venueFiles(["grant", ...args]);
    expect(result).toMatchObject({ status, stdout: "", stderr: expect.stringMatching(stderr) });
    expect(secretsIn(result.stderr)).toEqual([]);
  });
});

test("a root that is a drive is nobody's to give, not even the operator's", async () => {
  const venue = `{ seedFile: "venue.seed", file: { roots: { mine: { dlfs: "notes" }, work: "work" } } }`;
  const { venueFiles } = makeGround({ "venue.json5": venue });
  const reportOf = async (root: string) => {
    const scope = ["--to", did("bob"), "--with", `file://${root}/`, "--can", "crud/read", "--config", "venue.json5"];
    const { stdout } = await venueFiles(["grant", ...scope]);
    const { stdout: report } = await venueFiles(["token", "inspect", "-", "--config", "venue.json5", "--json"], {
      input: stdout,
    });
    const { stdout: verified } = await venueFiles([
      "call",
      "ucan:verify",
      JSON.stringify({ token: stdout.trim() }),
      "--config",
      "venue.json5",
    ]);
    return [JSON.parse(report).valid, JSON.parse(verified).valid];
  };
  expect(await reportOf("work")).toEqual([true, true]);
  expect(await reportOf("mine")).toEqual([false, false]);
});

const SEED = "a1".repeat(32);
const DID = signingKeyFromSeed(Buffer.from(SEED, "hex")).did;
const DID_LINE = /^(did:key:z6Mk[A-Za-z0-9]{44})\n$/;

/** A user with a home of their own, and what they type there. */
function user(files: Readonly<Record<string, string>> = {}) {
  const home = makeFolder(files);
  for (const file of Object.keys(files)) chmodSync(join(home, file), 0o600);
  const keys = join(home, ".local/state/venue-files/keys");
  const venueFiles = (line: string, env: Record<string, string> = {}) =>
    runHere(line.split(" "), { cwd: home, tmp: home, env });
  return { home, keys, venueFiles };
}

const modeOf = (path: string): number => lstatSync(path).mode & 0o777;

describe("key new", () => {
  test("makes a key that only its user can read, and prints its DID and where it is, but nothing of it", async () => {
    const { keys, venueFiles } = user();
    const { status, stdout, stderr } = await venueFiles("key new alice");
    expect(status).toBe(0);
    const seed = readFileSync(join(keys, "alice"), "utf8");
    expect(seed).toMatch(/^[0-9a-f]{64}\n$/);
    expect([modeOf(join(keys, "alice")), modeOf(keys), modeOf(join(keys, ".."))]).toEqual([0o600, 0o700, 0o700]);
    const [, did] = DID_LINE.exec(stdout) ?? [];
    expect(did).toBe(signingKeyFromSeed(Buffer.from(seed.trim(), "hex")).did);
    expect(stderr).toBe(`The key is in ${keys}/alice. Whoever can read that file is this DID:\n`);
    expect(readdirSync(keys)).toEqual(["alice"]);
  });

  test("makes another one each time", async () => {
    const { venueFiles } = user();
    const made = [await venueFiles("key new a"), await venueFiles("key new b")];
    expect(new Set(made.map(({ stdout }) => stdout)).size).toBe(2);
  });

  test.each([
    ["./alice.key", "alice.key"],
    ["sub/alice", "sub/alice"],
  ])("takes %s for a path", async (reference, path) => {
    const { home, keys, venueFiles } = user();
    mkdirSync(join(home, "sub"));
    expect((await venueFiles(`key new ${reference}`)).status).toBe(0);
    expect(modeOf(join(home, path))).toBe(0o600);
    expect(existsSync(keys)).toBe(false);
  });

  test("keeps named keys in the state directory of the configuration, or of XDG", async () => {
    const { home, venueFiles } = user({ "venue.json5": "{ stateDir: 'state' }" });
    expect((await venueFiles("key new alice --config venue.json5")).status).toBe(0);
    expect(modeOf(join(home, "state/keys/alice"))).toBe(0o600);
    const shown = await venueFiles("key show alice --config venue.json5");
    expect(shown.stdout).toMatch(DID_LINE);
    expect((await venueFiles("key new alice", { XDG_STATE_HOME: join(home, "xdg") })).status).toBe(0);
    expect(modeOf(join(home, "xdg/venue-files/keys/alice"))).toBe(0o600);
  });

  test("never puts one over anything", async () => {
    const { home, keys, venueFiles } = user({ "file.key": "precious" });
    mkdirSync(join(home, "folder.key"));
    symlinkSync("nowhere", join(home, "link.key"));
    await venueFiles("key new alice");
    const seed = readFileSync(join(keys, "alice"), "utf8");
    for (const name of ["alice", "./file.key", "./folder.key", "./link.key"]) {
      const { status, stdout, stderr } = await venueFiles(`key new ${name}`);
      expect({ name, status, stdout }).toEqual({ name, status: 78, stdout: "" });
      expect(stderr).toMatch(new RegExp(`^Key '${name}': something is there already, and is not overwritten: /.*\n$`));
    }
    expect(readFileSync(join(keys, "alice"), "utf8")).toBe(seed);
    expect(readFileSync(join(home, "file.key"), "utf8")).toBe("precious");
    expect(existsSync(join(home, "nowhere"))).toBe(false);
  });

  test("makes one of two that are started at once", async () => {
    const { keys, venueFiles } = user();
    const ends = await Promise.all([1, 2, 3].map(() => venueFiles("key new alice")));
    expect(ends.map(({ status }) => status).sort()).toEqual([0, 78, 78]);
    const made = ends.find(({ status }) => status === 0)?.stdout;
    expect((await venueFiles("key show alice")).stdout).toBe(made);
    expect(readdirSync(keys)).toEqual(["alice"]);
  });

  test.each<[string, number, RegExp]>([
    ["key new a:b", 64, /^'a:b' cannot be the name of a key: letters, digits, - and _ only\. A path has a \/ in it\n/],
    ["key new -- -a", 64, /^'-a' cannot be the name of a key/],
    ["key new env:KEY", 64, /^'key new' makes a file: give it a name or a path, not a variable\n/],
    ["key new no/such/folder", 66, /^Key 'no\/such\/folder': it cannot be made: its folder does not exist: \/.*\n$/],
    ["key new a --config nope.json5", 66, /^Cannot read "nope\.json5": no such file\n$/],
  ])("refuses %s", async (line, status, stderr) => {
    const { venueFiles } = user();
    expect(await venueFiles(line)).toEqual({
      status,
      signal: null,
      stdout: "",
      stderr: expect.stringMatching(stderr),
    });
  });

  test("refuses a folder of keys that others may write to", async () => {
    const { keys, venueFiles } = user();
    mkdirSync(keys, { recursive: true });
    chmodSync(keys, 0o777);
    expect(await venueFiles("key new alice")).toMatchObject({
      status: 78,
      stdout: "",
      stderr: expect.stringContaining("others may write in it"),
    });
    expect(readdirSync(keys)).toEqual([]);
  });
});

describe("key show", () => {
  test.each<[string, string]>([
    ["a path", "key show ./a.key"],
    ["a link, as secrets are mounted", "key show ./link.key"],
    ["a path without the end of its line", "key show ./bare.key"],
    ["a variable", "key show env:KEY"],
    ["a variable without the end of its line", "key show env:BARE"],
  ])("prints the DID of a key in %s", async (_name, line) => {
    const { home, venueFiles } = user({ "a.key": `${SEED}\n`, "bare.key": SEED.toUpperCase() });
    symlinkSync("a.key", join(home, "link.key"));
    expect(await venueFiles(line, { KEY: `${SEED}\n`, BARE: SEED })).toEqual({
      status: 0,
      signal: null,
      stdout: `${DID}\n`,
      stderr: "",
    });
  });

  test("lists the keys that have a name", async () => {
    const { keys, venueFiles } = user();
    expect(await venueFiles("key show")).toEqual({
      status: 0,
      signal: null,
      stdout: "",
      stderr: "There are no keys yet. Make one with: venue-files key new NAME\n",
    });
    const bob = (await venueFiles("key new bob")).stdout;
    const alice = (await venueFiles("key new alice")).stdout;
    // What a process that was killed leaves is no key.
    writeFileSync(join(keys, "carol.0123456789abcdef"), SEED);
    expect(await venueFiles("key show")).toMatchObject({
      status: 0,
      stdout: `alice  ${alice}bob    ${bob}`,
      stderr: "",
    });
  });

  test("lists the others when one cannot be used, and says why", async () => {
    const { keys, venueFiles } = user();
    const bob = (await venueFiles("key new bob")).stdout;
    writeFileSync(join(keys, "alice"), SEED, { mode: 0o640 });
    symlinkSync("bob", join(keys, "carol"));
    expect(await venueFiles("key show")).toMatchObject({
      status: 78,
      stdout: `bob  ${bob}`,
      stderr:
        "Cannot use key 'alice': others may use it. Make its mode 0600\n" + "Cannot use key 'carol': it is a link\n",
    });
  });

  test.each<[string, number, string]>([
    ["key show alice", 66, "Cannot use key 'alice': there is no such file. Make it with: venue-files key new alice"],
    ["key show ./nope.key", 66, "Cannot use key './nope.key': there is no such file"],
    ["key show ./short.key", 78, "Cannot use key './short.key': it must hold 64 hex digits and nothing else"],
    ["key show ./long.key", 78, "Cannot use key './long.key': it is too long"],
    ["key show ./open.key", 78, "Cannot use key './open.key': others may use it. Make its mode 0600"],
    ["key show ./", 78, "Cannot use key './': it is not a regular file"],
    ["key show env:NONE", 78, "Cannot read the key from variable 'NONE': it is not set"],
    ["key show env:SHORT", 78, "Cannot use key 'env:SHORT': it must hold 64 hex digits and nothing else"],
    ["key show env:LONG", 78, "Cannot read the key from variable 'LONG': it is too long"],
  ])("fails without a word of what it read: %s", async (line, status, stderr) => {
    const { home, venueFiles } = user({
      "short.key": "a1a1",
      "long.key": `${SEED}${SEED}`,
      "open.key": SEED,
    });
    chmodSync(join(home, "open.key"), 0o644);
    expect(await venueFiles(line, { SHORT: "a1a1", LONG: SEED + SEED })).toEqual({
      status,
      signal: null,
      stdout: "",
      stderr: `${stderr}\n`,
    });
  });

  test("refuses a variable that is none", async () => {
    const { venueFiles } = user();
    expect(await venueFiles("key show env:A-B")).toMatchObject({
      status: 64,
      stderr: expect.stringMatching(
        /^'env:A-B' names no environment variable\. Write env:NAME, or \.\/ before a file\n/,
      ),
    });
  });
});
