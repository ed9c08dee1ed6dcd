// The approvals of all instances of a venue: each has a view of the rows, which alone decide.

import { FileAdapterError } from "../../../core/errors/errors.js";
import type { Awaitable } from "../../../core/io.js";
import type { SurfaceContext } from "../../../core/ports/adapter.js";
import { type ApprovalDesk, type ApprovalRequest, type ApprovalUse, BY_CLIENT } from "../../../core/ports/approval.js";
import type { Shared } from "../../../core/ports/shared.js";
import { Approvals, type ApprovalsOptions, type ClientAnswer, type Decision } from "../../approvals/approvals.js";
import { type ApprovalRows, createApprovalRows } from "./approval-rows.js";

/** The approvals of a venue of several instances. */
export function openSharedApprovals(shared: Shared, options: ApprovalsOptions): SharedApprovals {
  const rows = createApprovalRows(shared);
  const approvals = new SharedApprovals(options, rows);
  // Without the engine they are read again before anything is done with one.
  const look = () => void approvals.refresh().catch(() => {});
  rows.onChange(look);
  look();
  return approvals;
}

/** An approval that calls of this instance have brought, claimed for them. */
interface Hold {
  calls: number;
  readonly claimed: Promise<number | undefined>;
}

export class SharedApprovals extends Approvals {
  readonly #callerOf: ApprovalsOptions["callerOf"];
  readonly #rows: ApprovalRows;
  /** Versions of rows that were taken in. */
  readonly #versions = new Map<string, number>();
  readonly #writes = new Map<string, Promise<void>>();
  /** By caller and approval. */
  readonly #holds = new Map<string, Hold>();
  /** Approvals that are claimed for calls of this instance. */
  readonly #claimed = new Set<string>();
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(options: ApprovalsOptions, rows: ApprovalRows) {
    super(options);
    this.#callerOf = options.callerOf;
    this.#rows = rows;
  }

  override ask(request: ApprovalRequest): ReturnType<ApprovalDesk["ask"]> {
    const asked = super.ask(request);
    if (asked !== undefined && !this.#versions.has(asked.id)) this.#write(asked.id);
    return asked;
  }

  readonly around: NonNullable<ApprovalDesk["around"]> = async (id, context, run) => {
    const leave = id === undefined ? undefined : await this.#hold(id, context);
    try {
      return await run();
    } catch (error) {
      const asked = error instanceof FileAdapterError ? error.data["approvalId"] : undefined;
      await this.#writes.get(String(asked));
      throw error;
    } finally {
      await leave?.();
    }
  };

  /** A read that begins after this call. @throws SHARED_STATE_UNAVAILABLE */
  override refresh(): Promise<void> {
    const before = this.#running ?? Promise.resolve();
    this.#next ??= before
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        this.#running = this.#read();
        return this.#running;
      });
    return this.#next;
  }

  override async decide(id: string, decision: Decision): Promise<boolean> {
    await this.#writes.get(id);
    const decided = this.decided(id, decision);
    const version = decided && (await this.#rows.decide(decided));
    if (decided === undefined || version === undefined) {
      await this.refresh();
      return false;
    }
    this.#versions.set(id, version);
    this.take(decided);
    return true;
  }

  override async answer(token: string, answer: ClientAnswer, context: SurfaceContext): Promise<string | undefined> {
    await this.refresh();
    const id = this.asked(token, context)?.id;
    if (id === undefined || !(await this.#rows.answer(id, token)) || answer === "dismissed") return undefined;
    return (await this.decide(id, { allows: answer === "allowed", by: BY_CLIENT })) ? id : undefined;
  }

  override use(id: string, call: ApprovalUse, goesOn: boolean): ReturnType<ApprovalDesk["use"]> {
    const fault = super.use(id, call, goesOn);
    // Its row says so already.
    if (fault === undefined && !goesOn) this.#rows.used().catch(() => {});
    return fault;
  }

  protected override isAtHand(id: string): boolean {
    return this.#claimed.has(id);
  }

  #write(id: string): void {
    const approval = this.kept.get(id);
    if (approval === undefined || this.#writes.has(id)) return;
    const written = this.#rows
      .put(approval)
      .then(
        () => void this.#versions.set(id, 1),
        (error: unknown) => {
          // Nobody elsewhere could decide it.
          this.kept.delete(id);
          throw error;
        },
      )
      .finally(() => this.#writes.delete(id));
    written.catch(() => {});
    this.#writes.set(id, written);
  }

  /** Claims an approval of the caller, once for all calls of this instance that bring it. @returns ends that */
  async #hold(id: string, context: SurfaceContext): Promise<() => Awaitable<void>> {
    const caller = this.#callerOf(context);
    const key = `${caller} ${id}`;
    const hold = this.#holds.get(key) ?? { calls: 0, claimed: this.#claim(id, caller) };
    this.#holds.set(key, hold);
    hold.calls++;
    const leave = async () => {
      if (--hold.calls > 0) return;
      this.#holds.delete(key);
      const version = await hold.claimed;
      if (version !== undefined) await this.#release(id, version);
    };
    try {
      await hold.claimed;
    } catch (error) {
      await leave().catch(() => {});
      throw error;
    }
    return leave;
  }

  async #claim(id: string, caller: string): Promise<number | undefined> {
    await this.refresh();
    const approval = this.find(id);
    if (approval?.state !== "once" || approval.caller !== caller) return undefined;
    const version = await this.#rows.claim(id, caller);
    if (version === undefined) return undefined;
    this.#versions.set(id, version);
    this.#claimed.add(id);
    return version;
  }

  async #release(id: string, version: number): Promise<void> {
    this.#claimed.delete(id);
    if (this.kept.get(id)?.state !== "once") return;
    // Without an answer it counts as used.
    const now = await this.#rows.release(id, version).catch(() => undefined);
    if (now !== undefined) this.#versions.set(id, now);
  }

  async #read(): Promise<void> {
    const known = new Map(this.#versions);
    const rows = await this.#rows.read(known);
    for (const { id } of rows) known.delete(id);
    // Swept, or lost by the engine: nobody could decide or use it.
    for (const id of known.keys()) {
      this.kept.delete(id);
      this.#versions.delete(id);
    }
    const changed = rows.flatMap(({ v, approval }) => (approval === undefined ? [] : [{ v, approval }]));
    for (const { v, approval } of changed.toSorted((one, other) => one.approval.created - other.approval.created)) {
      if (v <= (this.#versions.get(approval.id) ?? 0)) continue;
      this.#versions.set(approval.id, v);
      this.take(approval);
    }
  }
}
