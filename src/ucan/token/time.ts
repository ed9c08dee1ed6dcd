// Times of tokens, and the validity period with clock skew.

import type { Clock } from "../../core/clock.js";
import type { TokenFault } from "./fault.js";

/** Upper bound of times in tokens (seconds), so that milliseconds are not mistaken for seconds. */
const END_OF_TIME_SECONDS = 1e11;

/** Clock and tolerated clock skew. */
export interface TimeRules {
  readonly clock: Clock;
  /** Used in all checks; 0 to 60. */
  readonly clockSkewSeconds: number;
}

/** Parses a time in a token: whole seconds since the epoch. */
export function parseTime(value: unknown): number | undefined {
  if (typeof value !== "number" || !Number.isInteger(value)) return undefined;
  return value >= 0 && value < END_OF_TIME_SECONDS ? value : undefined;
}

/** Seconds since the epoch, with fractions. */
export const nowSeconds = ({ clock }: TimeRules): number => clock.nowMs() / 1000;

/** Whether a time is in the past, or ahead by no more than the clock skew. */
export const hasCome = (seconds: number, rules: TimeRules): boolean =>
  seconds <= nowSeconds(rules) + rules.clockSkewSeconds;

/** Checks that a token is valid now. A `null` expiry never comes; whether it is allowed is checked elsewhere. */
export function checkValidity(
  token: { readonly expiresAt?: number | null | undefined; readonly notBefore?: number | undefined },
  rules: TimeRules,
): TokenFault | undefined {
  const { expiresAt, notBefore } = token;
  if (expiresAt === undefined) return "no_exp";
  if (expiresAt !== null && expiresAt <= nowSeconds(rules) - rules.clockSkewSeconds) return "expired";
  return notBefore === undefined || hasCome(notBefore, rules) ? undefined : "not_yet_valid";
}
