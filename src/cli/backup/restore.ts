// `venue-files backup restore`: into an empty place only, all or nothing. Everything is verified before anything is written, and
// what was revoked stays so: tokens of before are refused until the operator decides.

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { ConfigError } from "../../config/errors.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import { silentLog } from "../../core/ports/log.js";
import { parseRevocations, revokeBefore } from "../../ucan/verify/revocation-list.js";
import { revocationPlace } from "../../venue/identity/revocation-place.js";
import { acceptRevocations, openRevocations } from "../../venue/identity/revocations.js";
import { type CommandContext, codeOf, EXIT, isSystemError } from "../context.js";
import { loadOneConfig } from "../load-config.js";
import { linkFault } from "../output/held-folder.js";
import { writeNewFile } from "../output/new-file.js";
import { BackupFault, type Manifest, readBackup, verifyBackup } from "./archive.js";
import { passphraseOf } from "./passphrase.js";
import { RestorePlaces } from "./places.js";
import { fillRoots, requireEmptyRoots, withRoots } from "./roots.js";

interface BackupRestore {
  /** `undefined`: only decides about old tokens. */
  readonly file: string | undefined;
  readonly config: string;
  readonly passphrase: string | undefined;
  /** A revocation list that is newer than the backup. */
  readonly revocations: string | undefined;
  readonly acceptOldTokens: boolean;
}

export async function backupRestore(command: BackupRestore, context: CommandContext): Promise<number> {
  const { cwd, env, stdout } = context;
  const config = loadOneConfig({ file: command.config, roots: [] }, cwd);
  const newer = command.revocations === undefined ? [] : entriesOf(resolve(cwd, command.revocations));
  const isDecided = command.revocations !== undefined || command.acceptOldTokens;
  if (command.file === undefined) {
    const place = revocationPlace(config, env);
    // A list that lacks what was in force is not accepted on the way.
    openRevocations(place, { log: silentLog, mayBeMissing: true });
    await rewriteList(place.path, { add: newer, lift: true });
    acceptRevocations(place);
    stdout.write("Tokens of before the restore are accepted again, but for those that are revoked.\n");
    return EXIT.ok;
  }
  const passphrase = passphraseOf(command.passphrase, context);
  const handle = await openBackup(resolve(cwd, command.file), command.file);
  try {
    const manifest = await verifyBackup(handle, passphrase);
    const before = isDecided ? [] : [revokeBefore(manifest.created / 1000)];
    await withRoots(rootsOf(manifest), config, context, async (roots) => {
      const kinds = new Set(manifest.entries.map(({ path }) => path.split("/")[0] ?? ""));
      const places = new RestorePlaces(config, env, kinds);
      places.prepare();
      try {
        await requireEmptyRoots(roots);
        // Names are given last: a restore that fails before has changed nothing that a venue reads.
        await fillRoots(readBackup(handle, passphrase), { roots, other: places.stage }, async () => {
          if (places.revocations !== undefined)
            await rewriteList(places.revocations, { add: [...newer, ...before], lift: false });
          await places.commit();
        });
      } finally {
        places.discard();
      }
    });
    stdout.write(summaryOf(manifest, isDecided));
    return EXIT.ok;
  } catch (error) {
    if (error instanceof BackupFault || error instanceof FileAdapterError) throw cannot(error.message, EXIT.config);
    if (isSystemError(error)) throw cannot(codeOf(error), EXIT.noInput);
    throw error;
  } finally {
    await handle.close();
  }
}

const cannot = (why: string, status: typeof EXIT.config | typeof EXIT.noInput): ConfigError =>
  new ConfigError([`Cannot restore: ${why}. Nothing was changed`], status);

const rootsOf = ({ entries }: Manifest): readonly string[] => [
  ...new Set(entries.flatMap(({ path }) => /^roots\/([^/]+)\//.exec(path)?.[1] ?? [])),
];

function entriesOf(file: string): readonly string[] {
  try {
    const parsed = parseRevocations(readFileSync(file, "utf8"));
    if ("entries" in parsed) return parsed.entries;
    throw new ConfigError([`--revocations: line ${parsed.malformedLine} is neither a token id nor a DID`], EXIT.config);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([`--revocations cannot be read: ${codeOf(error)}`], EXIT.noInput);
  }
}

/** Adds entries to a list, which may be missing. @param lift takes the entries that revoke by time out */
async function rewriteList(
  path: string,
  { add, lift }: { readonly add: readonly string[]; readonly lift: boolean },
): Promise<void> {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const lines = text.split("\n").filter((line) => line !== "" && !(lift && line.startsWith("before:")));
  const next = [...lines, ...add.filter((entry) => !lines.includes(entry))].map((line) => `${line}\n`).join("");
  if (next === text) return;
  // A configured list may be one.
  const link = linkFault(path);
  if (link !== undefined) throw link;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  await writeNewFile(path, { mode: 0o600, replaces: true }, (handle) => handle.writeFile(next));
}

async function openBackup(file: string, shown: string): Promise<FileHandle> {
  try {
    return await open(file, "r");
  } catch (error) {
    throw new ConfigError([`Cannot read ${escapeText(shown)}: ${codeOf(error)}`], EXIT.noInput);
  }
}

function summaryOf({ entries, did, created }: Manifest, isDecided: boolean): string {
  const lines = [
    `Restored ${counted(entries.filter(({ path }) => !path.endsWith("/")).length, "file")} as of ${new Date(created).toISOString()}.`,
    ...(did === undefined ? [] : [`venue ${did}`]),
    ...(isDecided
      ? []
      : [
          "Access tokens and UCANs of before are refused, since some may have been revoked after the backup. Accept them by",
          "  venue-files backup restore --revocations FILE (a newer list), or --accept-old-tokens",
        ]),
  ];
  return `${lines.join("\n")}\n`;
}
