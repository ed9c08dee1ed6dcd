// Events that the instances of a venue tell one another: changes of drives, tokens that were made or ended, jobs that have rows.

import type { ChangeSink } from "../../../core/ports/changes/change.js";
import type { EventSink } from "../../../core/ports/changes/events.js";
import type { JobRecord } from "../../../core/ports/job.js";
import type { Seal, Shared } from "../../../core/ports/shared.js";
import type { EventLog } from "../../../feed/event-log.js";
import { changeInDrive, type DriveOf } from "../../../feed/feed-topic.js";
import { eventsOf } from "../../../feed/file-event.js";
import { jobEvent } from "../../events/venue-events.js";
import type { KeptJob } from "../../jobs/keeper.js";

const KIND = "events";
const BATCH_MS = 100;
const RETRY_MS = 1000;
/** Sealed and in base64 it is less than a notification may have. */
const MAX_BYTES = 5800;
/** How the topics begin that are told of. Approvals are told of as their rows change, audit records by who has them. */
const TOPICS = /^(?:auth$|job$|drive )/;

/** One notification; `lost` without topics: all of them. */
type Batch =
  | { readonly told: readonly { readonly topic: string; readonly event: unknown }[] }
  | { readonly lost: readonly string[] };

export interface SharedEventsOptions {
  readonly shared: Shared;
  readonly log: EventLog;
  readonly rootOf: DriveOf;
}

export class SharedEvents {
  readonly #options: SharedEventsOptions;
  readonly #seal: Seal;
  /** Topics of the batch. */
  #topics = new Set<string>();
  #told: string[] = [];
  #bytes = 0;
  /** Too much happened to be told. */
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SharedEventsOptions) {
    const { shared } = options;
    this.#options = options;
    // Rights are judged where events are delivered; the engine is to learn of neither places nor people.
    this.#seal = shared.sealed(KIND);
    shared.hear(KIND, (payload, from) => {
      if (from !== shared.self.number) this.#hear(payload, from);
    });
    shared.on("gap", () => this.#lose([]));
  }

  /** Takes committed changes. Those on the host are seen on the disk. */
  readonly changes: ChangeSink = (record) => {
    const found = changeInDrive(record, this.#options.rootOf);
    if (found === undefined) return;
    for (const event of eventsOf(found.change)) this.#tell(found.topic, event);
  };

  /** Takes events of this instance, for its readers and those of others. */
  readonly sink: EventSink = {
    wants: (topic) => topic === "auth" || this.#options.log.wants(topic),
    publish: (topic, event) => {
      this.#options.log.publish(topic, event);
      if (topic === "auth") this.#tell(topic, event);
    },
  };

  /** Tells others of a job, as its row is written. */
  readonly job = (job: Pick<KeptJob, "isPrivate" | "owners">, record: JobRecord): void => {
    if (!job.isPrivate) this.#tell("job", jobEvent(record, job.owners));
  };

  /** Tells everybody of a job whose instance is gone. */
  readonly lostJob = (job: Pick<KeptJob, "isPrivate" | "owners">, record: JobRecord): void => {
    if (!job.isPrivate) this.#options.log.publish("job", jobEvent(record, job.owners));
    this.job(job, record);
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#send();
  }

  #tell(topic: string, event: unknown): void {
    const text = JSON.stringify({ topic, event });
    this.#bytes += Buffer.byteLength(text) + 1;
    this.#topics.add(topic);
    if (this.#bytes > MAX_BYTES) this.#isOver = true;
    if (this.#isOver) this.#told = [];
    else this.#told.push(text);
    this.#sendIn(BATCH_MS);
  }

  #sendIn(ms: number): void {
    if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.#send(), ms).unref();
  }

  async #send(): Promise<void> {
    this.#timer = undefined;
    const topics = this.#topics;
    if (topics.size === 0) return;
    const text = this.#isOver ? lostText([...topics]) : `{"told":[${this.#told.join(",")}]}`;
    this.#topics = new Set();
    this.#told = [];
    this.#bytes = 0;
    this.#isOver = false;
    const { shared } = this.#options;
    try {
      const sealed = this.#seal.seal(String(shared.self.number), Buffer.from(text));
      await shared.notify(KIND, sealed.toString("base64"));
    } catch {
      // Others may hear all the while, and must look for themselves.
      this.#topics = new Set([...topics, ...this.#topics]);
      this.#isOver = true;
      this.#told = [];
      this.#sendIn(RETRY_MS);
    }
  }

  #hear(payload: string, from: number): void {
    const text = this.#seal.open(String(from), Buffer.from(payload, "base64"));
    // Not from this venue.
    if (text === undefined) return;
    const batch: Batch = JSON.parse(text.toString());
    if ("lost" in batch) this.#lose(batch.lost);
    else for (const { topic, event } of batch.told) this.#options.log.publish(topic, event);
  }

  #lose(topics: readonly string[]): void {
    this.#options.log.markLost((key) => (topics.length === 0 ? TOPICS.test(key) : topics.includes(key)));
  }
}

function lostText(topics: readonly string[]): string {
  const text = JSON.stringify({ lost: topics });
  return Buffer.byteLength(text) > MAX_BYTES ? '{"lost":[]}' : text;
}
