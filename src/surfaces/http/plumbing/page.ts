// Parses `offset` and `limit` of a query.

import type { Page } from "../../../core/call/page.js";
import { badRequest } from "./http-error.js";

/** Maximum items of a list in one response. */
const MAX_ITEMS = 1000;

/**
 * Parses `offset` (default 0) and `limit` (default `max`) of a query; other parameters are ignored.
 *
 * @param options.max maximum and default `limit`
 * @throws HttpError 400 for anything but one decimal integer each
 */
export function parsePage(query: unknown, { max }: { readonly max: number } = { max: MAX_ITEMS }): Page {
  const { offset, limit }: { offset?: unknown; limit?: unknown } =
    typeof query === "object" && query !== null ? query : {};
  return {
    offset: parseInteger("offset", offset, { fallback: 0, max: Number.MAX_SAFE_INTEGER }),
    limit: parseInteger("limit", limit, { fallback: max, max }),
  };
}

function parseInteger(name: string, text: unknown, { fallback, max }: { fallback: number; max: number }): number {
  if (text === undefined) return fallback;
  if (Array.isArray(text)) throw badRequest(`'${name}' must be given once`);
  const value = typeof text === "string" && /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  // Negated, so that NaN is refused too.
  if (!(value <= max)) throw badRequest(`'${name}' must be an integer between 0 and ${max}`);
  return value;
}
