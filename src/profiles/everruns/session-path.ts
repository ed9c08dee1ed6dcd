// Conversion between session paths and the paths shown to callers (below the alias).

import { pathEscapesRoot } from "../../core/errors/texts.js";

/** Path syntax of one instance: below the alias, or from `/` without one. */
export interface SessionPaths {
  /**
   * Parses a caller's path to a session path: one leading slash and no trailing one; `/` is the session's root.
   * @throws PATH_ESCAPES_ROOT
   */
  parse(text: string): string;
  /** The session path as callers see it. */
  show(path: string): string;
  /** Session path from segments relative to the session's root. */
  of(segments: readonly string[]): string;
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
    of: (segments) => `/${segments.join("/")}`,
    prefix,
  };
}
