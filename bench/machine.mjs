import { readdirSync, readFileSync, statfsSync } from "node:fs";
import { cpus, loadavg, release, tmpdir } from "node:os";

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

/** Version of an installed package. */
export const versionOf = (name) =>
  JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), "utf8")).version;

/** Resident memory of a process now and at its peak, in bytes; Linux only. */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const bytes = (key) => Number(new RegExp(`${key}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
  return { now: bytes("VmRSS"), peak: bytes("VmHWM") };
}

/** Processor time of one thread so far, in ms; the first thread has the event loop. */
export const threadMs = (pid, thread = pid) =>
  Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]) / 1e6;

/** Processor time of all threads of a process so far, in ms. */
export const cpuMs = (pid) => readdirSync(`/proc/${pid}/task`).reduce((sum, thread) => sum + threadMs(pid, thread), 0);
