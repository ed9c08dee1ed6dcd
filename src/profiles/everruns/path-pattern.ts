// The `path_pattern` argument of `grep_files`.

import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { compileGlobs } from "../../search/globs.js";
import { toolFault } from "./tool-fault.js";

const MAX_CHARS = 1000;

/** Whether a file is selected. @param path session path without the leading slash */
export type PathMatcher = (path: string) => boolean;

/**
 * Compiles a `path_pattern`: a glob if it contains any of `* ? [ {`, otherwise a substring of the session path.
 * @param prefix the alias, or `""`
 * @throws INVALID_PATTERN
 */
export async function pathMatcher(pattern: string, prefix: string): Promise<PathMatcher> {
  if (pattern.length > MAX_CHARS) throw toolFault("INVALID_PATTERN", "Path pattern too long");
  const isBehindAlias = prefix !== "" && (pattern === prefix || pattern.startsWith(`${prefix}/`));
  const inside = isBehindAlias ? pattern.slice(prefix.length) : pattern;
  if (!/[*?[{]/.test(inside)) return (path) => `/${path}`.includes(inside);
  const glob = globOf(inside);
  try {
    const globs = compileGlobs(glob, "path_pattern");
    return (path) => globs.matches(path, false);
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    throw toolFault("INVALID_PATTERN", `Invalid path pattern: ${patternFault(error, glob)}`);
  }
}

/** A pattern with a slash starts at the top of the session, one without matches names at any depth. */
function globOf(inside: string): string {
  const bare = inside.replace(/^\/+/, "");
  if (!inside.includes("/")) return `**/${bare}`;
  return bare.includes("/") ? bare : `./${bare}`;
}

/** The reason why a pattern was rejected, without the surrounding text. */
export const patternFault = ({ message }: FileAdapterError, pattern: string): string => {
  const start = `Invalid pattern '${escapeText(pattern)}': `;
  return message.startsWith(start) ? message.slice(start.length) : message;
};
