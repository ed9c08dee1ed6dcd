// Lets one process at a time migrate a state directory.

import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ConfigError } from "../../../config/errors.js";
import { escapeText } from "../../../core/errors/texts.js";
import { placeOnce } from "../../../jail/staging/place-once.js";
import { isDead, ownIdentity, parseIdentity, printIdentity } from "../../../jail/staging/process-identity.js";
import { errnoOf } from "../../../jail/sys.js";

const WAIT_MS = 20;
const TRIES = 3000;

export interface MigrationLock {
  release(): void;
}

/** Waits for a process that has it, for a minute. One that died is passed over. @throws ConfigError 78 */
export function lockMigration(directory: string, tries = TRIES): MigrationLock {
  const path = join(directory, "format.lock");
  const own = printIdentity(ownIdentity(), randomBytes(8).toString("hex"));
  for (let tried = 0; tried < tries; tried++) {
    placeOnce(path, own);
    const holder = textOf(path);
    if (holder === own) return { release: () => rmSync(path, { force: true }) };
    if (holder === undefined) continue;
    const process = parseIdentity(holder);
    if (process === undefined || isDead(process, ownIdentity())) takeAway(path, holder);
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAIT_MS);
  }
  const text = `another process is bringing it to a new format. Start again when that has ended, or delete ${escapeText(path)}`;
  throw new ConfigError([`'stateDir' cannot be used: ${text}`], 78);
}

/** Removes the lock of a dead process. If another process was quicker, what was moved is its lock, and goes back. */
function takeAway(path: string, holder: string): void {
  const aside = `${path}.${randomBytes(8).toString("hex")}`;
  try {
    renameSync(path, aside);
    if (textOf(aside) !== holder) linkSync(aside, path);
  } catch (error) {
    if (!/^(ENOENT|EEXIST)$/.test(errnoOf(error) ?? "")) throw error;
  }
  rmSync(aside, { force: true });
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    return undefined;
  }
}
