// Tells what a caller may have meant by a path that does not exist.

import { adapterError, FileAdapterError } from "../core/errors/errors.js";
import { escapeText } from "../core/errors/texts.js";
import { MAX_CHARS, PathSearch, type Suggestion, type Surroundings } from "../ops/searching/path-search.js";

/** Adds a hint to a `NOT_FOUND`, if some path is near; returns any other error unchanged. */
export async function withSuggestions(error: unknown, surroundings: Surroundings): Promise<unknown> {
  if (!(error instanceof FileAdapterError) || error.code !== "NOT_FOUND") return error;
  const { root, path } = error.data;
  if (typeof root !== "string" || typeof path !== "string" || path.length > MAX_CHARS) return error;
  try {
    const search = new PathSearch(root, surroundings);
    const suggestions = await search.findNear(path.split("/"));
    if (suggestions.length === 0) return error;
    const hint = `Did you mean ${suggestions.map((one) => suggestionText(one, root)).join(" or ")}?`;
    return adapterError(error.code, error.message, { ...error.data, hint, suggestions });
  } catch {
    // A failed or late suggestion never changes the answer to the call.
    return error;
  }
}

const suggestionText = ({ root, path }: Suggestion, requestedRoot: string): string =>
  `"${path === "" ? "/" : escapeText(path)}"${root === requestedRoot ? "" : ` in root "${escapeText(root)}"`}`;
