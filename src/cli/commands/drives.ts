// The commands on the drives of a configuration.

import { escapeText } from "../../core/errors/texts.js";
import { parseDuration } from "../arguments/duration.js";
import { UsageError } from "../arguments/options.js";
import type { DriveUser } from "../drives/context.js";
import { type Command, command, type Options, type Values } from "./command.js";
import { CONFIG as ANY_CONFIG, choiceOf, FLAG, KEY, OUT, value } from "./shared.js";

const DAY_SECONDS = 86_400;
const MIN_PART_BYTES = 2 ** 20;

const CONFIG = {
  ...ANY_CONFIG,
  required: true,
  text: "whose drives: the configuration of the venue; it may be running",
} as const;
const USER = { type: "string", value: "DID", example: '"$(venue-files key show alice)"' } as const;
const WHO = {
  user: { ...USER, text: "the user whose drives they are" },
  key: { ...KEY, text: "the same by a key of the user: a name, a path or env:NAME" },
} as const satisfies Options;
const JSON_OUT = { ...FLAG, text: "one line of JSON; failures too, on standard error" } as const;
const DRIVE = { type: "string", value: "NAME", example: "notes" } as const;
const STATUS = "64 usage, 66 file not readable, 78 configuration or file not usable";

const load = () => import("../drives/drives.js");

/** @throws UsageError */
function optionalUser({ user, key }: Values<typeof WHO>): DriveUser | undefined {
  if (user !== undefined && key !== undefined) throw new UsageError("Only one of --user and --key may be given");
  if (user !== undefined) return { did: user };
  return key === undefined ? undefined : { key };
}

/** @throws UsageError */
function requireUser(command: string, values: Values<typeof WHO>): DriveUser {
  const found = optionalUser(values);
  if (found !== undefined) return found;
  throw new UsageError(`'${command}' needs whose drives: --user DID, or --key for the holder of a key`);
}

const ls = command({
  usage: "drive ls [--user DID | --key KEY] --config FILE [--json]",
  text: "Lists the drives of a user; without one, all users with theirs.",
  options: { config: CONFIG, ...WHO, json: JSON_OUT },
  exits: `0 done, 1 the store is damaged or not reachable,
${STATUS}`,
  async run({ values }, context) {
    const target = { ...values, user: optionalUser(values) };
    const { withDrives, listDrives } = await load();
    return withDrives("ls", { target, context }, (work) => listDrives(target, work));
  },
});

const EXPORT = {
  config: CONFIG,
  ...WHO,
  drive: { ...DRIVE, text: "this drive only, without a signature" },
  top: value(
    "TOP",
    "drive",
    `signed: all drives, with the signature that proves whose they are (default); owners, region:
the same as peers keep it; drive: the one of --drive`,
  ),
  region: value("dlfs|fs", "fs", "with --top region; fs is that of Convex"),
  "part-bytes": value("N", "50000000", "several files of at most N bytes, numbered; all are needed to read them"),
  json: JSON_OUT,
} as const satisfies Options;

/** @throws UsageError */
function exportOf(values: Values<typeof EXPORT>, file: string) {
  const { drive } = values;
  const top =
    choiceOf("top", values.top, ["signed", "drive", "owners", "region"]) ?? (drive === undefined ? "signed" : "drive");
  const region = choiceOf("region", values.region, ["dlfs", "fs"]);
  const partBytes = partBytesOf(values["part-bytes"]);
  if (top === "drive" && drive === undefined) throw new UsageError("--top drive needs --drive");
  if (top !== "drive" && drive !== undefined)
    throw new UsageError(`--top ${top} is of all drives, so it takes no --drive`);
  if (region !== undefined && top !== "region") throw new UsageError("--region needs --top region");
  if (partBytes !== undefined && file === "-")
    throw new UsageError("--part-bytes makes several files, so it takes no -");
  return { file, drive, top, region, partBytes };
}

function partBytesOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= MIN_PART_BYTES) return value;
  throw new UsageError(`--part-bytes must be a whole number from ${MIN_PART_BYTES}, not '${escapeText(text)}'`);
}

const exporting = command({
  usage: `drive export FILE (--user DID | --key KEY) [--drive NAME] [--top TOP] [--region dlfs|fs]
                         [--part-bytes N] --config FILE [--json]`,
  text: "Writes drives into a new file, mode 0600; - is standard output. Nothing is ever overwritten.",
  words: { most: 1, needs: "a file for the export, or - for standard output" },
  options: EXPORT,
  example: 'venue-files drive export alice.cad3 --user "$DID" --config venue.json5',
  exits: `0 done, 1 there is no such drive or it is damaged,
${STATUS}`,
  async run({ values, words: [file = ""] }, context) {
    const { config, json } = values;
    const target = { config, json, user: requireUser("drive export", values), ...exportOf(values, file) };
    const { withDrives, checkExport, exportDrives } = await load();
    checkExport(file, context);
    return withDrives("export", { target, context }, (work) => exportDrives(target, work));
  },
});

const INCOMING = {
  config: CONFIG,
  ...WHO,
  from: { ...DRIVE, text: "which drive of the export" },
  source: {
    ...value(undefined, "reference"),
    heading: "--source reference",
    text: "it was written by Convex, where overwriting a file keeps its time",
  },
  json: JSON_OUT,
} as const satisfies Options;
const INCOMING_FILES = { most: Infinity, needs: "the files of an export, in their order" } as const;

/** @throws UsageError */
const incomingOf = (name: string, values: Values<typeof INCOMING>, files: readonly string[]) => ({
  ...{ config: values.config, json: values.json, files, from: values.from },
  ...{ user: requireUser(name, values), source: choiceOf("source", values.source, ["reference"]) },
});

const importing = command({
  usage: `drive import FILE… (--user DID | --key KEY) [--drive NAME [--from NAME]] [--source reference]
                         --config FILE`,
  text: `Merges the files of one export, in their order, into the drives of a user: of two versions the later one stays.
Nothing is kept unless all of it is right. Drives that a key of the user has signed come back under their names; those
of others, and drives without a signature, go one by one into the drive that is named. - is standard input.`,
  words: INCOMING_FILES,
  options: { drive: { ...DRIVE, text: "the drive it goes into, new or existing" }, ...INCOMING },
  exits: `0 done, 1 not imported,
${STATUS}`,
  async run({ values, words }, context) {
    const target = { ...incomingOf("drive import", values, words), drive: values.drive };
    const { withDrives, importDrives } = await load();
    return withDrives("import", { target, context }, (work) => importDrives("import", target, work));
  },
});

const merging = command({
  usage: `drive merge FILE… --drive NAME (--user DID | --key KEY) [--from NAME] [--source reference]
                        --config FILE [--json]`,
  text: "Does what import does, into a drive that must be there.",
  words: INCOMING_FILES,
  options: { drive: { ...DRIVE, required: true, text: "the drive it is merged into" }, ...INCOMING },
  exits: `0 done, 1 not merged,
${STATUS}`,
  async run({ values, words }, context) {
    const target = { ...incomingOf("drive merge", values, words), drive: values.drive };
    const { withDrives, mergeDrives } = await load();
    return withDrives("import", { target, context }, (work) => mergeDrives(target, work));
  },
});

const verifying = command({
  usage: `drive verify (--user DID | --key KEY) [--drive NAME] [--clamp-times] --config FILE
                         [--json]`,
  text: "Reads everything in the drives of a user, or in one, and names what is damaged.",
  options: {
    config: CONFIG,
    ...WHO,
    drive: { ...DRIVE, text: "this drive only" },
    "clamp-times": {
      ...FLAG,
      text: `first sets times ahead of this machine's clock to now, as one signed change: what a wrong
clock has left would win every merge, and no import takes it`,
    },
    json: JSON_OUT,
  },
  exits: `0 all is whole, 1 something is damaged,
${STATUS}`,
  async run({ values }, context) {
    const { config, json, drive, "clamp-times": clampTimes } = values;
    const target = { config, json, drive, clampTimes, user: requireUser("drive verify", values) };
    const { withDrives, verifyDrives } = await load();
    return withDrives("verify", { target, context }, (work) => verifyDrives(target, work));
  },
});

/** @throws UsageError */
function graceOf(text: string | undefined): number {
  const seconds = text === undefined ? DAY_SECONDS : parseDuration(text);
  if (seconds !== undefined) return seconds;
  throw new UsageError(`--grace takes a whole number and s, m, h or d, such as 24h, not '${escapeText(text ?? "")}'`);
}

const collecting = command({
  usage: "drive gc [--dry-run] [--grace 24h] --config FILE [--json]",
  text: "Removes what no drive needs any more; a venue does that by itself now and then. Can be stopped and started over.",
  options: {
    config: CONFIG,
    "dry-run": { ...FLAG, text: "only counts" },
    grace: {
      ...value(undefined, "24h"),
      heading: "--grace 24h",
      text: "what was written or needed this recently stays: a whole number and s, m, h or d",
    },
    json: JSON_OUT,
  },
  exits: `0 done, 1 the store is damaged, so that nothing was removed,
${STATUS}`,
  async run({ values }, context) {
    const task = { json: values.json, graceSeconds: graceOf(values.grace), dryRun: values["dry-run"] };
    const { withDrives, collectDrives } = await load();
    return withDrives("gc", { target: values, context }, (work) => collectDrives(task, work));
  },
});

const upgrading = command({
  usage: "drive upgrade --config FILE [--json]",
  text: `Raises the store of the drives to the newest format that this version knows, as a whole or not at all, and says
which it has. A venue never does so by itself, since older versions cannot read the store afterwards. Before a raise
stop all venues that use the store, and make a backup of the drives.`,
  options: { config: CONFIG, json: JSON_OUT },
  exits: `0 the store is of the newest format, 1 a venue is using it,
${STATUS}`,
  async run({ values }, context) {
    const { withDrives, upgradeDrives } = await load();
    return withDrives("upgrade", { target: values, context }, (work) => upgradeDrives(values.json, work));
  },
});

const exportingKey = command({
  usage: "drive export-key --user DID [--out FILE] --config FILE",
  text: `Writes the key that signs a user's drives, for a user who leaves with them: 64 hex digits. Whoever has it can sign
drives of that user for ever, and the operator of the venue keeps it.`,
  options: {
    config: CONFIG,
    user: { ...USER, required: true, text: "whose key" },
    out: { ...OUT, text: "a new file, mode 0600; - shows it even on a terminal" },
  },
  exits: `0 done, 1 the user has no key, or it was sealed by another venue,
${STATUS}`,
  async run({ values: { config, user, out } }, context) {
    const target = { config, user: { did: user } };
    const { withDrives, checkTokenOutput, exportKey } = await load();
    checkTokenOutput(out, context, "key");
    return withDrives("export-key", { target, context }, (work) => exportKey(user, out, work));
  },
});

const importingKey = command({
  usage: "drive import-key FILE --user DID --config FILE",
  text: `Adds a key to those of a user, and prints its public half. Exports that it has signed are the user's own from then on.
Where the user has a key already, that one goes on signing.`,
  words: {
    most: 1,
    needs: "a file with the key",
    heading: "FILE",
    text: "64 hex digits, mode 0600; env:NAME does, too",
  },
  options: { config: CONFIG, user: { ...USER, required: true, text: "whose it becomes" } },
  exits: `0 done,
${STATUS}`,
  async run({ values: { config, user }, words: [file = ""] }, context) {
    const target = { config, user: { did: user } };
    const { withDrives, importKey } = await load();
    return withDrives("import-key", { target, context }, (work) => importKey(user, file, work));
  },
});

export const DRIVES: Readonly<Record<string, Command>> = {
  ...{ "drive ls": ls, "drive export": exporting, "drive import": importing, "drive merge": merging },
  ...{ "drive verify": verifying, "drive gc": collecting, "drive upgrade": upgrading },
  ...{ "drive export-key": exportingKey, "drive import-key": importingKey },
};

/** Help for the drive commands as a whole. */
export const DRIVES_HELP = `venue-files drive <command> --config FILE

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
