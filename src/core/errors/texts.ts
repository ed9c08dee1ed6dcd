// Messages and data of errors of several rooms; others stand where they are thrown. Caller text in a
// message is escaped.

import { adapterError, type FileAdapterError } from "./errors.js";
import type { Next } from "./wording.js";

/** A path in a root, as the caller may see it: canonical, or the raw text where the grammar rejected it. */
export interface Place {
  readonly root: string;
  readonly path: string;
}

const PLAIN = /^[ -~]*$/;

/** Escapes control characters, bidi controls and lone surrogates, so that caller text is safe in a one-line message. */
export function escapeText(text: string): string {
  // Fast path for nearly every name.
  if (PLAIN.test(text)) return text;
  return text
    .replace(/\p{Surrogate}/gu, (half) => `\\u{${half.charCodeAt(0).toString(16)}}`)
    .replace(
      /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
      (char) => `\\u{${char.charCodeAt(0).toString(16)}}`,
    );
}

/**
 * A path for a one-line message: escaped, `/` for the root, a long one shortened in the middle. The error data has it whole.
 * @param most characters @param head of them at its beginning
 */
export function pathText(path: string, most = 200, head = most / 2): string {
  if (path === "") return "/";
  const points = path.length <= most ? [] : [...path];
  if (points.length <= most) return escapeText(path);
  return escapeText(`${points.slice(0, head).join("")}…${points.slice(head + 1 - most).join("")}`);
}

/** Beside much other text. */
export const briefPath = ({ path }: Place): string => pathText(path, 40, 10);

export const at = ({ root, path }: Place) => ({ root, path });
/** Escaped, since before lookup the root name is unchecked caller input. */
const r = (place: Place): string => escapeText(place.root);
const p = (place: Place): string => pathText(place.path);

const rp = (place: Place): string => `${r(place)}:${p(place)}`;

export const unknownOperation = (name: string): FileAdapterError =>
  adapterError("UNKNOWN_OPERATION", `Unknown file operation: ${escapeText(name)}`);

export const unknownRoot = (root: string, visible: readonly string[]): FileAdapterError =>
  adapterError("UNKNOWN_ROOT", `Unknown root '${escapeText(root)}'. Configured: [${visible.join(", ")}]`, { root });

export const invalidInput = (message: string, pointer: string, expected: string, next?: Next): FileAdapterError =>
  adapterError("INVALID_INPUT", message, { pointer, expected, ...(next && { next }) });

export type PathFault =
  | "Nul character not allowed"
  | "control character not allowed"
  | "backslash not allowed. Use /"
  | "not valid Unicode"
  | `${string} on Windows`
  | "too long"
  | "too deep"
  | "too many links"
  | "reserved name";

export const invalidPath = (place: Place, reason: PathFault): FileAdapterError =>
  adapterError("INVALID_PATH", `Invalid path '${p(place)}': ${reason}`, at(place));

export const pathNotRelative = (place: Place): FileAdapterError =>
  adapterError("PATH_NOT_RELATIVE", `Path must be relative to root '${r(place)}': ${p(place)}`, at(place));

export const pathEscapesRoot = (place: Place): FileAdapterError =>
  adapterError("PATH_ESCAPES_ROOT", `Path escapes root '${r(place)}': ${p(place)}`, at(place));

export const symlinkEscape = (place: Place): FileAdapterError =>
  adapterError("SYMLINK_ESCAPE", `Path escapes root via symlink: ${p(place)}`, at(place));

export const danglingSymlink = (place: Place): FileAdapterError =>
  adapterError("DANGLING_SYMLINK", `Path resolves through dangling symlink: ${p(place)}`, at(place));

export const otherDevice = (place: Place): FileAdapterError =>
  adapterError("OTHER_DEVICE", `Path is on another file system: ${p(place)} (root option crossDevice)`, at(place));

export const readOnlyRoot = (place: Place): FileAdapterError =>
  adapterError("READ_ONLY_ROOT", `Root '${r(place)}' is read-only`, at(place));

export const notFound = (place: Place): FileAdapterError =>
  adapterError("NOT_FOUND", `Not found: ${rp(place)}`, at(place));

export const notADirectory = (place: Place): FileAdapterError =>
  adapterError("NOT_A_DIRECTORY", `Not a directory: ${p(place)}. Read it with file:read, or choose another path`, {
    ...at(place),
    next: { tool: "file:read" },
  });

/** @param advice names the next useful call */
export const isADirectory = (
  place: Place,
  advice = "It is a directory: list it with file:list",
  next: Next = { tool: "file:list" },
): FileAdapterError =>
  adapterError("IS_A_DIRECTORY", `Not a regular file: ${p(place)}. ${advice}`, { ...at(place), next });

export const notAFile = (place: Place): FileAdapterError =>
  adapterError("NOT_A_FILE", `Not a regular file: ${p(place)}`, at(place));

/** @param place the parent directory that is missing */
export const parentMissing = (place: Place): FileAdapterError =>
  adapterError(
    "PARENT_MISSING",
    `Parent directory does not exist: ${p(place)}. Pass parents: true or call file:mkdir`,
    { ...at(place), next: { tool: "file:mkdir", option: "parents" } },
  );

export const existsNotDirectory = (place: Place): FileAdapterError =>
  adapterError("EXISTS_NOT_DIRECTORY", `Path exists and is not a directory: ${p(place)}`, at(place));

export const notEmpty = (place: Place): FileAdapterError =>
  adapterError("NOT_EMPTY", `Directory not empty: ${p(place)} (pass recursive: true)`, {
    ...at(place),
    next: { option: "recursive" },
  });

export const rootDelete = (root: string): FileAdapterError =>
  adapterError("ROOT_DELETE", "Refusing to delete the root itself", { root, path: "" });

export const hardLinked = (place: Place): FileAdapterError =>
  adapterError("HARD_LINKED", `File has other hard links: ${p(place)}`, at(place));

export const notText = (place: Place, encoding = "UTF-8", advice = TEXT_ADVICE): FileAdapterError =>
  adapterError("NOT_TEXT", `File is not valid ${escapeText(encoding)} text. ${advice}`, at(place));
const TEXT_ADVICE = "Pass its encoding, such as latin1, or mode: bytes";

export const notJson = (place: Place, reason: string): FileAdapterError =>
  adapterError("NOT_JSON", `File is not valid JSON: ${reason}`, at(place));

export const tooLargeToRead = (place: Place, size: number, limit: number, advice: string): FileAdapterError =>
  adapterError(
    "TOO_LARGE",
    `File is too large to read in one call: ${size} bytes, limit ${limit}${advice === "" ? "" : `. ${advice}`}`,
    { ...at(place), size, limit },
  );

/** @param limit maximum bytes searched by one call */
export const tooMuchToSearch = (place: Place, limit: number): FileAdapterError =>
  adapterError("TOO_LARGE", `Too much to search: more than ${limit} bytes. Pass a deeper path`, {
    ...at(place),
    limit,
  });

/** @param advice names the next useful call */
export const contentTooLarge = (place: Place, size: number, limit: number, advice = ""): FileAdapterError =>
  adapterError("TOO_LARGE", `Content too large: ${size} bytes, limit ${limit}${advice === "" ? "" : `. ${advice}`}`, {
    ...at(place),
    size,
    limit,
  });

export const assetNotFound = (place: Place, ref: string): FileAdapterError =>
  adapterError("ASSET_NOT_FOUND", `Asset not found: ${escapeText(ref)}`, at(place));

export const assetNoContent = (place: Place, ref: string): FileAdapterError =>
  adapterError("ASSET_NO_CONTENT", `Asset has no content: ${escapeText(ref)}`, at(place));

export interface Conflict {
  /** The refused action: `write`. */
  readonly verb: string;
  /** The precondition as the caller gave it; `*`: nothing may exist; `12 bytes`: a size. */
  readonly expected: string;
  /** Current etag, `null` if nothing exists; absent for a caller without read access. */
  readonly current?: string | null;
  /** Current size in bytes, if the precondition was a size and the caller has read access. */
  readonly currentSize?: number;
}

const IS_THERE = "It is there already: read it before you replace it, or choose another name";

/** The target does not meet the precondition; nothing has been changed. */
export function conflict(place: Place, { verb, expected, current, currentSize }: Conflict): FileAdapterError {
  const found = current === undefined && currentSize !== undefined ? `${currentSize} bytes` : current;
  return adapterError(
    "CONFLICT",
    `Cannot ${verb} "${p(place)}": it changed since you read it (expected ${expected === "*" ? "nothing" : expected}${found === undefined ? "" : `, now ${found ?? "missing"}`}). ${expected === "*" ? IS_THERE : "Read it again"}`,
    {
      ...at(place),
      expected,
      ...(current === undefined ? {} : { current }),
      ...(currentSize === undefined ? {} : { currentSize }),
    },
  );
}

/** A common mistake is to name the folder that something should go into. */
export const TARGET_ADVICE = ". 'to' is the whole new path, name included; overwrite: true replaces a file";

/** @param advice what to do about it, after the path */
export const alreadyExists = (place: Place, advice = TARGET_ADVICE): FileAdapterError =>
  adapterError("ALREADY_EXISTS", `Already exists: ${p(place)}${advice}`, {
    ...at(place),
    ...(advice === TARGET_ADVICE && { next: { option: "overwrite" } }),
  });

/** @param reason ends with the position if it is known @param position of the fault in the pattern, in characters */
export const invalidPattern = (pattern: string, reason: string, position?: number): FileAdapterError =>
  adapterError("INVALID_PATTERN", `Invalid pattern '${escapeText(pattern)}': ${escapeText(reason)}`, {
    ...(position === undefined ? {} : { position }),
  });

/** `DENIED_BY_POLICY`, whether or not the path exists. @param verb the refused action: `read` @param by what denies it, if told */
export const deniedByPolicy = (place: Place, verb: string, by?: string): FileAdapterError => {
  const where = by === undefined ? "" : ` (${escapeText(by)} in file.roots.${r(place)}.deny)`;
  const text = `Cannot ${verb} "${p(place)}": denied by policy of root "${r(place)}"${where}. Do not retry`;
  return adapterError("DENIED_BY_POLICY", text, at(place));
};

/** `DENIED_BY_POLICY` for what may be read, whether or not the path exists. @param verb the refused action: `write` */
export const protectedByPolicy = (place: Place, verb: string): FileAdapterError =>
  adapterError(
    "DENIED_BY_POLICY",
    `Cannot ${verb} "${p(place)}": protected by policy of root "${r(place)}" (may be read, not changed). Do not retry`,
    at(place),
  );

/** The root has more denied entries than a sandbox can hide from a command. File operations still work. */
export const tooManyDenied = (place: Place, found: number, limit: number): FileAdapterError =>
  adapterError("DENIED_BY_POLICY", `too many denied entries to hide: ${found}, limit ${limit}`, {
    ...at(place),
    ...{ denied: found, limit },
  });

/** @param what the root cannot do, and what to do instead */
export const notSupportedByRoot = (place: Place, what: string, next?: Next): FileAdapterError =>
  adapterError("NOT_SUPPORTED", `Not supported by root '${r(place)}': ${what}`, {
    ...at(place),
    ...(next && { next }),
  });

export interface QuotaUse {
  readonly used: number;
  readonly limit: number;
  /** `bytes` or `entries`. */
  readonly unit: string;
  readonly requested: number;
}

export const quotaExceeded = (place: Place, { used, limit, unit, requested }: QuotaUse): FileAdapterError =>
  adapterError(
    "QUOTA_EXCEEDED",
    `Quota of root '${r(place)}' exceeded: ${used} of ${limit} ${unit} used, ${requested} more requested`,
    { ...at(place), used, limit, unit, requested },
  );

export const permissionDenied = (place: Place): FileAdapterError =>
  adapterError("PERMISSION_DENIED", `Permission denied: ${rp(place)}`, at(place));

export const noSpace = (place: Place): FileAdapterError =>
  adapterError("NO_SPACE", `No space left: ${rp(place)}`, at(place));

/** @param what the venue cannot do, and how to enable it */
export const notSupportedHere = (what: string): FileAdapterError =>
  adapterError("NOT_SUPPORTED", `Not supported by this venue: ${what}`);

export const timedOut = (timeoutMs: number): FileAdapterError =>
  adapterError("TIMEOUT", `Operation timed out after ${timeoutMs} ms`);

export const aborted = (): FileAdapterError => adapterError("ABORTED", "Operation cancelled");

/** @param systemCode an errno name such as `EIO`, never the system's message */
export const ioError = (place: Place, systemCode: string): FileAdapterError =>
  adapterError(
    "IO_ERROR",
    `I/O error ${systemCode}: ${rp(place)}${systemCode === "EMFILE" || systemCode === "ENFILE" ? ". The server has too many open files: raise its limit" : ""}`,
    { ...at(place), systemCode },
  );

/** A part of the program that cannot be read now. @throws `error` itself if the system has not said it */
export function notLoaded(error: unknown): FileAdapterError {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) throw error;
  return adapterError("IO_ERROR", `I/O error ${code}: the operation could not be loaded. Try again`, {
    systemCode: code,
  });
}

export const internalError = (requestId: string): FileAdapterError =>
  adapterError("INTERNAL", `Internal error (${requestId})`);
