// The `drive` commands: opens the drives of a configuration and runs one command on them.

import { toCallerError } from "../../backend/drive/errors.js";
import type { VenueConfig } from "../../config/types.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import type { Access } from "../../venue/identity/access.js";
import { openOwnAccess } from "../../venue/identity/own-access.js";
import { openDriveStore } from "../../venue/start/drives.js";
import { withConfiguredLog } from "../../venue/start/open-parts.js";
import { UsageError } from "../arguments/options.js";
import { type CommandContext, EXIT, print } from "../context.js";
import { loadOneConfig } from "../load-config.js";
import { shortDid } from "../output/did.js";
import { jsonText } from "../output/json.js";
import { keyPlace, openSigningKey, readSeed } from "../tokens/signing-key.js";
import { putToken } from "../tokens/token-output.js";
import type { DriveUser, DriveWork } from "./context.js";

export { checkTokenOutput } from "../tokens/token-output.js";
export { checkExport, exportDrives, importDrives, mergeDrives } from "./move.js";
export { collectDrives, listDrives, upgradeDrives, verifyDrives } from "./store.js";

/** Drives a command works on. */
interface DriveTarget {
  readonly config: string;
  readonly user?: DriveUser | undefined;
  readonly drive?: string | undefined;
  /** Failures are told as JSON. */
  readonly json?: boolean;
}

/** Opens the drives of a configuration; a process that can read its key has full access. @param verb told in failures */
export async function withDrives(
  verb: string,
  { target, context }: { readonly target: DriveTarget; readonly context: CommandContext },
  run: (work: DriveWork) => Promise<number>,
): Promise<number> {
  const config = loadOneConfig({ file: target.config, roots: [] }, context.cwd);
  return withConfiguredLog(config, context.stderr, async (log) => {
    const access = openOwnAccess(config, { env: context.env, log });
    const didOf = (user: DriveUser) => didOfUser(user, { context, config, access });
    if (target.user !== undefined) didOf(target.user);
    const drives = await openDriveStore(config, { env: context.env, log, key: access.key });
    try {
      const of = (user: DriveUser) => drives.engine.owner(didOf(user));
      return await run({ context, config, drives, didOf, of });
    } catch (error) {
      return reportFailure(error, { verb, ...target }, context);
    } finally {
      await drives.close();
    }
  });
}

interface Surroundings {
  readonly context: CommandContext;
  readonly config: VenueConfig;
  readonly access: Access;
}

const DID = /^did:[a-z0-9]+:[A-Za-z0-9._:%-]+$/;

function didOfUser(user: DriveUser, { context, config, access }: Surroundings): string {
  const text = "did" in user ? user.did : openSigningKey(user.key, keyPlace(config, context)).did;
  if (!DID.test(text)) throw new UsageError(`--user must be a DID, not '${escapeText(text)}'`);
  const did = access.canonicalDid(text);
  if (did === `${access.did}:public`) throw new UsageError("Callers who have not said who they are have no drives");
  return did;
}

/** Reports a failed operation. Rethrows other errors. */
function reportFailure(
  error: unknown,
  { verb, drive = "", json }: { readonly verb: string } & Pick<DriveTarget, "drive" | "json">,
  { stderr }: CommandContext,
): number {
  const known = toCallerError(error, { place: { root: drive, path: "" }, drive, verb });
  if (!(known instanceof FileAdapterError)) throw error;
  const { message, code, data } = known;
  stderr.write(json === true ? `${jsonText({ error: message, errorCode: code, errorData: data })}\n` : `${message}\n`);
  return EXIT.failed;
}

// The commands `drive export-key` and `drive import-key`.

/** `venue-files drive export-key`: prints the key that signs a user's drives, for moving them to another venue. */
export async function exportKey(user: string, out: string | undefined, work: DriveWork): Promise<number> {
  const { context, drives } = work;
  const did = work.didOf({ did: user });
  const seed = await drives.keys.export(did);
  try {
    await putToken(seed.toString("hex"), out, context);
  } finally {
    seed.fill(0);
  }
  context.stderr.write(
    `Whoever has this key can sign drives of ${shortDid(did)} for ever; the operator of the venue keeps it too\n`,
  );
  return EXIT.ok;
}

/** `venue-files drive import-key`: lets a user own drives here that were signed by an imported key. */
export async function importKey(user: string, file: string, work: DriveWork): Promise<number> {
  const { context, config, drives } = work;
  const did = work.didOf({ did: user });
  const seed = readSeed(file, keyPlace(config, context));
  let account: string;
  try {
    account = await drives.keys.import(did, seed);
  } finally {
    seed.fill(0);
  }
  await print(context, `${account}\n`);
  const [active] = await drives.keys.accounts(did);
  const effect =
    active === account
      ? "Drives it has signed come back under their names with: drive import"
      : "The user has an older key, which goes on signing; drives that this one has signed are merged into those";
  context.stderr.write(`${effect}\n`);
  return EXIT.ok;
}
