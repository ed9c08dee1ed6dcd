// Errors of drives and stores.

import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import type { Awaitable } from "../../core/io.js";
import { codeOf, fieldsOf } from "../../core/unknown.js";

/** A drive and a path in it, for error messages. */
export interface Spot {
  readonly drive: string;
  readonly path: readonly string[];
}

/** Codes that, for cells of our own store, mean that it is damaged. */
const DAMAGE: ReadonlySet<unknown> = new Set(["MISSING_CELL", "BAD_FORMAT", "UNSUPPORTED_CELL", "STORE_DAMAGED"]);

/** The hash of the missing cell, if the error reports one. */
export function missingHash(error: unknown): string | undefined {
  if (codeOf(error) !== "MISSING_CELL") return undefined;
  const { hash } = fieldsOf(fieldsOf(error)["data"]);
  return typeof hash === "string" ? hash : undefined;
}

export const isDamage = (error: unknown): boolean => DAMAGE.has(codeOf(error));

/** @returns `undefined` if the store is damaged */
export async function undefinedIfDamaged<T>(work: () => Awaitable<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
}

const shown = ({ drive, path }: Spot): string => `${escapeText(drive)}:${escapeText(path.join("/"))}`;

const storeDamaged = (spot: Spot): FileAdapterError =>
  adapterError("STORE_DAMAGED", `Drive store is damaged: ${shown(spot)}`, { drive: spot.drive });

/** @param drive absent if not yet known */
export const storeUnavailable = (drive?: string): FileAdapterError =>
  adapterError(
    "STORE_UNAVAILABLE",
    `Drive store is not reachable${drive === undefined ? "" : `: ${escapeText(drive)}`}`,
  );

/** Adds the place to failures of the store. Errors caused by the caller are unchanged. */
export function explain(error: unknown, spot: Spot): unknown {
  if (isDamage(error)) return storeDamaged(spot);
  return codeOf(error) === "STORE_UNAVAILABLE" ? storeUnavailable(spot.drive) : error;
}

/** Runs work; its failures pass through {@link explain}. */
export async function withExplainedErrors<T>(spot: Spot, work: () => Awaitable<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explain(error, spot);
  }
}

/** For trees that a store of an older format cannot hold. */
export const storeTooOld = (): FileAdapterError =>
  adapterError(
    "NOT_SUPPORTED",
    "The store of the drives has a format in which names in one directory differ in their first 32 bytes. To lift that, stop all venues that use it and run 'venue-files drive upgrade --config FILE'",
  );

/** Usage of a quota; `unit` is bytes, entries or drives. */
export interface Quota {
  readonly used: number;
  readonly limit: number;
  readonly requested: number;
  readonly unit: "bytes" | "entries" | "drives";
}

export function quotaExceeded(drive: string, quota: Quota): FileAdapterError {
  const { used, limit, requested, unit } = quota;
  const text = `${used} of ${limit} ${unit} used, ${requested} more requested`;
  return adapterError("QUOTA_EXCEEDED", `Quota of drive '${escapeText(drive)}' exceeded: ${text}`, { ...quota });
}
