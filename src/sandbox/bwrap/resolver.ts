import { readFileSync } from "node:fs";
import { isIP } from "node:net";

/** Where the name servers of this machine stand; the second are those behind a resolver on loopback. */
const PLACES = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
/** This machine itself, an interface of it, or everything. */
const OF_THIS_MACHINE = /^(?:127\.|0\.|::1?$|::ffff:127\.|fe80:)/i;

/**
 * `/etc/resolv.conf` of a run with a network: that of this machine, without servers on its loopback, which a run does not
 * reach. Where only those are named, those behind systemd-resolved.
 */
export function resolverFile(places: readonly string[] = PLACES): string {
  for (const place of places) {
    const lines = linesOf(place);
    if (lines.some(isServer)) return `${lines.join("\n")}\n`;
  }
  return "";
}

function linesOf(path: string): string[] {
  try {
    const lines = readFileSync(path, "utf8").split("\n");
    return lines.filter((line) => isServer(line) || /^(?:search|domain|options)\s/.test(line));
  } catch {
    return [];
  }
}

function isServer(line: string): boolean {
  const [, address = ""] = /^nameserver\s+(\S+)/.exec(line) ?? [];
  return isIP(address) > 0 && !OF_THIS_MACHINE.test(address);
}
