// Indexes jobs by caller.

import type { Page } from "../../core/call/page.js";

/** Indexes jobs by caller, so that listing one caller's jobs does not scan all of them. */
export class JobCallers {
  /** Job ids by caller, in order of insertion. */
  readonly #ids = new Map<string, Set<string>>();

  /** Number of callers with at least one job. */
  get size(): number {
    return this.#ids.size;
  }

  add(caller: string, id: string): void {
    const ids = this.#ids.get(caller);
    if (ids === undefined) this.#ids.set(caller, new Set([id]));
    else ids.add(id);
  }

  remove(caller: string, id: string): void {
    const ids = this.#ids.get(caller);
    ids?.delete(id);
    if (ids?.size === 0) this.#ids.delete(caller);
  }

  count(caller: string): number {
    return this.#ids.get(caller)?.size ?? 0;
  }

  /** A page of a caller's job ids, newest first. */
  newest(caller: string, { offset, limit }: Page): string[] {
    const ids = [...(this.#ids.get(caller) ?? [])];
    const end = Math.max(0, ids.length - offset);
    return ids.slice(Math.max(0, end - limit), end).reverse();
  }

  clear(): void {
    this.#ids.clear();
  }
}
