// Parses the globs of callers, and derives which directories they can match in. As in Git and ripgrep, a pattern without
// a slash matches a name at any depth; `./` before it keeps it to the start directory.

import { invalidPattern } from "../core/errors/texts.js";
import type { Glob } from "../path/glob-match.js";
import { GlobFault, readGlobNodes } from "../path/glob-reader.js";

/** A caller's glob, parsed; it matches whole paths below the base. */
export interface GlobPattern {
  /** The pattern that whole paths below the base are matched against: its depth is spelled out. */
  readonly text: string;
  readonly nodes: Glob;
  /** Leading directories of every match, as far as the pattern names them literally. */
  readonly fixed: readonly string[];
  /** Most segments of a matching path. */
  readonly maxDepth: number;
  readonly onlyDirectories: boolean;
}

/** @throws INVALID_PATTERN */
export function readGlob(pattern: string): GlobPattern {
  const text = pattern.replace(/^(?:\.\/)+/, "");
  if (text === "") throw invalidPattern(pattern, "it is empty");
  if (text.startsWith("/")) throw invalidPattern(pattern, "must be relative to the path: at 0", 0);
  if (text.startsWith("!") && text[1] !== "(") throw invalidPattern(pattern, "use exclude in place of '!': at 0", 0);
  if (text.split("/").includes("..")) throw invalidPattern(pattern, "'..' is not allowed");
  const onlyDirectories = text.endsWith("/");
  const given = onlyDirectories ? text.replace(/\/+$/, "") : text;
  const atAnyDepth = text === pattern && !given.includes("/") && given !== "**";
  // Checked before the prefix is added, so that positions of faults are the caller's.
  const own = nodesOf(pattern, given);
  const body = atAnyDepth ? `**/${given}` : given;
  const segments = body.split("/");
  const magic = segments.findIndex((segment, at) => at === segments.length - 1 || /[\\?*+@!()[\]{}]/.test(segment));
  const isFree = body.includes("**") || /[{(]/.test(body);
  return {
    text: body,
    nodes: atAnyDepth ? nodesOf(pattern, body) : own,
    fixed: segments.slice(0, magic),
    maxDepth: isFree ? Number.POSITIVE_INFINITY : segments.length,
    onlyDirectories,
  };
}

function nodesOf(pattern: string, body: string): Glob {
  try {
    return readGlobNodes(body, { negation: false, groups: false });
  } catch (error) {
    if (!(error instanceof GlobFault)) throw error;
    throw invalidPattern(pattern, `${error.message}: at ${error.position}`, error.position);
  }
}
