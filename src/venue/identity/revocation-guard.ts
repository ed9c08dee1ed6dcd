// The guard file of a revocation list, in the state directory: the number of entries in force, and those that did not fit the list.
// The file keeps its size, so that it can be written on a full disk.

import { hash } from "node:crypto";
import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { placeOnce, unlessRefused } from "../../jail/staging/place-once.js";
import { errnoOf } from "../../jail/sys.js";
import { parseRevocations } from "../../ucan/verify/revocation-list.js";

/** A page of every common file system. */
const BYTES = 4096;
const HEAD = /^(\d{1,9}) ([0-9a-f]{64}|-)$/;

export interface Guarded {
  /** Entries in force, with {@link entries}. */
  readonly count: number;
  /** {@link digestOf} of a list that was accepted although it lacks entries in force. */
  readonly accepted?: string | undefined;
  /** Revoked entries that are not in the list. */
  readonly entries: readonly string[];
}

/** Names the entries of a list, in any order. */
export const digestOf = (entries: ReadonlySet<string>): string => hash("sha256", [...entries].sort().join("\n"), "hex");

/** @returns `undefined` when there is none, or none that can be read */
export function readGuard(path: string): Guarded | undefined {
  const text = unlessRefused(() => readFileSync(path, "latin1")) ?? "";
  const [head = "", ...lines] = text.slice(0, BYTES).split("\n");
  const [, count, accepted] = HEAD.exec(head) ?? [];
  const parsed = parseRevocations(lines.join("\n"));
  if (count === undefined || !("entries" in parsed)) return undefined;
  return { count: Number(count), accepted: accepted === "-" ? undefined : accepted, entries: parsed.entries };
}

/** @returns `false`: it does not hold so much @throws the system's error */
export function writeGuard(path: string, { count, accepted = "-", entries }: Guarded): boolean {
  const text = [`${count} ${accepted}`, ...entries, ""].join("\n");
  if (text.length > BYTES) return false;
  const page = Buffer.from(text.padEnd(BYTES, "\n"), "latin1");
  if (!overwritten(path, page)) placeOnce(path, page.toString("latin1"));
  return true;
}

/** In place: a new file would need room. @returns `false`: there is no such file */
function overwritten(path: string, page: Buffer): boolean {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    writeSync(fd, page, 0, page.length, 0);
    fsyncSync(fd);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return false;
    throw error;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
