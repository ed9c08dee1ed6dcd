// Writer ids with heartbeats: each process writes its roots under a name that others can see is alive.

import { randomBytes } from "node:crypto";
import { describeError } from "../../../../core/errors/describe-error.js";
import type { Log } from "../../../../core/ports/log.js";
import type { S3Client } from "../client/s3-client.js";

/** The name under which this process writes its roots. */
export interface WriterId {
  current(): string;
  /** Whether a name was used by this process and is now retired. */
  isFormer(id: string): boolean;
  /** Makes sure that others see this process as alive. @returns the name to write under now */
  ready(): Promise<string>;
  /** Switches to another name, because a put under this one may be in flight or others may consider it dead. */
  change(): void;
  /** @param isLast whether nothing of this process is in flight any more */
  close(isLast: boolean): Promise<void>;
}

export const WRITER_ID = /^[0-9a-f]{32}$/;
/** Reserved writer id of the root shared by all processes. */
export const HEAD_ID = "0".repeat(32);
export const isHead = ({ record }: { readonly record: { readonly writer: string } }): boolean =>
  record.writer === HEAD_ID;
export const writerKey = (id: string): string => `writers/${id}`;
export const HEARTBEAT_MS = 60_000;
/** A writer without a heartbeat for this long counts as dead. */
export const GONE_MS = 3_600_000;
/**
 * Half of GONE_MS, to allow for clock differences: after this long without a heartbeat, the old name is no longer
 * written to.
 */
const SILENT_MS = GONE_MS / 2;
const MAX_FORMER = 1000;

/** For processes that share one root: nobody needs to know which of them are alive. */
export const sharedWriter: WriterId = {
  current: () => HEAD_ID,
  isFormer: () => false,
  ready: async () => HEAD_ID,
  change() {},
  async close() {},
};

export interface WriterIdOptions {
  readonly client: S3Client;
  readonly now: () => number;
  readonly log: Log;
}

export function createWriterId({ client, now, log }: WriterIdOptions): WriterId {
  const former = new Set<string>();
  let id = randomBytes(16).toString("hex");
  let beatAt: number | undefined;
  let beating: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const change = (): void => {
    former.add(id);
    for (const oldest of former) if (former.size > MAX_FORMER) former.delete(oldest);
    id = randomBytes(16).toString("hex");
    beatAt = undefined;
  };
  const beat = async (): Promise<void> => {
    const [mine, at] = [id, now()];
    await client.put(writerKey(mine), Buffer.from("venue-files\n"));
    if (mine === id) beatAt = at;
  };
  const beatOnce = (): Promise<void> => {
    beating ??= beat().finally(() => {
      beating = undefined;
    });
    return beating;
  };
  const failed = (error: unknown): void =>
    log.warn({ event: "drive.heartbeat", error: describeError(error) }, "The heartbeat of the drive store failed");

  return {
    current: () => id,
    isFormer: (other) => former.has(other),
    change,
    async ready() {
      // A clock that was set back is as unreliable as one that was stopped.
      if (beatAt !== undefined && Math.abs(now() - beatAt) > SILENT_MS) change();
      while (beatAt === undefined) await beatOnce();
      timer ??= setInterval(() => void beatOnce().catch(failed), HEARTBEAT_MS).unref();
      return id;
    },
    async close(isLast) {
      clearInterval(timer);
      await beating?.catch(() => undefined);
      if (!isLast || (beatAt === undefined && former.size === 0)) return;
      try {
        if (beatAt !== undefined) await client.remove(writerKey(id));
      } catch (error) {
        failed(error);
      }
    },
  };
}
