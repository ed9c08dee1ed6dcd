import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { isIP } from "node:net";
import type { RateLimitConfig } from "../../config/types.js";

/** Most senders that are remembered. */
const MOST_SENDERS = 65_536;

/** Longer names of senders are kept as their hash: a DID may be as long as a header. */
const MOST_SENDER_CHARS = 64;

/** The longest a timer of the system runs. */
const LONGEST_WINDOW_SECONDS = 2_147_483;

const NO_WAIT = { msBeforeNext: 0 };

/** Counts a request against its sender. @returns milliseconds to wait when there are too many, else 0 */
export type SenderLimit = (sender: string) => Promise<number>;

/**
 * Creates a limit on the requests of each sender: `burst` of them in every `burst / perSecond` seconds, counted from the
 * first. So the mean rate is `perSecond`, and up to `burst` may come at once.
 *
 * Memory is bounded: when too many senders have come, those that were silent longest are forgotten and may begin anew, so
 * that a flood of senders never keeps others out.
 *
 * @param mostSenders that are remembered at once
 * @returns for each request the milliseconds to wait; those that must wait count too
 */
export function createRateLimit({ perSecond, burst }: RateLimitConfig, mostSenders = MOST_SENDERS): SenderLimit {
  const library: typeof import("rate-limiter-flexible") = createRequire(import.meta.url)("rate-limiter-flexible");
  const duration = Math.min(burst / perSecond, LONGEST_WINDOW_SECONDS);
  const limiter = new library.RateLimiterMemory({ points: burst, duration, keyPrefix: "" });
  // Two generations in place of an exact order, which would cost more than the limit itself.
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
    const key = sender.length > MOST_SENDER_CHARS ? hashOf(sender) : sender;
    remember(key);
    const { msBeforeNext } = await limiter.consume(key).then(() => NO_WAIT, parseRefusal);
    return msBeforeNext;
  };
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64");

/** The library refuses with an object that is no error. */
function parseRefusal(reason: unknown): { msBeforeNext: number } {
  if (typeof reason !== "object" || reason === null || !("msBeforeNext" in reason)) throw reason;
  return { msBeforeNext: Math.max(1, Math.ceil(Number(reason.msBeforeNext))) };
}

const MAPPED_PREFIX = [0, 0, 0, 0, 0, 0xffff];

/**
 * Whom an IP address is counted as: an IPv6 network of 64 bits, since whoever has one address in it has them all. An
 * IPv4 address in IPv6 form is that IPv4 address. What is no address stays as it is.
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
  // The URL parser writes a mapped IPv4 address in hexadecimal groups, too.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const parse = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const [first, last] = [parse(head), parse(tail ?? "")];
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
}
