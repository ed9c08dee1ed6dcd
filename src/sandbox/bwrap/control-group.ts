// Control groups of version 2: where one is delegated to this process, each run gets its own below it.

import { accessSync, constants, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { attempt, works } from "../../core/io.js";

/** Controllers needed to limit a run as a whole. */
const CONTROLLERS = ["memory", "pids"];
/** Leaf group this process moves to, since a group with processes cannot have child groups with controllers. */
export const OWN_LEAF = "venue-files";

/** The delegated control group of this process, or why there is none. */
export type Delegation =
  | { readonly directory: string; readonly isRoot: boolean; readonly reason?: undefined }
  /** For the operator. */
  | { readonly reason: string };

/**
 * Directory of the control group of a process.
 *
 * @param memberships content of its `/proc/<pid>/cgroup`
 * @param mounts content of its `/proc/<pid>/mountinfo`
 * @returns `undefined`: it has no reachable version 2 group
 */
export function groupDirectory(memberships: string, mounts: string): string | undefined {
  const [, path] = /^0::(\/.*)$/m.exec(memberships) ?? [];
  if (path === undefined) return undefined;
  for (const line of mounts.split("\n")) {
    const [before = "", after = ""] = line.split(" - ", 2);
    if (!after.startsWith("cgroup2 ")) continue;
    const [root = "", mount = ""] = before.split(" ").slice(3, 5).map(unescapeMount);
    const below = relative(root, path);
    // In another cgroup namespace, or above the mount.
    if (root.startsWith("/..") || path.startsWith("/..") || below === ".." || below.startsWith("../")) continue;
    return join(mount, below);
  }
  return undefined;
}

/** mountinfo escapes spaces and other characters in octal. */
const unescapeMount = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/**
 * Whether a control group suits runs: both controllers, permission to create groups, and no process but this one, since
 * others would have to be moved. Changes nothing.
 *
 * @param directory of the group
 * @param pid of this process in its own namespace
 */
export function delegationAt(directory: string, pid: number): Delegation {
  const words = wordsOf(join(directory, "cgroup.controllers"));
  if (words === undefined) return { reason: "its control group cannot be read" };
  const missing = CONTROLLERS.filter((name) => !words.includes(name));
  if (missing.length > 0) return { reason: `its control group has no controller for ${missing.join(" and ")}` };
  const files = ["", "cgroup.procs", "cgroup.subtree_control"];
  if (!files.every((name) => works(() => accessSync(join(directory, name), constants.W_OK)))) {
    return { reason: "its control group is not delegated to it (Delegate=yes)" };
  }
  // Only the root group has no type, and may contain processes beside groups.
  const isRoot = wordsOf(join(directory, "cgroup.type")) === undefined;
  const others = (wordsOf(join(directory, "cgroup.procs")) ?? []).filter((word) => word !== String(pid));
  if (!isRoot && others.length > 0) return { reason: "other processes share its control group" };
  return { directory, isRoot };
}

/** @param proc mount point of procfs, for tests */
export function findDelegation(pid: number = process.pid, proc = "/proc/self"): Delegation {
  const [memberships, mounts] = [textOf(join(proc, "cgroup")), textOf(join(proc, "mountinfo"))];
  const directory = groupDirectory(memberships ?? "", mounts ?? "");
  if (directory === undefined) return { reason: "there is no control group of version 2" };
  // Inherited from a process that has already moved to the leaf: runs belong beside it.
  if (basename(directory) === OWN_LEAF) {
    const above = delegationAt(dirname(directory), pid);
    if (above.reason === undefined) return above;
  }
  return delegationAt(directory, pid);
}

const wordsOf = (path: string): readonly string[] | undefined => textOf(path)?.split(/\s+/).filter(Boolean);

const textOf = (path: string): string | undefined => attempt(() => readFileSync(path, "utf8"));
