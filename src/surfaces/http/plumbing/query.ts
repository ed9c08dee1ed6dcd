// Parses parameters of a query, as the table of endpoints describes them.

import type { Page } from "../../../core/call/page.js";
import { fieldsOf } from "../../../core/unknown.js";
import { type Parameter, queryParameter } from "../openapi/endpoint.js";
import { badRequest } from "./http-error.js";

/** Maximum items of a list in one response. */
const MAX_ITEMS = 1000;

const OFFSET = queryParameter("offset", "Items to leave out", { type: "integer", minimum: 0, default: 0 });
const LIMIT = queryParameter("limit", "Most items to return", {
  ...{ type: "integer", minimum: 0, maximum: MAX_ITEMS, default: MAX_ITEMS },
});

/** `offset` and `limit` of lists. */
export const PAGE_PARAMETERS: readonly Parameter[] = [OFFSET, LIMIT];

/**
 * Parses `offset` and `limit` of a query; other parameters are ignored.
 *
 * @throws HttpError 400 for anything but one decimal integer each
 */
export function parsePage(query: unknown): Page {
  return { offset: parseInteger(query, OFFSET), limit: parseInteger(query, LIMIT) };
}

/**
 * A parameter of a query; `undefined` where it is absent.
 *
 * @throws HttpError 400 if it is given more than once, or is required and absent
 */
export function singleParameter(query: unknown, { name, required }: Parameter): string | undefined {
  const value = fieldsOf(query)[name];
  if (Array.isArray(value)) throw badRequest(`'${name}' must be given once`);
  if (typeof value === "string") return value;
  if (required === true) throw badRequest(`'${name}' is required`);
  return undefined;
}

function parseInteger(query: unknown, parameter: Parameter): number {
  const { default: fallback, maximum: max = Number.MAX_SAFE_INTEGER } = parameter.schema;
  const text = singleParameter(query, parameter);
  if (text === undefined) return Number(fallback);
  const value = /^(?:0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  // Negated, so that NaN is refused too.
  if (!(value <= Number(max))) throw badRequest(`'${parameter.name}' must be an integer between 0 and ${max}`);
  return value;
}
