// Paths of the Jettson tools: `/workspace/…` or relative to the workspace.

import { ToolError } from "../profile.js";

const WORKSPACE = "workspace";
/** Windows drive letters and shares. */
const DRIVE_OR_SHARE = /^(?:[A-Za-z]:|\\|\/\/)/;

/** Error text for every path outside the workspace. */
export const ESCAPES = "path escapes /workspace or is empty.";

/**
 * Parses a tool's path to a canonical path relative to the workspace, lexically (the disk is not consulted).
 * @returns `""` for the workspace itself
 * @throws ToolError
 */
export function parseWorkspacePath(text: string): string {
  if (text.trim() === "" || text === "/" || text.includes("\0") || DRIVE_OR_SHARE.test(text)) throw escapes();
  const [first, ...rest] = text.split("/").filter((segment) => segment !== "" && segment !== ".");
  const isAbsolute = text.startsWith("/");
  if (isAbsolute && first !== WORKSPACE) throw escapes();
  const segments = isAbsolute || first === undefined ? rest : [first, ...rest];
  if (segments.includes("..")) throw escapes();
  return segments.join("/");
}

/** Like {@link parseWorkspacePath}, but rejects the workspace itself. @throws ToolError */
export function parseFilePath(text: string): string {
  const path = parseWorkspacePath(text);
  if (path === "") throw escapes();
  return path;
}

const escapes = (): ToolError => new ToolError("PATH_ESCAPES_ROOT", ESCAPES);
