// Memory accounting: bounds the bytes of request bodies and answers held at once, in total and per sender.

/** Bodies and answers up to this many bytes are not counted; limits on connections and calls bound those. */
export const UNCOUNTED_BYTES = 65_536;
/** Fraction of the budget that one sender may use. */
const SHARE = 0.25;

/** Reserves memory for a call's answer before the answer is built. */
export interface AnswerMemory {
  /** Reserves `bytes` in total for the answer, if there is room. */
  tryHold(bytes: number): boolean;
  /** Waits in FIFO order until `bytes` in total are reserved. @param signal ends the wait */
  hold(bytes: number, signal?: AbortSignal): Promise<void>;
}

/** Thrown instead of building an answer that there is no room for. Retry the call once it has reserved `bytes`. */
export class NeedsMemory extends Error {
  override readonly name = "NeedsMemory";
  readonly bytes: number;

  constructor(bytes: number) {
    super("The answer has to wait for memory");
    this.bytes = bytes;
  }
}

interface Use {
  /** All bytes held. */
  bytes: number;
  /** The part of `bytes` held for answers. */
  answers: number;
}

interface Waiter {
  readonly lease: MemoryLease;
  readonly bytes: number;
  readonly grant: () => void;
}

/**
 * Bytes of requests and answers currently held in memory. A bound on the sum, and one on each sender's share, keep many
 * large concurrent calls, or clients that read slowly, from exhausting the memory of the process.
 *
 * Bodies are counted as they arrive; when there is no room, the newest incomplete ones are dropped. Answers are counted
 * before they are built, and wait for room. A single body, and a single answer, may always exceed a bound.
 */
export class MemoryBudget {
  readonly #maxBytes: number;
  readonly #shareBytes: number;
  readonly #all: Use = { bytes: 0, answers: 0 };
  readonly #senders = new Map<string, Use>();
  /** Counted bodies that are still incomplete, oldest first. */
  readonly #incoming = new Set<MemoryLease>();
  readonly #waiting: Waiter[] = [];

  constructor(maxBytes: number, share = SHARE) {
    this.#maxBytes = maxBytes;
    this.#shareBytes = maxBytes * share;
  }

  /** Bytes currently held. */
  get bytes(): number {
    return this.#all.bytes;
  }

  /** Number of answers waiting for room. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** A lease for one request and its answer. @param sender whose share it uses @param onUse called at its first use */
  lease(sender: string, onUse: () => void = () => {}): MemoryLease {
    return new MemoryLease(sender, { budget: this, onUse });
  }

  /** Counts a chunk of a body. Drops bodies, newest first, until the rest fit; that may include this one. */
  receive(lease: MemoryLease, bytes: number): void {
    this.#incoming.add(lease);
    this.#add(lease, { bytes, answers: 0 });
    if (this.#isShareOver(lease)) this.#shed(lease, (one) => one.sender === lease.sender && this.#isShareOver(one));
    if (this.#isOver(lease)) this.#shed(lease, (one) => this.#isOver(one));
  }

  /** Marks the body as complete: it can no longer be dropped. */
  received(lease: MemoryLease): void {
    this.#incoming.delete(lease);
  }

  /** Takes memory for an answer. @param force take it even without room @returns whether it was taken */
  take(lease: MemoryLease, bytes: number, force: boolean): boolean {
    const isFirst = this.#waiting.length === 0;
    if (!force && !(isFirst && this.#fits(lease, bytes))) return false;
    this.#add(lease, { bytes, answers: bytes });
    return true;
  }

  wait(lease: MemoryLease, bytes: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        ...{ lease, bytes },
        grant: () => {
          signal?.removeEventListener("abort", giveUp);
          resolve();
        },
      };
      const giveUp = () => {
        const place = this.#waiting.indexOf(waiter);
        if (place >= 0) this.#waiting.splice(place, 1);
        reject(signal?.reason);
        this.#grant();
      };
      this.#waiting.push(waiter);
      if (signal?.aborted === true) giveUp();
      else signal?.addEventListener("abort", giveUp, { once: true });
      this.#grant();
    });
  }

  /** Releases bytes held by a lease. */
  giveBack(lease: MemoryLease, { bytes, answers }: Use): void {
    this.#incoming.delete(lease);
    this.#add(lease, { bytes: -bytes, answers: -answers });
    this.#grant();
  }

  #add({ sender }: MemoryLease, { bytes, answers }: Use): void {
    const use = this.#senders.get(sender) ?? { bytes: 0, answers: 0 };
    for (const one of [use, this.#all]) {
      one.bytes += bytes;
      one.answers += answers;
    }
    if (use.bytes > 0) this.#senders.set(sender, use);
    else this.#senders.delete(sender);
  }

  #isShareOver({ sender, bytes }: MemoryLease): boolean {
    const used = this.#senders.get(sender)?.bytes ?? 0;
    return used > this.#shareBytes && used > bytes;
  }

  #isOver({ bytes }: MemoryLease): boolean {
    return this.#all.bytes > this.#maxBytes && this.#all.bytes > bytes;
  }

  /** Drops incoming bodies for which `mustGo` holds, newest first, stopping once `arriving` itself is dropped. */
  #shed(arriving: MemoryLease, mustGo: (lease: MemoryLease) => boolean): void {
    for (const lease of [...this.#incoming].reverse()) {
      if (!this.#incoming.has(arriving)) return;
      if (mustGo(lease)) lease.drop();
    }
  }

  #fits(lease: MemoryLease, bytes: number): boolean {
    return this.#fitsShare(lease, bytes) && this.#fitsAll(lease, bytes);
  }

  #fitsAll({ answers }: MemoryLease, bytes: number): boolean {
    return this.#all.bytes + bytes <= this.#maxBytes || this.#all.answers === answers;
  }

  #fitsShare({ sender, answers }: MemoryLease, bytes: number): boolean {
    const used = this.#senders.get(sender) ?? { bytes: 0, answers: 0 };
    return used.bytes + bytes <= this.#shareBytes || used.answers === answers;
  }

  /** Grants waiting answers in order. One over its sender's share is skipped; one over the total ends the loop. */
  #grant(): void {
    for (const waiter of [...this.#waiting]) {
      const { lease, bytes, grant } = waiter;
      if (!this.#fitsShare(lease, bytes)) continue;
      if (!this.#fitsAll(lease, bytes)) return;
      this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
      this.#add(lease, { bytes, answers: bytes });
      lease.granted(bytes);
      grant();
    }
  }
}

/** Memory held by one request and its answer. Reference-counted: the last user to release it returns the memory. */
export class MemoryLease implements AnswerMemory {
  readonly sender: string;
  readonly #budget: MemoryBudget;
  #onUse: (() => void) | undefined;
  /** Called when the incoming body is dropped. */
  onDrop: () => void = () => {};
  /** Factor from bytes of the answer to bytes counted. */
  weight = 1;
  #received = 0;
  #held: Use = { bytes: 0, answers: 0 };
  #users = 1;

  constructor(sender: string, { budget, onUse }: { budget: MemoryBudget; onUse: () => void }) {
    this.sender = sender;
    this.#budget = budget;
    this.#onUse = onUse;
  }

  get bytes(): number {
    return this.#held.bytes;
  }

  get answers(): number {
    return this.#held.answers;
  }

  /** Counts a received chunk of the body. The body may have been dropped when this returns. */
  receive(bytes: number): void {
    if (this.#users === 0) return;
    this.#received += bytes;
    if (this.#received <= UNCOUNTED_BYTES) return;
    const more = this.#received - this.#held.bytes;
    this.#use({ bytes: more, answers: 0 });
    this.#budget.receive(this, more);
  }

  /** Marks the body as complete. */
  received(): void {
    this.#budget.received(this);
  }

  /** Drops the incoming body. */
  drop(): void {
    this.#giveBack();
    this.onDrop();
  }

  tryHold(bytes: number): boolean {
    return this.#hold(bytes, false);
  }

  /** Counts an answer that already exists, whether or not there is room. */
  holdMade(bytes: number): void {
    this.#hold(bytes, true);
  }

  async hold(bytes: number, signal?: AbortSignal): Promise<void> {
    const more = this.#missing(bytes);
    if (more > 0) await this.#budget.wait(this, more, signal);
  }

  /** Called by the budget when it has granted a wait of this lease. */
  granted(bytes: number): void {
    this.#use({ bytes, answers: bytes });
    if (this.#users === 0) this.#giveBack();
  }

  /** Adds a user of the lease. @returns releases it for that user; idempotent */
  share(): () => void {
    this.#users += 1;
    let isUsing = true;
    return () => {
      if (isUsing) this.release();
      isUsing = false;
    };
  }

  /** Removes one user; the last one returns the memory. */
  release(): void {
    if (this.#users > 0) this.#users -= 1;
    if (this.#users === 0) this.#giveBack();
  }

  #hold(bytes: number, anyway: boolean): boolean {
    const more = this.#missing(bytes);
    if (more <= 0) return true;
    if (!this.#budget.take(this, more, anyway)) return false;
    this.#use({ bytes: more, answers: more });
    return true;
  }

  /** Bytes still to be reserved. 0 once all users have released the lease, since nobody waits for that answer. */
  #missing(bytes: number): number {
    return bytes <= UNCOUNTED_BYTES || this.#users === 0 ? 0 : bytes * this.weight - this.#held.answers;
  }

  #use({ bytes, answers }: Use): void {
    this.#held.bytes += bytes;
    this.#held.answers += answers;
    this.#onUse?.();
    this.#onUse = undefined;
  }

  #giveBack(): void {
    const held = this.#held;
    this.#held = { bytes: 0, answers: 0 };
    this.#received = 0;
    this.#budget.giveBack(this, held);
  }
}
