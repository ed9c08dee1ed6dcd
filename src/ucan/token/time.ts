import type { Clock } from "../../core/clock.js";
import type { TokenFault } from "./fault.js";

/** Times in tokens are seconds below this, so milliseconds are not taken for them. */
const END_OF_TIME_SECONDS = 1e11;

/** What a clock says, and how far the clocks of others may be off. */
export interface TimeRules {
  readonly clock: Clock;
  /** One value for all checks, 0 to 60. */
  readonly clockSkewSeconds: number;
}

/** A time as a token writes it: whole seconds since the epoch. */
export function parseTime(value: unknown): number | undefined {
  if (typeof value !== "number" || !Number.isInteger(value)) return undefined;
  return value >= 0 && value < END_OF_TIME_SECONDS ? value : undefined;
}

/** Seconds since the epoch, with fractions. */
export const nowSeconds = ({ clock }: TimeRules): number => clock.nowMs() / 1000;

/** Whether a time lies in the past, or so little ahead that only the clocks differ. */
export const hasCome = (seconds: number, rules: TimeRules): boolean =>
  seconds <= nowSeconds(rules) + rules.clockSkewSeconds;

/** Whether a token may be used now. A `null` end never comes; whether that is allowed is not decided here. */
export function checkValidity(
  { expiresAt, notBefore }: { readonly expiresAt?: number | null; readonly notBefore?: number },
  rules: TimeRules,
): TokenFault | undefined {
  if (expiresAt === undefined) return "no_exp";
  if (expiresAt !== null && expiresAt <= nowSeconds(rules) - rules.clockSkewSeconds) return "expired";
  return notBefore === undefined || hasCome(notBefore, rules) ? undefined : "not_yet_valid";
}
