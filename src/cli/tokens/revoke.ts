// The `revoke` command.

import { ConfigError } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import { silentLog } from "../../core/ports/log.js";
import { decodeToken } from "../../ucan/token/decode.js";
import { tokenId } from "../../ucan/token/id.js";
import { isRevocable } from "../../ucan/verify/revocation-list.js";
import { revocationPlace } from "../../venue/identity/revocation-place.js";
import { acceptRevocations, openRevocations } from "../../venue/identity/revocations.js";
import { openState } from "../../venue/start/state/place.js";
import { UsageError } from "../arguments/options.js";
import { type CommandContext, EXIT, print } from "../context.js";
import { loadOneConfig } from "../load-config.js";
import { readTokens } from "./token-files.js";

/** `venue-files revoke`: adds to the revocation list of a configuration; a running venue applies it immediately. */
export async function revoke(
  command: {
    /** Token ids or DIDs. */
    readonly entries: readonly string[];
    readonly token: string | undefined;
    /** Takes the list as it is. */
    readonly acceptList: boolean;
    readonly config: string;
  },
  context: CommandContext,
): Promise<number> {
  for (const entry of command.entries) checkEntry(entry);
  const config = loadOneConfig({ file: command.config, roots: [] }, context.cwd);
  const ofTokens = command.token === undefined ? [] : readTokens([command.token], context).map(idOf);
  const place = revocationPlace(config, context.env);
  const log = { ...silentLog, warn: (_: unknown, text: string) => void context.stderr.write(`Warning: ${text}\n`) };
  // A configured list that does not exist yet is created, since revoking needs it.
  const list = openRevocations(place, {
    ...{ log, mayBeMissing: true, mayBeFewer: true },
    openState: () => openState(config, context.env, "auth.ucan.revocations"),
  });
  const entries = [...new Set([...command.entries, ...ofTokens])];
  const known = entries.filter((entry) => list.has(entry));
  if (entries.length > 0) await list.add(entries);
  const lines = entries.map((entry) => `${entry} ${known.includes(entry) ? "was revoked already" : "is revoked"}\n`);
  await print(context, lines.join(""));
  if (command.acceptList) {
    // The new entries are accepted with the rest.
    const count = acceptRevocations(place);
    await print(context, `The list is taken as it is, with ${counted(count, "entry", "entries")}\n`);
  }
  context.stderr.write(`The list is ${escapeText(place.path)}; a venue that runs with this configuration follows it\n`);
  return EXIT.ok;
}

/** @throws UsageError */
function checkEntry(entry: string): void {
  if (isRevocable(entry)) return;
  throw new UsageError(
    `'${escapeText(entry)}' is neither the id of a token (43 characters, see: token inspect) nor a DID`,
  );
}

/** The id of a token. The signature is not verified, since an invalid token may be revoked too. */
function idOf(token: string): string {
  const decoded = decodeToken(token);
  if (!("fault" in decoded)) return tokenId(decoded.signedText);
  throw new ConfigError(["--token leads to a token that cannot be read. Give its id instead"], EXIT.config);
}
