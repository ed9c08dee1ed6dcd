// Line ranges, line endings and byte order marks of texts.

/** A range of lines; a line includes its terminating line feed. */
export interface LineRange {
  /** 1-based. */
  readonly line: number;
  /** `undefined`: to the end. */
  readonly limit: number | undefined;
}

const BOM = "\ufeff";

export const withoutMark = (text: string): string => (text.startsWith(BOM) ? text.slice(BOM.length) : text);
export const hasMark = (text: string): boolean => text.startsWith(BOM);
export const withMark = (text: string): string => (hasMark(text) ? text : BOM + text);

/** Converts `text` to the dominant line ending of `like`; unchanged if `like` has no line endings. */
export function alignNewlines(text: string, like: string): string {
  const crlf = like.match(/\r\n/g)?.length ?? 0;
  const lf = (like.match(/\n/g)?.length ?? 0) - crlf;
  if (crlf + lf === 0) return text;
  // A tie is decided by the first line ending.
  const isCrlf = crlf === lf ? /\r?\n/.exec(like)?.[0] === "\r\n" : crlf > lf;
  return text.replace(/\r?\n/g, isCrlf ? "\r\n" : "\n");
}
