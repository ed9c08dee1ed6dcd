// Help on the file commands.

import type { FileCommandName } from "../arguments/files/options.js";

const GUARD_OPTIONS = `  --read-only             no root may be changed
  --deny GLOB             hides names in every root; --protect GLOB keeps them from changes: globs, @secrets, @git,
                          @clients, @instructions; may be repeated. --no-protect: else .git and settings of MCP
                          clients in FOLDER and --root may not be changed`;
const COMMON = `  --config FILE           JSON5 configuration (see config.example.json5); none is searched for
  --root [NAME=]PATH[:ro] a root, without any file, named like its folder unless you say; may be repeated; ':ro' makes
                          it read-only
${GUARD_OPTIONS}
  --caps FILE             JSON5 list of capabilities that narrows every call
  --key KEY, --proof FILE call as who holds this key, in place of the operator
  --url URL, --token FILE a venue that runs elsewhere, in place of --config and --root, and the bearer token for it
  --color WHEN            always, auto (on a terminal, unless NO_COLOR is set) or never
  --json                  the answers of the operations as JSON, one a line; failures too, on standard error`;
const STATUS = "64 usage, 66 file not readable, 69 no venue at --url, 78 invalid configuration";

/** Help for one file command. */
interface Topic {
  readonly usage: string;
  /** A command line without the program and where to run it. */
  readonly example: string;
  readonly text: string;
  readonly options?: string;
  readonly status?: string;
}

const TOPICS: Readonly<Record<FileCommandName, Topic>> = {
  ls: {
    usage: "ls [-l] [-h] [-a] [-t] [-1] [ROOT:PATH]…",
    example: "ls -lh docs:reports",
    text: "Lists directories; without an argument the roots. In columns on a terminal, one name a line else.",
    options: `  -l, --long              type, size in bytes and time of the last change too
  -h, --human-readable    sizes for people, with -l
  -a, --all               names that begin with a dot too
  -t, --time              what was changed last comes first
  -1, --one               one name a line, on a terminal too`,
  },
  tree: {
    usage: "tree [-L DEPTH] [-s] ROOT:PATH",
    example: "tree -L 2 docs:",
    text: "Shows a directory and what is below it.",
    options: `  -L, --level DEPTH       at most that deep, 1 to 10; default 3
  -s, --size, -h, --human-readable   sizes of files too, for people`,
  },
  cat: {
    usage: "cat [-n] ROOT:PATH…",
    example: "cat docs:notes/a.md",
    text: "Writes files to standard output, byte for byte.",
    options: "  -n, --number            with numbers of lines",
  },
  head: {
    usage: "head [-n LINES | -LINES] ROOT:PATH…",
    example: "head -n 20 docs:notes/a.md",
    text: "Writes the first lines of files.",
    options: "  -n, --lines LINES       how many; default 10",
  },
  tail: {
    usage: "tail [-n LINES | -LINES] [-f] ROOT:PATH…",
    example: "tail -f docs:build.log",
    text: "Writes the last lines of files.",
    options: `  -n, --lines LINES       how many; default 10
  -f, --follow            then goes on with what is appended, until it is stopped`,
  },
  watch: {
    usage: "watch ROOT:PATH",
    example: "watch docs:",
    text: `Follows what changes at a path and below, a line each, until it is stopped: + created, ~ modified, - deleted, > moved.
Changes by other programs are marked.`,
  },
  stat: {
    usage: "stat ROOT:PATH…",
    example: "stat docs:notes/a.md",
    text: "Says what is there: type, size in bytes, time of the last change.",
  },
  grep: {
    usage: "grep [-F] [-i] [-n] [-l | -c] [-A N] [-B N] [-C N] PATTERN ROOT:PATH…",
    example: "grep -n 'timeout|deadline' docs:src --include '*.ts'",
    text: `Shows the lines that hold a match of an RE2 pattern, in files and in all that directories hold, but what .gitignore
and .ignore leave out.`,
    options: `  -F, --fixed-strings     the pattern is plain text
  -i, --ignore-case       in any case
  -n, --line-number       with numbers of lines
  -l, --files-with-matches  only where there is any
  -c, --count             how many lines of each file that has any
  -A, --after-context N, -B, --before-context N, -C, --context N   with so many lines around, at most 20
  -e, --regexp PATTERN    the pattern, where it begins with a dash
  -r, --recursive         as always
  --include GLOB, --exclude GLOB   only these files, not those: *.ts, src/**; may be repeated
  --no-ignore             what is ignored too`,
    status: "0 found, 1 nothing found, 2 an operation failed",
  },
  find: {
    usage: "find ROOT:PATH… [-name GLOB] [-iname GLOB] [-path GLOB] [-type f|d] [-maxdepth N]",
    example: "find docs: -name '*.md' -type f",
    text: "Names what is below directories, but for what stands in .git.",
    options: `  -name GLOB, -iname GLOB whose own name matches, or does in any case; of several, any
  -path GLOB              whose path from there matches, as *.ts or src/**
  -type f|d               files only, or directories only
  -maxdepth N             at most that deep, up to 20`,
  },
  du: {
    usage: "du [-a] [-b] [-h] [-s] [-d DEPTH] ROOT:PATH…",
    example: "du -h docs:",
    text: "Sums up what files take, in bytes as long as they say they are; for people on a terminal.",
    options: `  -a, --all               files too, not directories only
  -b, --bytes             in bytes, on a terminal too
  -h, --human-readable    for people, in a pipe too
  -s, --summarize         the sum only
  -d, --max-depth DEPTH   with sums of what is at most that deep; default 1, at most 10`,
  },
  edit: {
    usage: "edit ROOT:PATH (--old TEXT --new TEXT [--expect N | --all] | --edits FILE) [-n]",
    example: "edit docs:notes/a.md --old draft --new final",
    text: "Replaces exact text, all edits or none, and shows the difference.",
    options: `  --old TEXT, --new TEXT  what is there once, and what takes its place; --old=TEXT where it begins with a dash
  --expect N              how often it is there; every one is replaced
  --all                   every one, however often it is there
  --edits FILE            JSON: [{ "oldText": "a", "newText": "b" }, …]; - is standard input
  --encoding NAME         of a file that is neither UTF-8 nor UTF-16
  --if-match ETAG         only if the file is still that
  -n, --dry-run           only show the difference`,
  },
  patch: {
    usage: "patch FILE --in ROOT:[PATH] [-n]",
    example: "patch change.patch --in docs: -n",
    text: `Changes several files at once, all or none, by a unified diff or a patch in the apply_patch format (*** Begin Patch …),
and shows the difference; - is standard input.`,
    options: `  --in ROOT:[PATH]        the folder that the paths of the patch are in
  --encoding NAME         of files that are neither UTF-8 nor UTF-16, and of a patch that is not UTF-8
  -n, --dry-run           only show the difference`,
  },
  put: {
    usage: "put [-r] [-n] [-p] FILE… ROOT:PATH",
    example: "put a.md b.md docs:notes/",
    text: `Copies local files into a root, each at once; - is standard input. Into a directory, or with a slash at the end,
they keep their names.`,
    options: `  -r, --recursive         directories with all that is in them, but links
  -n, --no-clobber        fail where there is one already
  -p, --parents           make missing directories`,
  },
  get: {
    usage: "get [-r] [-f] ROOT:PATH… [FILE]",
    example: "get docs:notes/a.md",
    text: "Copies files to local ones, by default with their names in the current directory; - is standard output.",
    options: `  -r, --recursive         directories with all that is in them, but links
  -f, --force             replace local files`,
  },
  history: {
    usage: "history [-n N] [--since TIME] [--actor WHO] [--via WHO] [ROOT:PATH]",
    example: "history -n 10 docs:notes",
    text: "What was changed, newest first: time, id, who, what, where. Without a place in all roots.",
    options: `  -n, --lines N           how many, at most 500; default 50
  --since TIME            not older: 30m, 2h, 7d
  --actor WHO             only of this caller: the label of its token, a short id, or a DID
  --via WHO               only of this credential or session: its label, or its id or the beginning of it`,
  },
  diff: {
    usage: "diff ROOT:PATH [ID | ID..ID]",
    example: "diff docs:notes/a.md",
    text: `The difference that a change made to a file, by its id; that of all after one up to another; or that of the last
one.`,
  },
  undo: {
    usage: "undo [ID… | --session [WHO] | [--last N | --since TIME] [--actor WHO] [--via WHO]] [-n] [-y]",
    example: "undo --actor claude --since 2h -n",
    text: `Takes changes back, all or none, unless something has changed since. An id is that of an entry or a group; without
any it is the last change. What undoes an undo is a redo.`,
    options: `  --last N                the newest changes, whoever made them; shown first, then asks
  --since TIME            all changes that are not older: 30m, 2h, 7d; shown first, then asks
  --actor WHO, --via WHO  only of this caller, or this credential or session: a label, a short id, or a DID
  --session [WHO]         all that one caller changed without a pause of 30 minutes; shown first, then asks
  -n, --dry-run           only show what would happen
  -y, --yes               do not ask`,
  },
  restore: {
    usage: "restore ROOT:PATH ID",
    example: "restore docs:notes/a.md 1m85hcgvy00001j2zph94:before",
    text: "Writes a file as it was after a change, or before it (ID:before), as a new change.",
    options: "  --if-match ETAG         only if the file is still that",
  },
  trash: {
    usage: "trash ls|empty [-y] [ROOT:]",
    example: "trash ls docs:",
    text: "Lists what was deleted and can be brought back with undo ID, or removes it for good.",
    options: "  -y, --yes               do not ask",
  },
  purge: {
    usage: "purge [-y] ROOT:[PATH] [ID…]",
    example: "purge docs:old",
    text: "Removes what was kept of changes for good: of a whole root, of a path, or of single changes.",
    options: "  -y, --yes               do not ask",
  },
  mkdir: {
    usage: "mkdir [-p] ROOT:PATH…",
    example: "mkdir -p docs:a/b",
    text: "Makes directories.",
    options: "  -p, --parents           missing ones above too, and none is no failure",
  },
  rm: {
    usage: "rm [-r] [-f] ROOT:PATH…",
    example: "rm -r docs:old",
    text: "Removes files, and directories that are empty.",
    options: `  -r, --recursive         directories with all that is in them
  -f, --force             what is not there is no failure`,
  },
  mv: {
    usage: "mv [-n] [-p] ROOT:PATH ROOT:PATH",
    example: "mv docs:draft.md docs:done/",
    text: "Moves a file or directory; into a directory that is there, under its own name.",
    options: `  -n, --no-clobber        fail where there is a file already
  -p, --parents           make missing directories`,
  },
  cp: {
    usage: "cp [-r] [-n] [-p] ROOT:PATH ROOT:PATH",
    example: "cp -r docs:template docs:new",
    text: "Copies a file or directory; into a directory that is there, under its own name.",
    options: `  -r, --recursive         directories with all that is in them
  -n, --no-clobber        fail where there is a file already
  -p, --parents           make missing directories`,
  },
};

/** Help for the file commands as a whole. */
export const FILES = `venue-files <command> ROOT:PATH…

Works on files in roots, with the flags of the commands of the same names, and with the rights of whoever calls.

${Object.values(TOPICS)
  .map(({ usage }) => `  venue-files ${usage}`)
  .join("\n")}

${COMMON}

Example: venue-files grep -n TODO docs: --root docs=./docs
More about one: venue-files help grep
`;

export function fileHelp(name: FileCommandName): string {
  const { usage, example, text, options, status = "0 done, 1 an operation failed" } = TOPICS[name];
  return `venue-files ${usage}

${text}

${options === undefined ? "" : `${options}\n`}${COMMON}

Example: venue-files ${example} --config venue.json5

Exit status: ${status},
${STATUS}
`;
}
