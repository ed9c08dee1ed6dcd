// Jest's global set-up and tear-down: temporary directories lie in memory. Tests make and remove some hundred thousand files and
// directories, and removing one directory takes milliseconds on some disks, so that most of the time would go there.
// Where the memory file system cannot serve, or TMPDIR is set, they lie where they always do.
import { spawnSync } from "node:child_process";
import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
const TMPFS_MAGIC = 0x01021994;
/** Several times of what the suites hold at once. Containers often have 64 MB. */
const NEEDED_BYTES = 2 * 1024 ** 3;
/** Short, as the paths of sockets are. The number is that of the process. */
const OURS = /^vf-(\d+)-\w+$/;

let made;

/** The disk is still there for what has to be tested on it: `VENUE_FILES_TEST_DISK`, read by test/disk.ts. */
export function makeTemporaryDirectory() {
  process.env.VENUE_FILES_TEST_DISK ??= tmpdir();
  if (process.env.TMPDIR !== undefined || !hasRoom()) return;
  removeLeftovers();
  const folder = mkdtempSync(join(MEMORY, `vf-${process.pid}-`));
  // As /tmp is: some tests are made without the rights of root.
  chmodSync(folder, 0o1777);
  if (!runsPrograms(folder)) return rmSync(folder, { recursive: true });
  made = folder;
  process.env.TMPDIR = folder;
}

export function removeTemporaryDirectory() {
  if (made === undefined) return;
  delete process.env.TMPDIR;
  rmSync(made, { recursive: true, force: true });
  made = undefined;
}

function hasRoom() {
  try {
    const { type, bavail, bsize } = statfsSync(MEMORY);
    return type === TMPFS_MAGIC && bavail * bsize >= NEEDED_BYTES;
  } catch {
    return false;
  }
}

/** It may be mounted `noexec`. */
function runsPrograms(folder) {
  const program = join(folder, "program");
  writeFileSync(program, "#!/bin/sh\nexit 0\n", { mode: 0o700 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}

/** Of runs that were ended before they could tidy up: it is memory. */
function removeLeftovers() {
  for (const name of readdirSync(MEMORY)) {
    const pid = OURS.exec(name)?.[1];
    if (pid === undefined || isRunning(Number(pid))) continue;
    const folder = join(MEMORY, name);
    if (lstatSync(folder, { throwIfNoEntry: false })?.uid === process.getuid()) {
      // Not by rmSync, which calls itself for each level: a run may have been ended with a tree of thousands of levels.
      spawnSync("rm", ["-rf", folder]);
    }
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

export default makeTemporaryDirectory;
