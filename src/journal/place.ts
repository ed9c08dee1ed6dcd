// Opens the journal of a root in its folder, and notes which directory it is of: one that was moved is known again
// although its journal lies by its path. Loads the database.

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { attempt } from "../core/io.js";
import type { Log } from "../core/ports/log.js";
import { makeFolder, refuseNetwork } from "../drive/store/embedded/make-folder.js";
import { keepTrashKey, makeSound } from "./check-tables.js";
import { RootJournal, type RootJournalOptions } from "./journal.js";

/** In the folder of a journal: identity and path of the directory, a line each. */
const PLACE = "place";

/** @throws where the folder cannot be used */
export async function openInFolder(
  options: Omit<RootJournalOptions, "isMoved">,
  { realPath, log, trashKey }: { realPath: string; log: Log; trashKey: string | undefined },
): Promise<RootJournal> {
  const { root, folder } = options;
  makeFolder(folder);
  refuseNetwork(folder);
  if (trashKey !== undefined) keepTrashKey(folder, trashKey);
  if (await makeSound(folder)) {
    const text = "The journal of a root was damaged: what can be read of it stays, the rest is set aside beside it";
    log.error({ event: "journal-damaged", root, folder }, text);
  }
  const isMoved = hasOtherPlace(folder, realPath);
  notePlace(folder, realPath);
  const journal = new RootJournal({ ...options, isMoved });
  await journal.settle();
  return journal;
}

/** Notes the directory of a journal. Never fails. */
function notePlace(folder: string, realPath: string): void {
  const text = `${identityOf(realPath) ?? ""}\n${realPath}`;
  const file = join(folder, PLACE);
  if (attempt(() => readFileSync(file, "utf8")) === text) return;
  attempt(() => writeFileSync(file, text, { mode: 0o600 }));
}

/** Whether the directory had another path before, and so another journal. Never fails. */
function hasOtherPlace(folder: string, realPath: string): boolean {
  const identity = identityOf(realPath);
  const journals = dirname(folder);
  const others = (attempt(() => readdirSync(journals)) ?? []).filter((name) => name !== basename(folder));
  return others.some((name) => {
    const [known, ...path] = attempt(() => readFileSync(join(journals, name, PLACE), "utf8"))?.split("\n") ?? [];
    return identity !== undefined && known === identity && identityOf(path.join("\n")) !== identity;
  });
}

/** An inode number is used again, but not with the same time of birth. */
function identityOf(path: string): string | undefined {
  const stat = attempt(() => statSync(path, { bigint: true }));
  return stat && `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`;
}
