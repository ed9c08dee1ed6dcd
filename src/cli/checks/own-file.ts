// Warns of roots whose callers may change the configuration itself.

import type { VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import { compileDeny } from "../../path/deny.js";
import { namesBelow, realPath } from "../../process/host-path.js";

/**
 * Roots that hold the configuration file, may be written and do not protect it: a change of the file is in force from
 * the next start on. A state directory inside a root is refused elsewhere.
 *
 * @param file of the configuration, if there is one
 */
export function writableConfig({ file: { roots } }: VenueConfig, file: string | undefined): readonly string[] {
  if (file === undefined) return [];
  const own = realPath(file);
  return Object.entries(roots).flatMap(([name, root]) => {
    if (root.kind !== "host" || root.readOnly) return [];
    const segments = namesBelow(own, realPath(root.path));
    if (segments === undefined) return [];
    if (compileDeny([...root.deny, ...root.protect], { foldsCase: false }).denies(segments)) return [];
    const path = escapeText(segments.join("/"));
    return [
      `Root '${escapeText(name)}' holds this configuration: whoever may write there can give themselves more. Add "${path}" to its protect`,
    ];
  });
}
