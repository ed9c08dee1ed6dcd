// Exchanges two entries of a directory without pause, until a file is made: `node racer.mjs <file>`. It is told of each race by a
// line, `[directory, a, b]`, and tells of the first exchange and of the end.
// The directory is held open, so the exchanging goes on where a rename takes the directory.
import { closeSync, constants, existsSync, openSync, readSync, renameSync, rmSync, writeSync } from "node:fs";

const RENAME_EXCHANGE = 2;
const BATCH = 2000;
const [, , flag = ""] = process.argv;
let [directory, a, b] = ["", "", ""];
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

function race() {
  let announced = false;
  while (process.ppid === parent && !existsSync(flag)) {
    let fd;
    try {
      fd = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    } catch {
      continue;
    }
    for (let count = 0; count < BATCH && exchange(fd); count++) {
      if (!announced) writeSync(1, `${method}\n`);
      announced = true;
    }
    closeSync(fd);
  }
  rmSync(flag, { force: true });
  writeSync(1, "over\n");
}

const bytes = Buffer.alloc(65_536);
for (let length = readSync(0, bytes); length > 0; length = readSync(0, bytes)) {
  [directory, a, b] = JSON.parse(bytes.toString("utf8", 0, length));
  race();
}
