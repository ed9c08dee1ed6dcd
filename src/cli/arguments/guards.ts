// The options `--deny`, `--protect` and `--read-only`.

import type { VenueConfig } from "../../config/types.js";
import type { RootConfig } from "../../core/file-config.js";

/** `--deny`, `--protect` and `--read-only`: restrictions of every root of the command, those of the configuration too. */
export interface RootGuards {
  readonly deny: readonly string[];
  readonly protect: readonly string[];
  readonly readOnly: boolean;
}

/** Restricts every root of a venue further; nothing that the configuration restricts is lifted. */
export function withGuards(config: VenueConfig, { deny, protect, readOnly }: RootGuards): VenueConfig {
  const guarded = (root: RootConfig): RootConfig => ({
    ...root,
    readOnly: root.readOnly || readOnly,
    deny: [...root.deny, ...deny],
    protect: [...root.protect, ...protect],
  });
  const roots: Record<string, RootConfig> = Object.create(null);
  for (const [name, root] of Object.entries(config.file.roots)) roots[name] = guarded(root);
  return { ...config, file: { ...config.file, roots } };
}
