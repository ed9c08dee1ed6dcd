import { readFileSync, readlinkSync } from "node:fs";
import { errnoOf } from "../sys.js";

const NO_BOOT_ID = "00000000";

/** Tells processes apart on one machine, also over restarts and containers, so that left-overs of dead ones are known. */
export interface ProcessIdentity {
  /** First 8 characters of the boot id; `00000000` where the system has none. */
  readonly boot: string;
  /** Inode of the pid namespace; 0 where there are none. */
  readonly namespace: number;
  readonly pid: number;
  /** Start time in clock ticks after boot; 0 where the system does not tell. */
  readonly start: number;
}

/** The identity of this process. */
export function ownIdentity(): ProcessIdentity {
  return { boot: bootId(), namespace: pidNamespace(), pid: process.pid, start: statusOf(process.pid)?.start ?? 0 };
}

/** As part of a name or of a text. @param serial tells apart what one process makes: 16 hex digits */
export const printIdentity = ({ boot, namespace, pid, start }: ProcessIdentity, serial: string): string =>
  `${boot}-${namespace}-${pid}-${start}-${serial}`;

const PRINTED = /^([0-9a-f]{8})-(\d+)-(\d+)-(\d+)-[0-9a-f]{16}$/;

/** Reads what {@link printIdentity} made; `undefined` for anything else. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const [, boot, namespace, pid, start] = PRINTED.exec(text) ?? [];
  return boot === undefined
    ? undefined
    : { boot, namespace: Number(namespace), pid: Number(pid), start: Number(start) };
}

/** Whether what `other` left behind may be removed: it belongs to an earlier boot, or to a process here that is dead. */
export function isDead(other: ProcessIdentity, own: ProcessIdentity): boolean {
  // Without a boot id, here or there, an earlier boot cannot be told from another container of today.
  if (other.boot !== own.boot) return other.boot !== NO_BOOT_ID && own.boot !== NO_BOOT_ID;
  if (other.namespace !== own.namespace) return false;
  if (isOver(other.pid)) return true;
  const found = statusOf(other.pid);
  if (found === undefined) return false;
  return other.start !== 0 && found.start !== other.start;
}

/** Whether nothing can be known here of another process: it belongs to another container, or may. */
export const isElsewhere = (other: ProcessIdentity, own: ProcessIdentity): boolean =>
  other.boot !== own.boot || other.namespace !== own.namespace;

/** Whether a process has ended, asked after or not. */
export const isOver = (pid: number): boolean => !isRunning(pid) || statusOf(pid)?.isOver === true;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, as somebody else.
    return errnoOf(error) !== "ESRCH";
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").slice(0, 8);
  } catch {
    return NO_BOOT_ID;
  }
}

function pidNamespace(): number {
  try {
    return Number(/\[(\d+)\]/.exec(readlinkSync("/proc/self/ns/pid"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

interface ProcessStatus {
  /** It has ended, and its parent has not asked how. */
  readonly isOver: boolean;
  readonly start: number;
}

/** `undefined` where the system does not tell. */
function statusOf(pid: number): ProcessStatus | undefined {
  try {
    // The command name may hold spaces and parentheses, so count the fields from the last one.
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { isOver: fields[0] === "Z" || fields[0] === "X", start: Number(fields[19]) };
  } catch {
    return undefined;
  }
}
