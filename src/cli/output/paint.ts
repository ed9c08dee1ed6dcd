// Colours for terminals.

import type { CommandContext } from "../context.js";

/** Adds colour to a text. */
export type Paint = (text: string, what: keyof typeof CODES) => string;

const CODES = {
  directory: "1;34",
  link: "36",
  place: "35",
  line: "32",
  match: "1;31",
  added: "32",
  removed: "31",
  hunk: "36",
} as const;

/** For terminals: ANSI SGR escape sequences. */
export const coloured: Paint = (text, what) => (text === "" ? "" : `\u001b[${CODES[what]}m${text}\u001b[0m`);

/** For pipes and files: no escape sequences. */
export const plain: Paint = (text) => text;

/** Colours for a terminal that shows them, unless `NO_COLOR` is set. @param choice of `--color` */
export function paintFor({ env, stdout }: Pick<CommandContext, "env" | "stdout">, choice = "auto"): Paint {
  const wantsColour = (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  const isColoured = choice === "always" || (choice === "auto" && stdout.isTTY === true && wantsColour);
  return isColoured ? coloured : plain;
}
