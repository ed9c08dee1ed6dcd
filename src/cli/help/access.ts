// Help on links, access tokens, approvals and locks of a running venue.

const TARGET = `  --config FILE           whose venue; default: the one that runs with this user's state directory
  --url URL               a venue elsewhere; --token FILE says who asks there: a file, or env:NAME
  --json                  one line of JSON for each`;

const WANTED = `  --with RESOURCE --can ABILITY   what it may do, such as file://docs/ and crud/read; repeatable, in pairs
  --caps FILE             the same as a JSON5 list
  --for 1h                how long: a number and s, m, h or d
  --label TEXT            what it is for, shown in lists`;

const EXITS =
  "Exit status: 0 done, 1 refused by the venue, 64 usage, 66 file not readable, 69 no venue runs, 78 configuration";

export const ACCESS_HELP = {
  link: `venue-files link [--with RESOURCE --can ABILITY]… [--for 1h] [--label TEXT]
                 [--config FILE | --url URL [--token FILE]]

Prints a link to a running venue that signs in whoever opens it first, within 15 minutes.
Without rights it signs in as you.

${WANTED}
${TARGET}

Example: venue-files link --with file://docs/ --can crud/read --for 8h --label Ada

${EXITS}
`,
  "token issue": `venue-files token issue (--with RESOURCE --can ABILITY)… [--for 1h] [--label TEXT]
                        [--config FILE | --url URL [--token FILE]]

Prints an access token of a running venue, once. It may do what is given and what its maker may do at the time;
for an hour by default.

${WANTED}
${TARGET}

Example: TOKEN=$(venue-files token issue --with file://docs/ --can crud/read --label indexer)

${EXITS}
`,
  "token ls": `venue-files token ls [--json] [--config FILE | --url URL [--token FILE]]

Lists who holds what in a running venue: owners, configuration, tokens, sessions, links, UCANs signed there.
It shows no secret.

${TARGET}

Example: venue-files token ls

${EXITS}
`,
  "token revoke": `venue-files token revoke ID… [--keep] [--config FILE | --url URL [--token FILE]]

Ends tokens, sessions, links and UCANs of a running venue at once, and all that was made through them.

  --keep                  end themselves alone
${TARGET}

Example: venue-files token revoke 4f6b1c0de2a94b7f8a3c5d6e7f809112

${EXITS}
`,
  approvals: `venue-files approvals [--json] [--config FILE | --url URL [--token FILE]]

Shows calls that wait for a person (root option 'approve'), each with the difference it would make.
At a terminal it stays and asks about each: the code that is shown allows it once, n denies it. Elsewhere it lists
them and ends.

${TARGET}

Example: venue-files approvals

${EXITS}
`,
  "lock ls": `venue-files lock ls [--json] [--config FILE | --url URL [--token FILE]]

Lists the locks of WebDAV clients of a running venue: id, place, holder, what the client says of itself, since when
and until when.

${TARGET}

Example: venue-files lock ls

${EXITS}
`,
  "lock drop": `venue-files lock drop ID… [--config FILE | --url URL [--token FILE]]

Ends locks that their clients have forgotten, at once, so that others can write. A client that still holds one is
refused when it saves.

  --config FILE           whose venue; default: the one that runs with this user's state directory
  --url URL               a venue elsewhere; --token FILE says who asks there: a file, or env:NAME

Example: venue-files lock drop 4f6b1c0de2a94b7f

${EXITS}
`,
} as const;
