// The command line of `audit verify`.

import { otherDidKey } from "../../../ucan/token/key-types.js";
import { singleValue, UsageError, type Values } from "../options.js";

/** Parsed `audit verify` command. */
export interface AuditVerifyCommand {
  readonly name: "audit verify";
  /** Empty: those of the configuration. */
  readonly files: readonly string[];
  readonly did: string | undefined;
  readonly config: string | undefined;
  readonly json: boolean;
}

/** @throws UsageError */
export function parseAuditVerify(files: readonly string[], values: Values): AuditVerifyCommand {
  const [did, config] = [singleValue(values, "did"), singleValue(values, "config")];
  if (files.length === 0 && config === undefined) {
    throw new UsageError("'audit verify' needs the files of an audit, or --config. Example: audit verify audit.jsonl*");
  }
  if (did !== undefined && (!did.startsWith("did:key:") || otherDidKey(did) !== undefined)) {
    const not = otherDidKey(did);
    const hint = "--did must be the did:key of the venue's key, which its DID document lists";
    throw new UsageError(not === undefined ? hint : `${hint}, not ${not}`);
  }
  return { name: "audit verify", files, did, config, json: values.has("json") };
}
