// Wraps help texts, whose lines are up to 120 characters long, for narrower terminals.

/** A line that the next one continues has at least this many characters and no full stop at its end. */
const WRAPPED_CHARS = 90;
const NARROWEST = 60;
/** Columns of the help texts. */
const OPTION_COLUMN = 26;
const USAGE_COLUMN = 16;
/** Lines that begin a paragraph wherever they stand. */
const BEGINS = /^ *(?:Example|Exit status|venue-files |\S+(?: \S+)* {2,}\S)/;

/**
 * @param text lines, of which those that belong together are joined before they are wrapped
 * @param width in characters; below 60 counts as 60
 */
export function wrapText(text: string, width: number): string {
  return paragraphsOf(text.split("\n"))
    .flatMap((paragraph) => wrapLine(paragraph, Math.max(width, NARROWEST)))
    .join("\n");
}

function paragraphsOf(lines: readonly string[]): string[] {
  const paragraphs: string[] = [];
  let last = "";
  for (const line of lines) {
    const before = paragraphs.at(-1);
    const goesOn =
      before !== undefined && last.length >= WRAPPED_CHARS && !last.endsWith(".") && line !== "" && !BEGINS.test(line);
    if (goesOn && indentOf(line) === hangOf(before)) paragraphs.push(`${paragraphs.pop()} ${line.trimStart()}`);
    else paragraphs.push(line);
    last = line;
  }
  return paragraphs;
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

/** Column at which the text of an option or a list begins; of usage lines that of their options, of others their first. */
function hangOf(line: string): number {
  if (line.startsWith("venue-files ")) return USAGE_COLUMN;
  if (/^ {2}\S.{22} \S/.test(line)) return OPTION_COLUMN;
  return /^ *\S+(?: \S+)* {2,}(?=\S)/.exec(line)?.[0].length ?? indentOf(line);
}

function wrapLine(line: string, width: number): string[] {
  // An example is there to be copied.
  if (line.length <= width || /^ *Example: /.test(line)) return [line];
  const hang = Math.min(hangOf(line), width / 2);
  const wrapped: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const at = breakOf(rest, hang, width);
    if (at < 0) break;
    wrapped.push(rest.slice(0, at));
    rest = " ".repeat(hang) + rest.slice(at + 1);
  }
  return [...wrapped, rest];
}

/** The last space that fits; in a usage line, one before brackets. */
function breakOf(line: string, hang: number, width: number): number {
  const isUsage = hang === USAGE_COLUMN;
  const places = [...line.slice(0, width + 1).matchAll(isUsage ? / (?=[[(])/g : / /g)].map(({ index }) => index);
  return places.findLast((at) => at > hang && line[at - 1] !== " ") ?? -1;
}
