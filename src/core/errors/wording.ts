// Wording of the next step of an error for each surface, and counts with their nouns.

import type { FileAdapterError } from "./errors.js";

/** `data.next` of an error: what its message advises, each name as it stands there. */
export interface Next {
  /** An operation: `file:mkdir`. */
  readonly tool?: string;
  /** A field of the input: `parents`, in the message `parents: true`. */
  readonly option?: string;
}

/**
 * The message of an error, its next step in the words of a surface. Only the last mention is replaced: the text of the
 * caller stands before the advice.
 *
 * @param wordFor a name of {@link Next}; `undefined`: the surface has no other word
 */
export function worded({ message, data }: FileAdapterError, wordFor: (name: string) => string | undefined): string {
  const { tool, option }: Readonly<Record<string, unknown>> = Object(data["next"]);
  return [tool, option].reduce<string>((text, name) => {
    // The name may come from another venue: it can be long, or one that every object has.
    const word: unknown = typeof name === "string" && /^[\w:]{1,64}$/.test(name) ? wordFor(name) : undefined;
    if (typeof word !== "string") return text;
    return text.replace(new RegExp(`^(.*)\\b${name}\\b(: true)?`, "s"), (_, before) => before + word);
  }, message);
}

/** A number and what is counted. @param many the plural, if it is not made by an s */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;
