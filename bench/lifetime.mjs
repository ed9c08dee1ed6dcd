import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Whatever outlives a call: temp directories and child processes. All of it goes when the bench ends, however it ends. */
const directories = new Set();
const children = new Set();

/** A fresh directory under the system's temp directory, removed at the end. @param files contents by path */
export function temporaryDirectory(files = {}) {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-bench-")));
  directories.add(directory);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
  return directory;
}

/** So many files of one content, by path. */
export const filesOf = (count, pathOf, content) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [pathOf(index), content]));

/** Has the process killed at the end, should it still run then. */
export function adopt(pid) {
  if (pid !== undefined && pid !== null) children.add(pid);
}

/** Its process has ended; the number may belong to somebody else from now on. */
export function disown(pid) {
  children.delete(pid);
}

export function cleanUp() {
  for (const pid of children) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself.
    }
  }
  children.clear();
  for (const directory of directories) {
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
  directories.clear();
}

export function cleanUpWhateverHappens() {
  process.on("exit", cleanUp);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]));
  }
}
