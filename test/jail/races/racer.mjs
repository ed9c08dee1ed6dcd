// Exchanges two entries of a directory without pause, until it is killed: `node racer.mjs <directory> <a> <b>`.
// The directory is held open, so the exchanging goes on where a rename takes the directory.
import { closeSync, constants, openSync, renameSync } from "node:fs";

const RENAME_EXCHANGE = 2;
const BATCH = 2000;
const [, , directory = "", a = "", b = ""] = process.argv;
const parent = process.ppid;

async function systemExchange() {
  const { default: koffi } = await import("koffi");
  const renameat2 = koffi.load("libc.so.6").func("int renameat2(int, const char *, int, const char *, unsigned int)");
  return (fd) => renameat2(fd, a, fd, b, RENAME_EXCHANGE) === 0;
}

/** Three renames; for moments one of the names is missing. */
function renameLoop(fd) {
  const at = `/proc/self/fd/${fd}`;
  try {
    renameSync(`${at}/${a}`, `${at}/${a}.aside`);
    renameSync(`${at}/${b}`, `${at}/${a}`);
    renameSync(`${at}/${a}.aside`, `${at}/${b}`);
    return true;
  } catch {
    return false;
  }
}

let method = "renameat2";
const exchange = await systemExchange().catch(() => {
  method = "rename loop";
  return renameLoop;
});

let announced = false;
while (process.ppid === parent) {
  let fd;
  try {
    fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch {
    continue;
  }
  for (let count = 0; count < BATCH && exchange(fd); count++) {
    if (announced) continue;
    announced = true;
    // Written before the loop goes on: a pipe takes it at once.
    process.stdout._handle?.setBlocking?.(true);
    process.stdout.write(`${method}\n`);
  }
  closeSync(fd);
}
