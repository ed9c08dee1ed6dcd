import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { signingKeyFromSeed } from "../../../src/ucan/mint/signing-key.js";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder } from "../process.js";

afterAll(cleanUp);

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
