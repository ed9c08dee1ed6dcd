import type { Cancellation } from "../../core/call/scope.js";
import type { KeptJob } from "./kept.js";

/** A run of an operation. It can be stopped by the venue, and by whoever submitted it. */
export class JobRun implements Cancellation {
  readonly id: string;
  /** What its input keeps in memory until it ends, in bytes. */
  readonly inputBytes: number;
  /** The job with its record, if there is one; it may have been deleted. */
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

  /** Stops it before its next side effect. */
  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }

  /** Lets go of the submitter's signal, which may live much longer. */
  end(): void {
    this.#submitter?.removeEventListener("abort", this.#onAbort);
  }
}
