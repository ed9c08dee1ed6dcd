// Decides whether a venue is reachable from other machines, and refuses unsafe listeners.

import { BlockList, isIPv4, isIPv6 } from "node:net";
import { escapeText } from "../core/errors/texts.js";
import type { VenueConfig } from "./types.js";

/** Whether an address (without brackets) is a loopback address. */
export function isLoopbackAddress(address: string): boolean {
  if (isIPv4(address)) return address.startsWith("127.");
  if (!isIPv6(address)) return false;
  // BlockList recognises every spelling of an IPv6 address.
  const list = new BlockList();
  list.addAddress("::1", "ipv6");
  return list.check(address, "ipv6");
}

/** A host name without the brackets of an IPv6 literal. */
export const bareHost = (hostname: string): string => /^\[(.+)\]$/.exec(hostname)?.[1] ?? hostname;

/**
 * Whether a host name is `localhost` or a loopback address; IPv6 also in brackets. In doubt false, such as for short
 * forms of an IPv4 address.
 */
export function isLoopbackHost(hostname: string): boolean {
  const bare = bareHost(hostname);
  return bare.toLowerCase() === "localhost" || isLoopbackAddress(bare);
}

/** Whether what a URL leads to cannot be read or changed on the way: HTTPS, or this machine. */
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
}

/** Where programs of this machine reach a listener, whatever name a proxy gives to it. */
export function localUrl({ hostname }: Pick<Reach, "hostname">, port: number): string {
  const bare = bareHost(hostname);
  const host = { "0.0.0.0": "127.0.0.1", "::": "[::1]" }[bare] ?? (bare.includes(":") ? `[${bare}]` : bare);
  return `http://${host}:${port}`;
}

/** The config keys that determine from where a venue is reachable. */
export interface Reach {
  readonly hostname: string;
  /** Replaces `hostname`. */
  readonly listen?: object | undefined;
  readonly baseUrl?: string | undefined;
  readonly hosts?: readonly string[] | undefined;
  readonly trustProxy: boolean;
}

/**
 * Whether a venue is reachable only from this machine: it listens on a loopback address or a Unix socket, and the
 * config does not indicate a reverse proxy.
 */
export function isLoopbackListener(config: Reach): boolean {
  return listensOnLoopback(config) && !isProxied(config);
}

export const listensOnLoopback = ({ listen, hostname }: Pick<Reach, "listen" | "hostname">): boolean =>
  listen !== undefined || isLoopbackHost(hostname);

const isProxied = ({ baseUrl, hosts = [], trustProxy }: Reach): boolean =>
  trustProxy ||
  [...hosts, ...(baseUrl === undefined ? [] : [new URL(baseUrl).hostname])].some((name) => !isLoopbackHost(name));

/**
 * Why a venue must not listen with this config: off loopback, `auth.public.enabled` must be set explicitly, and clients that sign
 * in elsewhere need an address for which their tokens are.
 *
 * @returns the problem; `undefined` if there is none
 */
export function checkListener(config: Reach & Pick<VenueConfig, "auth">): string | undefined {
  const { auth, baseUrl } = config;
  const isSafe = baseUrl === undefined ? listensOnLoopback(config) : isSafeUrl(baseUrl);
  if (auth.issuers.length > 0 && !isSafe) {
    return "Refusing to start: auth.issuers needs a baseUrl by https:// (or a loopback one), since tokens are for that address.";
  }
  if (config.auth.public.enabled !== undefined || isLoopbackListener(config)) return undefined;
  const reason = isProxied(config)
    ? "this venue is reachable from outside"
    : `'${escapeText(config.hostname)}' is not a loopback address`;
  return `Refusing to start: ${reason}. Set auth.public.enabled to true or false explicitly.`;
}
