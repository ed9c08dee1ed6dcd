// Help on keys and tokens.

// Help on `audit verify`.

const AUDIT_VERIFY = `venue-files audit verify FILE… [--did DID] [--config FILE] [--json]

Reads the files of 'audit.file', rotated ones too, and says of each chain (one for every process that wrote) from where
to where it is intact, or which line is the first that was changed, removed, moved or added. Files are never altered.

  --did DID               the did:key of the venue, which must have signed; without it, see who signed
  --config FILE           in place of FILE…: its 'audit.file' with all rotated ones; also its 'stateDir', which knows
                          how far each chain went, so that a cut at the end shows,
                          and its key, which must have signed where --did names no other
  --json                  the whole report as JSON

Example: venue-files audit verify audit.jsonl* --did did:key:z6Mk…

Exit status: 0 intact, 1 not intact, 64 usage, 66 file not readable, 78 a configuration that cannot be used
`;

const SIGNER_OPTION = "  --key KEY               who signs: the name of a key, a path or env:NAME";
const OUT_OPTION = "  --out FILE              a new file for the token, mode 0600; - shows it even on a terminal";

const KEYS = `A key is a file with 64 hex digits, mode 0600. A plain name stands for a file in 'keys' in the state directory
(XDG_STATE_HOME, else ~/.local/state); anything with a / \\ or . in it is a path. env:NAME names an environment variable.`;

/** Help of the commands on keys and tokens. */
export const TOKEN_TOPICS = {
  "key new": `venue-files key new NAME [--config FILE]

Makes an Ed25519 key and prints its DID, which is who its holder is. Nothing is ever overwritten.

${KEYS}

  --config FILE           its 'stateDir' counts in place of the user's

Example: venue-files key new alice

Exit status: 0 made, 64 usage, 66 it cannot be made there, 78 something is there already
`,
  "key show": `venue-files key show [KEY] [--config FILE]

Prints the DID of a key; without an argument, the names and DIDs of all keys in the state directory.

${KEYS}

  --config FILE           its 'stateDir' counts in place of the user's

Example: venue-files key show alice

Exit status: 0 done, 64 usage, 66 no such key, 78 it cannot be used
`,
  grant: `venue-files grant --to DID (--with RESOURCE --can ABILITY)… [--for 1h] [--key KEY] [--config FILE]
                  [--proof FILE]… [--profile covia|ucan-0.8] [--out FILE]

Signs a token (UCAN) by which DID may do ABILITY on RESOURCE, which its signer owns or was given. Standard error tells
what it says, and the id by which it can be revoked; the token goes to standard output or into --out.

  --to DID                who gets it; for what somebody sends to a venue in their own name, the DID of the venue
  --with RESOURCE         file://<root>/<path>: that and everything below; each with its own --can behind it
  --can ABILITY           crud/read, crud/write, crud/delete, crud (all three) or exec/run
  --for 1h                how long: a whole number and s, m, h or d; default one hour, or as long as its proofs
${SIGNER_OPTION}
  --config FILE           the venue it is for: without --key its own key signs; warns of what gives nothing there
  --proof FILE            the token by which the signer was given what it gives on; env:NAME too; may be repeated
  --profile covia         or ucan-0.8: the form of the token
${OUT_OPTION}

Example: venue-files grant --to "$(venue-files key show bob)" --with file://docs/reports/ --can crud/read --for 1h \\
           --key alice --out bob.ucan

Exit status: 0 made, 1 not made, since it would not hold, 64 usage, 66 file not readable, 78 file not usable
`,
  "token inspect": `venue-files token inspect FILE [--config FILE] [--key KEY] [--with RESOURCE --can ABILITY] [--json]

Says who gives whom what until when, checks each link of the chain, and tells what the token allows and why not more.
FILE may hold several tokens, one a line; env:NAME and - for standard input do, too.

  --config FILE           the venue that judges: its roots, owners, limits and revocations
  --key KEY               whether the holder of this key can use it: a name, a path or env:NAME
  --with RESOURCE         whether it allows this, with --can: file://<root>/<path>
  --can ABILITY           crud/read, crud/write, crud/delete, crud or exec/run
  --json                  one line of JSON for each token, with whole DIDs

Example: venue-files token inspect bob.ucan --config venue.json5 --with file://docs/reports/q3.md --can crud/read

Exit status: 0 valid, 1 not, 64 usage, 66 file not readable, 78 no token, or a configuration that cannot be used
`,
  "token identity": `venue-files token identity --to DID --key KEY [--for 5m] [--config FILE] [--out FILE]

Makes the token by which a venue knows the holder of a key: the bearer token of clients that cannot sign, such as curl.
Whoever has it is you until it ends, so it is short-lived.

  --to DID                the venue: GET /api/v1/status tells it, and serve at its start
${SIGNER_OPTION}
  --for 5m                how long: a whole number and s, m, h or d; default five minutes; most venues take one hour
  --config FILE           its 'stateDir' counts for the names of keys
${OUT_OPTION}

Example: venue-files token identity --to "$VENUE_DID" --key bob --out bearer.jwt

Exit status: 0 made, 64 usage, 66 file not readable, 78 a file that cannot be used
`,
  revoke: `venue-files revoke ID… [--token FILE] [--accept-list] --config FILE

Writes the ids of tokens into the revocation list of a configuration ('auth.ucan.revocations', else 'revocations' in the
state directory). From then on they give nothing, nor does anything that rests on them; a running venue follows at once.
A DID in place of an id revokes every token that it signed. What was in force stays so when its line is gone from the
list, and the venue does not start, until --accept-list says that it was meant.

  --config FILE           whose list it is
  --token FILE            a file with the tokens, in place of their ids; env:NAME does, too
  --accept-list           take the list as it is now, without the lines that are gone from it

Example: venue-files revoke --token bob.ucan --config venue.json5

Exit status: 0 revoked, 64 usage, 66 file not readable, 78 a list or configuration that cannot be used
`,
  "audit verify": AUDIT_VERIFY,
} as const;
