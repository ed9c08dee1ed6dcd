// Errors of groups of changes.

import { adapterError, FileAdapterError } from "./errors.js";
import { escapeText } from "./texts.js";

const MAX_SHOWN = 10;

/** The error of a group that failed, where others changed paths of it meanwhile, so that these were not put back. */
export function notPutBack(error: unknown, paths: readonly (readonly string[])[]): unknown {
  if (!(error instanceof FileAdapterError)) return error;
  const shownPaths = paths.slice(0, MAX_SHOWN).map((path) => path.join("/"));
  const names = shownPaths.map((path) => `"${escapeText(path)}"`).join(", ");
  const text = `${error.message}. Not put back, since others changed it meanwhile: ${names}. Look at it`;
  return adapterError(error.code, text, { ...error.data, notPutBack: shownPaths });
}
