import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { needs } from "../../needs.js";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder, serve, start } from "../process.js";

afterAll(cleanUp);

const TOKEN = "0123456789abcdef0123456789abcdef";
/** Of the key with that seed. */
const VENUE_KEY = "did:key:z6MktULudTtAsAhRegYPiZ6631RV3viv12qd4GQF8z1xB22S";
const ANNE = `did:key:z6Mk${"a".repeat(44)}`;
const BOB = `did:key:z6Mk${"b".repeat(44)}`;

interface CheckOptions {
  readonly args?: string[];
  readonly env?: Record<string, string>;
  readonly files?: Record<string, string>;
  readonly prepare?: (folder: string) => void;
}

/** The lines below a heading. */
function linesOf(stdout: string, heading: string): string[] {
  const [, after = ""] = stdout.split(`\n${heading}\n`);
  return (after.split(/\n(?=\n|$)/)[0] ?? "").split("\n").map((line) => line.trim());
}

async function check(config: string | undefined, options: CheckOptions = {}) {
  const written = config === undefined ? {} : { "venue.json5": config };
  const folder = makeFolder({ "docs/a.txt": "a", ...written, ...options.files });
  options.prepare?.(folder);
  const source = config === undefined ? [] : ["--config", "venue.json5"];
  const env = options.env === undefined ? {} : { env: options.env };
  const ended = await runHere(["check", ...source, ...(options.args ?? [])], { cwd: folder, tmp: folder, ...env });
  return { ...ended, folder };
}

describe("check", () => {
  const SEED = "11".repeat(32);

  test.each([
    ["{ path: 'docs', approve: { for: ['delete'] } }", "", true],
    ["{ path: 'docs' }", "", false],
    ["{ path: 'docs', approve: { for: ['delete'] } }", "mcp: false,", false],
    ["{ path: 'docs', approve: { for: ['delete'] } }", "auth: { localToken: false },", false],
  ])("warns of MCP clients that could answer for the person who is asked: %s %s", async (root, more, isWarned) => {
    const { status, stdout } = await check(`{ ${more} file: { roots: { docs: ${root} } } }`);
    expect(status).toBe(0);
    expect(stdout.includes("A person is asked about changes in 'docs', but an MCP client")).toBe(isWarned);
  });

  test.each([
    ["path: '.'", true],
    ["path: '.', protect: ['@git', '@clients']", true],
    ["path: '.', protect: ['venue.json5']", false],
    ["path: '.', deny: ['**/venue.*']", false],
    ["path: '.', readOnly: true", false],
    ["path: 'docs'", false],
  ])("warns of a root whose callers may change the configuration itself: %s", async (root, isWarned) => {
    const { status, stdout } = await check(
      `{ stateDir: false, auth: { localToken: false }, file: { roots: { all: { ${root} } } } }`,
    );
    expect(status).toBe(0);
    const warning = `Root 'all' holds this configuration: whoever may write there can give themselves more. Add "venue.json5" to its protect`;
    expect(stdout.includes(warning)).toBe(isWarned);
  });

  test("without a configuration says what would run", async () => {
    const { status, stdout, stderr } = await check(undefined);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^venue-files \S+: the configuration is valid\n/);
    expect(stdout).toContain("http://localhost:8080 (reachable from this machine only)");
    expect(stdout).toMatch(/\n {2}tmp {2}temp {2}read-write {2}(openat2|handle walk|real-path check)\n/);
    expect(stdout).toMatch(/\n {2}local token +kept in \S+\n/);
    expect(stdout).toMatch(/\n {2}operator +the venue itself, or the local token +everything in every root\n/);
    expect(stdout).toMatch(/\n {2}anonymous +tmp: read, write, delete\n/);
  });

  test("says that a journal was damaged, and where the old one is", async () => {
    const config = `{ stateDir: "state", file: { roots: { docs: { path: "docs" } } } }`;
    const sound = await check(config);
    expect(sound.stdout).toMatch(/docs .* journal, 256 MiB, trash auto, 30 days$/m);
    let aside = "";
    const { status, stdout } = await check(config, {
      prepare(folder) {
        const real = realpathSync(folder);
        aside = join(real, "state", "journal", createHash("sha256").update(join(real, "docs")).digest("hex"));
        mkdirSync(join(aside, "index.damaged-2026"), { recursive: true });
      },
    });
    expect(status).toBe(0);
    expect(stdout).toContain(`30 days; it was damaged, its old tables are beside it in ${aside}`);
  });

  test("says what each root hides and protects", async () => {
    const { stdout } = await check(`{ file: { roots: {
      docs: { path: "docs", deny: ["@secrets", "a/**"], protect: ["@git"] }, tmp: { temp: true } } } }`);
    const [docs, tmp] = linesOf(stdout, "Roots");
    expect(docs).toContain("hides @secrets, a/**; protects @git");
    expect(tmp).not.toMatch(/hides|protects/);
  });

  test("says what keeps the commands of each shell in", async () => {
    const shells = { off: `{ driver: "none" }`, thread: `{ driver: "just-bash" }`, auto: `{ driver: "auto" }` };
    const profiles = Object.entries(shells).map(
      ([name, shell]) => `${name}: { profile: "jettson", root: "tmp", shell: ${shell} }`,
    );
    const config = `{ file: { roots: { tmp: { temp: true } } }, profiles: {
      files: { profile: "jettson", root: "tmp" }, ${profiles.join(", ")} } }`;
    const { status, stdout } = await check(config);
    expect(status).toBe(0);
    const [off, thread, auto, ...more] = linesOf(stdout, "Commands, as they run from here").map((line) =>
      line.split(/ {2,}|; /),
    );
    expect([off, thread, more]).toEqual([
      ["off", "on tmp", "none: shell.driver is none", "no commands"],
      ["thread", "on tmp", "just-bash", "no network"],
      [],
    ]);
    const [name, root, sandbox, network, processes, group] = auto ?? [];
    expect([name, root]).toEqual(["auto", "on tmp"]);
    const isGuarded = sandbox === "bubblewrap";
    expect(sandbox).toMatch(/^(bubblewrap$|none: .)/);
    expect(network).toBe(isGuarded ? "no network" : "no commands");
    expect(processes).toEqual(isGuarded ? expect.stringMatching(/^processes counted by (run$|user )/) : undefined);
    expect(group).toEqual(
      isGuarded ? expect.stringMatching(/^(a control group for each run$|no control groups: .)/) : undefined,
    );
  });

  needs(process.geteuid?.() === 0, "this process is not root")(
    "says that root runs no command where a folder is root's",
    async () => {
      const configOf = (shell: string) => `{ file: { roots: { docs: { path: "docs", trash: "off" } } },
        profiles: { mine: { profile: "jettson", root: "docs", shell: { unsafe: true${shell} } } } }`;
      const none = "none: commands never run as root: set shell.uid and shell.gid";
      expect((await check(configOf(""))).stdout).toContain(none);
      expect((await check(configOf(", uid: 54321, gid: 54321"))).stdout).not.toContain(none);
    },
  );

  test("warns of commands without a guard, which could empty the trash, and refuses them where it must be kept", async () => {
    const configOf = (root: string) => `{ file: { roots: { docs: { path: "docs"${root} } } },
      profiles: { mine: { profile: "jettson", root: "docs", shell: { unsafe: true } } } }`;
    const warned = await check(configOf(""));
    expect(warned.status).toBe(0);
    expect(warned.stdout).toContain(
      "\nWarning: Commands of profile 'mine' run without a guard: they can remove what the trash",
    );
    const refused = await check(configOf(`, journal: "on", trash: "required"`));
    expect(refused.status).toBe(78);
    expect(refused.stderr).toContain("'profiles.mine.shell.unsafe' must be false");
  });

  test("warns of snapshots that no journal keeps, and refuses those of no shell", async () => {
    const configOf = (root: string, shell: string) => `{ file: { roots: { docs: { path: "docs"${root} } } },
      profiles: { mine: { profile: "jettson", root: "docs", snapshot: true${shell} } } }`;
    const warning = "Profile 'mine' has snapshot: true, but its root 'docs' has no journal to keep it";
    expect((await check(configOf(`, journal: "off"`, ", shell: {}"))).stdout).toContain(warning);
    expect((await check(configOf("", ", shell: {}"))).stdout).not.toContain(warning);
    const refused = await check(configOf("", ""));
    expect(refused.status).toBe(78);
    expect(refused.stderr).toContain("'profiles.mine.snapshot' needs a shell");
  });

  test("shows roots, tokens and who may do what", async () => {
    const config = `{
      file: { roots: { docs: { path: "docs", readOnly: true, description: "Manuals" }, tmp: { temp: true } } },
      auth: {
        tokens: [{ name: "ci", token: { env: "CI_TOKEN" }, caps: [{ with: "file://tmp/in/", can: "crud/write" }] }],
        public: { caps: [{ with: "file://docs/", can: "crud" }] },
        issuers: [{ issuer: "https://sso.example.com/", map: [
          { when: {}, caps: [{ with: "file://docs/", can: "crud/read" }] },
          { when: { team: "a", role: "b" }, caps: [{ with: "file://gone/", can: "crud" }] },
        ] }],
      },
      listen: { socket: "./venue.sock" }, seed: "${SEED}", audit: { file: "audit.jsonl" },
    }`;
    const { status, stdout, folder } = await check(config, { env: { CI_TOKEN: TOKEN } });
    expect(status).toBe(0);
    expect(stdout).toMatch(/\n {2}docs {2}host {2}read-only {3}\S.*\S {2}Manuals\n/);
    expect(stdout).toMatch(/\n {2}token ci +did:key:z6Mk\w+:token:ci +tmp: write in parts\n/);
    expect(stdout).toMatch(/\n {2}issuer +https:\/\/sso\.example\.com\/ +docs: read, as far as scopes go\n/);
    expect(stdout).toMatch(/\n {2}issuer +\S+ team=a role=b +nothing, as far as scopes go\n/);
    expect(stdout).toContain("'auth.issuers[0].map[1].caps[0]' names root 'gone', which does not exist");
    expect(stdout).toMatch(/\n {2}anonymous +docs: read\n/);
    expect(stdout).toContain(join(folder, "venue.sock"));
    expect(stdout).not.toContain(TOKEN);
    expect(stdout).not.toContain("1111");
  });

  test("shows who owns what, who was given what, and where public access ends", async () => {
    const config = `{
      seed: "${SEED}", did: "did:web:files.example.com", stateDir: "state",
      file: { roots: {
        docs: { path: "docs", owner: "${ANNE}" }, more: { temp: true, readOnly: true, owner: "${ANNE}" },
        ours: { temp: true, owner: "${VENUE_KEY}" }, tmp: { temp: true },
      } },
      auth: {
        grants: [
          { did: "${BOB}", with: "file://docs/a/", can: "crud" },
          { did: "${ANNE}", with: "file://tmp/", can: "crud/read" },
          { did: "${BOB}", with: "file://", can: "crud/read" },
          { did: "did:web:ci.example", with: "file://docs/", can: "crud/write" },
          { did: "${VENUE_KEY}", with: "file://docs/", can: "crud/write" },
        ],
        tokens: [{ name: "ci", token: { env: "CI_TOKEN" }, did: "did:web:ci.example",
          caps: [{ with: "file://tmp/in/", can: "crud/write" }] }],
        ucan: { maxLifetime: 5400, allowNoExpiry: true, acceptUnversionedCovia: true },
      },
    }`;
    const { status, stdout, stderr, folder } = await check(config, { env: { CI_TOKEN: TOKEN } });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(linesOf(stdout, "Roots")).toEqual([
      expect.stringMatching(`^docs +host +read-write +\\S.*  owner ${ANNE}$`),
      expect.stringMatching(`^more +temp +read-only +\\S.*  owner ${ANNE}$`),
      expect.stringMatching(/^ours +temp +read-write +\S.* {2}owner did:web:files\.example\.com$/),
      expect.stringMatching(/^tmp +temp +read-write +\S(?!.*owner)/),
    ]);
    expect(linesOf(stdout, "Who may do what")).toEqual([
      expect.stringMatching(/^operator +the venue itself, or the local token +everything in every root$/),
      expect.stringMatching(`^owner +${ANNE} +docs: read, write, delete; more: read; tmp: read$`),
      expect.stringMatching(
        `^granted +${BOB} +docs: read, write in parts, delete in parts; more: read; ours: read; tmp: read$`,
      ),
      expect.stringMatching(/^granted +did:web:ci\.example +docs: write$/),
      expect.stringMatching(/^token ci +did:web:ci\.example +docs: write; tmp: write in parts$/),
      expect.stringMatching(/^anonymous +tmp: read, write, delete; nothing in roots with an owner$/),
    ]);
    expect(stdout).toMatch(
      /\n {2}UCANs +accepted for 1 h 30 min at most, or without end; those of old Java venues too\n/,
    );
    expect(stdout).toContain(`none yet; kept in ${join(folder, "state", "revocations")}\n`);
    expect(existsSync(join(folder, "state"))).toBe(false);
  });

  test("says that public access reaches nothing where every root has an owner", async () => {
    const { stdout } = await check(`{ file: { roots: { docs: { path: "docs", owner: "${ANNE}" } } } }`);
    expect(linesOf(stdout, "Who may do what").at(-1)).toMatch(/^anonymous +nothing$/);
  });

  test("shows warnings about rights that nobody has", async () => {
    const grant = `{ did: "${ANNE}", with: "file://nowhere/", can: "crud" }`;
    const { status, stdout } = await check(`{ auth: { grants: [${grant}] } }`);
    expect(status).toBe(0);
    expect(stdout).toContain("\nWarning: 'auth.grants[0]' names root 'nowhere', which does not exist\n");
  });

  test("shows warnings about files that others may use", async () => {
    const { status, stdout } = await check(
      `{ seedFile: "venue.seed", auth: { ucan: { revocations: "revoked.txt" } } }`,
      {
        files: { "venue.seed": `${SEED}\n`, "revoked.txt": "" },
        prepare(folder) {
          chmodSync(join(folder, "venue.seed"), 0o644);
          chmodSync(join(folder, "revoked.txt"), 0o622);
        },
      },
    );
    expect(status).toBe(0);
    expect(stdout).toContain("\nWarning: Others may read the file of 'seedFile'. Make its mode 0600\n");
    expect(stdout).toContain("\nWarning: Others may write the revocation list");
    expect(stdout).toContain(VENUE_KEY);
    expect(stdout).not.toContain(SEED);
  });

  test.each([
    [[], "0 entries"],
    [["# nothing but this"], "0 entries"],
    [["# gone", ANNE, "", `${"A".repeat(42)}A # a token`], "2 entries"],
    [[ANNE, ANNE], "1 entry"],
  ])("counts the entries of the revocation list: %j", async (lines, count) => {
    const revoked = lines.map((line) => `${line}\n`).join("");
    const { status, stdout, folder } = await check(`{ auth: { ucan: { revocations: "revoked.txt" } } }`, {
      files: { "revoked.txt": revoked },
    });
    expect(status).toBe(0);
    expect(stdout).toContain(`${count} in ${join(folder, "revoked.txt")}\n`);
    expect(stdout).not.toContain("AAAA");
  });

  test("shows whom it names as having nothing, also whom a static token stands for", async () => {
    const config = `{
      did: "did:web:files.example",
      auth: {
        ucan: { revocations: "revoked.txt" },
        grants: [
          { did: "${BOB}", with: "file://", can: "crud" },
          { did: "did:web:ci.example", with: "file://docs/", can: "crud/read" },
        ],
        tokens: [{ name: "ci", token: { env: "CI_TOKEN" }, did: "did:web:ci.example", caps: [] }],
      },
      file: { roots: { docs: { path: "docs", owner: "${ANNE}" } } },
    }`;
    const of = async (revoked: string) => {
      const files = { "revoked.txt": revoked };
      return linesOf((await check(config, { env: { CI_TOKEN: TOKEN }, files })).stdout, "Who may do what").slice(1, 5);
    };
    const named = await of(`${ANNE}\ndid:web:ci.example\n`);
    expect(named).toEqual([
      expect.stringMatching(`^owner +${ANNE} +nothing, it is revoked$`),
      expect.stringMatching(`^granted +${BOB} +docs: read, write, delete$`),
      expect.stringMatching(/^granted +did:web:ci\.example +nothing, it is revoked$/),
      expect.stringMatching(/^token ci +did:web:ci\.example +nothing, it is revoked$/),
    ]);
    const byName = await of("did:web:files.example:token:ci\n");
    expect(byName).toContainEqual(expect.stringMatching(/^token ci +did:web:ci\.example +nothing, it is revoked$/));
    expect((await of(`${BOB}\n`))[1]).toMatch(/nothing, it is revoked$/);
  });

  test("tells what is wrong with it among everything else", async () => {
    const config = `{
      auth: { ucan: { revocations: "revoked.txt" }, tokens: [{ name: "ci", token: { env: "NONE" }, caps: [] }] },
      file: { roots: { docs: "nowhere" } },
    }`;
    const missing = await check(config);
    expect({ status: missing.status, stdout: missing.stdout }).toEqual({ status: 78, stdout: "" });
    expect(missing.stderr).toMatch(/'auth\.ucan\.revocations' cannot be used: there is no such file/);
    expect(missing.stderr).toMatch(/Root 'docs' does not exist/);
    expect(missing.stderr).toMatch(/'auth\.tokens\[0\]\.token\.env' names a variable that is not set/);
    const malformed = await check(config, { files: { "revoked.txt": `${ANNE}\nwho?\n` } });
    expect(malformed.stderr).toMatch(/'auth\.ucan\.revocations' cannot be used: line 2 is neither/);
    expect(malformed.stderr).not.toContain("who?");
  });

  test("refuses a token for the owner of a root, also where only the key tells that", async () => {
    const token = `{ name: "ci", token: { env: "CI_TOKEN" }, did: "${VENUE_KEY}:token:own", caps: [] }`;
    const config = `{ seed: "${SEED}", auth: { tokens: [${token}] },
      file: { roots: { docs: { path: "docs", owner: "${VENUE_KEY}:token:own" } } } }`;
    const same = await check(config, { env: { CI_TOKEN: TOKEN } });
    expect(same.status).toBe(78);
    expect(same.stderr).toContain("'auth.tokens[0].did' must not be that of 'file.roots.docs.owner'");
    const named = config.replace(`did: "${VENUE_KEY}:token:own", `, "").replace('name: "ci"', 'name: "own"');
    const known = await check(named, { env: { CI_TOKEN: TOKEN } });
    expect(known.status).toBe(78);
    expect(known.stderr).toMatch(/auth\.tokens\[0\]/);
  });

  test("starts nothing and makes nothing", async () => {
    const config = `{ seedFile: "venue.seed", stateDir: "state", audit: { file: "audit.jsonl" },
      storage: { content: "file", path: "assets" }, file: { roots: { docs: "docs" } } }`;
    const { status, stdout, folder } = await check(config);
    expect(status).toBe(0);
    expect(stdout).toContain("a new key, to be kept in ");
    for (const made of ["venue.seed", "state", "audit.jsonl", "assets"])
      expect(existsSync(join(folder, made))).toBe(false);
    expect(readdirSync(join(folder, "docs"))).toEqual(["a.txt"]);
  });

  test("shows every venue of several", async () => {
    const { status, stdout } = await check(`{ venues: [{ name: "one", port: 8091 }, { name: "two", port: 8092 }] }`);
    expect(status).toBe(0);
    expect(stdout).toMatch(/Venue "one"[\s\S]*:8091[\s\S]*Venue "two"[\s\S]*:8092/);
  });

  test("tells everything that is wrong, and ends with 78", async () => {
    const config = `{ venues: [
      { port: 8091, file: { roots: { docs: "nowhere", more: "neither" } } },
      { port: 8092, auth: { tokens: [{ name: "ci", token: { env: "SHORT" }, caps: [] }] } },
      { port: 8093, hostname: "0.0.0.0" },
    ] }`;
    const { status, stdout, stderr } = await check(config, { env: { SHORT: "too short to be safe" } });
    expect({ status, stdout }).toEqual({ status: 78, stdout: "" });
    expect(stderr).toMatch(/Root 'docs' does not exist/);
    expect(stderr).toMatch(/Root 'more' does not exist/);
    expect(stderr).toMatch(/auth\.tokens\[0\]\.token\.env' holds a token of fewer than 32 characters/);
    expect(stderr).toContain("Refusing to start: '0.0.0.0' is not a loopback address.");
    expect(stderr).not.toContain("too short to be safe");
  });

  test("tells what is wrong in several venues alike at each of its places", async () => {
    const venue = (port: number) => `{ port: ${port}, file: { roots: { docs: "nowhere" } } }`;
    const { stderr } = await check(`{ venues: [${venue(8091)}, ${venue(8092)}] }`);
    const places = stderr.match(/^venue\.json5:1:\d+(?=: Root 'docs' does not exist)/gm) ?? [];
    expect(new Set(places).size).toBe(2);
  });

  test("tells all mistakes of a file at once, with their lines", async () => {
    const { status, stderr } = await check(`{
  port: "80",
  nme: "x",
  auth: {
    public: { caps: [{ with: "docs", can: "read" }] } },
  file: {
    roots: { "bad name": "." } },
}`);
    expect(status).toBe(78);
    const told = stderr.trimEnd().split("\n");
    expect(told.map((line) => /^.*venue\.json5:(\d+:\d+): ./.exec(line)?.[1])).toEqual(["2:3", "3:3", "5:22", "7:14"]);
    expect(told[1]).toMatch(/venue\.json5:3:3: Unknown config key 'nme' - did you mean 'name'\?$/);
  });

  test("a file that is not there ends with 66", async () => {
    expect((await check(undefined, { args: ["--config", "none.json5"] })).status).toBe(66);
  });
});

const isLinux = process.platform === "linux";
const DID = `did:key:z6Mk${"a".repeat(44)}`;

/** What `check` says of a file, without places, and what `serve` then does. */
async function both(config: string, prepare: (folder: string) => void = () => {}, env: Record<string, string> = {}) {
  const folder = makeFolder({ "venue.json5": config });
  prepare(folder);
  const options = { cwd: folder, env };
  const before = readdirSync(folder);
  const checked = await runHere(["check", "--config", "venue.json5"], options);
  expect(readdirSync(folder)).toEqual(before);
  const served = await runHere(["serve", "--config", "venue.json5"], options);
  const told = checked.stderr.trimEnd().split("\n");
  return { folder, checked, served, told: told.map(withoutPlace) };
}

const withoutPlace = (line: string): string => line.replace(/^venue\.json5:\d+:\d+: /, "");

type Case = readonly [string, string, string, ((folder: string) => void)?, Record<string, string>?];

const state = (folder: string) => join(folder, "state");

describe("check finds what serve refuses:", () => {
  const SEED = "11".repeat(32);
  const cases: readonly Case[] = [
    [
      "an audit file without a folder",
      `{ audit: { file: "no/audit.jsonl" } }`,
      "'audit.file' cannot be opened: its folder does not exist: ",
    ],
    [
      "an audit file that is a folder",
      `{ audit: { file: "." } }`,
      "'audit.file' cannot be opened: it is a directory: ",
    ],
    [
      "a log file without a folder",
      `{ log: { file: "no/venue.log" } }`,
      "'log.file' cannot be opened: its folder does not exist: ",
    ],
    [
      "assets below a file",
      `{ storage: { content: "file", path: "venue.json5/assets" } }`,
      "'storage.path' cannot be opened: its folder does not exist: ",
    ],
    [
      "assets in a folder of others",
      `{ storage: { content: "file", path: "shared" } }`,
      "'storage.path' cannot be opened: the directory is open to other users and not empty: ",
      (folder) => {
        mkdirSync(join(folder, "shared"), { mode: 0o755 });
        writeFileSync(join(folder, "shared", "theirs"), "");
      },
    ],
    [
      "a seed file without a folder",
      `{ seedFile: "no/seed" }`,
      "'seedFile' cannot be used: it cannot be made: its folder does not exist: ",
    ],
    [
      "the DID of another key than a new one",
      `{ seedFile: "seed", did: "${DID}" }`,
      "'did' is not the did:key of this venue's key",
    ],
    [
      "a bucket without credentials",
      `{ seed: "${SEED}", drives: { store: { s3: { bucket: "drives" } } } }`,
      "'drives.store' cannot be opened: ",
    ],
    [
      "a bucket for assets without credentials",
      `{ seed: "${SEED}", storage: { content: "s3", s3: { bucket: "assets" } } }`,
      "'storage.s3' cannot be opened: object storage needs credentials",
    ],
    ["a socket without a folder", `{ listen: { socket: "no/venue.sock" } }`, "Cannot listen on "],
    ["a socket in place of a file", `{ listen: { socket: "venue.json5" } }`, "Cannot listen on "],
    [
      "an address of another machine",
      `{ hostname: "192.0.2.1", auth: { public: { enabled: true } } }`,
      "Cannot listen on 192.0.2.1:8080: this machine has no such address",
    ],
    [
      "a state directory that is a link",
      `{ stateDir: "state" }`,
      "'stateDir' cannot be used: it is a link: ",
      (folder) => symlinkSync(folder, state(folder)),
    ],
    [
      "a state directory that others may write",
      `{ stateDir: "state" }`,
      "'stateDir' cannot be used: others may write in it: ",
      (folder) => {
        mkdirSync(state(folder));
        chmodSync(state(folder), 0o777);
      },
    ],
    [
      "a state directory of a newer version",
      `{ stateDir: "state" }`,
      "'stateDir' cannot be used: it is of format 2, ",
      (folder) => {
        mkdirSync(state(folder), { mode: 0o700 });
        writeFileSync(join(state(folder), "format"), "2\n");
      },
    ],
    [
      "a local token that is none",
      `{ stateDir: "state" }`,
      "'stateDir' has a local-token that cannot be used: it holds no token. ",
      (folder) => {
        mkdirSync(state(folder), { mode: 0o700 });
        writeFileSync(join(state(folder), "local-token"), "x", { mode: 0o600 });
      },
    ],
  ];

  test.each(cases)("%s", async (_what, config, fault, ...more) => {
    const { checked, served, told } = await both(config, ...more);
    expect({ status: checked.status, stdout: checked.stdout }).toEqual({ status: 78, stdout: "" });
    expect(told).toEqual([expect.stringContaining(fault)]);
    expect(served.status).not.toBe(0);
    expect(served.stdout).toBe("");
    const [said = ""] = served.stderr.trimEnd().split("\n").slice(-1);
    expect(withoutPlace(said)).toContain(fault.slice(0, 16));
  });

  needs(isLinux, "only Linux has /proc")("a home where no folder can be made", async () => {
    const { checked, served, told } = await both("{}", undefined, { HOME: "/proc" });
    expect([checked.status, served.status]).toEqual([78, 66]);
    expect(told).toEqual([served.stderr.trimEnd()]);
  });

  test("all of it at once, with its places, in any venue", async () => {
    const folder = makeFolder({
      "venue.json5": `{ venues: [
        { name: "one", port: 0,
          audit: { file: "no/one.jsonl" },
          log: { file: "no/one.log" } },
        { name: "two", port: 0, file: { roots: {
            docs: "nowhere" } } },
      ] }`,
    });
    const { status, stderr } = await runHere(["check", "--config", "venue.json5"], { cwd: folder });
    expect(status).toBe(78);
    expect(stderr.trimEnd().split("\n")).toEqual([
      `venue.json5:3:20: 'audit.file' cannot be opened: its folder does not exist: ${join(folder, "no/one.jsonl")}`,
      `venue.json5:4:18: 'log.file' cannot be opened: its folder does not exist: ${join(folder, "no/one.log")}`,
      `venue.json5:6:13: Root 'docs' does not exist or cannot be reached: ${join(folder, "nowhere")}`,
    ]);
  });
});

// `venue-files health` and `doctor`.
describe("venue-files health", () => {
  test("says ok of a running venue, by URL, by address and by configuration", async () => {
    const venue = await serve([]);
    const { port } = new URL(venue.url);
    const folder = makeFolder({ "venue.json5": `{ port: ${port} }` });
    for (const args of [
      ["--url", venue.url],
      ["--port", port],
      ["--config", join(folder, "venue.json5")],
    ]) {
      expect(await runHere(["health", ...args])).toMatchObject({ status: 0, stdout: "ok\n", stderr: "" });
    }
    await venue.stop();
    expect(await runHere(["health", "--port", port])).toMatchObject({
      status: 1,
      stderr: `No healthy venue at http://localhost:${port}: nothing listens there (ECONNREFUSED)\n`,
    });
  });

  test("asks a venue on a Unix socket", async () => {
    const folder = makeFolder({ "venue.json5": '{ listen: { socket: "./v.sock" } }' });
    const venue = start(["serve", "--config", join(folder, "venue.json5")]);
    await venue.until(/Stop with Ctrl-C/);
    expect(await runHere(["health", "--config", join(folder, "venue.json5")])).toMatchObject({
      status: 0,
      stdout: "ok\n",
    });
    await venue.stop();
  });

  test("does not wait for a server that never answers, nor take another answer for health", async () => {
    const silent = createServer(() => {});
    const other = createServer((_request, response) => response.writeHead(503).end());
    const portOf = async (server: typeof silent) => {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    };
    const [first, second] = [await portOf(silent), await portOf(other)];
    expect((await runHere(["health", "--url", first])).stderr).toContain("no answer within 2000 ms");
    expect((await runHere(["health", "--url", second])).stderr).toContain("status 503");
    silent.closeAllConnections();
    silent.close();
    other.close();
  });
});

describe("venue-files doctor", () => {
  test("says what is there, changes nothing, and ends with 0", async () => {
    const home = makeFolder();
    const done = await runHere(["doctor"], { cwd: home, env: { HOME: home } });
    expect(done).toMatchObject({ status: 0, stderr: "" });
    expect(done.stdout).toMatch(/ok +Node +v\d+/);
    expect(done.stdout).toMatch(/Jail +(openat2|handle walk|real-path check)/);
    expect(readdirSync(home)).toEqual([]);
  });

  test("ends with 78 where something must be mended", async () => {
    const home = makeFolder({ "state/format": "99\n" });
    const done = await runHere(["doctor"], { cwd: home, env: { VENUE_FILES_STATE_DIR: join(home, "state") } });
    expect(done).toMatchObject({ status: 78, stdout: expect.stringMatching(/FAULT +State .*format 99/) });
  });
});
