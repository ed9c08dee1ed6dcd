// The commands `drive export-key` and `drive import-key`.

import type { DriveCommand } from "../arguments/commands/drives.js";
import { EXIT, print } from "../context.js";
import { shortDid } from "../output/did.js";
import { keyPlace, readSeed } from "../tokens/signing-key.js";
import { putToken } from "../tokens/token-output.js";
import type { DriveWork } from "./context.js";

type CommandOf<Name extends DriveCommand["name"]> = Extract<DriveCommand, { name: Name }>;

/** `venue-files drive export-key`: prints the key that signs a user's drives, for moving them to another venue. */
export async function exportKey({ user, out }: CommandOf<"drive export-key">, work: DriveWork): Promise<number> {
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
export async function importKey({ user, file }: CommandOf<"drive import-key">, work: DriveWork): Promise<number> {
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
