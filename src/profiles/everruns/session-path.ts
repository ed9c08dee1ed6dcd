import { pathEscapesRoot } from "../../core/errors/texts.js";

/** How the tools of one instance write paths: behind the alias, or from `/` on where there is none. */
export interface SessionPaths {
  /** The session path of a text: one leading slash, no other at its end; `/` for the session's root. @throws PATH_ESCAPES_ROOT */
  parse(text: string): string;
  /** A session path as a caller sees it. */
  show(path: string): string;
  /** A session path from the segments of a path in the session. */
  of(segments: readonly string[]): string;
  /** What stands for `/workspace` in texts: `""` where there is no alias. */
  readonly prefix: string;
}

/** @param alias absolute, as `/workspace`; `null`: none @returns `undefined` for an alias that is no absolute path */
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
      // Even one that stays inside.
      if (segments.includes("..")) throw pathEscapesRoot({ root: "", path: trimmed });
      const isBehindAlias = trimmed.startsWith("/") && names.every((name, at) => segments[at] === name);
      return `/${(isBehindAlias ? segments.slice(names.length) : segments).join("/")}`;
    },
    show: (path) => (path === "/" ? prefix || "/" : `${prefix}${path}`),
    of: (segments) => `/${segments.join("/")}`,
    prefix,
  };
}
