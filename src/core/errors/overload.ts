/** Too many requests of a kind: refused before any effect, so the request can be retried. */
export class Overloaded extends Error {
  override readonly name = "Overloaded";
  /** Delay before a retry, in milliseconds. */
  readonly retryAfterMs: number;

  /** @param text the reason, safe to show to the caller */
  constructor(text: string, retryAfterMs: number) {
    super(text);
    this.retryAfterMs = retryAfterMs;
  }
}
