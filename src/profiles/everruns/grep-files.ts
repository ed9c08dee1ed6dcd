// The `grep_files` tool.

import type { JsonObject } from "../../core/ports/adapter.js";
import type { SessionCall } from "./files.js";
import { pathMatcher } from "./path-pattern.js";
import { toolFault } from "./tool-fault.js";

const MAX_PATTERN_CHARS = 1000;
const MAX_FILE_BYTES = 524_288;
const MAX_TOTAL_BYTES = 5_242_880;
/** Patterns without regex metacharacters are searched literally. */
const PLAIN = /^[^\\^$.|?*+()[\]{}]{1,64}$/u;

export interface GrepArguments {
  readonly pattern: string;
  /** `""`: every file. */
  readonly pathPattern: string;
}

export async function grepFiles(
  path: string,
  { pattern, pathPattern }: GrepArguments,
  call: SessionCall,
): Promise<JsonObject> {
  if (pattern.length > MAX_PATTERN_CHARS) throw toolFault("INVALID_PATTERN", "Regex pattern too long");
  const isMeant = await pathMatcher(pathPattern, call.paths.prefix);
  const { root, files, paths } = call;
  const wants = (segments: readonly string[]): boolean =>
    !segments.includes(".git") && isMeant(segments.slice(files.depth).join("/"));
  const found = await root.invoke(
    "file:grep",
    { path, pattern, maxFileBytes: MAX_FILE_BYTES, ...(PLAIN.test(pattern) ? { literal: true } : {}) },
    { terms: { search: { wants, maxTotalBytes: MAX_TOTAL_BYTES } } },
  );
  if (!found.complete) throw incomplete(found.reason);
  const matches = (found.matches ?? []).map(({ path: file, line, text }) => ({
    ...{ path: paths.show(`/${file}`), line_number: line, line: text },
  }));
  matches.sort((left, right) => order(left.path, right.path) || left.line_number - right.line_number);
  return { pattern, matches, match_count: matches.length };
}

const order = (left: string, right: string): number => (left < right ? -1 : Number(left > right));

/** A partial result would look complete to the caller. */
function incomplete(reason: string | undefined): Error {
  if (reason === "timeout") return toolFault("TIMEOUT", "Grep scan takes too long. Pass a deeper path");
  return toolFault("TOO_LARGE", "Grep scan exceeds maximum number of files. Pass a deeper path");
}
