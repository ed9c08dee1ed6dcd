// The `token identity` command.

import { systemClock } from "../../core/clock.js";
import { mintIdentity } from "../../ucan/mint/claims.js";
import { printDuration, printTime } from "../arguments/duration.js";
import { type CommandContext, EXIT } from "../context.js";
import { loadOptionalConfig } from "../load-config.js";
import { shortDid } from "../output/did.js";
import { checkTo } from "./grant.js";
import { keyPlace, openSigningKey } from "./signing-key.js";
import { checkTokenOutput, putToken } from "./token-output.js";

/** Default lifetime, as of Covia clients; short, since a holder of the token acts as that caller. */
const LIFETIME_SECONDS = 300;
/** Maximum lifetime that a venue accepts by default. */
const DEFAULT_MAX_SECONDS = 3600;

/** `venue-files token identity`: mints the bearer token that authenticates the holder of a key to a venue. */
export async function tokenIdentity(
  command: {
    readonly to: string;
    readonly key: string;
    readonly lifetimeSeconds: number | undefined;
    readonly config: string | undefined;
    readonly out: string | undefined;
  },
  context: CommandContext,
): Promise<number> {
  const { to, lifetimeSeconds = LIFETIME_SECONDS, out } = command;
  checkTokenOutput(out, context);
  checkTo(to);
  const config = loadOptionalConfig(command.config, context.cwd);
  const key = openSigningKey(command.key, keyPlace(config, context));
  const token = mintIdentity({ key, audience: to, lifetimeSeconds, clock: systemClock });
  await putToken(token, out, context);
  const end = printTime(Math.floor(systemClock.nowMs() / 1000) + lifetimeSeconds);
  context.stderr.write(
    `Whoever holds this token is ${shortDid(key.did)} to ${shortDid(to)} until ${end} (${printDuration(lifetimeSeconds)})\n`,
  );
  const most = config?.auth.maxIdentityLifetime ?? DEFAULT_MAX_SECONDS;
  if (lifetimeSeconds > most) {
    const who = config === undefined ? "most venues take" : "this venue takes";
    context.stderr.write(`Warning: ${who} no identity token that lives longer than ${printDuration(most)}\n`);
  }
  return EXIT.ok;
}
