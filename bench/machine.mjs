import { readdirSync, readFileSync, statfsSync } from "node:fs";
import { cpus, loadavg, release, tmpdir } from "node:os";

const TICK_MS = 10;
const FILE_SYSTEMS = new Map([
  [0xef53, "ext4"],
  [0x01021994, "tmpfs"],
  [0x9123683e, "btrfs"],
  [0x58465342, "xfs"],
  [0x794c7630, "overlay"],
  [0x2fc12fc1, "zfs"],
]);

/** One line that says where a bench runs. */
export function machineLine() {
  const { type } = statfsSync(tmpdir());
  const fileSystem = FILE_SYSTEMS.get(type) ?? `0x${type.toString(16)}`;
  const system = `${process.platform} ${release()} ${process.arch}, Node ${process.version}, ${fileSystem}`;
  return `${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}), ${system}; load ${loadavg()[0].toFixed(1)} before.`;
}

/** Resident memory of a process now and at its peak, in bytes; Linux only. */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const bytes = (key) => Number(new RegExp(`${key}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
  return { now: bytes("VmRSS"), peak: bytes("VmHWM") };
}

/** Processor time of one thread so far, in ms; the first thread has the event loop. */
export const threadMs = (pid, thread = pid) =>
  Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]) / 1e6;

/** Processor time of a process and of those that it started, in ms. */
export function processorMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /s, "")
    .split(" ");
  const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MS;
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, "latin1").split(" ").filter(Boolean),
  );
  return children.reduce((sum, child) => sum + processorMs(child), own);
}
