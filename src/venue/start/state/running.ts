// The file by which commands find the venue that runs with a state directory.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ConfigError } from "../../../config/errors.js";
import { escapeText } from "../../../core/errors/texts.js";
import { attempt } from "../../../core/io.js";
import { unlessRefused } from "../../../jail/staging/place-once.js";
import { errnoOf } from "../../../jail/sys.js";
import { isRunning } from "../../../process/identity.js";
import { folderOf } from "./venue-folder.js";

const NAME = "running.json";

/** A running venue. */
export interface RunningVenue {
  readonly pid: number;
  /** Where it listens, not its `baseUrl`. Absent on a socket. */
  readonly url?: string;
  readonly socket?: string;
  readonly did: string;
}

/** Where a venue says that it runs. @param base the state directory that venues of one process share */
export const runningFile = (base: string, venue: string): string => join(base, folderOf(venue), NAME);

/**
 * Says that a venue runs, mode 0600.
 *
 * @returns takes the file away, unless another venue has written it since
 * @throws ConfigError if it cannot be written, such as on a full disk
 */
export function announceRunning(path: string, running: RunningVenue): () => void {
  const text = `${JSON.stringify(running)}\n`;
  const draft = `${path}.${running.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(draft, text, { mode: 0o600 });
    renameSync(draft, path);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    unlessRefused(() => rmSync(draft, { force: true }));
    const fault = `${NAME} cannot be written there (${errno}): ${escapeText(dirname(path))}`;
    throw new ConfigError([`'stateDir' cannot be used: ${fault}. Make room, or set 'stateDir' to another folder`], 66);
  }
  return () => {
    if (read(path) === text) rmSync(path, { force: true });
  };
}

/** The venues that run with a state directory, by name of their folders. */
export function runningVenues(base: string): ReadonlyMap<string, RunningVenue> {
  const found = new Map<string, RunningVenue>();
  for (const folder of unlessRefused(() => readdirSync(base)) ?? []) {
    const running = parse(read(join(base, folder, NAME)));
    if (running !== undefined && isRunning(running.pid)) found.set(folder, running);
  }
  return found;
}

const read = (path: string): string | undefined => unlessRefused(() => readFileSync(path, "utf8"));

function parse(text = ""): RunningVenue | undefined {
  const value = attempt(() => JSON.parse(text) as RunningVenue);
  return Number.isSafeInteger(value?.pid) && typeof value?.did === "string" ? value : undefined;
}
