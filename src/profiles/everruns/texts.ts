// Error texts of the Everruns tools, by error code and tool.

import type { FileAdapterError } from "../../core/errors/errors.js";
import { sandboxText } from "../../core/errors/sandbox-texts.js";
import { escapeText } from "../../core/errors/texts.js";
import { fieldsOf } from "../../core/unknown.js";
import { isTooManyDenied } from "../command-tool.js";
import type { FailedCall } from "../profile.js";
import { denial } from "../profile.js";
import { BASH } from "./bash.js";
import type { SessionPaths } from "./session-path.js";
import { patternFault } from "./session-path.js";
import { isTold } from "./tool-fault.js";

/** Read-only tools: a failure is never due to a read-only file. */
const LOOKING: ReadonlySet<string> = new Set([
  ...["read_file", "read_many_files", "list_directory", "stat_file"],
  ...["glob", "grep", "grep_files"],
]);
/** Tools whose path names a directory. */
const ON_DIRECTORIES: ReadonlySet<string> = new Set(["list_directory", "glob", "grep", "grep_files"]);

type Text = (p: string, failed: FailedCall) => string;

/** Texts for error codes, by path and tool. `p`: the path as the caller knows it. */
const TEXTS: Readonly<Record<string, Text>> = {
  SYMLINK_ESCAPE: (p) => `path traversal rejected: ${p} goes through a symlink`,
  DANGLING_SYMLINK: (p) => `path traversal rejected: ${p} goes through a symlink`,
  OTHER_DEVICE: (p) => `path traversal rejected: ${p}`,
  NOT_FOUND: missing,
  PARENT_MISSING: missing,
  NOT_A_DIRECTORY: (p) => `Path is not a directory: ${p}`,
  EXISTS_NOT_DIRECTORY: (p) => `Path is not a directory: ${p}`,
  IS_A_DIRECTORY: (p) => `Path '${p}' is a directory, not a file. Use list_directory instead.`,
  NOT_A_FILE: (p) => `Path '${p}' is not a regular file.`,
  ROOT_DELETE: () => "cannot delete workspace root",
  NOT_EMPTY: () => "Directory is not empty. Use recursive=true to delete",
  READ_ONLY_ROOT: (p) => `Cannot modify readonly file: ${p}`,
  PERMISSION_DENIED: (p, { tool }) =>
    LOOKING.has(tool) ? `Permission denied: ${p}` : `Cannot modify readonly file: ${p}`,
  NOT_TEXT: notTextToEdit,
  DENIED_BY_POLICY: (p) => `${p} is denied by policy`,
  QUOTA_EXCEEDED: () => "Session storage quota exceeded",
  NOT_SUPPORTED: () => "internal error",
  DRIVE_REQUIRES_AUTH: () => "permission denied: requires an authenticated caller",
  ABORTED: () => "cancelled",
};

export function notTextToEdit(p: string): string {
  return `File '${p}' is not a text file. edit_file only supports text files; use write_file for binary/base64 content.`;
}

function missing(p: string, { tool }: FailedCall): string {
  return ON_DIRECTORIES.has(tool) ? `Directory not found: ${p}` : `File not found: ${p}`;
}

/** Text of a failure, with paths as `paths` shows them. */
export function textOf(error: FileAdapterError, failed: FailedCall, paths: SessionPaths): string {
  const { code, data, message } = error;
  if (isTold(error) || isTooManyDenied(error)) return message;
  if (code === "NOT_SUPPORTED" && failed.tool === BASH) return sandboxText(error);
  switch (code) {
    case "CAPABILITY_DENIED":
      return denial(data["required"]);
    case "INVALID_INPUT":
      return outOfBounds(failed, String(data["pointer"] ?? "")) ?? invalid(message, String(data["pointer"] ?? ""));
    case "INVALID_PATTERN":
      return `Invalid regex pattern: ${patternFault(error, argument(failed, "pattern"))}`;
    case "INVALID_PATH":
      return `path traversal rejected: ${requestedPath(failed)} (${message.slice(message.lastIndexOf(": ") + 2).replace(". Use /", "")})`;
    case "PATH_NOT_RELATIVE":
    case "PATH_ESCAPES_ROOT":
      return `path traversal rejected: ${requestedPath(failed)}`;
    case "TOO_LARGE":
      return tooLarge(failed.tool, data);
    default:
      return TEXTS[code]?.(shownPath(data["path"], failed, paths), failed) ?? "internal error";
  }
}

const shownPath = (path: unknown, failed: FailedCall, paths: SessionPaths): string =>
  typeof path === "string" ? escapeText(paths.show(path === "" ? "/" : `/${path}`)) : requestedPath(failed);

const requestedPath = (failed: FailedCall): string =>
  escapeText(argument(failed, failed.tool === BASH ? "working_dir" : "path").slice(0, 200));

function argument({ args }: FailedCall, name: string): string {
  const value = fieldsOf(args)[name];
  return typeof value === "string" ? value : "";
}

function tooLarge(tool: string, { limit }: FileAdapterError["data"]): string {
  if (tool === "grep" || tool === "grep_files") return `Grep scan exceeds maximum total size of ${limit} bytes`;
  const what = tool === "read_file" || tool === "edit_file" ? "File" : "Content";
  return `${what} exceeds the size limit of ${limit} bytes`;
}

export const PATHS_FAULT = "Parameter `paths` must contain between 2 and 10 paths";

/** Text of the 0.50 tools for an argument out of its bounds. @param pointer JSON pointer of the field */
function outOfBounds({ args }: FailedCall, pointer: string): string | undefined {
  const [, name = "", index] = pointer.split("/");
  const value = fieldsOf(args)[name];
  if (name === "limit" && typeof value === "number" && value < 1) return "limit must be greater than 0";
  if (/^(?:before|after)_context$/.test(name)) {
    const isLarge = Number.isInteger(value) && Number(value) > 0;
    return isLarge ? `${name} must not exceed 20` : `${name} must be a non-negative integer`;
  }
  if (name !== "paths" || !Array.isArray(value)) return undefined;
  return index === undefined ? PATHS_FAULT : `Parameter \`paths[${index}]\` must be a string`;
}

/** @param pointer JSON pointer of the field */
function invalid(message: string, pointer: string): string {
  const name = pointer.slice(1).replaceAll("/", ".");
  const field = `'${name}' `;
  if (message.startsWith(`${field}is required`)) return `Missing required parameter: ${name}`;
  if (message.startsWith("Unknown field")) return `Invalid parameter ${name}: ${uncapital(message)}`;
  // The operation calls the tool's `content` field `bytes`.
  const known = name === "bytes" ? "content" : name || "input";
  return `Invalid parameter ${known}: ${message.startsWith(field) ? message.slice(field.length) : message}`;
}

const uncapital = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
