// Rate limiting per sender, in bounded memory.

import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { isIP } from "node:net";
import type { RateLimitConfig } from "../../config/types.js";

/** Maximum number of senders remembered. */
const MAX_SENDERS = 65_536;

/** Longer sender names are stored as their hash: a DID can be as long as a header. */
const MAX_SENDER_CHARS = 64;

/** setTimeout's maximum delay, in seconds. */
const LONGEST_WINDOW_SECONDS = 2_147_483;

const NO_WAIT = { msBeforeNext: 0 };

/** How many instances the venue has now, among which requests of one sender come to all alike. */
export type CountInstances = () => number;

/** Counts a request against its sender. @returns milliseconds to wait if over the limit, else 0 */
export type SenderLimit = (sender: string) => Promise<number>;

/**
 * Creates a rate limit per sender: `burst` requests in each window of `burst / perSecond` seconds, which starts with
 * the first request. So the mean rate is `perSecond`, and up to `burst` requests may come at once.
 *
 * Memory is bounded: beyond the maximum, the senders idle longest are forgotten and start anew, so that a flood of
 * senders never locks others out.
 *
 * @param mostSenders maximum number of senders remembered
 * @param instances each lets its part through, at least one request in a window
 * @returns for each request the milliseconds to wait; refused requests count too
 */
export function createRateLimit(
  { perSecond, burst }: RateLimitConfig,
  mostSenders = MAX_SENDERS,
  instances: CountInstances = () => 1,
): SenderLimit {
  const library: typeof import("rate-limiter-flexible") = createRequire(import.meta.url)("rate-limiter-flexible");
  const duration = Math.min(burst / perSecond, LONGEST_WINDOW_SECONDS);
  const limiter = new library.RateLimiterMemory({ points: burst, duration, keyPrefix: "" });
  // Two generations approximate LRU order; an exact one would cost more than the limit itself.
  let recent = new Set<string>();
  let older = new Set<string>();
  const remember = (key: string): void => {
    if (recent.has(key)) return;
    recent.add(key);
    older.delete(key);
    if (recent.size < mostSenders / 2) return;
    for (const forgotten of older) void limiter.delete(forgotten);
    older = recent;
    recent = new Set();
  };
  return async (sender) => {
    const key = sender.length > MAX_SENDER_CHARS ? hashOf(sender) : sender;
    remember(key);
    limiter.points = Math.max(1, Math.floor(burst / instances()));
    const { msBeforeNext } = await limiter.consume(key).then(() => NO_WAIT, parseRefusal);
    return msBeforeNext;
  };
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64");

/** The library rejects with a plain object instead of an error when the limit is exceeded. */
function parseRefusal(reason: unknown): { msBeforeNext: number } {
  if (typeof reason !== "object" || reason === null || !("msBeforeNext" in reason)) throw reason;
  return { msBeforeNext: Math.max(1, Math.ceil(Number(reason.msBeforeNext))) };
}

const MAPPED_PREFIX = [0, 0, 0, 0, 0, 0xffff];

/**
 * The sender an IP address is counted as. IPv6 addresses count as their /64 network, since a host usually has all of
 * it;
 * IPv4-mapped ones as the IPv4 address. Anything else is returned unchanged.
 */
export function senderOfAddress(address: string): string {
  const plain = address.split("%", 1)[0] ?? "";
  if (isIP(plain) !== 6) return plain;
  const groups = groupsOf(plain);
  if (MAPPED_PREFIX.every((group, index) => groups[index] === group)) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join(".");
  }
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(":")}::/64`;
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  // URL normalizes the address, including a dotted IPv4 part, to hexadecimal groups.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const parse = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const [first, last] = [parse(head), parse(tail ?? "")];
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}
