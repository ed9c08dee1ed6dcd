import { BlockList, isIP } from "node:net";

const LOOPBACK = loopbackAddresses();

function loopbackAddresses(): BlockList {
  const list = new BlockList();
  list.addSubnet("127.0.0.0", 8);
  list.addAddress("::1", "ipv6");
  return list;
}

/** Whether an address, without brackets, is one only this machine can reach. */
export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && LOOPBACK.check(address, family === 6 ? "ipv6" : "ipv4");
}

/** Whether a configured host name stands for this machine alone: `localhost` or a loopback address. */
export function isLoopbackName(name: string): boolean {
  return name.toLowerCase() === "localhost" || isLoopbackAddress(name);
}

/**
 * The name in a `Host` header, without port and brackets, in lower case.
 *
 * @returns `undefined` when the header is no host at all
 */
export function parseHostName(header: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]]+))(?::\d*)?$/i.exec(header);
  return (match?.[1] ?? match?.[2])?.toLowerCase();
}
