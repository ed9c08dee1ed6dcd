import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDead, ownIdentity, type ProcessIdentity } from "../jail/process-identity.js";
import { errnoOf } from "../jail/sys.js";

/**
 * The private place of one adapter's temp roots: `venue-files-<uid>/<instance>/` below the system's temp directory, both
 * 0700 and checked to be ours and not links. A record beside the instance tells later processes whose it was.
 */
export class TempHome {
  readonly #home: string;
  readonly #instance: string;
  #made = false;

  constructor() {
    this.#home = join(tmpdir(), `venue-files-${process.geteuid?.() ?? "user"}`);
    this.#instance = join(this.#home, randomBytes(8).toString("hex"));
  }

  /** Makes a fresh directory for one root. @returns its absolute path */
  create(prefix: string): string {
    if (!this.#made) {
      makePrivate(this.#home);
      sweep(this.#home);
      writeFileSync(`${this.#instance}.json`, JSON.stringify(ownIdentity()), { flag: "wx", mode: 0o600 });
      makePrivate(this.#instance);
      this.#made = true;
    }
    return mkdtempSync(join(this.#instance, prefix));
  }

  /** Removes every directory made here. */
  remove(): void {
    if (!this.#made) return;
    removeInstance(this.#instance);
    this.#made = false;
  }
}

function makePrivate(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
  const stat = lstatSync(path);
  const foreign = stat.uid !== (process.geteuid?.() ?? stat.uid);
  if (!stat.isDirectory() || foreign || (process.platform !== "win32" && (stat.mode & 0o077) !== 0)) {
    throw new Error(`cannot be made: ${path} is in the way. Remove it, or set TMPDIR to a directory of your own`);
  }
}

/** Removes what processes left that are known to be dead; anything doubtful stays. */
function sweep(home: string): void {
  const own = ownIdentity();
  for (const file of readdirSync(home)) {
    if (!file.endsWith(".json")) continue;
    const instance = join(home, file.slice(0, -".json".length));
    const left = readRecord(`${instance}.json`);
    if (left !== undefined && isDead(left, own)) removeInstance(instance);
  }
}

function readRecord(path: string): ProcessIdentity | undefined {
  try {
    return parseRecord(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined;
  }
}

function parseRecord(value: unknown): ProcessIdentity | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { boot, namespace, pid, start } = value as Partial<Record<keyof ProcessIdentity, unknown>>;
  if (typeof boot !== "string" || typeof namespace !== "number") return undefined;
  return typeof pid === "number" && typeof start === "number" ? { boot, namespace, pid, start } : undefined;
}

/** The record goes last, so that an interrupted removal is found again. */
function removeInstance(instance: string): void {
  rmSync(instance, { recursive: true, force: true });
  rmSync(`${instance}.json`, { force: true });
}
