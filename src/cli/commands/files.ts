// The table of commands on files, named like the Unix commands that they are like, with their flags.

import type { Options, Page, Values } from "./command.js";
import { ANY_TEXT, FILE_OPTIONS, FLAG, flag, MANY, VALUE } from "./shared.js";

/** A command on files; the other texts are the same for all of them. */
type FilePage = Pick<Page, "usage" | "text" | "options"> & {
  /** A command line without the program and where to run it. */
  readonly example: string;
  /** Absent: as most do. */
  readonly exits?: string;
};

/** An option with a value. */
const value = (name: string, text: string) => ({ ...VALUE, value: name, text }) as const;
const ENCODING = value("NAME", "of a file that is neither UTF-8 nor UTF-16");
const IF_MATCH = value("ETAG", "only if the file is still that");
const SHOW_ONLY = flag("n", "only show the difference");
const RECURSIVE = flag("r", "directories with all that is in them");
const WITHOUT_LINKS = flag("r", "directories with all that is in them, but links");
const KEEP_FILES = flag("n", "fail where there is a file already");
const PARENTS = flag("p", "make missing directories");
const UNASKED = flag("y", "do not ask");

export const FILE_COMMANDS = {
  ls: {
    usage: "ls [-l] [-h] [-a] [-t] [-1] [ROOT:PATH]…",
    example: "ls -lh docs:reports",
    text: "Lists directories; without an argument the roots. In columns on a terminal, one name a line else.",
    options: {
      long: flag("l", "type, size in bytes and time of the last change too"),
      "human-readable": flag("h", "sizes for people, with -l"),
      all: flag("a", "names that begin with a dot too"),
      time: flag("t", "what was changed last comes first"),
      one: flag("1", "one name a line, on a terminal too"),
    },
  },
  tree: {
    usage: "tree [-L DEPTH] [-s] ROOT:PATH",
    example: "tree -L 2 docs:",
    text: "Shows a directory and what is below it.",
    options: {
      level: { ...value("DEPTH", "at most that deep, 1 to 10; default 3"), short: "L" },
      size: { ...flag("s", "sizes of files too, for people"), heading: "-s, --size, -h, --human-readable" },
      "human-readable": { ...FLAG, short: "h" },
    },
  },
  cat: {
    usage: "cat [-n] ROOT:PATH…",
    example: "cat docs:notes/a.md",
    text: "Writes files to standard output, byte for byte.",
    options: { number: flag("n", "with numbers of lines") },
  },
  read: {
    usage: "read [--extract [--pages PAGES] [--max-chars N]] ROOT:PATH…",
    example: "read --extract --pages 3-5 docs:report.pdf",
    text: "Writes files to standard output as cat does, or the text of documents.",
    options: {
      extract: { ...FLAG, text: "the text of a document: PDF, docx, xlsx, pptx, odt, ods, html and others" },
      pages: value("PAGES", "these pages or slides: 3, 3-5 or 3-"),
      "max-chars": value("N", "at most so many characters; default 1000000"),
    },
  },
  head: {
    usage: "head [-n LINES | -LINES] ROOT:PATH…",
    example: "head -n 20 docs:notes/a.md",
    text: "Writes the first lines of files.",
    options: { lines: { ...value("LINES", "how many; default 10"), short: "n" } },
  },
  tail: {
    usage: "tail [-n LINES | -LINES] [-f] ROOT:PATH…",
    example: "tail -f docs:build.log",
    text: "Writes the last lines of files.",
    options: {
      lines: { ...value("LINES", "how many; default 10"), short: "n" },
      follow: flag("f", "then goes on with what is appended, until it is stopped"),
    },
  },
  watch: {
    usage: "watch ROOT:PATH",
    example: "watch docs:",
    text: `Follows what changes at a path and below, a line each, until it is stopped: + created, ~ modified, - deleted, > moved.
Changes by other programs are marked.`,
    options: {},
  },
  stat: {
    usage: "stat ROOT:PATH…",
    example: "stat docs:notes/a.md",
    text: "Says what is there: type, size in bytes, time of the last change.",
    options: {},
  },
  grep: {
    usage: "grep [-F] [-i] [-n] [-l | -c] [-A N] [-B N] [-C N] PATTERN ROOT:PATH…",
    example: "grep -n 'timeout|deadline' docs:src --include '*.ts'",
    text: `Shows the lines that hold a match of an RE2 pattern, in files and in all that directories hold, but what .gitignore
and .ignore leave out.`,
    options: {
      "fixed-strings": flag("F", "the pattern is plain text"),
      "ignore-case": flag("i", "in any case"),
      "line-number": flag("n", "with numbers of lines"),
      "files-with-matches": flag("l", "only where there is any"),
      count: flag("c", "how many lines of each file that has any"),
      "after-context": {
        ...value("N", "with so many lines around, at most 20"),
        short: "A",
        heading: "-A, --after-context N, -B, --before-context N, -C, --context N",
      },
      "before-context": { ...VALUE, short: "B" },
      context: { ...VALUE, short: "C" },
      regexp: { ...ANY_TEXT, short: "e", value: "PATTERN", text: "the pattern, where it begins with a dash" },
      recursive: flag("r", "as always"),
      documents: { ...FLAG, text: "the text of documents too: PDF, docx, xlsx and others" },
      include: {
        ...{ ...MANY, heading: "--include GLOB, --exclude GLOB" },
        text: "only these files, not those: *.ts, src/**; may be repeated",
      },
      exclude: MANY,
      "no-ignore": { ...FLAG, text: "what is ignored too" },
    },
    exits: "0 found, 1 nothing found, 2 an operation failed",
  },
  find: {
    usage: "find ROOT:PATH… [-name GLOB] [-iname GLOB] [-path GLOB] [-type f|d] [-maxdepth N]",
    example: "find docs: -name '*.md' -type f",
    text: "Names what is below directories, but for what stands in .git.",
    options: {
      name: {
        ...{ ...MANY, heading: "-name GLOB, -iname GLOB" },
        text: "whose own name matches, or does in any case; of several, any",
      },
      iname: MANY,
      path: { ...MANY, heading: "-path GLOB", text: "whose path from there matches, as *.ts or src/**" },
      type: { ...VALUE, heading: "-type f|d", text: "files only, or directories only" },
      maxdepth: { ...VALUE, heading: "-maxdepth N", text: "at most that deep, up to 20" },
    },
  },
  du: {
    usage: "du [-a] [-b] [-h] [-s] [-d DEPTH] ROOT:PATH…",
    example: "du -h docs:",
    text: "Sums up what files take, in bytes as long as they say they are; for people on a terminal.",
    options: {
      all: flag("a", "files too, not directories only"),
      bytes: flag("b", "in bytes, on a terminal too"),
      "human-readable": flag("h", "for people, in a pipe too"),
      summarize: flag("s", "the sum only"),
      "max-depth": { ...value("DEPTH", "with sums of what is at most that deep; default 1, at most 10"), short: "d" },
    },
  },
  edit: {
    usage: "edit ROOT:PATH (--old TEXT --new TEXT [--expect N | --all] | --edits FILE) [-n]",
    example: "edit docs:notes/a.md --old draft --new final",
    text: "Replaces exact text, all edits or none, and shows the difference.",
    options: {
      old: {
        ...{ ...ANY_TEXT, heading: "--old TEXT, --new TEXT" },
        text: "what is there once, and what takes its place; --old=TEXT where it begins with a dash",
      },
      new: ANY_TEXT,
      expect: value("N", "how often it is there; every one is replaced"),
      all: { ...FLAG, text: "every one, however often it is there" },
      edits: value("FILE", 'JSON: [{ "oldText": "a", "newText": "b" }, …]; - is standard input'),
      ...{ encoding: ENCODING, "if-match": IF_MATCH, "dry-run": SHOW_ONLY },
    },
  },
  patch: {
    usage: "patch FILE --in ROOT:[PATH] [-n]",
    example: "patch change.patch --in docs: -n",
    text: `Changes several files at once, all or none, by a unified diff or a patch in the apply_patch format (*** Begin Patch …),
and shows the difference; - is standard input.`,
    options: {
      in: value("ROOT:[PATH]", "the folder that the paths of the patch are in"),
      encoding: value("NAME", "of files that are neither UTF-8 nor UTF-16, and of a patch that is not UTF-8"),
      "dry-run": SHOW_ONLY,
    },
  },
  put: {
    usage: "put [-r] [-n] [-p] FILE… ROOT:PATH",
    example: "put a.md b.md docs:notes/",
    text: `Copies local files into a root, each at once; - is standard input. Into a directory, or with a slash at the end,
they keep their names.`,
    options: {
      ...{ recursive: WITHOUT_LINKS, "no-clobber": flag("n", "fail where there is one already"), parents: PARENTS },
    },
  },
  get: {
    usage: "get [-r] [-f] ROOT:PATH… [FILE]",
    example: "get docs:notes/a.md",
    text: "Copies files to local ones, by default with their names in the current directory; - is standard output.",
    options: { recursive: WITHOUT_LINKS, force: flag("f", "replace local files") },
  },
  history: {
    usage: "history [-n N] [--since TIME] [--actor WHO] [--via WHO] [ROOT:PATH]",
    example: "history -n 10 docs:notes",
    text: "What was changed, newest first: time, id, who, what, where. Without a place in all roots.",
    options: {
      lines: { ...value("N", "how many, at most 500; default 50"), short: "n" },
      since: value("TIME", "not older: 30m, 2h, 7d"),
      actor: value("WHO", "only of this caller: the label of its token, a short id, or a DID"),
      via: value("WHO", "only of this credential or session: its label, or its id or the beginning of it"),
    },
  },
  diff: {
    usage: "diff ROOT:PATH [ID | ID..ID]",
    example: "diff docs:notes/a.md",
    text: `The difference that a change made to a file, by its id; that of all after one up to another; or that of the last
one.`,
    options: {},
  },
  undo: {
    usage: "undo [ID… | --session [WHO] | [--last N | --since TIME] [--actor WHO] [--via WHO]] [-n] [-y]",
    example: "undo --actor claude --since 2h -n",
    text: `Takes changes back, all or none, unless something has changed since. An id is that of an entry or a group; without
any it is the last change. What undoes an undo is a redo.`,
    options: {
      last: value("N", "the newest changes, whoever made them; shown first, then asks"),
      since: value("TIME", "all changes that are not older: 30m, 2h, 7d; shown first, then asks"),
      actor: {
        ...{ ...VALUE, heading: "--actor WHO, --via WHO" },
        text: "only of this caller, or this credential or session: a label, a short id, or a DID",
      },
      via: VALUE,
      session: {
        ...{ ...FLAG, value: "[WHO]" },
        text: "all that one caller changed without a pause of 30 minutes; shown first, then asks",
      },
      "dry-run": flag("n", "only show what would happen"),
      yes: UNASKED,
    },
  },
  restore: {
    usage: "restore ROOT:PATH ID",
    example: "restore docs:notes/a.md 1m85hcgvy00001j2zph94:before",
    text: "Writes a file as it was after a change, or before it (ID:before), as a new change.",
    options: { "if-match": IF_MATCH },
  },
  trash: {
    usage: "trash ls|empty [-y] [ROOT:]",
    example: "trash ls docs:",
    text: "Lists what was deleted and can be brought back with undo ID, or removes it for good.",
    options: { yes: UNASKED },
  },
  purge: {
    usage: "purge [-y] ROOT:[PATH] [ID…]",
    example: "purge docs:old",
    text: "Removes what was kept of changes for good: of a whole root, of a path, or of single changes.",
    options: { yes: UNASKED },
  },
  mkdir: {
    usage: "mkdir [-p] ROOT:PATH…",
    example: "mkdir -p docs:a/b",
    text: "Makes directories.",
    options: { parents: flag("p", "missing ones above too, and none is no failure") },
  },
  rm: {
    usage: "rm [-r] [-f] ROOT:PATH…",
    example: "rm -r docs:old",
    text: "Removes files, and directories that are empty.",
    options: { recursive: RECURSIVE, force: flag("f", "what is not there is no failure") },
  },
  mv: {
    usage: "mv [-n] [-p] ROOT:PATH ROOT:PATH",
    example: "mv docs:draft.md docs:done/",
    text: "Moves a file or directory; into a directory that is there, under its own name.",
    options: { "no-clobber": KEEP_FILES, parents: PARENTS },
  },
  cp: {
    usage: "cp [-r] [-n] [-p] ROOT:PATH ROOT:PATH",
    example: "cp -r docs:template docs:new",
    text: "Copies a file or directory; into a directory that is there, under its own name.",
    options: { recursive: RECURSIVE, "no-clobber": KEEP_FILES, parents: PARENTS },
  },
} as const satisfies Readonly<Record<string, FilePage>>;

export type FileCommandName = keyof typeof FILE_COMMANDS;

export type FileValues<N extends FileCommandName> = Values<(typeof FILE_COMMANDS)[N]["options"]> &
  Values<typeof FILE_OPTIONS>;

export const isFileCommand = (name: string | undefined): name is FileCommandName =>
  name !== undefined && Object.hasOwn(FILE_COMMANDS, name);

export const fileOptions = (name: FileCommandName): Options => ({ ...FILE_COMMANDS[name].options, ...FILE_OPTIONS });

const EXITS = "64 usage, 66 file not readable, 69 no venue at --url, 78 invalid configuration";

/** The help page of a file command. */
export function filePage(name: FileCommandName): Page {
  const page: FilePage = FILE_COMMANDS[name];
  const example = `venue-files ${page.example} --config venue.json5`;
  const exits = `${page.exits ?? "0 done, 1 an operation failed"},\n${EXITS}`;
  return { ...page, options: fileOptions(name), example, exits };
}
