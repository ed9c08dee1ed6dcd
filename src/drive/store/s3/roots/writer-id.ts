import { randomBytes } from "node:crypto";
import { describeError } from "../../../../core/errors/describe-error.js";
import type { Log } from "../../../../core/ports/log.js";
import type { S3Client } from "../client/s3-client.js";

/** Under which name this process writes its roots. */
export interface WriterId {
  current(): string;
  /** Whether a name was ours, under which nothing is written any more. */
  isFormer(id: string): boolean;
  /** Makes sure that others take this process for alive. @returns the name to write under now */
  ready(): Promise<string>;
  /** Takes another name, since somebody may still write under this one, or have taken it for gone. */
  change(): void;
  /** @param isLast whether nothing of this process is on its way any more */
  close(isLast: boolean): Promise<void>;
}

export const WRITER_ID = /^[0-9a-f]{32}$/;
/** In the place of a writer's id: the root that all processes share. */
export const HEAD_ID = "0".repeat(32);
export const isHead = ({ record }: { readonly record: { readonly writer: string } }): boolean =>
  record.writer === HEAD_ID;
export const writerKey = (id: string): string => `writers/${id}`;
export const HEARTBEAT_MS = 60_000;
/** A writer that was not heard of for longer is gone. */
export const GONE_MS = 3_600_000;
/** Half of that, so that clocks may differ: after as long without a heartbeat, nothing is written under the old name. */
const SILENT_MS = GONE_MS / 2;
const MAX_FORMER = 1000;

/** Of processes that share one root: nobody needs to know which of them are alive. */
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
      // A clock that was set back tells as little as one that was stopped.
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
