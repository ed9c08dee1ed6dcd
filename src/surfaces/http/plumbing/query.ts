// Parses parameters of a query.

import type { Page } from "../../../core/call/page.js";
import { fieldsOf } from "../../../core/unknown.js";
import { badRequest } from "./http-error.js";

/** Maximum items of a list in one response. */
const MAX_ITEMS = 1000;

/**
 * Parses `offset` (default 0) and `limit` (default and maximum 1000) of a query; other parameters are ignored.
 *
 * @throws HttpError 400 for anything but one decimal integer each
 */
export function parsePage(query: unknown): Page {
  return {
    offset: parseInteger(query, "offset", { fallback: 0, max: Number.MAX_SAFE_INTEGER }),
    limit: parseInteger(query, "limit", { fallback: MAX_ITEMS, max: MAX_ITEMS }),
  };
}

/** A parameter of a query; `undefined` where it is absent. @throws HttpError 400 if it is given more than once */
export function singleParameter(query: unknown, name: string): string | undefined {
  const value = fieldsOf(query)[name];
  if (Array.isArray(value)) throw badRequest(`'${name}' must be given once`);
  return typeof value === "string" ? value : undefined;
}

function parseInteger(query: unknown, name: string, { fallback, max }: { fallback: number; max: number }): number {
  const text = singleParameter(query, name);
  if (text === undefined) return fallback;
  const value = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  // Negated, so that NaN is refused too.
  if (!(value <= max)) throw badRequest(`'${name}' must be an integer between 0 and ${max}`);
  return value;
}
