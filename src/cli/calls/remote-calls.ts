// Calls on the venue of `--url`, with the token and proofs of the command line.

import { ConfigError } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { isOpenToOthers } from "../../venue/start/state/state-dir.js";
import type { RemoteVenue } from "../arguments/remote.js";
import { type CommandContext, EXIT } from "../context.js";
import { readReference } from "../environment-reference.js";
import { readTokens } from "../tokens/token-files.js";
import { HttpCalls, travelsOpenly } from "./http-calls.js";
import type { FileCalls } from "./venue-calls.js";

const MAX_TOKEN_BYTES = 32_768;
/** Characters that a header can hold; tokens agreed on beforehand have no fixed form. */
const TOKEN = /^[\x21-\x7e]+$/;

interface RemoteCallsOptions {
  readonly caps: readonly unknown[] | undefined;
  readonly signal: AbortSignal;
}

/** Calls the venue of `--url`. @throws ConfigError for a token that cannot be read, UsageError */
export function openRemoteCalls(remote: RemoteVenue, context: CommandContext, options: RemoteCallsOptions): FileCalls {
  const { url, proofs } = remote;
  const token = remote.token === undefined ? undefined : readBearer(remote.token, context);
  if (travelsOpenly({ url, token })) {
    context.stderr.write(`Warning: the token goes to ${new URL(url).host} unencrypted. Use https\n`);
  }
  return new HttpCalls({ url, token, ucans: proofs.length === 0 ? [] : readTokens(proofs, context), ...options });
}

/** @throws ConfigError; never shows the token */
function readBearer(reference: string, context: CommandContext): string {
  const shown = `"${escapeText(reference)}"`;
  const unreadable = `Cannot read the token in ${shown}`;
  const options = { what: "the token", maxBytes: MAX_TOKEN_BYTES, unreadable };
  const { text, stat } = readReference(reference, context, options);
  if (stat !== undefined && isOpenToOthers(stat, "read")) {
    context.stderr.write(`Warning: others may read ${shown}. Make its mode 0600\n`);
  }
  const token = text.trim();
  if (TOKEN.test(token)) return token;
  throw new ConfigError([`${shown} does not hold one token on one line`], EXIT.config);
}
