/**
 * Receives the progress of one call. Cheap enough to be called for every entry: the surface decides what it passes on.
 *
 * @param done how much is done, in a unit of the operation's own: entries, bytes, files, seconds; never falls
 * @param total of the same unit, if it is known
 * @param message makes a text of at most ten words: "12,400 entries, 3 matches"
 */
export type ReportProgress = (done: number, total?: number, message?: () => string) => void;

/** A number with its noun, for a progress message. @param many default: `one` with an s */
export const countText = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
