// Determines the expiry of tokens that the venue signs.

import type { FileAdapterError } from "../../../core/errors/errors.js";
import { invalidInput } from "../../../core/errors/texts.js";

/** The requested lifetime. */
export interface WantedLifetime {
  /** Expiry in seconds since the epoch. */
  readonly exp?: number;
  readonly lifetimeSeconds?: number;
}

export interface LifetimeBounds {
  /** Current time in whole seconds since the epoch. */
  readonly now: number;
  /** Maximum lifetime in seconds. */
  readonly maxLifetime: number;
  /** Expiry of the authority behind the token, in seconds since the epoch; `null` if it never expires. */
  readonly restsUntil: number | null;
}

const DEFAULT_SECONDS = 3600;

/**
 * The expiry of a token, in seconds since the epoch. A requested lifetime is granted in full or refused; only the
 * default is shortened.
 *
 * @returns `undefined` when the token would outlive the authority behind it
 * @throws INVALID_INPUT
 */
export function endOfToken(wanted: WantedLifetime, bounds: LifetimeBounds): number | undefined {
  const { now, maxLifetime, restsUntil } = bounds;
  const requested = askedEnd(wanted, bounds);
  const latest = restsUntil ?? Number.POSITIVE_INFINITY;
  const end = requested ?? Math.min(now + Math.min(DEFAULT_SECONDS, maxLifetime), latest);
  return end > latest || end <= now ? undefined : end;
}

function askedEnd({ exp, lifetimeSeconds }: WantedLifetime, { now, maxLifetime }: LifetimeBounds): number | undefined {
  if (exp !== undefined && lifetimeSeconds !== undefined) {
    throw invalidInput("Only one of 'exp' and 'lifetimeSeconds' may be supplied", "/exp", "nothing, beside the other");
  }
  if (lifetimeSeconds !== undefined) {
    if (lifetimeSeconds < 1 || lifetimeSeconds > maxLifetime) throw outOfRange("lifetimeSeconds", 1, maxLifetime);
    return now + lifetimeSeconds;
  }
  if (exp !== undefined && (exp <= now || exp > now + maxLifetime)) throw outOfRange("exp", now + 1, now + maxLifetime);
  return exp;
}

const outOfRange = (field: string, least: number, most: number): FileAdapterError =>
  invalidInput(`'${field}' must be between ${least} and ${most}`, `/${field}`, `${least}..${most}`);
