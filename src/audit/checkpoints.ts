// Keeps the newest checkpoint of each chain of an audit file outside it, so that a cut at its end is noticed.

import { mkdir, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { replaceWhole } from "../database/durable-files.js";
import { type Checkpoint, hashOfLine } from "./chain.js";

/** The kept checkpoint of a chain. */
interface KeptChain extends Checkpoint {
  /** Whether the chain ended in order. */
  readonly end: boolean;
  /** Checkpoints of other chains that its first line names: `n` by chain. */
  readonly named: Readonly<Record<string, number>>;
}

const SUFFIX = ".json";
/** Chains kept although a later one names them. */
const KEPT_CHAINS = 32;
const CHAIN_FILE = /^[A-Za-z0-9_-]{16}\.json$/;

/** The folder of an audit file in a state directory. @param file its real path */
export const checkpointFolder = (stateDir: string, file: string): string =>
  join(stateDir, "audit", hashOfLine(file).slice(0, 16));

/** The newest checkpoint of each chain of an audit file, one small file each. */
export class CheckpointStore {
  readonly #folder: string;
  #saving: Promise<void> = Promise.resolve();

  /** @param folder from {@link checkpointFolder} */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** All that is kept. A missing folder is empty; unreadable files are left out. */
  async list(): Promise<readonly KeptChain[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const texts = names
      .filter((name) => CHAIN_FILE.test(name))
      .map((name) => readFile(join(this.#folder, name), "utf8").catch(() => ""));
    return (await Promise.all(texts)).map(parseKept).filter((kept) => kept !== undefined);
  }

  /** Newest checkpoints that no later chain has named yet. */
  async listUnnamed(): Promise<readonly Checkpoint[]> {
    return unnamedOf(await this.list()).map(({ chain, n, hash, time }) => ({ chain, n, hash, time }));
  }

  /** Replaces what is kept of a chain. Saves follow each other. @throws the system's error */
  save(kept: KeptChain): Promise<void> {
    const saved = this.#saving.then(() => this.#save(kept));
    this.#saving = saved.catch(() => {});
    return saved;
  }

  /** Removes chains that ended and are named in a later one, but for the newest. */
  async prune(): Promise<void> {
    const all = await this.list();
    const unnamed = new Set(unnamedOf(all).map(({ chain }) => chain));
    const done = all.filter(({ chain, end }) => end && !unnamed.has(chain)).sort((a, b) => b.time - a.time);
    const old = done.slice(KEPT_CHAINS);
    await Promise.all(old.map(({ chain }) => unlink(this.#path(chain)).catch(() => {})));
  }

  async #save(kept: KeptChain): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replaceWhole(this.#path(kept.chain), JSON.stringify(kept), { durable: false });
  }

  #path(chain: string): string {
    return join(this.#folder, `${chain}${SUFFIX}`);
  }
}

function unnamedOf(all: readonly KeptChain[]): readonly KeptChain[] {
  const named = new Map<string, number>();
  for (const kept of all) {
    for (const [chain, n] of Object.entries(kept.named)) named.set(chain, Math.max(n, named.get(chain) ?? 0));
  }
  return all.filter(({ chain, n }) => (named.get(chain) ?? 0) < n);
}

function parseKept(text: string): KeptChain | undefined {
  try {
    const kept: KeptChain = JSON.parse(text);
    const isWhole = typeof kept.chain === "string" && Number.isSafeInteger(kept.n) && typeof kept.hash === "string";
    return isWhole ? { ...kept, named: kept.named ?? {}, time: Number(kept.time), end: kept.end === true } : undefined;
  } catch {
    return undefined;
  }
}
