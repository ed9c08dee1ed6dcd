// `/etc/resolv.conf` of runs with a network.

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { attempt } from "../../core/io.js";

/** Files that list name servers; the second lists those behind a local systemd-resolved. */
const PLACES = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];
/** Addresses of this machine: loopback, unspecified, link-local. */
const OF_THIS_MACHINE = /^(?:127\.|0\.|::1?$|::ffff:127\.|fe80:)/i;

/**
 * `/etc/resolv.conf` of a run with a network: that of the host without its loopback servers, which a run cannot reach;
 * if only those are listed, the servers behind systemd-resolved.
 */
export function resolverFile(places: readonly string[] = PLACES): string {
  for (const place of places) {
    const lines = linesOf(place);
    if (lines.some(isServer)) return `${lines.join("\n")}\n`;
  }
  return "";
}

function linesOf(path: string): string[] {
  const lines = attempt(() => readFileSync(path, "utf8"))?.split("\n") ?? [];
  return lines.filter((line) => isServer(line) || /^(?:search|domain|options)\s/.test(line));
}

function isServer(line: string): boolean {
  const [, address = ""] = /^nameserver\s+(\S+)/.exec(line) ?? [];
  return isIP(address) > 0 && !OF_THIS_MACHINE.test(address);
}
