import { BlockList, isIPv4, isIPv6 } from "node:net";
import { escapeText } from "../core/errors/texts.js";
import type { VenueConfig } from "./types.js";

/** Whether an address, without brackets, is one that only this machine can reach. */
export function isLoopbackAddress(address: string): boolean {
  if (isIPv4(address)) return address.startsWith("127.");
  if (!isIPv6(address)) return false;
  // The list knows every way to write it.
  const list = new BlockList();
  list.addAddress("::1", "ipv6");
  return list.check(address, "ipv6");
}

/** A host name as the system takes it: an IPv6 address without the brackets it may be written in. */
export const bareHost = (hostname: string): string => /^\[(.+)\]$/.exec(hostname)?.[1] ?? hostname;

/**
 * Whether a host name stands for this machine alone: `localhost` or a loopback address, an IPv6 one also in brackets.
 * Anything not surely so, such as a short form of an address, does not.
 */
export function isLoopbackHost(hostname: string): boolean {
  const bare = bareHost(hostname);
  return bare.toLowerCase() === "localhost" || isLoopbackAddress(bare);
}

/** The part of a config that says from where a venue can be reached. */
export interface Reach {
  readonly hostname: string;
  /** In place of `hostname`. */
  readonly listen?: object | undefined;
  readonly baseUrl?: string | undefined;
  readonly trustProxy: boolean;
}

/**
 * Whether only this machine can reach a venue: it listens on a loopback address or a Unix socket, and nothing says that a
 * proxy stands before it.
 */
export function isLoopbackListener(config: Reach): boolean {
  return listensOnLoopback(config) && !isProxied(config);
}

const listensOnLoopback = ({ listen, hostname }: Reach): boolean => listen !== undefined || isLoopbackHost(hostname);

const isProxied = ({ baseUrl, trustProxy }: Reach): boolean =>
  trustProxy || (baseUrl !== undefined && !isLoopbackHost(new URL(baseUrl).hostname));

/**
 * Why a venue must not listen with this config: off loopback, whether strangers are served has to be said.
 *
 * @returns the problem, `undefined` when there is none
 */
export function checkListener(config: Reach & Pick<VenueConfig, "auth">): string | undefined {
  if (config.auth.public.enabled !== undefined || isLoopbackListener(config)) return undefined;
  const reason = isProxied(config)
    ? "this venue is reachable from outside"
    : `'${escapeText(config.hostname)}' is not a loopback address`;
  return `Refusing to start: ${reason}. Set auth.public.enabled to true or false explicitly.`;
}
