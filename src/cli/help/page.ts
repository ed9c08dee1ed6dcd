// The help page of a command, from its entry in the table.

import type { Options, Page } from "../commands/command.js";

/** Columns before the text of an option. */
const INDENT = 26;

/** The page of one command. */
export function pageOf({ usage, text, words, options, note, example, exits }: Page): string {
  const lines = [words?.text && lineOf(`  ${words.heading}`, words.text), optionLines(options)]
    .filter(isThere)
    .join("\n");
  const parts = [`venue-files ${usage}`, text, lines, note, example && `Example: ${example}`, `Exit status: ${exits}`];
  return `${parts.filter(isThere).join("\n\n")}\n`;
}

/** The options that have a text, a line or more each. */
export const optionLines = (options: Options): string =>
  Object.entries(options)
    .flatMap(([name, { text, value, short, apart, heading }]) => {
      if (text === undefined) return [];
      const plain = `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
      return [`${apart === true ? "\n" : ""}${lineOf(`  ${heading ?? plain}`, text)}`];
    })
    .join("\n");

const isThere = (part: string | undefined): boolean => part !== undefined && part !== "";

/** A heading, and its text in the column. A heading that reaches the column stands a little apart. */
function lineOf(heading: string, text: string): string {
  const gap = heading.length < INDENT ? INDENT - heading.length : heading.length === INDENT ? 2 : 3;
  return `${heading}${" ".repeat(gap)}${text.replaceAll("\n", `\n${" ".repeat(INDENT)}`)}`;
}
