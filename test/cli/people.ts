import { chmodSync } from "node:fs";
import { join } from "node:path";
import { FILE_SEMANTICS } from "../../src/authz/grant.js";
import { systemClock } from "../../src/core/clock.js";
import { type MintRequest, mint } from "../../src/ucan/mint/mint.js";
import { type SigningKey, signingKeyFromSeed } from "../../src/ucan/mint/signing-key.js";
import { runHere } from "./in-process.js";
import { type Finished, makeFolder, type StartOptions } from "./process.js";

const SEEDS = { venue: "0f".repeat(32), alice: "a1".repeat(32), bob: "b0".repeat(32), carol: "ca".repeat(32) } as const;
type Name = keyof typeof SEEDS;

const keyOf = (name: Name): SigningKey => signingKeyFromSeed(Buffer.from(SEEDS[name], "hex"));

/** Keys that the tests know; `venue` is that of the configuration. */
export const PEOPLE: Readonly<Record<Name, SigningKey>> = {
  venue: keyOf("venue"),
  alice: keyOf("alice"),
  bob: keyOf("bob"),
  carol: keyOf("carol"),
};

export const did = (name: Name): string => PEOPLE[name].did;

/** What the command line shows of a DID. */
export const short = (name: Name): string => `${did(name).slice(0, 16)}…${did(name).slice(-4)}`;

/** Where everybody's keys are; the configuration has a root of Alice's and one of the venue's own. */
export interface Ground {
  readonly folder: string;
  /** Runs `venue-files` there, in this process. */
  venueFiles(args: readonly string[], options?: StartOptions & { input?: string }): Promise<Finished>;
}

/** @param files more of them; `venue.json5` takes the place of the usual configuration */
export function makeGround(files: Readonly<Record<string, string>> = {}): Ground {
  const state = ".local/state/venue-files";
  const names = ["alice", "bob", "carol"] as const;
  const folder = makeFolder({
    "docs/reports/q3.md": "third quarter\n",
    "docs/secret.md": "secret\n",
    "work/a.txt": "a\n",
    "venue.seed": `${SEEDS.venue}\n`,
    ...Object.fromEntries(names.map((name) => [`${state}/keys/${name}`, `${SEEDS[name]}\n`])),
    "venue.json5": `{ seedFile: "venue.seed", file: { roots: { docs: { path: "docs", owner: "${did("alice")}" }, work: "work" } } }`,
    ...files,
  });
  for (const name of names) chmodSync(join(folder, state, "keys", name), 0o600);
  for (const made of [state, `${state}/keys`]) chmodSync(join(folder, made), 0o700);
  chmodSync(join(folder, "venue.seed"), 0o600);
  return {
    folder,
    venueFiles: (args, options = {}) => runHere(args, { cwd: folder, tmp: folder, ...options }),
  };
}

const RULES = {
  semantics: FILE_SEMANTICS,
  clock: systemClock,
  clockSkewSeconds: 30,
  maxLifetimeSeconds: 31_622_400,
} as const;

/** A token that did not go through the command line. */
export async function tokenOf(from: Name, to: Name, wanted: Partial<MintRequest> = {}): Promise<string> {
  const capabilities = [{ with: "file://docs/reports/", can: "crud/read" }];
  const { token } = await mint({ key: PEOPLE[from], audience: did(to), capabilities, ...wanted }, RULES);
  return token;
}

/** Keys and tokens that can be read in what was shown. */
export function secretsIn(text: string): readonly string[] {
  const seeds = Object.values(SEEDS).filter((seed) => text.toLowerCase().includes(seed));
  return [...seeds, ...(text.match(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g) ?? [])];
}
