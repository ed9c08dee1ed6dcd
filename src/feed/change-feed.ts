// The feed of changes in all roots of an adapter. It costs nothing until somebody first reads.

import type { Clock } from "../core/clock.js";
import type { ChangeRecord, ChangeSink } from "../core/ports/changes/change.js";
import { EventLog } from "./event-log.js";
import type { FileEvent } from "./file-event.js";
import { RootFeed } from "./root-feed.js";

export interface ChangeFeedOptions {
  readonly clock: Clock;
  /** Shared with other topics, so that one cursor holds for all. Default: its own. */
  readonly log?: EventLog | undefined;
  /** Name of the drive behind a root; `undefined`: it is no drive. */
  readonly driveOf: (root: string) => string | undefined;
  /** Called once, when somebody first reads: from then on the feed has to hear of changes. */
  readonly onFirstReader: (sink: ChangeSink) => void;
}

/** Which tree a feed is of. A drive is one tree for all roots on it. */
export interface FeedPlace {
  readonly root: string;
  /** Present for drives. */
  readonly drive?: string | undefined;
  readonly owner?: string | undefined;
}

/** The changes in the roots of an adapter. */
export class ChangeFeed {
  readonly log: EventLog;
  readonly #options: ChangeFeedOptions;
  readonly #roots = new Map<string, RootFeed>();
  #changing = 0;

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    this.log = options.log ?? new EventLog();
  }

  /** The feed of a root, which records from the first call on. */
  of(place: FeedPlace): RootFeed {
    const key = keyOf(place);
    const known = this.#roots.get(key);
    if (known !== undefined) return known;
    if (this.#roots.size === 0) this.#options.onFirstReader((record) => this.#publish(record));
    const ring = this.log.ring<FileEvent>();
    const made = new RootFeed({ ring, clock: this.#options.clock, isBusy: () => this.#changing > 0 });
    this.#roots.set(key, made);
    return made;
  }

  /** Brackets the run of an operation that changes something. */
  beginChange(): void {
    this.#changing += 1;
  }

  endChange(): void {
    this.#changing -= 1;
  }

  /** The roots were opened anew: readers have to look for themselves. */
  restart(): void {
    for (const feed of this.#roots.values()) feed.restart();
  }

  close(): void {
    for (const feed of this.#roots.values()) feed.close();
  }

  #publish(record: ChangeRecord): void {
    const { root, scheme, driveOwner } = record;
    const drive = scheme === "dlfs" ? root : this.#options.driveOf(root);
    this.#roots.get(keyOf({ root, drive, owner: driveOwner }))?.publish(record);
  }
}

const keyOf = ({ root, drive, owner = "" }: FeedPlace): string =>
  drive === undefined ? `root ${root}` : `drive ${owner} ${drive}`;
