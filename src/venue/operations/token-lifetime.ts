import type { FileAdapterError } from "../../core/errors/errors.js";
import { invalidInput } from "../../core/errors/texts.js";

/** How long a token is wanted. */
export interface WantedLifetime {
  /** Seconds since the epoch. */
  readonly exp?: number;
  readonly lifetimeSeconds?: number;
}

export interface LifetimeBounds {
  /** Seconds since the epoch, whole. */
  readonly now: number;
  /** Seconds. */
  readonly maxLifetime: number;
  /** When what the token rests on ends; `null`: it does not. */
  readonly restsUntil: number | null;
}

const DEFAULT_SECONDS = 3600;

/**
 * The end of a token, in seconds since the epoch. What was asked for is given or refused; only the default is shortened.
 *
 * @returns `undefined` when it would outlive what it rests on
 * @throws INVALID_INPUT
 */
export function endOfToken(wanted: WantedLifetime, bounds: LifetimeBounds): number | undefined {
  const { now, maxLifetime, restsUntil } = bounds;
  const asked = askedEnd(wanted, bounds);
  const latest = restsUntil ?? Number.POSITIVE_INFINITY;
  const end = asked ?? Math.min(now + Math.min(DEFAULT_SECONDS, maxLifetime), latest);
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
