// Help on the drive commands.

import type { CommandName } from "../arguments/options.js";

const CONFIG = "  --config FILE           whose drives: the configuration of the venue; it may be running";
const WHO = `  --user DID              the user whose drives they are
  --key KEY               the same by a key of the user: a name, a path or env:NAME`;
const JSON_OUT = "  --json                  one line of JSON; failures too, on standard error";
const STATUS = "64 usage, 66 file not readable, 78 configuration or file not usable";

const ls = `venue-files drive ls [--user DID | --key KEY] --config FILE [--json]

Lists the drives of a user; without one, all users with theirs.

${CONFIG}
${WHO}
${JSON_OUT}

Exit status: 0 done, 1 the store is damaged or not reachable,
${STATUS}
`;

const exporting = `venue-files drive export FILE (--user DID | --key KEY) [--drive NAME] [--top TOP] [--region dlfs|fs]
                         [--part-bytes N] --config FILE [--json]

Writes drives into a new file, mode 0600; - is standard output. Nothing is ever overwritten.

${CONFIG}
${WHO}
  --drive NAME            this drive only, without a signature
  --top TOP               signed: all drives, with the signature that proves whose they are (default); owners, region:
                          the same as peers keep it; drive: the one of --drive
  --region dlfs|fs        with --top region; fs is that of Convex
  --part-bytes N          several files of at most N bytes, numbered; all are needed to read them
${JSON_OUT}

Example: venue-files drive export alice.cad3 --user "$DID" --config venue.json5

Exit status: 0 done, 1 there is no such drive or it is damaged,
${STATUS}
`;

const IMPORTED = `${CONFIG}
${WHO}
  --from NAME             which drive of the export
  --source reference      it was written by Convex, where overwriting a file keeps its time
${JSON_OUT}`;

const importing = `venue-files drive import FILE… (--user DID | --key KEY) [--drive NAME [--from NAME]] [--source reference]
                         --config FILE

Merges the files of one export, in their order, into the drives of a user: of two versions the later one stays.
Nothing is kept unless all of it is right. Drives that a key of the user has signed come back under their names; those
of others, and drives without a signature, go one by one into the drive that is named. - is standard input.

  --drive NAME            the drive it goes into, new or existing
${IMPORTED}

Exit status: 0 done, 1 not imported,
${STATUS}
`;

const merging = `venue-files drive merge FILE… --drive NAME (--user DID | --key KEY) [--from NAME] [--source reference]
                        --config FILE [--json]

Does what import does, into a drive that must be there.

  --drive NAME            the drive it is merged into
${IMPORTED}

Exit status: 0 done, 1 not merged,
${STATUS}
`;

const verifying = `venue-files drive verify (--user DID | --key KEY) [--drive NAME] [--clamp-times] --config FILE
                         [--json]

Reads everything in the drives of a user, or in one, and names what is damaged.

${CONFIG}
${WHO}
  --drive NAME            this drive only
  --clamp-times           first sets times ahead of this machine's clock to now, as one signed change: what a wrong
                          clock has left would win every merge, and no import takes it
${JSON_OUT}

Exit status: 0 all is whole, 1 something is damaged,
${STATUS}
`;

const collecting = `venue-files drive gc [--dry-run] [--grace 24h] --config FILE [--json]

Removes what no drive needs any more; a venue does that by itself now and then. Can be stopped and started over.

${CONFIG}
  --dry-run               only counts
  --grace 24h             what was written or needed this recently stays: a whole number and s, m, h or d
${JSON_OUT}

Exit status: 0 done, 1 the store is damaged, so that nothing was removed,
${STATUS}
`;

const upgrading = `venue-files drive upgrade --config FILE [--json]

Raises the store of the drives to the newest format that this version knows, as a whole or not at all, and says
which it has. A venue never does so by itself, since older versions cannot read the store afterwards. Before a raise
stop all venues that use the store, and make a backup of the drives.

${CONFIG}
${JSON_OUT}

Exit status: 0 the store is of the newest format, 1 a venue is using it,
${STATUS}
`;

const exportingKey = `venue-files drive export-key --user DID [--out FILE] --config FILE

Writes the key that signs a user's drives, for a user who leaves with them: 64 hex digits. Whoever has it can sign
drives of that user for ever, and the operator of the venue keeps it.

${CONFIG}
  --user DID              whose key
  --out FILE              a new file, mode 0600; - shows it even on a terminal

Exit status: 0 done, 1 the user has no key, or it was sealed by another venue,
${STATUS}
`;

const importingKey = `venue-files drive import-key FILE --user DID --config FILE

Adds a key to those of a user, and prints its public half. Exports that it has signed are the user's own from then on.
Where the user has a key already, that one goes on signing.

  FILE                    64 hex digits, mode 0600; env:NAME does, too
${CONFIG}
  --user DID              whose it becomes

Exit status: 0 done,
${STATUS}
`;

/** Help for each drive command. */
export const DRIVE_TOPICS = {
  "drive ls": ls,
  "drive export": exporting,
  "drive import": importing,
  "drive merge": merging,
  "drive verify": verifying,
  "drive gc": collecting,
  "drive upgrade": upgrading,
  "drive export-key": exportingKey,
  "drive import-key": importingKey,
} as const satisfies Readonly<Partial<Record<CommandName, string>>>;

/** Help for the drive commands as a whole. */
export const DRIVES = `venue-files drive <command> --config FILE

Works on the drives that a configuration keeps, with the rights of whoever can read its key.

  drive ls                list users and their drives
  drive export FILE       write drives into a file that can be taken elsewhere
  drive import FILE…      merge an export into the drives of a user
  drive merge FILE…       the same into a drive that must be there
  drive verify            read everything and name what is damaged
  drive gc                remove what no drive needs any more
  drive upgrade           raise the format of their store after an update
  drive export-key        the key that signs a user's drives, to be taken along
  drive import-key FILE   let drives that a key has signed be a user's own

More about one: venue-files help drive export
`;
