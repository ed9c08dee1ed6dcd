// Caches decoded tokens between requests, within bounds.

import type { Clock } from "../../core/clock.js";
import { MAX_TOKEN_BYTES } from "../token/decode.js";
import type { TokenForm, UnreadableToken } from "../token/form.js";

type Read<G> = TokenForm<G> | UnreadableToken;

/** Cache of decoded tokens with their inline proofs. */
export interface ChainCache<G> {
  /** @returns the decoded token, cached or newly read */
  read(text: string): Read<G>;
  /** Marks a token whose signature was verified, so that it is kept longer. */
  confirm(form: TokenForm<G>): void;
}

/** Bounds of a cache. */
interface Bounds {
  readonly entries: number;
  /** Total characters of all texts. The decoded form of a text takes up to twelve times as many bytes. */
  readonly characters: number;
  readonly ageMs: number;
}

const CONFIRMED: Bounds = { entries: 2000, characters: 4 * 1024 * 1024, ageMs: 60_000 };
const UNCONFIRMED: Bounds = { entries: 500, characters: 1024 * 1024, ageMs: 10_000 };

/**
 * Caches only what depends on the text of a token alone, so that a hit can never outlive a revocation or an expiry:
 * time, revocation, lifetime, owner and accompanying proofs are checked at every request. This is stricter than caching
 * grants by text, owner and the request's other tokens, and the text suffices as key. Unreadable tokens, and those
 * whose signature is not verified yet, go to a separate small, short-lived cache, so they cannot evict verified ones.
 */
export function createChainCache<G>(read: (text: string) => Read<G>, clock: Clock): ChainCache<G> {
  const confirmed = createRoom<TokenForm<G>>(CONFIRMED, clock);
  const unconfirmed = createRoom<Read<G>>(UNCONFIRMED, clock);
  return {
    read(text) {
      if (text.length > MAX_TOKEN_BYTES) return read(text);
      const known = confirmed.get(text) ?? unconfirmed.get(text);
      if (known !== undefined) return known;
      const form = read(text);
      unconfirmed.set(text, form);
      return form;
    },
    confirm(form) {
      if (unconfirmed.get(form.text) !== form) return;
      unconfirmed.delete(form.text);
      confirmed.set(form.text, form);
    },
  };
}

/** A bounded map keyed by token text; evicts the oldest entries. */
function createRoom<T>({ entries, characters, ageMs }: Bounds, clock: Clock) {
  const kept = new Map<string, { readonly value: T; readonly untilMs: number }>();
  let total = 0;
  const remove = (text: string): void => {
    if (kept.delete(text)) total -= text.length;
  };
  const makeRoom = (): void => {
    // Insertion order is expiry order, since all entries have the same lifetime.
    for (const [text, { untilMs }] of kept) {
      if (kept.size <= entries && total <= characters && untilMs > clock.monotonicMs()) return;
      remove(text);
    }
  };
  return {
    get(text: string): T | undefined {
      const found = kept.get(text);
      return found !== undefined && found.untilMs > clock.monotonicMs() ? found.value : undefined;
    },
    set(text: string, value: T): void {
      remove(text);
      kept.set(text, { value, untilMs: clock.monotonicMs() + ageMs });
      total += text.length;
      makeRoom();
    },
    delete: remove,
  };
}
