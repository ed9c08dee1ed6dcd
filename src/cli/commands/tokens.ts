// The commands on keys, tokens and the audit.

import { escapeText } from "../../core/errors/texts.js";
import { UsageError } from "../arguments/options.js";
import { command } from "./command.js";
import {
  CONFIG,
  FLAG,
  FOR,
  KEY,
  lifetimeOf,
  OUT,
  PROFILE,
  PROOF,
  pairCapabilities,
  TO,
  TOKEN,
  value,
  WANTED,
} from "./shared.js";

const KEYS = `A key is a file with 64 hex digits, mode 0600. A plain name stands for a file in 'keys' in the state directory
(XDG_STATE_HOME, else ~/.local/state); anything with a / \\ or . in it is a path. env:NAME names an environment variable.`;
const SIGNER = { ...KEY, text: "who signs: the name of a key, a path or env:NAME" } as const;
const TOKEN_OUT = { ...OUT, text: "a new file for the token, mode 0600; - shows it even on a terminal" } as const;
const STATE_CONFIG = { ...CONFIG, text: "its 'stateDir' counts in place of the user's" } as const;

const keyNew = command({
  usage: "key new NAME [--config FILE]",
  text: `Makes an Ed25519 key and prints its DID, which is who its holder is. Nothing is ever overwritten.

${KEYS}`,
  words: { most: 1, needs: "a name or a path for the key, for example: venue-files key new alice" },
  options: { config: STATE_CONFIG },
  example: "venue-files key new alice",
  exits: "0 made, 64 usage, 66 it cannot be made there, 78 something is there already",
  run: async ({ values, words: [key = ""] }, context) =>
    (await import("../tokens/key.js")).keyNew(key, values.config, context),
});

const keyShow = command({
  usage: "key show [KEY] [--config FILE]",
  text: `Prints the DID of a key; without an argument, the names and DIDs of all keys in the state directory.

${KEYS}`,
  words: { most: 1 },
  options: { config: STATE_CONFIG },
  example: "venue-files key show alice",
  exits: "0 done, 64 usage, 66 no such key, 78 it cannot be used",
  run: async ({ values, words: [key] }, context) =>
    (await import("../tokens/key.js")).keyShow(key, values.config, context),
});

/** @throws UsageError */
function profileOf(text = "covia"): "covia" | "ucan-0.8" {
  if (text === "covia" || text === "ucan-0.8") return text;
  throw new UsageError(`--profile must be covia or ucan-0.8, not '${escapeText(text)}'`);
}

const grant = command({
  usage: `grant --to DID (--with RESOURCE --can ABILITY)… [--for 1h] [--key KEY] [--config FILE]
                  [--proof FILE]… [--profile covia|ucan-0.8] [--out FILE]`,
  text: `Signs a token (UCAN) by which DID may do ABILITY on RESOURCE, which its signer owns or was given. Standard error tells
what it says, and the id by which it can be revoked; the token goes to standard output or into --out.`,
  options: {
    to: {
      ...TO,
      required: true,
      text: "who gets it; for what somebody sends to a venue in their own name, the DID of the venue",
    },
    with: {
      ...WANTED.with,
      text: "file://<root>/<path>: that and everything below; each with its own --can behind it",
    },
    can: { ...WANTED.can, text: "crud/read, crud/write, crud/delete, crud (all three) or exec/run" },
    for: { ...FOR, text: "how long: a whole number and s, m, h or d; default one hour, or as long as its proofs" },
    key: SIGNER,
    config: {
      ...CONFIG,
      text: "the venue it is for: without --key its own key signs; warns of what gives nothing there",
    },
    proof: {
      ...PROOF,
      text: "the token by which the signer was given what it gives on; env:NAME too; may be repeated",
    },
    profile: { ...PROFILE, heading: "--profile covia", text: "or ucan-0.8: the form of the token" },
    out: TOKEN_OUT,
  },
  example: `venue-files grant --to "$(venue-files key show bob)" --with file://docs/reports/ --can crud/read --for 1h \\
           --key alice --out bob.ucan`,
  exits: "0 made, 1 not made, since it would not hold, 64 usage, 66 file not readable, 78 file not usable",
  async run(line, context) {
    const { to, key, config, proof: proofs, out, profile: form, for: lifetime } = line.values;
    if (key === undefined && config === undefined) {
      throw new UsageError("'grant' needs who signs: --key, or --config for the key of that venue");
    }
    const capabilities = pairCapabilities(line);
    if (capabilities.length === 0) {
      throw new UsageError("'grant' needs what is given: --with file://docs/reports/ --can crud/read");
    }
    const lifetimeSeconds = lifetimeOf(lifetime);
    const profile = profileOf(form);
    const wish = { to, capabilities, lifetimeSeconds, key, config, proofs, profile, out };
    return (await import("../tokens/grant.js")).grant(wish, context);
  },
});

const inspect = command({
  usage: "token inspect FILE [--config FILE] [--key KEY] [--with RESOURCE --can ABILITY] [--json]",
  text: `Says who gives whom what until when, checks each link of the chain, and tells what the token allows and why not more.
FILE may hold several tokens, one a line; env:NAME and - for standard input do, too.`,
  words: { most: 1, needs: "a file, env:NAME or -, for example: venue-files token inspect a.ucan" },
  options: {
    config: { ...CONFIG, text: "the venue that judges: its roots, owners, limits and revocations" },
    key: { ...KEY, text: "whether the holder of this key can use it: a name, a path or env:NAME" },
    with: { ...WANTED.with, text: "whether it allows this, with --can: file://<root>/<path>" },
    can: { ...WANTED.can, text: "crud/read, crud/write, crud/delete, crud or exec/run" },
    json: { ...FLAG, text: "one line of JSON for each token, with whole DIDs" },
  },
  example: "venue-files token inspect bob.ucan --config venue.json5 --with file://docs/reports/q3.md --can crud/read",
  exits: "0 valid, 1 not, 64 usage, 66 file not readable, 78 no token, or a configuration that cannot be used",
  async run(line, context) {
    const { config, key, json } = line.values;
    const [wanted, ...more] = pairCapabilities(line);
    if (more.length > 0) throw new UsageError("'token inspect' takes one --with and --can");
    const [token = ""] = line.words;
    return (await import("../tokens/inspect.js")).tokenInspect({ token, config, key, wanted, json }, context);
  },
});

const identity = command({
  usage: "token identity --to DID --key KEY [--for 5m] [--config FILE] [--out FILE]",
  text: `Makes the token by which a venue knows the holder of a key: the bearer token of clients that cannot sign, such as curl.
Whoever has it is you until it ends, so it is short-lived.`,
  options: {
    to: { ...TO, required: true, text: "the venue: GET /api/v1/status tells it, and serve at its start" },
    key: { ...SIGNER, required: true },
    for: {
      ...FOR,
      heading: "--for 5m",
      text: "how long: a whole number and s, m, h or d; default five minutes; most venues take one hour",
    },
    config: { ...CONFIG, text: "its 'stateDir' counts for the names of keys" },
    out: TOKEN_OUT,
  },
  example: 'venue-files token identity --to "$VENUE_DID" --key bob --out bearer.jwt',
  exits: "0 made, 64 usage, 66 file not readable, 78 a file that cannot be used",
  async run({ values: { for: lifetime, ...wish } }, context) {
    const lifetimeSeconds = lifetimeOf(lifetime);
    return (await import("../tokens/identity-token.js")).tokenIdentity({ ...wish, lifetimeSeconds }, context);
  },
});

const revoke = command({
  usage: "revoke ID… [--token FILE] [--accept-list] --config FILE",
  text: `Writes the ids of tokens into the revocation list of a configuration ('auth.ucan.revocations', else 'revocations' in the
state directory). From then on they give nothing, nor does anything that rests on them; a running venue follows at once.
A DID in place of an id revokes every token that it signed. What was in force stays so when its line is gone from the
list, and the venue does not start, until --accept-list says that it was meant.`,
  words: { most: Infinity },
  options: {
    config: { ...CONFIG, required: true, text: "whose list it is" },
    token: { ...TOKEN, text: "a file with the tokens, in place of their ids; env:NAME does, too" },
    "accept-list": { ...FLAG, text: "take the list as it is now, without the lines that are gone from it" },
  },
  example: "venue-files revoke --token bob.ucan --config venue.json5",
  exits: "0 revoked, 64 usage, 66 file not readable, 78 a list or configuration that cannot be used",
  async run({ values, words: entries }, context) {
    const { config, token, "accept-list": acceptList } = values;
    if (entries.length === 0 && token === undefined && !acceptList) {
      throw new UsageError("'revoke' needs the id of a token, a DID, or --token FILE. See: token inspect");
    }
    return (await import("../tokens/revoke.js")).revoke({ entries, token, acceptList, config }, context);
  },
});

const auditVerify = command({
  usage: "audit verify FILE… [--did DID] [--config FILE] [--json]",
  text: `Reads the files of 'audit.file', rotated ones too, and says of each chain (one for every process that wrote) from where
to where it is intact, or which line is the first that was changed, removed, moved or added. Files are never altered.`,
  words: { most: Infinity },
  options: {
    did: value("DID", "did:key:z6Mk…", "the did:key of the venue, which must have signed; without it, see who signed"),
    config: {
      ...CONFIG,
      text: `in place of FILE…: its 'audit.file' with all rotated ones; also its 'stateDir', which knows
how far each chain went, so that a cut at the end shows,
and its key, which must have signed where --did names no other`,
    },
    json: { ...FLAG, text: "the whole report as JSON" },
  },
  example: "venue-files audit verify audit.jsonl* --did did:key:z6Mk…",
  exits: "0 intact, 1 not intact, 64 usage, 66 file not readable, 78 a configuration that cannot be used",
  run: async ({ values, words: files }, context) =>
    (await import("../audit/verify.js")).auditVerify({ files, ...values }, context),
});

/** In the order of their names in messages: those of a running venue's tokens lie between. */
export const KEYS_AND_GRANTS = { "key new": keyNew, "key show": keyShow, grant };
export const TOKENS = { "token inspect": inspect, "token identity": identity, revoke, "audit verify": auditVerify };
