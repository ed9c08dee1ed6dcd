// The `audit verify` command.

import { verify } from "node:crypto";
import { resolve } from "node:path";
import type { ChainReport, Finding, LinePlace, VerifySignature } from "../../audit/chain-check.js";
import { CheckpointStore, checkpointFolder } from "../../audit/checkpoints.js";
import {
  type AuditReport,
  CompressedFile,
  listLogFiles,
  readLines,
  realFile,
  sortOldestFirst,
  verifyAudit,
} from "../../audit/verify.js";
import { ConfigError } from "../../config/errors.js";
import type { VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import { silentLog } from "../../core/ports/log.js";
import { fieldsOf } from "../../core/unknown.js";
import { otherDidKey } from "../../ucan/token/key-types.js";
import { createPublicKeys } from "../../ucan/verify/public-keys.js";
import { existingIdentity } from "../../venue/identity/own-access.js";
import { stateDirOf } from "../../venue/start/state/place.js";
import { UsageError } from "../arguments/options.js";
import { type CommandContext, codeOf, EXIT, print } from "../context.js";
import { loadOptionalConfig } from "../load-config.js";
import { jsonText } from "../output/json.js";

interface AuditVerifyCommand {
  /** Empty: those of the configuration. */
  readonly files: readonly string[];
  readonly did: string | undefined;
  readonly config: string | undefined;
  readonly json: boolean;
}

/** @throws UsageError */
function checkCommand({ files, did, config }: AuditVerifyCommand): void {
  if (files.length === 0 && config === undefined) {
    throw new UsageError("'audit verify' needs the files of an audit, or --config. Example: audit verify audit.jsonl*");
  }
  const not = did === undefined ? undefined : otherDidKey(did);
  if (did === undefined || (did.startsWith("did:key:") && not === undefined)) return;
  const hint = "--did must be the did:key of the venue's key, which its DID document lists";
  throw new UsageError(not === undefined ? hint : `${hint}, not ${not}`);
}

/** `venue-files audit verify`: whether an audit is as it was written. @throws ConfigError */
export async function auditVerify(command: AuditVerifyCommand, context: CommandContext): Promise<number> {
  checkCommand(command);
  const config = loadOptionalConfig(command.config, context.cwd);
  const files = await filesOf(command, config, context);
  const expected = (await Promise.all(files.map((file) => checkpointsOf(file, config, context)))).flat();
  const sources = files.map((file) => ({ name: file, lines: readLines(resolve(context.cwd, file)) }));
  const keys = createPublicKeys();
  const verifySignature: VerifySignature = (did, text, signature) => {
    const key = keys.of(did);
    return key !== undefined && verify(null, Buffer.from(text), key, Buffer.from(signature, "base64url"));
  };
  const own = (config && existingIdentity(config, silentLog))?.keyDid;
  const did = command.did ?? own;
  const report = await verifyAudit(sources, { verifySignature, did, expected }).catch(throwUnreadable);
  await print(context, command.json ? `${jsonText(report)}\n` : describe(report, { did, own }));
  return report.intact ? EXIT.ok : EXIT.failed;
}

async function filesOf(
  { files }: AuditVerifyCommand,
  config: VenueConfig | undefined,
  { cwd }: CommandContext,
): Promise<readonly string[]> {
  if (files.length > 0) return sortOldestFirst(files);
  const { file } = config?.audit ?? {};
  if (file === undefined) throw new ConfigError(["The configuration has no 'audit.file'"], EXIT.config);
  return listLogFiles(await realFile(resolve(cwd, file)).catch(throwUnreadable), true);
}

/** Checkpoints that the state directory keeps of a file; none unless it is the current file of an audit. */
async function checkpointsOf(file: string, config: VenueConfig | undefined, { cwd, env }: CommandContext) {
  try {
    const path = await realFile(resolve(cwd, file));
    return await new CheckpointStore(checkpointFolder(stateDirOf(config ?? {}, env), path)).list();
  } catch (error) {
    // A file that cannot be read is reported when it is read.
    if (error instanceof ConfigError || codeOf(error) !== "") return [];
    throw error;
  }
}

function throwUnreadable(error: unknown): never {
  if (error instanceof CompressedFile) throw new ConfigError([escapeText(error.message)], EXIT.noInput);
  if (codeOf(error) === "") throw error;
  const { path } = fieldsOf(error);
  throw new ConfigError(
    [`An audit file cannot be read: ${codeOf(error)}${path === undefined ? "" : `: ${escapeText(String(path))}`}`],
    EXIT.noInput,
  );
}

interface Signer {
  /** The required signer; absent: any signer will do. */
  readonly did: string | undefined;
  /** The configuration's own key. */
  readonly own: string | undefined;
}

function describe(report: AuditReport, { did, own }: Signer): string {
  const { chains, findings, torn, older, lines, intact } = report;
  const ephemeral = chains.some((chain) => chain.ephemeral);
  const notes = [
    ...torn.map((place) => `torn line: ${placeText(place)}: a process stopped while writing it`),
    ...older.map((chain) => `chain ${chainName(chain)} ended before the oldest line of these files`),
    ...(ephemeral ? [EPHEMERAL] : []),
    ...(did === undefined && chains.length > 0 ? [UNKNOWN_SIGNER] : []),
    ...(did === own && findings.some(({ verdict }) => verdict === "foreign") ? [foreignSigner(own)] : []),
  ];
  const altered = new Set(findings.map(({ chain }) => chain));
  const verdict = intact
    ? `Intact: ${counted(lines, "line")}, chains: ${chains.length}`
    : `Not intact, findings: ${findings.length}`;
  const texts = chains.map((chain) => chainText(chain, altered.has(chain.chain)));
  return [...findings.map(findingText), ...texts, ...notes, verdict, ""].join("\n");
}

const EPHEMERAL =
  "ephemeral: keys made for one process signed; this proves that its lines are as it wrote them, not which venue it was. " +
  "Set 'seedFile', and the venue's own key signs";
const UNKNOWN_SIGNER = "signed by the keys above; give --did to have it checked that they are the venue's";

const foreignSigner = (own: string | undefined): string =>
  `foreign: another key signed than the configuration's, ${own}. Were they signed by a former key of this venue, give it by --did`;

function findingText({ verdict, file, line, chain, n, to, detail }: Finding): string {
  const place = file === undefined || line === undefined ? "" : `${placeText({ file, line })}: `;
  const numbers = n === undefined ? "" : to === undefined ? ` n ${n}` : ` n ${n} to ${to}`;
  const of = chain === undefined ? "" : ` of chain ${chainName(chain)}`;
  const more = detail === undefined ? "" : ` (${escapeText(detail)})`;
  switch (verdict) {
    case "missing":
      return `chain ${chainName(chain)} is missing`;
    case "cut":
      return `cut: checkpoint ${n}${of} is missing`;
    case "unsigned":
      return `unsigned:${of} has no checkpoint here. Give the other files of this audit, too`;
    case "foreign":
      return `${place}foreign:${numbers}${of}${more}`;
    default:
      return `${place}${verdict}:${numbers}${of}${more}`;
  }
}

function chainText({ chain, from, to, checkpoint, end, did, lost }: ChainReport, isAltered: boolean): string {
  const ends = {
    ended: "ended",
    checkpoint: `goes on after checkpoint ${checkpoint}, or was cut there`,
    open: `ends ${checkpoint === undefined ? "without any checkpoint" : `after checkpoint ${checkpoint} without one`}: it runs, it crashed, or at most 1000 records or 60 s were cut`,
  };
  const dropped = lost === 0 ? "" : `; ${lost} records were lost before they were written`;
  const signer = did === undefined ? "" : `; signed by ${escapeText(did)}`;
  return `chain ${chainName(chain)}: ${isAltered ? "" : "intact "}from ${from} to ${to}, ${ends[end]}${dropped}${signer}`;
}

const placeText = ({ file, line }: LinePlace): string => `${escapeText(file)}:${line}`;
const chainName = (chain: string | undefined): string => escapeText(String(chain));
