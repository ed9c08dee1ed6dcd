import type { VenueConfig } from "./types.js";

const LOOPBACK_IPV4 = /^127(?:\.(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])){3}$/;

/**
 * Whether a listen address can be reached from this machine only: `localhost`, 127.0.0.0/8, `::1` or `[::1]`.
 * Anything not surely so, such as a short form of an address, is not.
 */
export function isLoopbackHost(hostname: string): boolean {
  return ["localhost", "::1", "[::1]"].includes(hostname.toLowerCase()) || LOOPBACK_IPV4.test(hostname);
}

/**
 * Why a venue must not listen with this config: off loopback, whether strangers are served has to be said.
 *
 * @returns the problem, `undefined` when there is none
 */
export function checkListener(config: Pick<VenueConfig, "hostname" | "auth">): string | undefined {
  if (config.auth.public.enabled !== undefined || isLoopbackHost(config.hostname)) return undefined;
  const reason = `'${config.hostname}' is not a loopback address`;
  return `Refusing to start: ${reason}. Set auth.public.enabled to true or false explicitly.`;
}
