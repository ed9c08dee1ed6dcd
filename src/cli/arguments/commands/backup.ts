// The command lines of `backup create` and `backup restore`.

import { type Line, refuseArguments, requireArgument } from "../line.js";
import { requiredValue, singleValue, UsageError } from "../options.js";
import type { ConfigSource } from "../remote.js";

export interface BackupCreate {
  readonly name: "backup create";
  readonly file: string;
  readonly source: ConfigSource;
  readonly drives: boolean;
  readonly roots: readonly string[];
  /** A path or `env:NAME`. */
  readonly passphrase: string | undefined;
  readonly plaintext: boolean;
}

export interface BackupRestore {
  readonly name: "backup restore";
  /** `undefined`: only decides about old tokens. */
  readonly file: string | undefined;
  readonly source: ConfigSource;
  readonly passphrase: string | undefined;
  /** A revocation list that is newer than the backup. */
  readonly revocations: string | undefined;
  readonly acceptOldTokens: boolean;
}

/** @throws UsageError */
export function parseBackupCreate(line: Line): BackupCreate {
  const { values } = line;
  const file = requireArgument(
    line,
    "backup create",
    "a new file, for example: venue-files backup create venue.backup",
  );
  const [passphrase, plaintext] = [singleValue(values, "passphrase"), values.has("plaintext")];
  if (passphrase !== undefined && plaintext) throw new UsageError("--passphrase and --plaintext exclude one another");
  return {
    ...{ name: "backup create", file, source: sourceOf(line, "backup create"), passphrase, plaintext },
    ...{ drives: values.has("drives"), roots: values.get("roots") ?? [] },
  };
}

/** @throws UsageError */
export function parseBackupRestore(line: Line): BackupRestore {
  const { values, rest } = line;
  const [revocations, acceptOldTokens] = [singleValue(values, "revocations"), values.has("accept-old-tokens")];
  if (rest.length > 1) refuseArguments({ ...line, rest: rest.slice(1) }, "backup restore");
  const [file] = rest;
  if (file === undefined && revocations === undefined && !acceptOldTokens) {
    throw new UsageError("'backup restore' needs the file of a backup, or --revocations or --accept-old-tokens");
  }
  const source = sourceOf(line, "backup restore");
  return {
    name: "backup restore",
    file,
    source,
    passphrase: singleValue(values, "passphrase"),
    revocations,
    acceptOldTokens,
  };
}

const sourceOf = ({ values }: Line, command: "backup create" | "backup restore"): ConfigSource => ({
  file: requiredValue(values, command, "config"),
  roots: [],
});
