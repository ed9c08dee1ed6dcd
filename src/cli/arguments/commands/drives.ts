// The command lines of `drive …`.

import { escapeText } from "../../../core/errors/texts.js";
import { parseDuration } from "../duration.js";
import { requiredValue, singleValue, UsageError, type Values } from "../options.js";

/** Owner of the drives, by DID or by key. */
export type DriveUser = { readonly did: string } | { readonly key: string };

interface OnStore {
  readonly config: string;
  readonly json: boolean;
}

/** Common fields of `import` and `merge`. */
interface Incoming extends OnStore {
  readonly user: DriveUser;
  /** All parts of one export, in order; `-`: standard input. */
  readonly files: readonly [string, ...string[]];
  readonly from: string | undefined;
  readonly source: "reference" | undefined;
}

/** A parsed drive command. */
export type DriveCommand =
  | (OnStore & { readonly name: "drive ls"; readonly user: DriveUser | undefined })
  | (OnStore & {
      readonly name: "drive export";
      readonly user: DriveUser;
      /** `-`: standard output. */
      readonly file: string;
      readonly drive: string | undefined;
      readonly top: "signed" | "drive" | "owners" | "region";
      readonly region: "dlfs" | "fs" | undefined;
      readonly partBytes: number | undefined;
    })
  | (Incoming & { readonly name: "drive import"; readonly drive: string | undefined })
  | (Incoming & { readonly name: "drive merge"; readonly drive: string })
  | (OnStore & {
      readonly name: "drive verify";
      readonly user: DriveUser;
      readonly drive: string | undefined;
      readonly clampTimes: boolean;
    })
  | (OnStore & { readonly name: "drive gc"; readonly graceSeconds: number; readonly dryRun: boolean })
  | (OnStore & { readonly name: "drive upgrade" })
  | {
      readonly name: "drive export-key";
      readonly config: string;
      readonly user: string;
      readonly out: string | undefined;
    }
  | { readonly name: "drive import-key"; readonly config: string; readonly user: string; readonly file: string };

const DAY_SECONDS = 86_400;
const MIN_PART_BYTES = 2 ** 20;
const TOPS = ["signed", "drive", "owners", "region"] as const;
const REGIONS = ["dlfs", "fs"] as const;

/** Parses a drive command. @param words arguments after the command @throws UsageError */
export function parseDriveCommand(name: DriveCommand["name"], words: readonly string[], values: Values): DriveCommand {
  const config = requiredValue(values, name, "config");
  const on = { config, json: values.has("json") };
  const drive = singleValue(values, "drive");
  switch (name) {
    case "drive ls":
      refuseArguments(name, words);
      return { name, ...on, user: optionalUser(values) };
    case "drive export":
      return { name, ...on, user: requireUser(name, values), ...parseExport(name, words, values) };
    case "drive import":
      return { name, ...on, ...parseImport(name, words, values), drive };
    case "drive merge":
      return { name, ...on, ...parseImport(name, words, values), drive: requiredValue(values, name, "drive") };
    case "drive verify":
      refuseArguments(name, words);
      return { name, ...on, user: requireUser(name, values), drive, clampTimes: values.has("clamp-times") };
    case "drive gc":
      refuseArguments(name, words);
      return { name, ...on, graceSeconds: parseGrace(values), dryRun: values.has("dry-run") };
    case "drive upgrade":
      refuseArguments(name, words);
      return { name, ...on };
    case "drive export-key":
      refuseArguments(name, words);
      return { name, config, user: requiredValue(values, name, "user"), out: singleValue(values, "out") };
    case "drive import-key":
      return {
        name,
        config,
        user: requiredValue(values, name, "user"),
        file: requireArgument(name, words, "a file with the key"),
      };
  }
}

function optionalUser(values: Values): DriveUser | undefined {
  const [did, key] = [singleValue(values, "user"), singleValue(values, "key")];
  if (did !== undefined && key !== undefined) throw new UsageError("Only one of --user and --key may be given");
  if (did !== undefined) return { did };
  return key === undefined ? undefined : { key };
}

function requireUser(name: DriveCommand["name"], values: Values): DriveUser {
  const found = optionalUser(values);
  if (found !== undefined) return found;
  throw new UsageError(`'${name}' needs whose drives: --user DID, or --key for the holder of a key`);
}

function parseExport(name: "drive export", words: readonly string[], values: Values) {
  const file = requireArgument(name, words, "a file for the export, or - for standard output");
  const drive = singleValue(values, "drive");
  const top = parseChoice(values, "top", TOPS) ?? (drive === undefined ? "signed" : "drive");
  const region = parseChoice(values, "region", REGIONS);
  const partBytes = parsePartBytes(values);
  if (top === "drive" && drive === undefined) throw new UsageError("--top drive needs --drive");
  if (top !== "drive" && drive !== undefined)
    throw new UsageError(`--top ${top} is of all drives, so it takes no --drive`);
  if (region !== undefined && top !== "region") throw new UsageError("--region needs --top region");
  if (partBytes !== undefined && file === "-")
    throw new UsageError("--part-bytes makes several files, so it takes no -");
  return { file, drive, top, region, partBytes };
}

function parseImport(name: DriveCommand["name"], words: readonly string[], values: Values) {
  const [first, ...others] = words;
  if (first === undefined || words.includes("")) throw missingArgument(name, "the files of an export, in their order");
  const files: readonly [string, ...string[]] = [first, ...others];
  const source = parseChoice(values, "source", ["reference"] as const);
  return { user: requireUser(name, values), files, from: singleValue(values, "from"), source };
}

function refuseArguments(name: DriveCommand["name"], [first]: readonly string[]): void {
  if (first !== undefined) throw new UsageError(`'${name}' takes no argument '${escapeText(first)}'`);
}

function requireArgument(name: DriveCommand["name"], [only, ...more]: readonly string[], what: string): string {
  if (only === undefined || only === "") throw missingArgument(name, what);
  refuseArguments(name, more);
  return only;
}

const missingArgument = (name: string, what: string): UsageError => new UsageError(`'${name}' needs ${what}`);

function parseChoice<T extends string>(
  values: Values,
  option: "top" | "region" | "source",
  known: readonly T[],
): T | undefined {
  const text = singleValue(values, option);
  const found = known.find((one) => one === text);
  if (text === undefined || found !== undefined) return found;
  throw new UsageError(`--${option} must be ${known.join(", ")}, not '${escapeText(text)}'`);
}

function parsePartBytes(values: Values): number | undefined {
  const text = singleValue(values, "part-bytes");
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d{1,15}$/.test(text) && value >= MIN_PART_BYTES) return value;
  throw new UsageError(`--part-bytes must be a whole number from ${MIN_PART_BYTES}, not '${escapeText(text)}'`);
}

function parseGrace(values: Values): number {
  const text = singleValue(values, "grace");
  const seconds = text === undefined ? DAY_SECONDS : parseDuration(text);
  if (seconds !== undefined) return seconds;
  throw new UsageError(`--grace takes a whole number and s, m, h or d, such as 24h, not '${escapeText(text ?? "")}'`);
}
