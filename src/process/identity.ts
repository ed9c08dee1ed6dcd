// Identifies processes across restarts and containers, so that leftovers of dead ones can be recognised. Linux has an id for each run of
// the system, other systems only the time that it was started.

import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { uptime } from "node:os";
import { attempt } from "../core/io.js";
import { isLinux } from "../core/system.js";
import { codeOf } from "../core/unknown.js";

/** Clocks are set right while a system runs: by hours where another system of the machine leaves local time in them. */
const TOLERANCE_S = 86_400;

/** A file of procfs. Elsewhere somebody else may have made one of that name. */
export const readProc = (path: string): string | undefined =>
  isLinux() ? attempt(() => readFileSync(path, "latin1")) : undefined;

/** Id of this run of the system; `undefined` where it has none. */
export const bootId = (): string | undefined => readProc("/proc/sys/kernel/random/boot_id")?.trim();

/** Whether a process has this number. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process runs as another user, or with more rights.
    return codeOf(error) === "EPERM";
  }
}

/** When the system was started, in seconds. */
export const systemStart = (): number => Math.round(Date.now() / 1000 - uptime());

/** Whether a process that noted this start is of an earlier run, and so dead whoever has its number now. 0: it noted none. */
export const isEarlierRun = (start: number): boolean => start > 0 && start + TOLERANCE_S < systemStart();

/** Where the system has no boot id. */
export const NO_BOOT_ID = "00000000";

/** Identifies a process on one machine across reboots and containers. */
export interface ProcessIdentity {
  /** First 8 characters of the boot id; `00000000` if the system has none. */
  readonly boot: string;
  /** Inode of the pid namespace; 0 if there are no namespaces. */
  readonly namespace: number;
  readonly pid: number;
  /** Start time in clock ticks since boot; where that is unknown, when the system was started, in seconds; 0: neither was noted. */
  readonly start: number;
}

let thisProcess: ProcessIdentity | undefined;

/** The identity of this process, which is read once: every root that is opened asks for it. */
export function ownIdentity(): ProcessIdentity {
  thisProcess ??= {
    ...ownPlace(),
    pid: process.pid,
    start: statusOf(process.pid)?.start ?? systemStart(),
  };
  return thisProcess;
}

/** Where this process runs. */
const ownPlace = (): Pick<ProcessIdentity, "boot" | "namespace"> => placeIn(bootId(), namespaceLink());

/** @param boot whole id @param space as procfs names the namespace */
const placeIn = (boot: string | undefined, space: string | undefined) => ({
  boot: boot?.slice(0, 8) ?? NO_BOOT_ID,
  namespace: space === undefined ? 0 : Number(/\[(\d+)\]/.exec(space)?.[1]),
});

const namespaceLink = (): string | undefined =>
  isLinux() ? attempt(() => readlinkSync("/proc/self/ns/pid")) : undefined;

/**
 * Formats an identity for a file name or lock file.
 * @param serial 16 hex digits, unique within the process
 */
export const printIdentity = ({ boot, namespace, pid, start }: ProcessIdentity, serial: string): string =>
  `${boot}-${namespace}-${pid}-${start}-${serial}`;

const PRINTED = /^([0-9a-f]{8})-(\d+)-(\d+)-(\d+)-[0-9a-f]{16}$/;

/** Parses the result of {@link printIdentity}; `undefined` for any other text. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const [, boot, namespace, pid, start] = PRINTED.exec(text) ?? [];
  return boot === undefined
    ? undefined
    : { boot, namespace: Number(namespace), pid: Number(pid), start: Number(start) };
}

/** Whether the leftovers of `other` may be removed: it is from an earlier boot, or a dead process of this container. */
export function isDead(other: ProcessIdentity, own: Pick<ProcessIdentity, "boot" | "namespace">): boolean {
  // Without both boot ids, an earlier boot cannot be told from another running container.
  if (other.boot !== own.boot) return other.boot !== NO_BOOT_ID && own.boot !== NO_BOOT_ID;
  if (other.namespace !== own.namespace) return false;
  if (isOver(other.pid)) return true;
  const found = statusOf(other.pid);
  // Within one run of the system a number that is in use again cannot be told from the process that had it before.
  if (found === undefined) return other.boot === NO_BOOT_ID && isEarlierRun(other.start);
  return other.start !== 0 && found.start !== other.start;
}

/** Whether `other` may belong to another container, so that its state cannot be known here. */
export const isElsewhere = (other: ProcessIdentity, own: ProcessIdentity): boolean =>
  other.boot !== own.boot || other.namespace !== own.namespace;

/** Whether a process has ended, zombies included. */
export const isOver = (pid: number): boolean => !isRunning(pid) || statusOf(pid)?.isOver === true;

interface ProcessStatus {
  /** A zombie: ended, but not yet reaped by its parent. */
  readonly isOver: boolean;
  readonly start: number;
}

/** `undefined` if the system does not report it. */
function statusOf(pid: number): ProcessStatus | undefined {
  const stat = readProc(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The command name may contain spaces and parentheses, so fields are counted from the last parenthesis.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { isOver: fields[0] === "Z" || fields[0] === "X", start: Number(fields[19]) };
}

/** The identity of this process as the files of drives and journals hold it. */
export const ownToken = (): string =>
  `${bootId() ?? "-"} ${namespaceLink() ?? "-"} ${process.pid} ${statusOf(process.pid)?.start ?? systemStart()}`;

/** Whether a process may still be running. One in another container cannot be checked, so it counts as running. */
export function mayRun(token: string): boolean {
  const [boot, space, pid, start] = token.split(" ").map((part) => (part === "-" ? undefined : part));
  const own = ownPlace();
  const place = placeIn(boot, space);
  if (place.boot !== own.boot) return false;
  return !isDead({ ...place, pid: Number(pid), start: Number(start) }, own);
}

const SERIAL_BYTES = 8;
/** Serials per call to the random generator: one call costs more than a system call. */
const BATCH = 512;

let random = Buffer.alloc(0);
let offset = 0;

/** A serial for {@link printIdentity}: 8 cryptographically random bytes as 16 hex digits. */
export function newSerial(): string {
  if (offset === random.length) {
    random = randomBytes(BATCH * SERIAL_BYTES);
    offset = 0;
  }
  offset += SERIAL_BYTES;
  return random.toString("hex", offset - SERIAL_BYTES, offset);
}
