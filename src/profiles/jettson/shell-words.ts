// Splits shell commands into words, for the blocklist.

/** A word of a shell command, with its quotes removed. */
export interface ShellWord {
  readonly text: string;
  /** Part of the word is quoted or escaped by a backslash. */
  readonly isQuoted: boolean;
}

/** The words of one simple command: the text between two of `; & | ( ) { }` and newlines. */
export interface SimpleCommand {
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
export function simpleCommands(text: string): SimpleCommand[] {
  return new Splitter(text).split();
}

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
