// Fetch Metadata (W3C): keeps web pages from running or embedding what the venue serves. Only browsers send it.

import type { IncomingMessage } from "node:http";
import { foreignSite, type HttpError, notPartOfPages } from "../plumbing/http-error.js";

/** Destinations in which content would be executed, or shown as part of a page. */
const EMBEDDED = new Set(
  "script style worker sharedworker serviceworker object embed iframe frame manifest xslt".split(" "),
);
const OTHER_SITES = new Set(["cross-site", "same-site"]);

/**
 * Refuses what a browser requests as a script, style, worker or frame, and what pages of other origins request, but for
 * navigations and allowed origins. Requests without `Sec-Fetch-*` are not judged.
 *
 * @param request its `Origin`, if any, has been accepted
 * @returns the refusal, or `undefined`
 * @see https://www.w3.org/TR/fetch-metadata/
 */
export function refuseEmbedding({ method, headers }: IncomingMessage): HttpError | undefined {
  const dest = headers["sec-fetch-dest"];
  const site = headers["sec-fetch-site"];
  if (dest === undefined && site === undefined) return undefined;
  // Node joins repeated headers with commas: any of the values counts.
  const embedded = valuesOf(dest).find((value) => EMBEDDED.has(value));
  if (embedded !== undefined) return notPartOfPages(embedded);
  if (headers.origin !== undefined || !valuesOf(site).some((value) => OTHER_SITES.has(value))) return undefined;
  const reads = method === "GET" || method === "HEAD";
  const isNavigation = reads && headers["sec-fetch-mode"] === "navigate" && dest === "document";
  return isNavigation ? undefined : foreignSite();
}

const valuesOf = (header: string | string[] | undefined): readonly string[] =>
  header === undefined
    ? []
    : String(header)
        .toLowerCase()
        .split(/[ \t]*,[ \t]*/);
