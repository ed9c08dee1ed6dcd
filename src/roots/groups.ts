// State that roots on the host keep outside themselves: groups of changes under way, recovery of unfinished ones, journals.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { type RecoveryReport, recoverGroups } from "../backend/host/group/recovery.js";
import { IntentRegister } from "../backend/host/group/register.js";
import { HostTrash } from "../backend/host/history/trash.js";
import type { HostBackend } from "../backend/host/host.js";
import type { DriveRootConfig, HostRootConfig, RootConfig, TempRootConfig } from "../core/file-config.js";
import type { Awaitable, Io } from "../core/io.js";
import type { Lack } from "../core/ports/changes/journal.js";
import type { PathPolicy } from "../core/ports/path-policy.js";
import type { Jail } from "../jail/jail.js";
import { type JournalPlace, LazyJournal } from "../journal/open-journal.js";
import { compileDeny } from "../path/deny.js";

/** State that roots keep outside themselves, and their reports. */
export interface RootsState {
  /** Absent: nothing is kept. */
  readonly stateDir?: { readonly path: string; prepare(): void } | undefined;
  /** Where journals lie. Absent: there are none. */
  readonly journals?: JournalPlace | undefined;
  /** Told of groups of changes that a dead process left half done, or that failed and could not be undone. */
  readonly onRecovery?: ((root: string, report: RecoveryReport) => void) | undefined;
}

type GroupConfig = Pick<Exclude<RootConfig, DriveRootConfig>, "deny" | "protect" | "durability">;

const FOLDER = "intents";

/** The groups of changes of one root. */
export function groupsOf(name: string, config: GroupConfig, { stateDir, onRecovery }: RootsState) {
  let register: IntentRegister | undefined;
  /** `undefined` without a state directory. */
  const registerOf = ({ realPath }: Jail): IntentRegister | undefined => {
    if (stateDir === undefined) return undefined;
    const key = createHash("sha256").update(realPath).digest("hex");
    register ??= new IntentRegister(join(stateDir.path, FOLDER, key), () => stateDir.prepare());
    return register;
  };
  const report = (one: RecoveryReport): void => onRecovery?.(name, one);
  /** It runs before anything else in the root. */
  const recover = (jail: Jail, isLocked: boolean): Io<void> => {
    const durable = config.durability === "flush";
    let refused: readonly PathPolicy[] | undefined;
    const isRefused = (path: readonly string[]): boolean => {
      refused ??= [config.deny, config.protect].map((patterns) => compileDeny(patterns, jail));
      return refused.some((policy) => policy.denies(path));
    };
    return recoverGroups(jail, { durable, register: registerOf(jail), isRefused, report }, isLocked);
  };
  return { registerOf, recover, onRaced: (paths: RecoveryReport["paths"]) => report({ outcome: "raced", paths }) };
}

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
