// The commands on backups.

import { UsageError } from "../arguments/options.js";
import { command } from "./command.js";
import { CONFIG, FLAG, list, value } from "./shared.js";

const PASSPHRASE = { type: "string", value: "FILE", example: "env:BACKUP_PASSPHRASE" } as const;

const create = command({
  usage: `backup create FILE --config FILE [--drives] [--roots NAME]…
                          (--passphrase FILE | --plaintext)`,
  text: `Writes keys, access tokens, revocations and journal of a venue into one new file, mode 0600, each as of one moment; the
venue may be serving. Encrypted it can be read only with the passphrase; without, it is a tar archive.`,
  words: { most: 1, needs: "a new file, for example: venue-files backup create venue.backup" },
  options: {
    config: { ...CONFIG, required: true, text: "whose state it is" },
    drives: { ...FLAG, text: "drives on this machine too; those in a bucket have its versioning" },
    roots: list(
      "NAME",
      "docs",
      `all that is in this root too, what is denied as well; may be repeated. Links and names that
are not UTF-8 are left out, and named on standard error`,
    ),
    passphrase: {
      ...PASSPHRASE,
      text: "encrypts it: 12 characters or more, the first line of a file; env:NAME too",
    },
    plaintext: { ...FLAG, text: "does not, although it holds keys" },
  },
  example: "venue-files backup create venue.backup --drives --passphrase env:PASSPHRASE --config venue.json5",
  exits: `0 done, 64 usage, 66 a file that cannot be read or written, 78 FILE is there already, or the drives
are in a bucket`,
  locates: true,
  async run({ values, words: [file = ""] }, context) {
    if (values.passphrase !== undefined && values.plaintext) {
      throw new UsageError("--passphrase and --plaintext exclude one another");
    }
    return (await import("../backup/create.js")).backupCreate({ file, ...values }, context);
  },
});

const restore = command({
  usage: `backup restore [FILE] --config FILE [--passphrase FILE]
                           [--revocations FILE | --accept-old-tokens]`,
  text: `Puts a backup where the configuration says, which must be empty. All of it is verified first; then all of it is there,
or nothing. Tokens that were issued up to the moment of the backup are refused, since some may have been revoked after
it, until you decide, then or later without FILE:`,
  words: { most: 1 },
  options: {
    config: { ...CONFIG, required: true, text: "the venue; its stateDir, seedFile and so on are where it goes" },
    passphrase: { ...PASSPHRASE, text: "that of the backup; env:NAME too" },
    revocations: value(
      "FILE",
      "revocations",
      "a newer revocation list: what it names stays revoked, all other tokens are accepted",
    ),
    "accept-old-tokens": { ...FLAG, text: "accept them as the backup has them" },
  },
  example: "venue-files backup restore venue.backup --passphrase env:PASSPHRASE --config venue.json5",
  exits: "0 done, 64 usage, 66 file not readable, 78 the place is not empty, or FILE is damaged or another's",
  locates: true,
  async run({ values, words: [file] }, context) {
    const { "accept-old-tokens": acceptOldTokens, ...others } = values;
    if (file === undefined && values.revocations === undefined && !acceptOldTokens) {
      throw new UsageError("'backup restore' needs the file of a backup, or --revocations or --accept-old-tokens");
    }
    return (await import("../backup/restore.js")).backupRestore({ ...others, file, acceptOldTokens }, context);
  },
});

export const BACKUP = { "backup create": create, "backup restore": restore };
