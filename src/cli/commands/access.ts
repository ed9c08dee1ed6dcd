// The commands on links, access tokens, approvals and locks of a running venue.

import type { WantedAccess } from "../access/access.js";
import type { Desk, RunningTarget } from "../access/running-calls.js";
import { UsageError } from "../arguments/options.js";
import { reachOf } from "../arguments/remote.js";
import type { CommandContext } from "../context.js";
import { command, type Line, type Options, type Values } from "./command.js";
import {
  CAPS,
  CONFIG,
  FLAG,
  FOR,
  JSON_OUT,
  lifetimeOf,
  pairCapabilities,
  TOKEN,
  URL_OPTION,
  value,
  WANTED,
} from "./shared.js";

const PLACE = {
  config: { ...CONFIG, text: "whose venue; default: the one that runs with this user's state directory" },
  url: { ...URL_OPTION, text: "a venue elsewhere; --token FILE says who asks there: a file, or env:NAME" },
  token: TOKEN,
} as const satisfies Options;
const TARGET = { ...PLACE, json: JSON_OUT } as const satisfies Options;

/** @throws UsageError */
function targetOf({ config, url, token }: Values<typeof PLACE>): RunningTarget {
  const local = config === undefined ? [] : ["config"];
  return { remote: reachOf({ url, token, key: undefined, proofs: [], local }).remote, config };
}

const RIGHTS = {
  with: {
    ...WANTED.with,
    heading: "--with RESOURCE --can ABILITY",
    text: "what it may do, such as file://docs/ and crud/read; repeatable, in pairs",
  },
  can: WANTED.can,
  caps: { ...CAPS, text: "the same as a JSON5 list" },
  for: { ...FOR, text: "how long: a number and s, m, h or d" },
  label: value("TEXT", '"indexer"', "what it is for, shown in lists"),
  ...TARGET,
} as const satisfies Options;

/** @throws UsageError */
function wantedOf(line: Line<typeof RIGHTS>): WantedAccess {
  const { label, caps: capsFile, for: lifetime, json } = line.values;
  const capabilities = pairCapabilities(line);
  if (capabilities.length > 0 && capsFile !== undefined) {
    throw new UsageError("--caps takes the place of --with and --can");
  }
  return { label, capabilities, capsFile, lifetimeSeconds: lifetimeOf(lifetime), json };
}

type AccessModule = typeof import("../access/access.js");

/** Loads the code, and works at the venue that the options name. @throws UsageError */
async function atDesk(
  values: Values<typeof PLACE>,
  context: CommandContext,
  work: (access: AccessModule, desk: Desk) => Promise<number>,
): Promise<number> {
  const target = targetOf(values);
  const access = await import("../access/access.js");
  return access.atDesk(target, context, (desk) => work(access, desk));
}

const EXITS = "0 done, 1 refused by the venue, 64 usage, 66 file not readable, 69 no venue runs, 78 configuration";

const link = command({
  usage: `link [--with RESOURCE --can ABILITY]… [--for 1h] [--label TEXT]
                 [--config FILE | --url URL [--token FILE]]`,
  text: `Prints a link to a running venue that signs in whoever opens it first, within 15 minutes.
Without rights it signs in as you.`,
  options: RIGHTS,
  example: "venue-files link --with file://docs/ --can crud/read --for 8h --label Ada",
  exits: EXITS,
  async run(line, context) {
    const wanted = wantedOf(line);
    return atDesk(line.values, context, (access, desk) => access.issue("link", wanted, desk));
  },
});

const issue = command({
  usage: `token issue (--with RESOURCE --can ABILITY)… [--for 1h] [--label TEXT]
                        [--config FILE | --url URL [--token FILE]]`,
  text: `Prints an access token of a running venue, once. It may do what is given and what its maker may do at the time;
for an hour by default.`,
  options: RIGHTS,
  example: "TOKEN=$(venue-files token issue --with file://docs/ --can crud/read --label indexer)",
  exits: EXITS,
  async run(line, context) {
    const wanted = wantedOf(line);
    if (wanted.capabilities.length === 0 && wanted.capsFile === undefined) {
      throw new UsageError(
        "'token issue' needs what the token may do: --with file://docs/ --can crud/read, or --caps FILE",
      );
    }
    return atDesk(line.values, context, (access, desk) => access.issue("token", wanted, desk));
  },
});

const list = command({
  usage: "token ls [--json] [--config FILE | --url URL [--token FILE]]",
  text: `Lists who holds what in a running venue: owners, configuration, tokens, sessions, links, UCANs signed there.
It shows no secret.`,
  options: TARGET,
  example: "venue-files token ls",
  exits: EXITS,
  run: ({ values }, context) => atDesk(values, context, (access, desk) => access.listTokens(values.json, desk)),
});

const revoke = command({
  usage: "token revoke ID… [--keep] [--config FILE | --url URL [--token FILE]]",
  text: "Ends tokens, sessions, links and UCANs of a running venue at once, and all that was made through them.",
  words: { most: Infinity, needs: "the id of a token. See: venue-files token ls" },
  options: { keep: { ...FLAG, text: "end themselves alone" }, ...TARGET },
  example: "venue-files token revoke 4f6b1c0de2a94b7f8a3c5d6e7f809112",
  exits: EXITS,
  run: ({ values, words: ids }, context) =>
    atDesk(values, context, (access, desk) => access.revokeTokens(ids, values.keep, desk)),
});

const approvals = command({
  usage: "approvals [--json] [--config FILE | --url URL [--token FILE]]",
  text: `Shows calls that wait for a person (root option 'approve'), each with the difference it would make.
At a terminal it stays and asks about each: the code that is shown allows it once, n denies it. Elsewhere it lists
them and ends.`,
  options: TARGET,
  example: "venue-files approvals",
  exits: EXITS,
  run: ({ values }, context) => atDesk(values, context, (access, desk) => access.approvals(values.json, desk)),
});

const locks = command({
  usage: "lock ls [--json] [--config FILE | --url URL [--token FILE]]",
  text: `Lists the locks of WebDAV clients of a running venue: id, place, holder, what the client says of itself, since when
and until when.`,
  options: TARGET,
  example: "venue-files lock ls",
  exits: EXITS,
  run: ({ values }, context) => atDesk(values, context, (access, desk) => access.listLocks(values.json, desk)),
});

const drop = command({
  usage: "lock drop ID… [--config FILE | --url URL [--token FILE]]",
  text: `Ends locks that their clients have forgotten, at once, so that others can write. A client that still holds one is
refused when it saves.`,
  words: { most: Infinity, needs: "the id of a lock. See: venue-files lock ls" },
  options: PLACE,
  example: "venue-files lock drop 4f6b1c0de2a94b7f",
  exits: EXITS,
  run: ({ values, words: ids }, context) => atDesk(values, context, (access, desk) => access.dropLocks(ids, desk)),
});

export const ACCESS = {
  ...{ link, "token issue": issue, "token ls": list, "token revoke": revoke },
  ...{ approvals, "lock ls": locks, "lock drop": drop },
};
