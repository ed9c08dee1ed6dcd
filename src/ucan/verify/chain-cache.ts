import type { Clock } from "../../core/clock.js";
import { MAX_TOKEN_BYTES } from "../token/decode.js";
import type { TokenForm, UnreadableToken } from "../token/form.js";

type Read<G> = TokenForm<G> | UnreadableToken;

/** Tokens read before, with the proofs inside them. */
export interface ChainCache<G> {
  /** @returns what the token was read as, now or before */
  read(text: string): Read<G>;
  /** Its issuer signed it: it is worth keeping. */
  confirm(form: TokenForm<G>): void;
}

/** How much is kept, and how long. */
interface Bounds {
  readonly entries: number;
  /** Characters of all texts together. What is made of a text takes up to twelve times as many bytes. */
  readonly characters: number;
  readonly ageMs: number;
}

const CONFIRMED: Bounds = { entries: 2000, characters: 4 * 1024 * 1024, ageMs: 60_000 };
const UNCONFIRMED: Bounds = { entries: 500, characters: 1024 * 1024, ageMs: 10_000 };

/**
 * Keeps what follows from the text of a token alone, so that a hit can never outlive a revocation or an expiry: time,
 * revocation, lifetime, owner, and which proofs came along are judged at every request. This is stricter than keeping
 * grants by text, owner and the request's other tokens, and needs no such key. Tokens that cannot be read, or that their
 * issuer has not been seen to have signed, have a small room of their own, for a short time, where they displace nobody.
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

/** A bounded map by text from which the oldest fall. */
function createRoom<T>({ entries, characters, ageMs }: Bounds, clock: Clock) {
  const kept = new Map<string, { readonly value: T; readonly untilMs: number }>();
  let total = 0;
  const remove = (text: string): void => {
    if (kept.delete(text)) total -= text.length;
  };
  const makeRoom = (): void => {
    // In the order of their age, since all live equally long.
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
