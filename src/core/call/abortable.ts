// The part of AbortSignal that jobs use, and a minimal implementation of it.

/** A call that may be given up. An `AbortSignal` is one. */
export interface Abortable {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** As an `AbortController` and its signal, for one listener, at a twentieth of their cost: there is one for every call. */
export class Aborter implements Abortable {
  #aborted = false;
  #listener: (() => void) | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.();
  }

  /** @throws if there is a listener already */
  addEventListener(_type: "abort", listener: () => void): void {
    if (this.#listener !== undefined) throw new Error("an aborter has one listener");
    this.#listener = listener;
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    if (this.#listener === listener) this.#listener = undefined;
  }
}
