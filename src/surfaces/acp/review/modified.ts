// The files that a session has modified, each with its first and its latest text, within a byte limit.

import type { Content, FilePlace } from "../files/files.js";

/** A file with the path to show for it. */
export interface ShownPlace extends FilePlace {
  /** As agents see it. */
  readonly sent: string;
  /** Key of the file in its session (see `keyOf`). */
  readonly key: string;
}

/** Content in memory. */
export type Held = Extract<Content, { kind: "text" | "bytes" | "missing" }>;

/** Size (bytes) and hash of content that is not shown. Both are absent if the caller may not read it. */
export interface Overwritten {
  readonly size?: number;
  /** `sha256:` and 64 hex digits. */
  readonly hash?: string;
}

/** Content that is not in memory: a journal has it, it was too large, or the caller may not read it. */
export interface Lost extends Overwritten {
  readonly kind: "lost";
}

/** A file changed in a session. */
export interface Modified {
  readonly path: string;
  /** `null`: the file did not exist, or its content is not shown and `overwrites` describes it. */
  readonly oldText: string | null;
  readonly newText: string;
  /** The file is gone. */
  readonly deleted?: true;
  /** Present if the original content existed but is not shown. */
  readonly overwrites?: Overwritten;
  /** The texts exceed the history limits, or could not be read, and are omitted. */
  readonly omitted?: true;
}

interface Tracked {
  readonly place: ShownPlace;
  readonly first: Held | Lost;
  readonly latest: Held | Lost;
  readonly omitted: boolean;
}

/** Bytes in memory. */
export const sizeOf = (content: Held | Lost): number => ("text" in content || "bytes" in content ? content.size : 0);
/** `undefined`: unknown, and equal to no other content. */
const hashOf = (content: Held | Lost): string | null | undefined => (content.kind === "missing" ? null : content.hash);
const textOf = (content: Held | Lost): string | null => (content.kind === "text" ? content.text : null);

/** Size and hash of content that is not text. `undefined` if it is text or does not exist. */
export function overwrittenBy(content: Held | Lost): Overwritten | undefined {
  if (content.kind === "missing" || content.kind === "text") return undefined;
  const { size, hash } = content;
  return { ...(size === undefined ? {} : { size }), ...(hash === undefined ? {} : { hash }) };
}

const OMITTED: Held = { kind: "text", text: "", hash: "", size: 0 };
/** Maximum files in the modified set; the oldest are dropped. */
const MAX_FILES = 10_000;

/** First and latest content of every file that was changed. */
export class ModifiedSet {
  readonly #limit: number;
  readonly #files = new Map<string, Tracked>();
  #bytes = 0;

  /** @param limit bytes of the texts; those of the oldest files are dropped */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Files that differ from their original, in the order of their first change. */
  list(): Modified[] {
    return [...this.#files.values()]
      .filter(({ first, latest, omitted }) => omitted || hashOf(first) !== hashOf(latest))
      .map(({ place, first, latest, omitted }) => {
        const overwritten = overwrittenBy(first);
        const overwrites = overwritten === undefined ? {} : { overwrites: overwritten };
        if (omitted || latest.kind === "lost")
          return { path: place.sent, oldText: null, newText: "", omitted: true, ...overwrites };
        const deleted = latest.kind === "missing" ? ({ deleted: true } as const) : {};
        return { path: place.sent, oldText: textOf(first), newText: textOf(latest) ?? "", ...deleted, ...overwrites };
      });
  }

  of(key: string): Modified | undefined {
    const sent = this.#files.get(key)?.place.sent;
    return this.list().find(({ path }) => path === sent);
  }

  /** @param first its original content, which counts where the file is not in the set yet */
  track({ place, first, latest }: Omit<Tracked, "omitted">): void {
    const { key } = place;
    const known = this.#files.get(key);
    const next: Tracked =
      known === undefined
        ? { place, first, latest, omitted: false }
        : { ...known, latest: known.omitted ? OMITTED : latest };
    this.#bytes += sizeOfTracked(next) - (known === undefined ? 0 : sizeOfTracked(known));
    this.#files.set(key, next);
    this.#dropOverLimits();
  }

  #dropOverLimits(): void {
    const [eldest] = this.#files.keys();
    if (this.#files.size > MAX_FILES && eldest !== undefined) {
      const gone = this.#files.get(eldest);
      this.#bytes -= gone === undefined ? 0 : sizeOfTracked(gone);
      this.#files.delete(eldest);
    }
    for (const [old, tracked] of this.#files) {
      if (this.#bytes <= this.#limit) break;
      this.#bytes -= sizeOfTracked(tracked);
      const overwritten = overwrittenBy(tracked.first);
      const first: Held | Lost = overwritten === undefined ? OMITTED : { kind: "lost", ...overwritten };
      this.#files.set(old, { ...tracked, first, latest: OMITTED, omitted: true });
    }
  }
}

const sizeOfTracked = ({ first, latest }: Tracked): number => sizeOf(first) + sizeOf(latest);
