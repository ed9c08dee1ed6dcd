// Paths that name their root themselves: by its host path, by `~`, by a `file:` URI, or by its name. Pure text.

import { isWindows } from "../core/system.js";

/** The names of a root that a caller knows. */
export interface KnownRoot {
  readonly name: string;
  /** Absent: not disclosed to the caller. */
  readonly hostPath?: string | undefined;
  /** The folder that `~` stands for. */
  home?(): string | undefined;
}

export interface Spelling {
  /** Segments that name the root: where they lead to something in the root, the path means that instead. */
  readonly prefix: readonly string[];
  /** The path in the root; `undefined`: a URI of something else. */
  readonly below: string | undefined;
  /** The path begins with the mere name of the root, which a folder may have too. */
  readonly isName: boolean;
}

const URI = /^file:(?:\/\/([^/]*))?(?:\/(.*))?$/is;

/** A path as Windows writes it, with the separators of ours: no name has the other one there. */
export const withSlashes = (text: string): string =>
  isWindows() && text.includes("\\") ? text.replaceAll("\\", "/").replace(/^\/\/\?\/(?=[a-z]:\/)/i, "") : text;

/** How a path names its root; `undefined`: it does not, or begins with `./`, which always means what it says. */
export function spellingOf(text: string, root: KnownRoot): Spelling | undefined {
  if (text.startsWith("./")) return undefined;
  if (/^file:\//i.test(text)) return uriSpelling(text, root);
  if (root.hostPath !== undefined) {
    const prefix = hostPrefix(text, root.hostPath, root);
    if (prefix !== undefined) return spelled(segmentsIn(text) ?? [], prefix, false);
  }
  const isCandidate = text.startsWith(root.name) || /^[./]/.test(text);
  const segments = isCandidate ? segmentsIn(text) : undefined;
  return segments?.[0] === root.name ? spelled(segments, [root.name], true) : undefined;
}

const spelled = (segments: readonly string[], prefix: readonly string[], isName: boolean): Spelling => ({
  ...{ prefix, isName },
  below: segments.slice(prefix.length).join("/"),
});

/** The segments of the host path, or of what `~` stands for in it, that a path begins with. */
function hostPrefix(text: string, hostPath: string, { home }: KnownRoot): readonly string[] | undefined {
  // Nearly all paths are told apart by their first segment.
  const isOther = !/^[/~.]/.test(text) && !isWindows() && !hostPath.startsWith(text.split("/", 1)[0] ?? "", 1);
  if (isOther) return undefined;
  const host = splitHost(hostPath);
  const above = text.startsWith("~") ? splitHost(home?.() ?? "") : [];
  const wanted = above.length > 0 && isPrefix(above, host) ? ["~", ...host.slice(above.length)] : host;
  // A relative path may well begin with a folder that is called as the one folder of a short host path.
  if (wanted.length === 0 || (wanted.length === 1 && !/^[/~\\]/.test(text))) return undefined;
  const segments = segmentsIn(text);
  return segments !== undefined && isPrefix(wanted, segments) ? wanted : undefined;
}

/** A URI means a place of this root, or nothing that a path could. */
function uriSpelling(text: string, { name, hostPath }: KnownRoot): Spelling {
  const [, authority = "", path = ""] = URI.exec(text) ?? [];
  const segments = segmentsIn(decoded(path));
  const host = hostPath === undefined ? undefined : splitHost(hostPath);
  const isHere = authority === "" || authority.toLowerCase() === "localhost";
  const top = decoded(authority) === name ? [] : isHere && host !== undefined ? host : undefined;
  const isOwn = top !== undefined && segments !== undefined && isPrefix(top, segments);
  return { prefix: ["file:"], isName: false, below: isOwn ? segments.slice(top.length).join("/") : undefined };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Without empty ones, `.` and `..`; `undefined`: it leads above its start. */
function segmentsIn(text: string): readonly string[] | undefined {
  const segments: string[] = [];
  for (const segment of (isWindows() ? text.replaceAll("\\", "/") : text).split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return segments;
}

const splitHost = (path: string): readonly string[] =>
  path.split(isWindows() ? /[\\/]/ : "/").filter((segment) => segment !== "");

/** Windows finds a host path in any case. */
const isPrefix = (prefix: readonly string[], segments: readonly string[]): boolean =>
  prefix.every((segment, index) => segment === segments[index] || (isWindows() && isAlike(segment, segments[index])));

const isAlike = (one: string, other: string | undefined): boolean => one.toLowerCase() === other?.toLowerCase();
