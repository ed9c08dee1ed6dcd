// The caller named by `--key` and `--proof`.

import type { VenueConfig } from "../config/types.js";
import type { OwnCaller } from "../venue/identity/access.js";
import type { CallerSource } from "./arguments/remote.js";
import type { CommandContext } from "./context.js";

/**
 * The caller named by `--key` and `--proof`. The modules that read keys and tokens are loaded only if needed.
 *
 * @returns an empty object for the operator
 * @throws ConfigError for a key or token that cannot be read
 */
export async function ownCaller(
  source: CallerSource | undefined,
  config: VenueConfig,
  context: CommandContext,
): Promise<{ readonly caller?: OwnCaller }> {
  if (source === undefined) return {};
  const [{ keyPlace, openSigningKey }, { readTokens }] = await Promise.all([
    import("./tokens/signing-key.js"),
    import("./tokens/token-files.js"),
  ]);
  const key = openSigningKey(source.key, keyPlace(config, context));
  return { caller: { key, proofs: readTokens(source.proofs, context) } };
}
