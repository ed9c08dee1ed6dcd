// Opens the journal of a root where it is first needed, and shares its store with other roots of the same directory.

import { createHash } from "node:crypto";
import { join } from "node:path";
import { describeError } from "../core/errors/describe-error.js";
import type { Awaitable } from "../core/io.js";
import type { JournalFacts } from "../core/ports/changes/journal.js";
import type { TrashFolder, TrashMode } from "../core/ports/changes/journal-writer.js";
import type { Log } from "../core/ports/log.js";
import { makeFolder } from "../drive/store/embedded/make-folder.js";
import { refuseNetwork } from "../drive/store/embedded/network-fs.js";
import { makeSound } from "./check-tables.js";
import type { RootJournal } from "./journal.js";
import type { PruneRules } from "./prune.js";

/** Where the journals of a process lie. */
export interface JournalPlace {
  /** Opens the state directory. @returns its canonical path @throws Error if it cannot be used */
  readonly openState: () => string;
  /** Whether writable host roots that say nothing about it have a journal. */
  readonly byDefault: boolean;
  readonly log: Log;
}

export interface LazyJournalOptions {
  readonly place: JournalPlace;
  /** Name of the root, for the log. */
  readonly root: string;
  /** Canonical path of the root. */
  readonly realPath: string;
  /** Somebody has asked for it: it is not there by default alone. */
  readonly isChosen: boolean;
  readonly mode: "metadata" | "on";
  readonly trash: TrashMode;
  readonly quota: PruneRules;
  readonly bin: TrashFolder;
  readonly inBackground: (work: Promise<unknown>) => void;
}

/** How long a journal that could not be opened is left alone, in milliseconds. */
const RETRY_MS = 60_000;

/** The journal of one root, opened at the first change or look. */
export class LazyJournal {
  readonly #options: LazyJournalOptions;
  #journal: RootJournal | undefined;
  #opening: Promise<RootJournal | undefined> | undefined;
  #failedMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: LazyJournalOptions) {
    this.#options = options;
  }

  get mode(): "metadata" | "on" {
    return this.#options.mode;
  }

  get trashMode(): TrashMode {
    return this.#options.trash;
  }

  /** `undefined`: it cannot be opened, which the log tells. */
  open(): Awaitable<RootJournal | undefined> {
    if (this.#journal !== undefined) return this.#journal;
    if (this.#isClosed || performance.now() - this.#failedMs < RETRY_MS) return undefined;
    this.#opening ??= this.#open();
    return this.#opening;
  }

  facts(): JournalFacts | undefined {
    return this.#journal?.facts;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening;
    await this.#journal?.close();
  }

  async #open(): Promise<RootJournal | undefined> {
    const { place, root, realPath, isChosen, ...rest } = this.#options;
    const onFault = (error: unknown): void => {
      place.log.error({ event: "journal", root, error: describeError(error) }, "The journal of a root failed");
    };
    try {
      // The library is native and takes a while to load.
      const loading = import("./journal.js");
      const library = await (isChosen ? loading : loading.catch(() => undefined));
      if (library === undefined) {
        // Nobody has asked for a journal; `check` and `doctor` say what is missing.
        this.#failedMs = Number.POSITIVE_INFINITY;
        place.log.debug({ event: "journal", root }, "There is no journal: its library cannot be loaded");
        return undefined;
      }
      const state = place.openState();
      if (isWithin(state, realPath)) throw new Error("The state directory lies in the root");
      const folder = join(state, "journal", keyOf(realPath));
      makeFolder(folder);
      refuseNetwork(folder);
      if (await makeSound(folder)) {
        const text = "The journal of a root was damaged: what can be read of it stays, the rest is set aside beside it";
        place.log.error({ event: "journal-damaged", root, folder }, text);
      }
      this.#journal = new library.RootJournal({ ...rest, folder, nowMs: () => Date.now(), onFault });
      return this.#journal;
    } catch (error) {
      this.#failedMs = performance.now();
      onFault(error);
      return undefined;
    } finally {
      this.#opening = undefined;
    }
  }
}

/** Name of the journal of a root in the state directory. */
export const keyOf = (realPath: string): string => createHash("sha256").update(realPath).digest("hex");

/** Whether a path is a directory or lies in it. Both canonical. */
const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith("/") ? directory : `${directory}/`);
