import type { Cancellation } from "../../core/call/scope.js";
import type { KeptJob } from "./kept.js";

/** A run of an operation. The venue and the submitter can each abort it. */
export class JobRun implements Cancellation {
  readonly id: string;
  /** Bytes the input keeps in memory until the run ends. */
  readonly inputBytes: number;
  /** The job with its record, if it has one; it may have been deleted. */
  job: KeptJob | undefined;
  #aborted = false;
  #controller: AbortController | undefined;
  readonly #submitter: AbortSignal | undefined;
  readonly #onAbort = () => this.abort();

  constructor(id: string, inputBytes: number, submitter: AbortSignal | undefined) {
    this.id = id;
    this.inputBytes = inputBytes;
    this.#submitter = submitter;
    if (submitter?.aborted === true) this.#aborted = true;
    else submitter?.addEventListener("abort", this.#onAbort, { once: true });
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** Aborts the operation before its next side effect. */
  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }

  /** Removes the listener from the submitter's signal, which may live much longer. */
  end(): void {
    this.#submitter?.removeEventListener("abort", this.#onAbort);
  }
}
