/** Bodies and answers up to this size are never counted: connections and calls are bounded too. */
export const UNCOUNTED_BYTES = 65_536;
/** What one sender may take of all. */
const SHARE = 0.25;

/** What a call's answer takes in memory, asked for before it is made. */
export interface AnswerMemory {
  /** Holds so many bytes in all for the answer, if there is room. */
  tryHold(bytes: number): boolean;
  /** The same once there is room, in the order in which it was asked for. @param signal ends the wait */
  hold(bytes: number, signal?: AbortSignal): Promise<void>;
}

/** Thrown before an answer is made that there is no room for yet. The call is to be made again once it holds so much. */
export class NeedsMemory extends Error {
  override readonly name = "NeedsMemory";
  readonly bytes: number;

  constructor(bytes: number) {
    super("The answer has to wait for memory");
    this.bytes = bytes;
  }
}

interface Use {
  /** All that is held. */
  bytes: number;
  /** Of that, for answers. */
  answers: number;
}

interface Waiter {
  readonly lease: MemoryLease;
  readonly bytes: number;
  readonly grant: () => void;
}

/**
 * Bytes of requests and answers that are held in memory at this moment. A bound on their sum, and one on what each sender
 * takes of it, keep many large calls at once, or clients that read slowly, from using up the memory of the process.
 *
 * Bodies are counted as they arrive; where there is no room, the newest that are not whole yet have to go. Answers are
 * counted before they are made, and wait. One body alone, and one answer alone, may always go over a bound.
 */
export class MemoryBudget {
  readonly #maxBytes: number;
  readonly #shareBytes: number;
  readonly #all: Use = { bytes: 0, answers: 0 };
  readonly #senders = new Map<string, Use>();
  /** Bodies that are counted and not whole yet, oldest first. */
  readonly #incoming = new Set<MemoryLease>();
  readonly #waiting: Waiter[] = [];

  constructor(maxBytes: number, share = SHARE) {
    this.#maxBytes = maxBytes;
    this.#shareBytes = maxBytes * share;
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#all.bytes;
  }

  /** Answers that wait for room. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** What one request and its answer take. @param sender who it is counted against @param onUse told when it takes something at first */
  lease(sender: string, onUse: () => void = () => {}): MemoryLease {
    return new MemoryLease(sender, { budget: this, onUse });
  }

  /** Counts a piece of a body. Bodies without room are dropped, the newest first, this one perhaps among them. */
  receive(lease: MemoryLease, bytes: number): void {
    this.#incoming.add(lease);
    this.#add(lease, { bytes, answers: 0 });
    if (this.#isShareOver(lease)) this.#shed(lease, (one) => one.sender === lease.sender && this.#isShareOver(one));
    if (this.#isOver(lease)) this.#shed(lease, (one) => this.#isOver(one));
  }

  /** The body is whole: it stays, whatever comes. */
  received(lease: MemoryLease): void {
    this.#incoming.delete(lease);
  }

  /** @returns whether there was room @param anyway take it even so */
  take(lease: MemoryLease, bytes: number, anyway: boolean): boolean {
    const isFirst = this.#waiting.length === 0;
    if (!anyway && !(isFirst && this.#fits(lease, bytes))) return false;
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

  /** Takes back what a lease holds. */
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

  /** Drops incoming bodies, newest first, as long as they are to go. */
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

  /** Lets answers be made that there is room for now. One whose sender has too many lets those of others pass. */
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

/** What one request and its answer hold of a budget, until all who use them have let go. */
export class MemoryLease implements AnswerMemory {
  readonly sender: string;
  readonly #budget: MemoryBudget;
  #onUse: (() => void) | undefined;
  /** Called when the body that is still coming in has to go. */
  onDrop: () => void = () => {};
  /** What a byte of the answer counts for. */
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

  /** Counts a piece of a body that has come in. Afterwards the body may have been dropped. */
  receive(bytes: number): void {
    if (this.#users === 0) return;
    this.#received += bytes;
    if (this.#received <= UNCOUNTED_BYTES) return;
    const more = this.#received - this.#held.bytes;
    this.#use({ bytes: more, answers: 0 });
    this.#budget.receive(this, more);
  }

  /** The body is whole. */
  received(): void {
    this.#budget.received(this);
  }

  /** Lets the body that is still coming in go. */
  drop(): void {
    this.#giveBack();
    this.onDrop();
  }

  tryHold(bytes: number): boolean {
    return this.#hold(bytes, false);
  }

  /** Counts an answer that has been made already. */
  holdMade(bytes: number): void {
    this.#hold(bytes, true);
  }

  async hold(bytes: number, signal?: AbortSignal): Promise<void> {
    const more = this.#missing(bytes);
    if (more > 0) await this.#budget.wait(this, more, signal);
  }

  /** The budget has counted what was waited for. */
  granted(bytes: number): void {
    this.#use({ bytes, answers: bytes });
    if (this.#users === 0) this.#giveBack();
  }

  /** Somebody else, too, uses what is held. @returns lets go for them, once */
  share(): () => void {
    this.#users += 1;
    let isUsing = true;
    return () => {
      if (isUsing) this.release();
      isUsing = false;
    };
  }

  /** One of the users needs nothing of it any more. */
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

  /** Nobody waits for an answer whose users are gone: it is nobody's memory. */
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
