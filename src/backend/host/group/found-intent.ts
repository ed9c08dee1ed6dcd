// Reads an intent that another process left, and decides whether it is ours.

import { createHash } from "node:crypto";
import { attempt, type Io } from "../../../core/io.js";
import { isWindows } from "../../../core/system.js";
import { isObject } from "../../../core/unknown.js";
import { type Pinned, READ, withOpen, withPinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import { INTENT_KIND } from "../../../jail/staging/staging.js";
import { parsePath } from "../../../path/grammar.js";
import { NO_BOOT_ID, ownIdentity, parseIdentity } from "../../../process/identity.js";
import { readAt } from "../open.js";
import { type Image, type RealPath, recordName, type StepRecord } from "./intent.js";
import type { IntentRegister } from "./register.js";

const MAX_RECORD_BYTES = 67_108_864;
const OTHERS_BITS = 0o077;
/** Names in the folder, as the steps give them. */
const KEPT_NAME = /^(?:after|before)-\d+$/;

/**
 * The steps of an intent that may have been begun, in order. `foreign`: not made by this venue, so nothing of it is
 * used. `done`: nothing is left to undo.
 */
export type FoundIntent = readonly StepRecord[] | "foreign" | "done";

/**
 * @param id name that it was made under
 * @throws system errors
 */
export function* readIntent(
  jail: Jail,
  folder: Pinned,
  { id, register }: { readonly id: string; readonly register: IntentRegister | undefined },
): Io<FoundIntent> {
  const hashes = register?.hashesOf(id);
  const isOurs = isPrivate(folder) && (hashes === undefined ? isOfThisBoot(id) : hashes.length > 0);
  const steps: StepRecord[] = [];
  for (let batch = 0; ; batch++) {
    const bytes = yield* readRecord(jail, folder, batch);
    if (bytes === undefined) return batch === 0 ? "done" : steps;
    if (!isOurs) return "foreign";
    const isKnown = hashes?.includes(createHash("sha256").update(bytes).digest("hex")) ?? true;
    const read = isKnown ? parseRecord(bytes) : undefined;
    // The record is incomplete, so its steps were not begun.
    if (read === undefined) return steps;
    steps.push(...read);
  }
}

function isOfThisBoot(id: string): boolean {
  const owner = parseIdentity(id.slice(INTENT_KIND.length + 1));
  return owner !== undefined && owner.boot !== NO_BOOT_ID && owner.boot === ownIdentity().boot;
}

/** Owned by this user, and closed to all others. */
function isPrivate({ stat }: Pinned): boolean {
  const isClosed = isWindows() || (stat.mode & OTHERS_BITS) === 0;
  return isClosed && stat.uid === (process.geteuid?.() ?? stat.uid);
}

/** `undefined`: there is none. */
const readRecord = ({ handles, sys }: Jail, folder: Pinned, batch: number): Io<Buffer | undefined> =>
  withPinned(handles.pin(folder, recordName(batch)), function* (file) {
    const { size } = file.stat;
    if (!file.stat.isFile() || !isPrivate(file) || size > MAX_RECORD_BYTES) return Buffer.alloc(0);
    const part = { buffer: Buffer.alloc(size), position: 0 };
    return yield* withOpen(handles.reopen(file, READ), (fd) => readAt(sys, fd, part));
  });

/** `undefined`: not a whole record. */
function parseRecord(bytes: Buffer): readonly StepRecord[] | undefined {
  const value: unknown = attempt(() => JSON.parse(bytes.toString("utf8")));
  if (!isObject(value) || value["format"] !== 1 || !Array.isArray(value["steps"])) return undefined;
  const steps: unknown[] = value["steps"];
  return steps.every(isStep) ? steps : undefined;
}

const isOptional = (value: unknown, check: (value: unknown) => boolean): boolean => value === undefined || check(value);
const isKeptName = (value: unknown): boolean => typeof value === "string" && KEPT_NAME.test(value);

function isStep(value: unknown): value is StepRecord {
  if (!isObject(value)) return false;
  const { made, put, taken, moved } = value;
  return (
    isOptional(made, (paths) => Array.isArray(paths) && paths.every(isRealPath)) &&
    isOptional(put, isPut) &&
    isOptional(taken, isTaken) &&
    isOptional(moved, isMoved)
  );
}

const isPut = (value: unknown): boolean =>
  isObject(value) &&
  isRealPath(value["path"]) &&
  isImage(value["after"]) &&
  isKeptName(value["staged"]) &&
  isOptional(value["before"], isKeptName);

const isTaken = (value: unknown): boolean =>
  isObject(value) &&
  isRealPath(value["path"]) &&
  isImage(value["what"]) &&
  (value["isBinned"] === true ? isNames([value["kept"]]) : isKeptName(value["kept"]));

const isMoved = (value: unknown): boolean =>
  isObject(value) &&
  (value["isKept"] === true ? isNames(value["from"]) : isRealPath(value["from"])) &&
  isRealPath(value["to"]) &&
  isImage(value["what"]) &&
  isOptional(value["before"], isKeptName);

const isImage = (value: unknown): value is Image =>
  isObject(value) &&
  typeof value["type"] === "string" &&
  typeof value["inode"] === "string" &&
  typeof value["size"] === "number" &&
  typeof value["modified"] === "number" &&
  isOptional(value["sha256"], (hash) => typeof hash === "string");

const isNames = (value: unknown): value is RealPath =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((name) => typeof name === "string" && !/^\.{0,2}$|\/|\0/.test(name));

/** Names that the grammar of paths refuses are refused here too. */
const isRealPath = (value: unknown): boolean =>
  isNames(value) && attempt(() => parsePath("", value.join("/")).segments.length) === value.length;
