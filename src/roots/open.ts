// Opens the configured roots, and replaces them on reload. Either all of them open or none.

import { isDeepStrictEqual } from "node:util";
import type { DriveSource } from "../backend/drive/drive.js";
import { HostBackend } from "../backend/host/host.js";
import { MachineMark } from "../backend/host/machine-mark.js";
import { countTree } from "../backend/host/quota.js";
import { sweepRuns } from "../backend/host/runs/run-mark.js";
import { TempHome } from "../backend/host/temp.js";
import { Usage } from "../backend/quota.js";
import type { FileConfig, Quota, RootConfig } from "../core/file-config.js";
import { runIo } from "../core/io.js";
import { isPersonal, type OpenRoot } from "../core/ports/operation.js";
import { Jail } from "../jail/jail.js";
import { Locks } from "../jail/staging/locks.js";
import type { LazyJournal } from "../journal/open-journal.js";
import { foldName } from "../path/grammar.js";
import { isBelow, isSameFolder } from "../process/host-path.js";
import { driveRoot, otherThanUtf8, policiesOf } from "./drive-root.js";
import { groupsOf, journalOf, lackOf, type RootsState } from "./groups.js";

/** New roots, open beside the old ones. Exactly one of the two methods must be called, once. */
export interface RootsChange {
  /** Puts the new roots into force. @returns closes the removed ones, once their calls have ended */
  commit(): () => Promise<void>;
  discard(): Promise<void>;
}

interface Opened {
  readonly config: RootConfig;
  readonly limit: number;
  readonly root: OpenRoot;
  /** Absent for drives, which are not directories. */
  readonly host?: {
    readonly path: string;
    readonly jail: Jail;
    readonly usage: Usage | undefined;
    readonly journal: LazyJournal | undefined;
    /** Of a root that several instances share. */
    readonly mark: MachineMark | undefined;
  };
}

/**
 * Opens every configured root, or none.
 * @param config validated, with defaults filled in
 * @param drives opens drives for roots of kind `dlfs`; absent: calls on them fail with NOT_SUPPORTED
 * @param state what is kept outside of the roots; absent: nothing
 * @throws RootsError naming each root that cannot be opened and why
 */
export function openRoots(config: FileConfig, drives?: DriveSource, state: RootsState = {}): OpenRoots {
  return new OpenRoots(config, drives, state);
}

/** Roots could not be opened. The message is for the operator: it holds paths from the configuration. */
export class RootsError extends Error {
  override readonly name = "RootsError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

/** The open roots of one adapter. */
export class OpenRoots {
  readonly #temp = new TempHome();
  readonly #locks = new Locks();
  readonly #drives: DriveSource | undefined;
  readonly #state: RootsState;
  #opened: readonly Opened[] = [];

  constructor(config: FileConfig, drives: DriveSource | undefined, state: RootsState) {
    this.#drives = drives;
    this.#state = state;
    try {
      this.#opened = this.#open(config);
    } catch (error) {
      void this.#temp.remove();
      throw error;
    }
  }

  get roots(): readonly OpenRoot[] {
    return this.#opened.map(({ root }) => root);
  }

  /** Warnings for the operator only: they may hold host paths. */
  get warnings(): readonly string[] {
    return warningsOf(this.#opened);
  }

  /**
   * Opens new and changed roots, and keeps unchanged ones, including the files of a temp root.
   * Takes effect at `commit`. @throws RootsError, after closing whatever it opened
   */
  prepare(config: FileConfig): RootsChange {
    const before = this.#opened;
    const after = this.#open(config);
    return {
      commit: () => {
        this.#opened = after;
        // A reload ends no venue: the next start is refused where another machine has a new root.
        void this.claim().catch(() => {});
        return () => this.#drop(before, after);
      },
      discard: () => this.#drop(after, before),
    };
  }

  /** Marks roots that instances share as used by this machine. @throws RootsError where another one uses them */
  async claim(): Promise<void> {
    const problems: string[] = [];
    for (const { root, host } of this.#opened) {
      await host?.mark?.claim().catch((error: unknown) => {
        problems.push(`Root '${root.name}' ${error instanceof Error ? error.message : "cannot be marked"}`);
      });
    }
    if (problems.length > 0) throw new RootsError(problems);
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map(closeRoot));
    await this.#temp.remove();
  }

  /** Reuses roots that are open already. If it fails, it closes whatever it opened. */
  #open(config: FileConfig): Opened[] {
    const problems: string[] = [];
    const opened: Opened[] = [];
    for (const [name, root] of Object.entries(config.roots)) {
      try {
        opened.push(this.#openRoot(name, root, config.limits.maxWriteBytes));
      } catch (error) {
        problems.push(`Root '${name}' ${error instanceof Error ? error.message : "cannot be opened"}`);
      }
    }
    if (problems.length === 0) return opened;
    void this.#drop(opened, this.#opened);
    throw new RootsError(problems);
  }

  /** Closes roots in `gone` but not in `staying`; deletes their temp directories unless a staying root uses them. */
  async #drop(gone: readonly Opened[], staying: readonly Opened[]): Promise<void> {
    const dropped = gone.filter((one) => !staying.includes(one));
    await Promise.all(dropped.map(closeRoot));
    for (const { config, host } of dropped) {
      if (config.kind !== "temp" || host === undefined) continue;
      if (!staying.some((one) => one.host?.path === host.path)) await this.#temp.discard(host.path);
    }
  }

  #openRoot(name: string, config: RootConfig, maxCopyBytes: number): Opened {
    const before = this.#opened.find(({ root }) => root.name === name);
    if (before !== undefined && before.limit === maxCopyBytes && isDeepStrictEqual(before.config, config))
      return before;
    if (config.kind === "dlfs") return { config, limit: maxCopyBytes, root: driveRoot(name, config, this.#drives) };
    const { readOnly, crossDevice, hardLinks, io, durability, description, maxReadBytes } = config;
    const { approve, encoding, owner } = config;
    const path = config.kind === "host" ? config.path : this.#tempPath(config.prefix, before);
    const groups = groupsOf(name, config, this.#state);
    const jail = new Jail({ path, readOnly, crossDevice, io, recover: groups.recover }, this.#locks);
    if (!readOnly) jail.trackBackground(runIo(sweepRuns(jail)));
    const usage = config.quota === undefined ? undefined : usageOf(jail, config.quota, before);
    const journal = journalOf(name, config, { jail, place: this.#state.journals, backend: () => backend });
    const rules = {
      usage,
      openJournal: journal && (() => journal.open()),
      whyNoJournal: journal && (() => journal.whyNot()),
      keepsDeleted: config.trash === "required",
      lend: config.kind === "temp" ? () => this.#temp.lend() : undefined,
      intents: groups.registerOf(jail),
      onRaced: groups.onRaced,
      durable: durability === "flush",
      // Another name of a protected file would be a way to change it in place.
      hardLinks: hardLinks && config.protect.length === 0,
      maxCopyBytes,
    };
    const backend = new HostBackend(jail, rules);
    const root: OpenRoot = {
      name,
      kind: config.kind,
      ...{ readOnly, description, maxReadBytes, approve, owner, encoding: otherThanUtf8(encoding) },
      ...policiesOf(config, backend),
      quota: usage && (() => usage.facts()),
      hostPath: jail.realPath,
      // A getter: finding the engine may load a native library, and few callers ask for it.
      get engine() {
        return backend.engine;
      },
      get foldName() {
        return backend.foldsCase ? foldName : undefined;
      },
      usage: () => jail.usage(),
      lack: readOnly ? undefined : lackOf(journal, this.#state.journals),
      backend,
      journal: journal && { mode: journal.mode, open: () => journal.open(), facts: () => journal.facts() },
    };
    const mark = config.kind === "host" && config.shared && !readOnly ? new MachineMark(jail) : undefined;
    return { config, limit: maxCopyBytes, root, host: { path, jail, usage, journal, mark } };
  }

  /** A temp root whose other settings change keeps its directory. */
  #tempPath(prefix: string, before: Opened | undefined): string {
    const isKept = before?.config.kind === "temp" && before.config.prefix === prefix;
    return (isKept ? before.host?.path : undefined) ?? this.#temp.create(prefix);
  }
}

/** A directory that stays a root keeps its counted usage, under the new limit; others are counted in the background. */
function usageOf(jail: Jail, limit: Quota, before: Opened | undefined): Usage {
  const known = before?.host?.jail.realPath === jail.realPath ? before.host.usage : undefined;
  if (known !== undefined) return known.under(limit);
  const usage = new Usage(limit);
  const counting = (async () => runIo(countTree(jail, jail.top, false)))();
  jail.trackBackground(counting);
  usage.count(counting);
  return usage;
}

const closeRoot = async ({ root, host }: Opened): Promise<void> => {
  if (isPersonal(root)) return;
  host?.mark?.close();
  await root.backend.close();
  await host?.journal?.close();
};

function warningsOf(all: readonly Opened[]): string[] {
  const opened = all.flatMap(({ root, host }) => (host === undefined ? [] : [{ root, jail: host.jail }]));
  const own = opened.flatMap(({ root, jail }) =>
    root.kind === "host" ? jail.warnings.map((warning) => `Root '${root.name}': ${warning}`) : [],
  );
  const nested = opened.flatMap((outer) =>
    opened
      .filter((inner) => inner !== outer && isBelow(inner.jail.realPath, outer.jail.realPath))
      .map((inner) => `Root '${inner.root.name}' lies inside root '${outer.root.name}' and can be reached through it`),
  );
  const same = opened.flatMap((one, index) =>
    opened
      .slice(index + 1)
      .filter((other) => isSameFolder(other.jail.realPath, one.jail.realPath))
      .map((other) => `Roots '${one.root.name}' and '${other.root.name}' are the same directory`),
  );
  return [...own, ...nested, ...same];
}
