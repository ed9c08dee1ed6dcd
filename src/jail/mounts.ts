// Properties of file systems and mounts, read from `statfs`: which cannot be roots, are slow, or fold names.

import { statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { attempt } from "../core/io.js";
import { isLinux, isWindows } from "../core/system.js";
import { statOfName } from "./stat.js";

/** File system types by their magic numbers, as `statfs` reports them. */
const PROCFS = 0x9fa0;
/** Kernel interfaces, whose files are not content. */
const KERNEL = new Set([
  PROCFS,
  0x62656572, // sysfs
  0x27e0eb, // cgroup
  0x63677270, // cgroup 2
  0x64626720, // debugfs
  0x74726163, // tracefs
  0x73636673, // securityfs
  0x62656570, // configfs
  0xcafe4a11, // BPF
  0xde5e81e4, // EFI variables
]);
const DEVPTS = 0x1cd1;
const NETWORK = new Set([
  0x6969, // NFS
  0x517b, // SMB
  0xff534d42, // CIFS
  0xfe534d42, // SMB 2
  0x65735546, // FUSE
  0x01021997, // 9P
  0x00c36400, // Ceph
  0x5346414f, // AFS
]);
const FOLDING = new Set([
  0x4d44, // FAT
  0x2011bab0, // exFAT
  0x5346544e, // NTFS
  0x7366746e, // NTFS3
  0x517b,
  0xff534d42,
  0xfe534d42,
]);

const typeOf = (path: string): number => statfsSync(path).type >>> 0;

/** Whether `/proc/self/fd` is a real procfs, so that handles through it can be trusted. */
export const hasProcHandles = (): boolean => isLinux() && attempt(() => typeOf("/proc/self/fd")) === PROCFS;

/** Why a directory must not be a root; completes "cannot be a root: …". */
export function unfitAsRoot(realPath: string): string | undefined {
  if (dirname(realPath) === realPath || /^[A-Za-z]:[\\/]?$/.test(realPath)) return "it is the whole file system";
  if (!isLinux()) return undefined;
  const type = typeOf(realPath);
  if (KERNEL.has(type)) return "it belongs to the kernel";
  return type === DEVPTS || isOnDeviceTree(realPath) ? "it holds device files" : undefined;
}

/** devtmpfs reports itself as tmpfs, so it is recognised by its mount point. */
function isOnDeviceTree(realPath: string): boolean {
  try {
    const devices = statSync("/dev").dev;
    return statOfName(realPath)?.device === devices && devices !== statSync("/").dev;
  } catch {
    return false;
  }
}

/** Whether system calls may block for long, so that they belong in the thread pool. */
export function isNetworkFileSystem(realPath: string): boolean {
  return isLinux() && NETWORK.has(typeOf(realPath));
}

export const foldsByType = (path: string): boolean => !isLinux() || FOLDING.has(typeOf(path));

/**
 * Whether another user may rename a directory above the root, and so choose what its path leads to at the next start.
 * Access lists of Windows are not read: modes there say nothing of others.
 */
export function othersMayReplace(realPath: string, uid: number): boolean {
  if (isWindows()) return false;
  for (let path = join(realPath, ".."); ; path = join(path, "..")) {
    const { mode, uid: owner } = statSync(path);
    const sticky = (mode & 0o1000) !== 0;
    if ((mode & 0o022) !== 0 && !sticky) return true;
    if (owner !== 0 && owner !== uid) return true;
    if (path === "/" || join(path, "..") === path) return false;
  }
}
