// Blocklist of the Jettson shell: catches obvious accidents. The sandbox is the security boundary, not this list.

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
  return (
    isForkBomb(command) || new Splitter(command).split().some(({ words, isPattern }) => !isPattern && isHarmful(words))
  );
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

// Splits shell commands into words, for the blocklist.

/** A word of a shell command, with its quotes removed. */
interface ShellWord {
  readonly text: string;
  /** Part of the word is quoted or escaped by a backslash. */
  readonly isQuoted: boolean;
}

/** The words of one simple command: the text between two of `; & | ( ) { }` and newlines. */
interface SimpleCommand {
  readonly words: readonly ShellWord[];
  /** Ends with an unbalanced `)`, like a pattern of `case`. */
  readonly isPattern: boolean;
}

const SEPARATORS: ReadonlySet<string> = new Set([";", "&", "|", "(", ")", "\n"]);
const BLANKS: ReadonlySet<string> = new Set([" ", "\t", "\r"]);

/**
 * Splits a shell command into simple commands like a shell, without expansions. Here-documents, comments and quoted
 * text belong to no command. Linear time.
 */
class Splitter {
  readonly #text: string;
  readonly #commands: SimpleCommand[] = [];
  #at = 0;
  #words: ShellWord[] = [];
  /** Delimiters of here-documents that start on the next line. */
  #ends: string[] = [];
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  split(): SimpleCommand[] {
    while (this.#at < this.#text.length) this.#step(this.#text[this.#at] ?? "");
    this.#end(false);
    return this.#commands;
  }

  #step(char: string): void {
    if (BLANKS.has(char)) this.#at++;
    else if (char === "#") this.#at = this.#lineEnd();
    else if (SEPARATORS.has(char)) this.#separate(char);
    else if (this.#text.startsWith("<<", this.#at) && !this.#text.startsWith("<<<", this.#at)) this.#hereDocument();
    else if (char === "<" || char === ">") this.#redirect();
    else this.#take();
  }

  #separate(char: string): void {
    this.#at++;
    const closes = char === ")";
    this.#end(closes && this.#depth === 0);
    if (char === "(") this.#depth++;
    if (closes && this.#depth > 0) this.#depth--;
    if (char === "\n") this.#skipDocuments();
  }

  /** Skips a redirection and its target, which is not an argument. */
  #redirect(): void {
    while (/[<>&|]/.test(this.#text[this.#at] ?? "")) this.#at++;
    this.#skipBlanks();
    this.#word();
  }

  #hereDocument(): void {
    this.#at += this.#text[this.#at + 2] === "-" ? 3 : 2;
    this.#skipBlanks();
    this.#ends.push(this.#word().text);
  }

  #take(): void {
    const word = this.#word();
    // Braces form a group only as separate words.
    const isBrace = !word.isQuoted && (word.text === "{" || word.text === "}");
    if (isBrace) this.#end(false);
    else this.#words.push(word);
  }

  #word(): ShellWord {
    let text = "";
    let isQuoted = false;
    for (; this.#at < this.#text.length; ) {
      const char = this.#text[this.#at] ?? "";
      if (BLANKS.has(char) || SEPARATORS.has(char) || char === "<" || char === ">") break;
      if (char !== "'" && char !== '"' && char !== "\\") {
        text += char;
        this.#at++;
        continue;
      }
      isQuoted = true;
      text += this.#quoted(char);
    }
    return { text, isQuoted };
  }

  #quoted(quote: string): string {
    const from = this.#at + 1;
    if (quote === "\\") {
      this.#at += 2;
      return this.#text.slice(from, from + 1);
    }
    let end = from;
    while (end < this.#text.length && this.#text[end] !== quote)
      end += quote === '"' && this.#text[end] === "\\" ? 2 : 1;
    this.#at = end + 1;
    return this.#text.slice(from, end);
  }

  #end(isPattern: boolean): void {
    if (this.#words.length > 0) this.#commands.push({ words: this.#words, isPattern });
    this.#words = [];
  }

  #skipBlanks(): void {
    while (BLANKS.has(this.#text[this.#at] ?? "")) this.#at++;
  }

  #skipDocuments(): void {
    for (const end of this.#ends.splice(0)) {
      while (this.#at < this.#text.length) {
        const line = this.#text.slice(this.#at, this.#lineEnd());
        this.#at = Math.min(this.#text.length, this.#lineEnd() + 1);
        if (line.replace(/^\t+/, "") === end) break;
      }
    }
  }

  #lineEnd(): number {
    const end = this.#text.indexOf("\n", this.#at);
    return end < 0 ? this.#text.length : end;
  }
}
