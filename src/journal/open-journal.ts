// Opens the journal of a root where it is first needed, and shares its store with other roots of the same directory.

import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describeError } from "../core/errors/describe-error.js";
import { type Awaitable, attempt } from "../core/io.js";
import { later } from "../core/later.js";
import type { JournalFacts, Lack } from "../core/ports/changes/journal.js";
import type { Log } from "../core/ports/log.js";
import { systemName } from "../core/system.js";
import { isInside } from "../process/host-path.js";
import type { RootJournal, RootJournalOptions } from "./journal.js";

/** Where the journals of a process lie. */
export interface JournalPlace {
  /** Opens the state directory. @returns its canonical path @throws Error if it cannot be used */
  readonly openState: () => string;
  /** Where the state directory is, or would be made. Makes nothing. @throws Error if it cannot be used */
  readonly lookAtState: () => string;
  /** Whether writable host roots that say nothing about it have a journal. */
  readonly byDefault: boolean;
  readonly log: Log;
}

export interface LazyJournalOptions extends Omit<RootJournalOptions, "folder" | "isMoved" | "onFault"> {
  readonly place: JournalPlace;
  /** Canonical path of the root. */
  readonly realPath: string;
  /** The configuration names the journal: it is not on by default alone. */
  readonly isChosen: boolean;
}

/** How long a journal that could not be opened is left alone, in milliseconds. */
const RETRY_MS = 60_000;
const NO_LIBRARY = "its library 'lmdb' cannot be loaded";
const NO_TRASH = ".venue-files/trash in it is a link, another user's, or cannot be made";

/** The journal of one root, opened at the first change or look. */
export class LazyJournal {
  readonly #options: LazyJournalOptions;
  #journal: RootJournal | undefined;
  #opening: Promise<RootJournal | undefined> | undefined;
  #failure: (Lack & { readonly atMs: number }) | undefined;
  #isClosed = false;

  constructor(options: LazyJournalOptions) {
    this.#options = options;
    later(async () => {
      if (isAtHand()) await loadPlace();
    });
  }

  get mode(): "metadata" | "on" {
    return this.#options.mode;
  }

  /** `undefined`: it cannot be opened, which {@link whyNot} and the log tell. */
  open(): Awaitable<RootJournal | undefined> {
    if (this.#journal?.isThere === true) return this.#journal;
    if (this.#isClosed || this.#isFailed) return undefined;
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Why it could not be opened when that was last tried. */
  whyNot(): Lack["reason"] | undefined {
    return this.#failure?.reason;
  }

  /** Why no content can be kept now. Opens and makes no journal. */
  async lack(): Promise<Lack | undefined> {
    if (this.#journal?.isThere !== true) {
      const found = await this.#look();
      if (found !== undefined || this.#isFailed) return found ?? this.#failure;
    }
    if (await this.#options.bin.isUsable()) return undefined;
    return { reason: "no_trash", why: NO_TRASH };
  }

  facts(): JournalFacts | undefined {
    return this.#journal?.facts;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening;
    await this.#journal?.close();
  }

  get #isFailed(): boolean {
    return this.#failure !== undefined && performance.now() - this.#failure.atMs < RETRY_MS;
  }

  async #look(): Promise<Lack | undefined> {
    const { place, realPath } = this.#options;
    try {
      const state = place.lookAtState();
      if (isInside(state, realPath)) throw new Error(IN_ROOT);
    } catch (error) {
      return { reason: "no_state_dir", why: reasonOf(error) };
    }
    return (await hasLibrary()) ? undefined : { reason: "no_lmdb", why: NO_LIBRARY };
  }

  async #open(): Promise<RootJournal | undefined> {
    const { place, root, realPath, isChosen, ...rest } = this.#options;
    // Removing the state directory of a running venue removes the history, but not the content of the trash.
    const former = this.#journal;
    this.#journal = undefined;
    await former?.close();
    let reason: Lack["reason"] = "no_lmdb";
    const tell = (level: "debug" | "error", error: unknown): void =>
      place.log[level]({ event: "journal", root, error: describeError(error) }, "The journal of a root failed");
    try {
      const { openInFolder } = await loadPlace();
      reason = "no_state_dir";
      const state = place.openState();
      if (isInside(state, realPath)) throw new Error(IN_ROOT);
      const folder = join(state, "journal", keyOf(realPath));
      const opening = { realPath, log: place.log, trashKey: former?.trashKey };
      const onFault = (error: unknown) => tell("error", error);
      this.#journal = await openInFolder({ ...rest, root, folder, onFault }, opening);
      this.#failure = undefined;
      return this.#journal;
    } catch (error) {
      const hasNoLibrary = reason === "no_lmdb";
      const isMissing = hasNoLibrary && !isAtHand();
      const atMs = hasNoLibrary ? Number.POSITIVE_INFINITY : performance.now();
      const why = isMissing ? NO_LIBRARY : hasNoLibrary ? `${NO_LIBRARY} any more. Start anew` : reasonOf(error);
      this.#failure = { reason, why, atMs };
      // For a journal by default, the warning at the start and each answer are enough.
      tell(isMissing && !isChosen ? "debug" : "error", error);
      return undefined;
    }
  }
}

const IN_ROOT = "The state directory lies in the root";

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : "");

/** Its library is native and takes a while to load. */
const loadPlace = () => import("./place.js");

/** Whether the database can be loaded. Where its file is found, that is enough. */
async function hasLibrary(): Promise<boolean> {
  return isAtHand() || (await loadPlace().catch(() => undefined)) !== undefined;
}

function isAtHand(): boolean {
  const file = attempt(() => {
    const { resolve } = createRequire(createRequire(import.meta.url).resolve("lmdb"));
    return resolve(`@lmdb/lmdb-${systemName()}-${process.arch}`);
  });
  return file !== undefined;
}

/** Name of the journal of a root in the state directory. */
export const keyOf = (realPath: string): string => createHash("sha256").update(realPath).digest("hex");
