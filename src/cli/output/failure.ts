// Failures of file commands, in the words of the command line.

import type { FileAdapterError } from "../../core/errors/errors.js";
import { PLAIN_WORDING, phrase, type Wording } from "../../core/errors/wording.js";

const COMMANDS: Readonly<Record<string, string>> = { list: "ls" };
const FLAGS: Readonly<Record<string, string>> = { parents: "-p", recursive: "-r" };

const WORDING: Wording = {
  tool: (name) => COMMANDS[name] ?? name,
  option: (name) => FLAGS[name] ?? PLAIN_WORDING.option(name),
};

/** One line about a failure, with its hint. */
export function failureText({ code, sentence, data }: FileAdapterError): string {
  // `mv` and `cp` know directories as targets and overwrite by themselves, so its advice does not apply.
  const text = phrase(code === "ALREADY_EXISTS" ? sentence.slice(0, 1) : sentence, WORDING);
  const { hint } = data;
  return typeof hint === "string" ? `${text}. ${hint}` : text;
}
