import { spawn } from "node:child_process";
import { createPublicKey, sign, verify } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type Log, silentLog } from "../../../src/core/ports/log.js";
import { canonicalDid, type IdentityOptions, openIdentity } from "../../../src/venue/identity/identity.js";
import { configErrorOf } from "../../config/problems.js";

describe("the identity", () => {
  // RFC 8032 §7.1, test 1.
  const SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
  const PUBLIC_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
  const DID = "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";

  let folder: string;
  let seedFile: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "venue-identity-"));
    seedFile = join(folder, "seed");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(content: string, mode = 0o600): void {
    writeFileSync(seedFile, content);
    chmodSync(seedFile, mode);
  }

  /** What is wrong with the identity, and that no seed is shown. */
  function failureOf(options: IdentityOptions) {
    const error = configErrorOf(() => openIdentity(options));
    expect(String(error?.stack)).not.toContain(SEED.slice(0, 16));
    return { exitStatus: error?.exitStatus, problems: error?.problems };
  }

  function warningsOf(options: IdentityOptions): string[] {
    const warnings: string[] = [];
    const log: Log = { ...silentLog, warn: (fields, text) => warnings.push(`${JSON.stringify(fields)} ${text}`) };
    openIdentity({ ...options, log });
    return warnings;
  }

  describe("an identity of a seed", () => {
    test("has the key of that seed, under every name", () => {
      const identity = openIdentity({ seed: SEED });
      expect(identity).toMatchObject({ did: DID, keyDid: DID, multikey: DID.slice("did:key:".length) });
      expect(Buffer.from(identity.publicKey).toString("hex")).toBe(PUBLIC_KEY);
      expect(identity.publicKey).toHaveLength(32);
    });

    test("signs as RFC 8032 says", () => {
      const { privateKey } = openIdentity({ seed: SEED });
      expect(sign(null, Buffer.alloc(0), privateKey).toString("hex")).toBe(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
      );
    });

    test.each(["", SEED.slice(1), `${SEED}0`, `${SEED}\n`, SEED.replace("9", "g"), `0x${SEED.slice(2)}`])(
      "is refused for %j",
      (seed) => {
        expect(failureOf({ seed })).toEqual({ exitStatus: 78, problems: ["'seed' must be 64 hex digits"] });
      },
    );

    test("has one source", () => {
      const problems = ["Only one of 'seed' and 'seedFile' may be set"];
      expect(failureOf({ seed: SEED, seedFile })).toEqual({ exitStatus: 78, problems });
    });
  });

  test("an identity of nothing is a fresh one each time", () => {
    const [one, other] = [openIdentity({}), openIdentity({})];
    expect(one.did).toMatch(/^did:key:z6Mk[1-9A-HJ-NP-Za-km-z]{44}$/);
    expect(one.did).not.toBe(other.did);
    const proof = sign(null, Buffer.from("x"), one.privateKey);
    expect(verify(null, Buffer.from("x"), createPublicKey(one.privateKey), proof)).toBe(true);
  });

  describe("a seed file", () => {
    test("is made when there is none, for its owner alone, and used again", () => {
      const first = openIdentity({ seedFile });
      expect(readFileSync(seedFile, "utf8")).toMatch(/^[0-9a-f]{64}\n$/);
      expect(statSync(seedFile).mode & 0o777).toBe(0o600);
      expect(readdirSync(folder)).toEqual(["seed"]);
      expect(openIdentity({ seedFile }).did).toBe(first.did);
      rmSync(seedFile);
      expect(openIdentity({ seedFile }).did).not.toBe(first.did);
    });

    test.each([SEED, `${SEED}\n`, `${SEED}\r\n`, SEED.toUpperCase()])("holds the seed: %j", (content) => {
      write(content);
      expect(openIdentity({ seedFile }).did).toBe(DID);
      expect(readFileSync(seedFile, "utf8")).toBe(content);
    });

    test("may be a link, as secrets are mounted in containers", () => {
      writeFileSync(join(folder, "data"), SEED, { mode: 0o400 });
      symlinkSync("data", seedFile);
      expect(openIdentity({ seedFile }).did).toBe(DID);
    });

    test.each([
      ["empty", ""],
      ["one digit short", SEED.slice(1)],
      ["one digit long", `${SEED}0`],
      ["no hex", SEED.replace("9", "g")],
      ["preceded by a space", ` ${SEED}`],
      ["followed by two lines", `${SEED}\n\n`],
    ])("is refused when its content is %s", (_what, content) => {
      write(content);
      const { exitStatus, problems } = failureOf({ seedFile });
      expect(exitStatus).toBe(78);
      expect(problems).toEqual([
        expect.stringMatching(/^'seedFile' (must hold 64 hex digits|cannot be used: it is too long)/),
      ]);
      expect(readFileSync(seedFile, "utf8")).toBe(content);
    });

    const elsewhere: readonly [string, 66 | 78, string, () => void][] = [
      ["a directory", 78, "it is not a regular file", () => mkdirSync(seedFile)],
      ["a link to nothing", 66, "there is no such file", () => symlinkSync("nowhere", seedFile)],
      ["a link to itself", 78, "it is a link", () => symlinkSync("seed", seedFile)],
      ["huge", 78, "it is too long", () => write("a".repeat(1_000_000))],
      ["for others to write", 78, "others may write it. Make its mode 0600", () => write(SEED, 0o620)],
    ];
    test.each(elsewhere)("is refused when it is %s", (_what, exitStatus, fault, make) => {
      make();
      expect(failureOf({ seedFile })).toEqual({
        exitStatus,
        problems: [`'seedFile' cannot be used: ${fault}: ${seedFile}`],
      });
    });

    test("is refused when its folder is missing or a file", () => {
      write(SEED);
      for (const path of [join(folder, "a", "seed"), join(seedFile, "seed")]) {
        const { exitStatus, problems } = failureOf({ seedFile: path });
        expect(exitStatus).toBe(66);
        expect(problems).toEqual([expect.stringMatching(/^'seedFile' cannot be used: .*its folder does not exist: /)]);
      }
      expect(readdirSync(folder)).toEqual(["seed"]);
    });

    test("that others may read causes a warning without its path", () => {
      write(SEED, 0o644);
      expect(warningsOf({ seedFile })).toEqual(["{} Others may read the file of 'seedFile'. Make its mode 0600"]);
      write(SEED, 0o600);
      expect(warningsOf({ seedFile })).toEqual([]);
    });
  });

  describe("the DID of a venue", () => {
    test.each(["did:web:example.org", "did:web:localhost%3A8080", "did:web:example.org:venues:a", DID])(
      "may be %s",
      (did) => {
        expect(openIdentity({ seed: SEED, did })).toMatchObject({ did, keyDid: DID });
      },
    );

    test("is that of the key, if it is one of a key", () => {
      const other = "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp";
      const problem = "'did' is not the did:key of this venue's key: ";
      expect(failureOf({ seed: SEED, did: other })).toEqual({ exitStatus: 78, problems: [`${problem}that is ${DID}`] });
      expect(failureOf({ did: other })).toEqual({
        exitStatus: 78,
        problems: [`${problem}a fresh key never has it, so set 'seed' or 'seedFile'`],
      });
    });

    test.each([
      "",
      "venue",
      "did:plc:abc",
      "did:web:",
      "did:web:a::b",
      "did:web:a/b",
      "did:web:a#b",
      "did:web:a:",
      "DID:web:a",
    ])("is never %j", (did) => {
      const problems = ["'did' must be a did:web, or the did:key of this venue's key"];
      expect(failureOf({ seed: SEED, did })).toEqual({ exitStatus: 78, problems });
    });

    test("that does not change, with a key that does, causes a warning", () => {
      const did = "did:web:example.org";
      expect(warningsOf({ did })).toEqual([
        "{} 'did' has a fresh key at each start. Set 'seed' or 'seedFile' to keep one",
      ]);
      expect(warningsOf({ did, seed: SEED })).toEqual([]);
    });
  });

  describe("a venue with two DIDs", () => {
    test("is one", () => {
      const venue = openIdentity({ seed: SEED, did: "did:web:example.org" });
      expect(canonicalDid(venue, DID)).toBe("did:web:example.org");
      expect(canonicalDid(venue, "did:web:example.org")).toBe("did:web:example.org");
      expect(canonicalDid(venue, `${DID}x`)).toBe(`${DID}x`);
    });
  });
});

const ROUNDS = 50;

/** A process that opens what belongs to a venue, in one folder after the other. */
function start() {
  const script = fileURLToPath(new URL("../identity-child.mjs", import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => String((await lines.next()).value);
  const open = (folder: string): Promise<string> => {
    child.stdin.write(`${folder}\n`);
    return next();
  };
  const end = async (): Promise<void> => {
    child.stdin.end();
    await exited;
  };
  return { ready: next(), open, end };
}

test("processes that start at the same time end with one seed and one local token", async () => {
  const base = mkdtempSync(join(tmpdir(), "venue-two-"));
  const children = [start(), start(), start()];
  try {
    await Promise.all(children.map(({ ready }) => ready));
    const identities = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const folder = join(base, String(round));
      mkdirSync(folder);
      const opened = await Promise.all(children.map(({ open }) => open(folder)));
      expect(opened[0]).toMatch(/^did:key:z6Mk\S{44} [\w-]{43}$/);
      expect(new Set(opened).size).toBe(1);
      expect(readdirSync(folder).concat(readdirSync(join(folder, "state")))).toEqual(["seed", "state", "local-token"]);
      identities.add(String(opened[0]));
    }
    expect(identities.size).toBe(ROUNDS);
  } finally {
    await Promise.all(children.map(({ end }) => end()));
    rmSync(base, { recursive: true });
  }
});
