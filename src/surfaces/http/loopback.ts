import { BlockList, isIPv4, isIPv6 } from "node:net";

const LOOPBACK_IPV6 = loopbackIpv6();

function loopbackIpv6(): BlockList {
  const list = new BlockList();
  list.addAddress("::1", "ipv6");
  return list;
}

/** Whether an address, without brackets, is one only this machine can reach. */
export function isLoopbackAddress(address: string): boolean {
  if (isIPv4(address)) return address.startsWith("127.");
  // The list knows every way to write it.
  return isIPv6(address) && LOOPBACK_IPV6.check(address, "ipv6");
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
