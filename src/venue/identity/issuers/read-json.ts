// Reads a JSON document of an issuer, within limits: whoever sends a token makes the venue read it.

import { lookup } from "node:dns";
import type { IncomingMessage } from "node:http";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { bareHost, isSafeUrl } from "../../../config/loopback.js";

const MAX_BYTES = 524_288;

/** A document that was not read; its message is fit for a log. */
export class NotRead extends Error {
  override readonly name = "NotRead";
}

export interface ReadOptions {
  /** Hosts that may have private addresses: those that the configuration names. */
  readonly named: ReadonlySet<string>;
  readonly signal: AbortSignal;
}

/** @throws NotRead; the system's error */
export async function readJson(address: string, { named, signal }: ReadOptions): Promise<unknown> {
  const url = new URL(address);
  const host = bareHost(url.hostname);
  const mayBePrivate = named.has(host);
  // An address that stands in the URL itself is never looked up.
  if (!isSafeUrl(address) || (!mayBePrivate && isIP(host) !== 0 && isPrivate(host))) {
    throw new NotRead("its address is refused");
  }
  const { request: send } = url.protocol === "https:" ? await import("node:https") : await import("node:http");
  return new Promise((resolve, reject) => {
    const request = send(url, {
      ...{ agent: false, signal, headers: { accept: "application/json" } },
      ...(mayBePrivate ? {} : { lookup: publicAddresses }),
    });
    request.on("error", reject);
    request.once("response", (response) => {
      bodyOf(response)
        .then(resolve, reject)
        .finally(() => request.destroy());
    });
    request.end();
  });
}

async function bodyOf(response: IncomingMessage): Promise<unknown> {
  const { statusCode, headers } = response;
  if (statusCode !== 200) throw new NotRead(`it is answered with status ${statusCode}`);
  if ((headers["content-encoding"] ?? "identity") !== "identity") throw new NotRead("it is compressed");
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response) {
    size += part.length;
    if (size > MAX_BYTES) throw new NotRead(`it is larger than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString("utf8"));
  } catch {
    throw new NotRead("it is not JSON");
  }
}

/** A look-up in which private addresses are none: the connection is made to what is checked here, and to nothing else. */
const publicAddresses: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const found = (addresses ?? []).filter(({ address }) => !isPrivate(address));
    const [first] = found;
    if (error !== null) callback(error, "");
    else if (first === undefined) callback(new NotRead("its address is private"), "");
    else if (options.all === true) callback(null, found);
    else callback(null, first.address, first.family);
  });
};

const PRIVATE = new BlockList();
for (const range of [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"],
  ...["192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"],
  ...["203.0.113.0/24", "224.0.0.0/3"],
  // Addresses that stand for IPv4 ones (NAT64, 6to4, Teredo) are private too.
  ...["::/96", "64:ff9b::/32", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fc00::/7", "fe80::/9"],
  ...["ff00::/8"],
]) {
  const [net = "", bits] = range.split("/");
  PRIVATE.addSubnet(net, Number(bits), isIP(net) === 4 ? "ipv4" : "ipv6");
}

/** Whether an address is none of the public internet. IPv6 forms of an IPv4 address are judged as that. */
const isPrivate = (address: string): boolean => PRIVATE.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
