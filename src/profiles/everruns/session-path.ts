// Conversion between session paths and the paths shown to callers (below the alias).

import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText, pathEscapesRoot } from "../../core/errors/texts.js";
import { compileGlobs, type Globs } from "../../search/globs.js";
import { toolFault } from "./tool-fault.js";

/** Path syntax of one instance: below the alias, or from `/` without one. */
export interface SessionPaths {
  /**
   * Parses a caller's path to a session path: one leading slash and no trailing one; `/` is the session's root.
   * @throws PATH_ESCAPES_ROOT
   */
  parse(text: string): string;
  /** The session path as callers see it. */
  show(path: string): string;
  /** Text that replaces `/workspace` in descriptions: `""` without an alias. */
  readonly prefix: string;
}

/**
 * @param alias absolute, for example `/workspace`; `null`: none
 * @returns `undefined` if the alias is not a plain absolute path
 */
export function sessionPaths(alias: string | null): SessionPaths | undefined {
  const prefix = alias === null ? "" : alias.replace(/\/+$/, "");
  const names = prefix.split("/").slice(1);
  const isPlain = names.every((name) => name !== "" && name !== "." && name !== "..");
  if (alias !== null && (!alias.startsWith("/") || !isPlain || /[\u0000-\u001f\u007f\\]/.test(alias))) {
    return undefined;
  }
  return {
    parse(text) {
      const trimmed = text.trim();
      const segments = trimmed.split("/").filter((segment) => segment !== "" && segment !== ".");
      // Rejected even if the path would stay inside.
      if (segments.includes("..")) throw pathEscapesRoot({ root: "", path: trimmed });
      const isBehindAlias = trimmed.startsWith("/") && names.every((name, at) => segments[at] === name);
      return `/${(isBehindAlias ? segments.slice(names.length) : segments).join("/")}`;
    },
    show: (path) => (path === "/" ? prefix || "/" : `${prefix}${path}`),
    prefix,
  };
}

// Patterns of paths, in `path_pattern` and `glob`.

const MAX_CHARS = 1000;

/**
 * Compiles a `path_pattern`: a glob if it contains any of `* ? [ {`, otherwise a substring of the session path.
 * @param prefix the alias, or `""`
 * @param fault beginning of the text for a glob that is none
 * @returns whether a file is selected, by its session path without the leading slash
 * @throws INVALID_PATTERN
 */
export function pathMatcher(
  pattern: string,
  prefix: string,
  fault = "Invalid path pattern",
): (path: string) => boolean {
  if (pattern.length > MAX_CHARS) throw toolFault("INVALID_PATTERN", "Path pattern too long");
  const inside = withoutAlias(pattern, prefix);
  if (!/[*?[{]/.test(inside)) return (path) => `/${path}`.includes(inside);
  const { globs } = compileGlob(pattern, prefix, fault);
  return (path) => globs.matches(path, false);
}

/** A glob of session paths, compiled and as operations take it. @throws INVALID_PATTERN */
export function compileGlob(
  pattern: string,
  prefix: string,
  fault: string,
): { readonly text: string; readonly globs: Globs } {
  const text = globOf(withoutAlias(pattern, prefix));
  if (text.length > MAX_CHARS) throw toolFault("INVALID_PATTERN", `${fault}: longer than ${MAX_CHARS} characters`);
  try {
    return { text, globs: compileGlobs(text, "path_pattern") };
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    throw toolFault("INVALID_PATTERN", `${fault}: ${patternFault(error, text)}`);
  }
}

function withoutAlias(pattern: string, prefix: string): string {
  const isBehindAlias = prefix !== "" && (pattern === prefix || pattern.startsWith(`${prefix}/`));
  return isBehindAlias ? pattern.slice(prefix.length) : pattern;
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
