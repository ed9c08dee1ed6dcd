// Judges symbolic links: where the walk continues, from the text of a link alone. Nothing outside the root is looked up.

import { isWindows } from "../../core/system.js";

/** Maximum links on the way of one path. */
export const MAX_LINKS = 40;

/** Where a link is, in a root. */
export interface LinkPlace {
  /** Canonical path of the root. */
  readonly top: string;
  /** Real names of the directories from the root to the link's. */
  readonly names: readonly string[];
  /** Number of first names that no link may change or leave: the caller's paths start below them. */
  readonly floor: number;
}

export interface LinkRoute {
  /** Directories to leave, upwards. */
  readonly leaves: number;
  /** Components to walk next, in order; `..` among them is judged when the walk comes to it. */
  readonly tokens: string[];
}

/** @param target text of the link @returns `escape` if it leads out of the root or above the floor */
export function judgeLink(target: string, { top, names, floor }: LinkPlace): LinkRoute | "escape" {
  // A link above the floor would move the start of the caller's paths.
  if (names.length < floor) return "escape";
  const { parts, isAbsolute } = partsOf(target);
  if (!isAbsolute) return { leaves: 0, tokens: tokensOf(parts) };
  const start = [...partsOf(top).parts, ...names.slice(0, floor)];
  if (!start.every((part, index) => isAlike(part, parts[index]))) return "escape";
  return { leaves: names.length - floor, tokens: tokensOf(parts.slice(start.length)) };
}

/** `\\?\` and `\??\` say that a path is taken as it is, `UNC` that it begins with a server. */
const VERBATIM = /^\\[\\?]\?\\(?:UNC(?=\\))?/i;

/** Windows separates by either slash, and a colon ends a drive, wherever that drive stands. */
function partsOf(text: string): { readonly parts: readonly string[]; readonly isAbsolute: boolean } {
  if (!isWindows()) return { parts: text.split("/"), isAbsolute: text.startsWith("/") };
  const plain = text.replace(VERBATIM, (start) => (start.endsWith("\\") ? "" : "\\"));
  return { parts: plain.split(/[\\/]/), isAbsolute: plain !== text || /^[\\/]|:/.test(plain) };
}

/** Alike though not the same is elsewhere only where a directory above the root tells case; the walk goes on below the root. */
const isAlike = (one: string, other: string | undefined): boolean =>
  one === other || (isWindows() && one.toLowerCase() === other?.toLowerCase());

/** A trailing slash requires a directory: `.` makes the walk enter it. */
function tokensOf(parts: readonly string[]): string[] {
  const tokens = parts.filter((part) => part !== "");
  if (parts.at(-1) === "") tokens.push(".");
  return tokens;
}
