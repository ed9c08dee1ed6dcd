// URIs of files and directories as MCP has them: `venue://<root>/<path>`, percent-encoded, directories with `/` at the end.

import { attempt } from "../io.js";

const START = "venue://";
/** The URI of any entry, by root and path (RFC 6570). */
export const VENUE_URI_TEMPLATE = `${START}{root}/{+path}`;

/** Place that a URI names. */
export interface VenuePlace {
  readonly root: string;
  readonly segments: readonly string[];
  readonly isDirectory: boolean;
}

export function venueUri({ root, segments, isDirectory }: VenuePlace): string {
  const uri = START + [root, ...segments].map(encodeURIComponent).join("/");
  return isDirectory || segments.length === 0 ? `${uri}/` : uri;
}

/** @returns `undefined` for anything else: another scheme, a query, a fragment, a user, a port, a segment that is no name */
export function parseVenueUri(uri: string): VenuePlace | undefined {
  if (!uri.startsWith(START) || /[?#\\]/.test(uri)) return undefined;
  const [authority = "", ...rest] = uri.slice(START.length).split("/");
  if (/[@:]/.test(authority)) return undefined;
  const isDirectory = rest.length === 0 || rest.at(-1) === "";
  const segments = (isDirectory ? rest.slice(0, -1) : rest).map(decodeName);
  const root = decodeName(authority);
  if (root === undefined || !segments.every((one) => one !== undefined)) return undefined;
  return { root, segments, isDirectory };
}

/** A name as it is; `undefined`: it would not be a single one. */
function decodeName(encoded: string): string | undefined {
  const name = attempt(() => decodeURIComponent(encoded)) ?? "";
  return ["", ".", ".."].includes(name) || /[/\\\u0000-\u001f\u007f]/.test(name) ? undefined : name;
}
