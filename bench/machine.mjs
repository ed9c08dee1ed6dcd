import { readFileSync, statfsSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";

const FILE_SYSTEMS = new Map([
  [0xef53, "ext4"],
  [0x01021994, "tmpfs"],
  [0x9123683e, "btrfs"],
  [0x58465342, "xfs"],
  [0x794c7630, "overlay"],
  [0x2fc12fc1, "zfs"],
]);

/** Where and with what it was measured. @param directory that of the fixture */
export function describeMachine(directory) {
  const type = statfsSync(directory).type;
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
    fileSystem: FILE_SYSTEMS.get(type) ?? `0x${type.toString(16)}`,
    load: loadavg()[0],
    versions: Object.fromEntries(
      ["server-filesystem", "client", "server", "sdk"].map((name) => [
        `@modelcontextprotocol/${name}`,
        versionOf(name),
      ]),
    ),
  };
}

function versionOf(name) {
  const url = new URL(`../node_modules/@modelcontextprotocol/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(url, "utf8")).version;
}
