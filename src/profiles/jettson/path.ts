import { ToolError } from "../profile.js";

const WORKSPACE = "workspace";
/** Drives and shares of Windows. */
const DRIVE_OR_SHARE = /^(?:[A-Za-z]:|\\|\/\/)/;

/** Text for every path that is none of the workspace. */
export const ESCAPES = "path escapes /workspace or is empty.";

/**
 * The path of a call, relative to the workspace. Text alone: what is there has no part in it.
 * @returns canonical; `""`: the workspace itself
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

/** The same for what is not the workspace itself. @throws ToolError */
export function parseFilePath(text: string): string {
  const path = parseWorkspacePath(text);
  if (path === "") throw escapes();
  return path;
}

const escapes = (): ToolError => new ToolError("PATH_ESCAPES_ROOT", ESCAPES);
