// `venue-files backup create`

import { resolve } from "node:path";
import { ConfigError } from "../../config/errors.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import type { Log } from "../../core/ports/log.js";
import { humanSize } from "../../ops/content/human-size.js";
import { openOwnAccess } from "../../venue/identity/own-access.js";
import { withConfiguredLog } from "../../venue/start/open-parts.js";
import { touchesSecrets } from "../../venue/start/state/secrets.js";
import { packageVersion } from "../../version.js";
import { type CommandContext, codeOf, EXIT, isSystemError } from "../context.js";
import { loadOneConfig } from "../load-config.js";
import { type Manifest, writeBackup } from "./archive.js";
import { drivesFolder, stateSources } from "./contents.js";
import { passphraseOf } from "./passphrase.js";
import { rootSources, withRoots } from "./roots.js";

const NO_DRIVES =
  "Warning: the drives of this configuration are in memory, so the backup has none. Set 'seedFile' for drives that last\n";

interface BackupCreate {
  readonly file: string;
  readonly config: string;
  readonly drives: boolean;
  readonly roots: readonly string[];
  /** A path or `env:NAME`. */
  readonly passphrase: string | undefined;
  readonly plaintext: boolean;
}

export async function backupCreate(command: BackupCreate, context: CommandContext): Promise<number> {
  const { cwd, env } = context;
  const config = loadOneConfig({ file: command.config, roots: [] }, cwd);
  const file = resolve(cwd, command.file);
  if (touchesSecrets(file, config, env)) {
    throw new ConfigError([`The backup must lie outside of the state: ${escapeText(command.file)}`], EXIT.config);
  }
  if (command.drives && drivesFolder(config, env) === undefined) context.stderr.write(NO_DRIVES);
  const passphrase = passphraseOf(command.passphrase, context);
  if (passphrase === undefined && !command.plaintext) {
    const text = "A backup holds keys. Give --passphrase FILE or env:NAME to encrypt it, or say --plaintext";
    throw new ConfigError([text], EXIT.config);
  }
  const created = Date.now();
  const hasKey = config.seed !== undefined || config.seedFile !== undefined;
  const didOf = async (log: Log): Promise<string> => openOwnAccess(config, { env, log }).did;
  const did = hasKey ? await withConfiguredLog(config, context.stderr, didOf) : undefined;
  const about = { version: packageVersion(), created, ...(did === undefined ? {} : { did }) };
  return withRoots(command.roots, config, context, async (roots) => {
    const sources = async function* () {
      yield* stateSources(config, env, command.drives);
      yield* rootSources(roots, context);
    };
    printResult(await save(file, { sources: sources(), about }, passphrase), command, context);
    return EXIT.ok;
  });
}

async function save(file: string, content: Parameters<typeof writeBackup>[1], passphrase: string | undefined) {
  try {
    return await writeBackup(file, content, passphrase);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST")
      throw new ConfigError([`${escapeText(file)} is there already, and is not overwritten`], EXIT.config);
    if (error instanceof FileAdapterError) throw new ConfigError([error.message], EXIT.noInput);
    if (!isSystemError(error)) throw error;
    throw new ConfigError([`The backup cannot be written: ${code}`], EXIT.noInput);
  }
}

function printResult({ entries, did }: Manifest, { file, plaintext }: BackupCreate, { stdout }: CommandContext): void {
  const bytes = entries.reduce((sum, { size }) => sum + size, 0);
  const kinds = new Map<string, number>();
  const files = entries.filter(({ path }) => !path.endsWith("/"));
  for (const { path } of files) {
    const [kind = ""] = path.split("/");
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const parts = [...kinds].map(([kind, count]) => `${kind} ${count}`).join(", ");
  stdout.write(`${escapeText(file)}: ${counted(files.length, "file")}, ${humanSize(bytes)} (${parts}), `);
  stdout.write(`${plaintext ? "NOT encrypted" : "encrypted"}${did === undefined ? "" : `\nvenue ${did}`}\n`);
}
