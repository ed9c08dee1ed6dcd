// Turns between venues that swap the same root. A venue that loses says so in the bucket; one that wins lets it in.

import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { putLatest } from "../../../../core/put-latest.js";
import type { S3Client } from "../client/s3-client.js";

const FIRST_MS = 10;
const MOST_MS = 300;
/** How long after a win a venue looks for marks of others: one that writes now and then keeps nobody out. */
const BURST_MS = 5000;
/** Least time between two looks. */
const LOOK_MS = 50;
/** Guessed length of another venue's attempt, where it has put a root between two of this one. */
const GUESSED_MS = 100;
/** Most that another venue's attempt counts for. */
const MAX_ATTEMPT_MS = 1500;
/** How long a mark counts: so many attempts of the other, and at least a second. */
const ATTEMPTS = 10;
const LEAST_MS = 1000;
const MAX_MARK_BYTES = 200;
const MAX_OWNERS = 1024;

/** One owner's root, as this venue competes for it. */
interface Contest {
  /** Conflicts since the last win. */
  conflicts: number;
  /** How long an attempt of this venue takes. */
  lostMs: number;
  /** When the attempt under way began, if it is not the first one in a row. */
  triedAt: number | undefined;
  wonAt: number;
  lookedAt: number;
  /** Entity tag of the last mark; empty if there was none, absent before the first look. */
  mark: string | undefined;
  /** How long an attempt of the others takes, and until when they count. */
  theirMs: number;
  theirUntil: number;
}

export type Contention = ReturnType<typeof createContention>;

export interface ContentionParts {
  readonly client: Pick<S3Client, "getChanged" | "put">;
  readonly now: () => number;
  /** At least 0, below 1. */
  readonly random?: () => number;
  readonly wait?: (ms: number) => Promise<unknown>;
}

export const waitingKey = (owner: string): string => `waiting/${owner}`;

export function createContention({ client, now, random = Math.random, wait = delay }: ContentionParts) {
  const self = randomBytes(8).toString("hex");
  const contests = new Map<string, Contest>();

  const contestOf = (owner: string): Contest => {
    const known = contests.get(owner);
    const never = { wonAt: Number.NEGATIVE_INFINITY, lookedAt: Number.NEGATIVE_INFINITY };
    const contest = known ?? {
      ...never,
      conflicts: 0,
      lostMs: 0,
      triedAt: undefined,
      mark: undefined,
      theirMs: 0,
      theirUntil: 0,
    };
    putLatest(contests, owner, contest, MAX_OWNERS);
    return contest;
  };
  const count = (contest: Contest, ms: number): void => {
    const isOver = now() >= contest.theirUntil;
    contest.theirMs = Math.min(MAX_ATTEMPT_MS, isOver ? ms : Math.max(ms, contest.theirMs));
    contest.theirUntil = now() + Math.max(LEAST_MS, ATTEMPTS * contest.theirMs);
  };
  const leaveMark = async (owner: string, ms: number): Promise<void> => {
    const mark = { by: self, at: now(), ms, id: randomBytes(8).toString("hex") };
    await client.put(waitingKey(owner), Buffer.from(JSON.stringify(mark))).catch(() => undefined);
  };
  return {
    /** Waits while it is the turn of others. @param isOurs whether this venue put the root @returns whether it waited */
    async giveWay(owner: string, isOurs: boolean): Promise<boolean> {
      const contest = contestOf(owner);
      const isContested = now() < contest.theirUntil;
      if (!isOurs) {
        // The other venue won, so its attempts take at most the wait. If that was luck, its next mark corrects this.
        if (isContested) contest.theirMs *= 0.75;
        // Both write: a guess counts until a mark says how long the other's attempts take.
        if (isContested || now() - contest.wonAt < BURST_MS) count(contest, isContested ? 0 : GUESSED_MS);
        return false;
      }
      if (!isContested) return false;
      // An attempt under way fails by this venue's win; the next one is whole.
      const ms = contest.wonAt + 2 * contest.theirMs + 2 * FIRST_MS - now();
      if (ms <= 0) return false;
      await wait(ms);
      return true;
    },
    /** Looks for a mark of others, where this venue may keep them out. Never fails. */
    async look(owner: string): Promise<void> {
      const contest = contestOf(owner);
      const at = now();
      const isBurst = at - contest.wonAt < BURST_MS || at < contest.theirUntil;
      if (!isBurst || at - contest.lookedAt < LOOK_MS) return;
      contest.lookedAt = at;
      const { mark: last } = contest;
      const looking = client.getChanged(waitingKey(owner), last || undefined, MAX_MARK_BYTES);
      const found = await looking.catch(() => "same" as const);
      if (found === "same") return;
      contest.mark = found?.etag ?? "";
      const mark = found === undefined ? undefined : parseMark(found.bytes);
      if (mark === undefined || mark.by === self) return;
      // A mark found at the first look may be old. One that changed since is new, whatever clock the other has.
      if (last !== undefined || Math.abs(at - mark.at) < BURST_MS) count(contest, mark.ms);
    },
    /**
     * After a conflict waits for a random time, of which the most doubles with each conflict in a row, up to 300 ms, and leaves
     * a mark that says how long an attempt takes.
     */
    async settle(owner: string, isConflict: boolean, ms: number): Promise<void> {
      const contest = contestOf(owner);
      if (!isConflict) {
        Object.assign(contest, { conflicts: 0, triedAt: undefined, wonAt: now() });
        return;
      }
      // A whole attempt, with what is read before the swap, is known from the second one on.
      contest.lostMs = contest.triedAt === undefined ? Math.max(ms, contest.lostMs) : now() - contest.triedAt;
      const most = Math.min(MOST_MS, FIRST_MS * 2 ** contest.conflicts);
      contest.conflicts += 1;
      // The next attempt does not wait for the mark.
      if (contest.lostMs > 1) void leaveMark(owner, contest.lostMs);
      await wait(random() * most);
      contest.triedAt = now();
    },
  };
}

/** @returns `undefined` for what is no mark */
function parseMark(bytes: Uint8Array): { readonly by: string; readonly at: number; readonly ms: number } | undefined {
  try {
    const { by, at, ms } = JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>;
    if (typeof by !== "string" || !Number.isFinite(at) || !Number.isFinite(ms)) return undefined;
    return { by, at: at as number, ms: Math.max(0, ms as number) };
  } catch {
    return undefined;
  }
}
