// The journal of a root by its configuration.

import { HostTrash } from "../backend/host/history/trash.js";
import type { HostBackend } from "../backend/host/host.js";
import type { HostRootConfig, TempRootConfig } from "../core/file-config.js";
import type { Awaitable } from "../core/io.js";
import type { Lack } from "../core/ports/changes/journal.js";
import type { Jail } from "../jail/jail.js";
import { type JournalPlace, LazyJournal } from "../journal/open-journal.js";

/**
 * The journal of a root that is a directory.
 * @throws Error whose message completes "Root 'x' …" if the root needs one and there can be none
 */
export function journalOf(
  name: string,
  config: HostRootConfig | TempRootConfig,
  { jail, place, backend }: { jail: Jail; place: JournalPlace | undefined; backend: () => HostBackend },
): LazyJournal | undefined {
  const isDefault = place?.byDefault === true && config.kind === "host" && !config.readOnly;
  const { journal: mode = isDefault ? "on" : "off", trash, journalQuota: quota } = config;
  if (trash === "required" && mode !== "on") throw new Error(`has trash: "required", which needs journal: "on"`);
  if (mode === "off") return undefined;
  if (place === undefined) throw new Error(`has journal: "${mode}", which needs a state directory ('stateDir')`);
  const bin = new HostTrash(() => backend().jail);
  const inBackground = (work: Promise<unknown>): void => jail.trackBackground(work);
  return new LazyJournal({
    ...{ place, root: name, realPath: jail.realPath, isChosen: config.journal !== undefined },
    ...{ mode, trash, quota, bin, inBackground },
  });
}

/** Why a root keeps nothing; see {@link RootFacts.lack}. */
export function lackOf(
  journal: LazyJournal | undefined,
  place: JournalPlace | undefined,
): () => Awaitable<Lack | undefined> {
  if (journal !== undefined) return () => journal.lack();
  const off: Lack = { reason: "off", why: place === undefined ? "stateDir" : "journal" };
  return () => off;
}
