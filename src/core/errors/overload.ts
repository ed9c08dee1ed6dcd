/** Refuses something before it had any effect, because there is too much of it already; it can be tried again. */
export class Overloaded extends Error {
  override readonly name = "Overloaded";
  /** How long to wait before that, in milliseconds. */
  readonly retryAfterMs: number;

  /** @param text what is too much, in words a caller may see */
  constructor(text: string, retryAfterMs: number) {
    super(text);
    this.retryAfterMs = retryAfterMs;
  }
}
