// Blocklist of the Jettson shell: catches obvious accidents. It is no security boundary; the sandbox is.

import { type ShellWord, simpleCommands } from "./shell-words.js";

/** Commands that run another command, each with its flags that take a value. */
const WRAPPERS: Readonly<Record<string, RegExp>> = {
  sudo: /^(?:-[A-Za-z]*[ughpCrtUDRT]|--(?:user|group|host|prompt|close-from|role|type|other-user|chdir|chroot))$/,
  env: /^(?:-[A-Za-z]*[uC]|--(?:unset|chdir))$/,
  nohup: /^$/,
  time: /^(?:-[A-Za-z]*[fo]|--(?:format|output))$/,
  exec: /^-[A-Za-z]*a$/,
  command: /^$/,
};
/** Shell keywords that are followed by a command. */
const BEFORE_COMMAND: ReadonlySet<string> = new Set(["!", "if", "then", "elif", "else", "while", "until", "do"]);
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*\+?=/;
/** System program directories; the same names elsewhere are not system programs. */
const SYSTEM = /^\/(?:usr\/(?:local\/)?)?s?bin\//;
const STOPS: ReadonlySet<string> = new Set(["shutdown", "reboot", "halt", "poweroff"]);

/**
 * A function that pipes itself into itself in the background and is then called. Repetitions are bounded, so that
 * matching stays fast on any text.
 */
const FORK_BOMB =
  /(?<![^\s;&|(){}])([^\s;&|(){}'"\\]{1,64})\s{0,64}\(\s{0,64}\)\s{0,64}\{\s{0,64}\1\s{0,64}\|\s{0,64}\1\s{0,64}&\s{0,64}\}\s{0,64}[;&]?\s{0,64}\1(?![^\s;&|(){}])/u;
const FORK_BOMB_BY_WORD =
  /(?<![^\s;&|(){}])function\s{1,64}([^\s;&|(){}'"\\]{1,64})\s{1,64}\{\s{0,64}\1\s{0,64}\|\s{0,64}\1\s{0,64}&\s{0,64}\}\s{0,64}[;&]?\s{0,64}\1(?![^\s;&|(){}])/u;

/**
 * Whether a command is on the list of obvious accidents. Only words in command position count, never quoted text,
 * arguments or file names. The protection is the sandbox, not this list.
 */
export function isBlocked(command: string): boolean {
  return isForkBomb(command) || simpleCommands(command).some(({ words, isPattern }) => !isPattern && isHarmful(words));
}

const isForkBomb = (command: string): boolean => {
  if (!command.includes("|")) return false;
  const bare = command.replace(/'[^']*'|"(?:\\.|[^"\\])*"/gs, "Q");
  return FORK_BOMB.test(bare) || FORK_BOMB_BY_WORD.test(bare);
};

function isHarmful(words: readonly ShellWord[]): boolean {
  const [name, ...args] = unwrapCommand(words);
  if (name === undefined || name.isQuoted) return false;
  const program = nameOf(name);
  if (STOPS.has(program) || program === "mkfs" || program.startsWith("mkfs.")) return true;
  if (program === "dd") return args.some(({ text, isQuoted }) => !isQuoted && text.startsWith("of=/dev/"));
  return program === "rm" && removesAll(args);
}

const nameOf = ({ text }: ShellWord): string => text.replace(SYSTEM, "");

/** The command itself, without leading shell keywords, assignments and wrapper commands. */
function unwrapCommand(words: readonly ShellWord[]): readonly ShellWord[] {
  for (let at = 0; ; ) {
    const word = words[at];
    if (word === undefined) return [];
    const name = word.isQuoted ? "" : nameOf(word);
    const takesValue = Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined;
    if (ASSIGNMENT.test(word.text) || (!word.isQuoted && BEFORE_COMMAND.has(word.text))) at++;
    else if (takesValue === undefined) return words.slice(at);
    else if (name === "command" && isHelpRequest(words[at + 1])) return [];
    else at = skipFlags(words, at + 1, takesValue);
  }
}

/** `command -v` and `-V` only describe a command and run nothing. */
const isHelpRequest = (flag: ShellWord | undefined): boolean => /^-p*[vV]/.test(flag?.text ?? "");

function skipFlags(words: readonly ShellWord[], from: number, takesValue: RegExp): number {
  let at = from;
  for (let word = words[at]; word?.text.startsWith("-") === true; word = words[at]) {
    if (word.text === "--") return at + 1;
    at += takesValue.test(word.text) ? 2 : 1;
  }
  return at;
}

/** Whether the arguments of `rm` remove everything, recursively and by force. */
function removesAll(args: readonly ShellWord[]): boolean {
  const end = args.findIndex(({ text }) => text === "--");
  const flags = (end < 0 ? args : args.slice(0, end)).filter(({ text }) => text.startsWith("-"));
  const isRecursive = flags.some(({ text }) => /^-[A-Za-z]*[rR]/.test(text) || isLong(text, "--recursive"));
  const isForced = flags.some(({ text }) => /^-[A-Za-z]*f/.test(text) || isLong(text, "--force"));
  return isRecursive && isForced && args.some(({ text, isQuoted }) => !isQuoted && isTop(text));
}

/** Long options may be abbreviated. */
const isLong = (text: string, option: string): boolean => text.length > 2 && option.startsWith(text);

const isTop = (text: string): boolean => /^\/+(?:\.\/+)*[.*]?$/.test(text);
