// Finds the lines that are named behind `@@`.

/** Where the anchors of a hunk are in a file. */
export interface Anchors {
  /** The first that is in no line. */
  readonly missing?: string;
  /** The first line that the last anchor can be: what the hunk is about does not end above it. */
  readonly first: number;
  /** The same line from the end of the hunk before on, if there is one: lines that are only added go behind it. */
  readonly next: number;
}

/**
 * Each is looked for behind the one before, from the start of the file: an anchor above the hunk before is met too, as
 * where both lie in one function.
 * @param from end of the hunk before
 * @param isLoose a line that only begins with an anchor is as good as one that is it
 */
export function findAnchors(
  lines: readonly string[],
  anchors: readonly string[],
  { from, isLoose }: { from: number; isLoose: boolean },
): Anchors {
  let first = 0;
  let next: number | undefined = from;
  for (const anchor of anchors) {
    const found = lineWith(lines, anchor, { from: first, isLoose });
    if (found === undefined) return { missing: anchor, first, next: first };
    first = found;
    next = next === undefined ? undefined : lineWith(lines, anchor, { from: next, isLoose });
  }
  return { first, next: next ?? first };
}

/** The first line that is the anchor; else, since models leave out indents and ends of lines, one that begins with it. */
function lineWith(
  lines: readonly string[],
  anchor: string,
  { from, isLoose }: { from: number; isLoose: boolean },
): number | undefined {
  let beginning: number | undefined;
  for (let at = from; at < lines.length; at++) {
    const line = lines[at]?.trim() ?? "";
    if (line === anchor) return at;
    if (beginning !== undefined || !line.startsWith(anchor)) continue;
    if (isLoose) return at;
    beginning = at;
  }
  return beginning;
}
