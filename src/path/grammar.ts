// The grammar of path texts in requests: what is a valid path, which names are reserved, how a path may name its root.

import type { RelPath } from "../core/call/path.js";
import { adapterError, type FileAdapterError } from "../core/errors/errors.js";
import { escapeText, invalidPath, type PathFault, pathEscapesRoot, pathNotRelative } from "../core/errors/texts.js";
import { isWindows } from "../core/system.js";

export const MAX_PATH_BYTES = 4096;
export const MAX_SEGMENT_BYTES = 255;
export const MAX_SEGMENTS = 512;

/** The staging directory at the top of a root, a reserved name in every directory; `.venue-files-…` is used where it is not possible. */
export const RESERVED_NAME = ".venue-files";
export const RESERVED_PREFIX = ".venue-files-";

const BACKSLASH: PathFault = "backslash not allowed. Use /";
const CONTROL_OR_BACKSLASH = /[\u0000-\u001f\u007f\\]/;
/** A drive of Windows, which no path begins with. */
export const DRIVE = /^[A-Za-z]:/;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i;

/**
 * Parses the path text of a request. Pure: no I/O, no percent-decoding, no normalisation, no case folding.
 *
 * @param root name of the root, for the error
 * @param text root-relative; a leading `/` means the root, `""` and `/` are the root itself
 * @param options.windows also refuse names that are special on Windows: devices, streams (`:`), trailing dots and spaces.
 * Default: where the program runs there
 * @param options.anyName take backslashes and control characters elsewhere, which entries may have
 * @throws INVALID_PATH, PATH_NOT_RELATIVE, PATH_ESCAPES_ROOT
 */
export function parsePath(
  root: string,
  text: string,
  {
    windows = isWindows(),
    anyName = false,
  }: { readonly windows?: boolean; readonly anyName?: boolean | undefined } = {},
): RelPath {
  const place = { root, path: text };
  const fault = anyName && !windows && !text.includes("\0") && text.isWellFormed() ? undefined : characterFault(text);
  // Other faults of a path of Windows are told first.
  const hasBackslashes = windows && fault === BACKSLASH;
  if (fault !== undefined && !hasBackslashes) throw invalidPath(place, fault);
  const read = hasBackslashes ? text.replaceAll("\\", "/") : text;
  if (read.startsWith("//")) throw pathNotRelative(place);

  const segments: string[] = [];
  let first: string | undefined;
  let escaped = false;
  for (const segment of read.split("/")) {
    if (segment === "" || segment === ".") continue;
    first ??= segment;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined) escaped = true;
  }
  if (first !== undefined && DRIVE.test(first)) throw pathNotRelative(place);
  if (escaped) throw pathEscapesRoot(place);
  // The resolved form counts too: `a/../C:` names a Windows drive as `C:` does.
  if (segments[0] !== first && DRIVE.test(segments[0] ?? "")) throw pathNotRelative(place);

  const late = lengthFault(text, segments) ?? reservedFault(segments, windows);
  if (late !== undefined) throw invalidPath(place, late);
  if (hasBackslashes) throw withHint(invalidPath(place, BACKSLASH), `Pass path: "${escapeText(segments.join("/"))}"`);
  return relPath(segments);
}

const withHint = ({ code, message, data }: FileAdapterError, hint: string): FileAdapterError =>
  adapterError(code, message, { ...data, hint });

/** A path of segments that are known to be canonical. */
export function relPath(segments: readonly string[]): RelPath {
  return { segments, text: segments.join("/") } as RelPath;
}

const ARCHIVE_NAME = /\.(?:zip|jar|tar|tar\.gz|tgz)!$/i;

/** Whether a segment of a path stands for the inside of the archive that it names, so that no path names an entry called so. */
export const isArchiveName = (segment: string): boolean => segment.endsWith("!") && ARCHIVE_NAME.test(segment);

/** Whether any valid path can name this entry. @param top the entry is directly in the root directory */
export function isReachableName(name: string, top: boolean, windows = isWindows()): boolean {
  return (
    characterFault(name) === undefined &&
    !isArchiveName(name) &&
    // A UTF-16 code unit is at most 3 bytes of UTF-8, so short names need no counting.
    (name.length * 3 <= MAX_SEGMENT_BYTES || Buffer.byteLength(name) <= MAX_SEGMENT_BYTES) &&
    !(top && DRIVE.test(name)) &&
    !(windows && windowsFault(name) !== undefined)
  );
}

/** Whether a name is reserved for staging, at any level: a folder below may be a root too. @param fold case is folded */
export function isReservedName(name: string, fold = false): boolean {
  const compared = fold ? name.toLowerCase() : name;
  return compared === RESERVED_NAME || compared.startsWith(RESERVED_PREFIX);
}

function characterFault(text: string): PathFault | undefined {
  if (!text.isWellFormed()) return "not valid Unicode";
  if (!CONTROL_OR_BACKSLASH.test(text)) return undefined;
  if (text.includes("\0")) return "Nul character not allowed";
  return /[\u0001-\u001f\u007f]/.test(text) ? "control character not allowed" : BACKSLASH;
}

function lengthFault(text: string, segments: readonly string[]): PathFault | undefined {
  // A UTF-16 code unit is at most 3 bytes of UTF-8, so short texts need no counting.
  if (text.length * 3 > MAX_SEGMENT_BYTES) {
    if (Buffer.byteLength(text) > MAX_PATH_BYTES) return "too long";
    if (segments.some((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)) return "too long";
  }
  return segments.length > MAX_SEGMENTS ? "too deep" : undefined;
}

function reservedFault(segments: readonly string[], windows: boolean): PathFault | undefined {
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index] as string;
    if (isReservedName(segment)) return "reserved name";
    const fault = windows ? windowsFault(segment) : undefined;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Why Windows has no such name, or takes it for something else: a stream, a pattern, a device, the name without its end. */
function windowsFault(name: string): PathFault | undefined {
  if (/[<>:"|?*]/.test(name)) return '< > : " | ? * not allowed in names on Windows';
  if (/[. ]$/.test(name)) return "dot or space not allowed at the end of a name on Windows";
  return WINDOWS_DEVICE.test(name) ? "reserved name" : undefined;
}

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

const ASCII = /^[\0-\x7f]*$/;

/**
 * Folds at least as much as any file system: names that differ folded are different files everywhere. HFS+ ignores some
 * invisible characters, so that `.g\u200cit` is `.git` there.
 */
export const foldName = (name: string): string => (ASCII.test(name) ? name.toLowerCase() : foldUnicode(name));

const foldUnicode = (name: string): string =>
  name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .normalize("NFC")
    .toUpperCase()
    .toLowerCase()
    .normalize("NFC");

/** Whether a path is that of a directory or of something in it. @param folds whether its root folds names */
export const isWithin = (path: readonly string[], directory: readonly string[], folds = false): boolean =>
  directory.every((name, index) => {
    const other = path[index];
    return name === other || (folds && other !== undefined && foldName(name) === foldName(other));
  });
