// Help: pages of commands, of groups of commands, and of the program.

import { escapeText } from "../../core/errors/texts.js";
import { nearestName } from "../../schema/nearest.js";
import { checkArgument, UsageError } from "../arguments/options.js";
import { COMMANDS, commandOf, commandsOf } from "../commands/all.js";
import type { Options, Page } from "../commands/command.js";
import { DRIVES_HELP } from "../commands/drives.js";
import { FILE_COMMANDS, filePage, isFileCommand } from "../commands/files.js";
import { CALLER, FILE_OPTIONS, SOURCE } from "../commands/shared.js";

/** Columns before the text of an option. */
const INDENT = 26;

const GENERAL = `venue-files: file access for agents, over HTTP, MCP and ACP, and for people

Begin
  init [FOLDER]           write a configuration; --for CLIENT: into the files of an MCP client too
  doctor                  what this machine offers, and what it lacks
  completion SHELL        completion of commands, roots and paths, for bash, zsh, fish or PowerShell
  Example: venue-files init --root docs=./docs --for claude-code

Serve and configure
  serve                   serve HTTP and MCP until stopped
  mcp                     serve MCP on standard input and output, for clients that start their servers
  acp -- AGENT            start an agent of the Agent Client Protocol on the roots, and see what it does
  health                  whether a venue answers, for containers and supervisors
  check                   say what serve would run, and who may do what; nothing is started
  call OPERATION [JSON]   run one operation and print its output as JSON
  Example: venue-files serve --root docs=./docs

Files, on ROOT:PATH, with the flags of their namesakes
  ls tree stat du         what is there
  cat head tail read      what is in it; read --extract: the text of documents
  grep find               where something is
  edit patch put get      change files, copy them in or out
  mkdir rm mv cp          the rest
  history diff watch      what was changed, by whom, and how; what changes now
  undo restore            take it back; trash, purge: what was deleted, and removing it for good
  Example: venue-files ls -lh docs: --root docs=./docs
  All of them with their flags: venue-files help files

Tokens and keys
  key new NAME            make a key, which is an identity, and print its DID
  key show [NAME]         print the DID of a key, or of all keys that have a name
  grant                   sign a token that gives somebody some of your rights for some time
  token inspect FILE      say who gives whom what until when, and whether it holds
  token identity          make a token that says who you are, for clients that cannot sign, such as curl
  revoke ID               take back what a token gives, at once
  audit verify FILE…      say whether the audit is as it was written
  Example: venue-files key new alice

Access to a venue that runs
  link                    a URL that signs somebody in, once
  token issue             make an access token
  token ls, token revoke ID   what was given, and taking it back
  approvals               what waits for a person, and decide it
  lock ls, lock drop ID   locks of WebDAV clients, and ending those that were forgotten
  Example: venue-files token issue --with file://docs/ --can crud/read --for 1h

Backup
  backup create FILE      keys, tokens, revocations, journal; --drives, --roots too; also while the venue serves
  backup restore FILE     into an empty place
  Example: venue-files backup create venue.backup --passphrase env:PASSPHRASE --config venue.json5

Drives of users
  drive ls                list users and their drives
  drive export FILE, drive import FILE, drive merge FILE   move them between venues
  drive verify, drive gc  check them, and remove what none needs any more
  drive upgrade           raise the format of their store after an update
  drive export-key, drive import-key FILE   the key that signs a user's drives
  Example: venue-files drive ls --config venue.json5

Several instances of one venue
  cluster init            make the tables of what they share
  cluster status          list them, and say whether they are configured alike
  Example: venue-files cluster init --config venue.json5

Options
${optionLines({ ...SOURCE, ...CALLER })}
  --url URL               call, and files: a venue that runs elsewhere: http://localhost:8080
  --token FILE            the bearer token for it; env:NAME too
  --help, --version       also help COMMAND, -V

Without --config and --root there is one root, 'tmp': an empty temp folder that is removed at the end.
Keys and tokens are never given as arguments, which others on this machine can see, but in files or the environment.
More about a command, with all its options: venue-files help grant
`;

/** Help for the file commands as a whole. */
const FILES = `venue-files <command> ROOT:PATH…

Works on files in roots, with the flags of the commands of the same names, and with the rights of whoever calls.

${Object.values(FILE_COMMANDS)
  .map(({ usage }) => `  venue-files ${usage}`)
  .join("\n")}

${optionLines(FILE_OPTIONS)}

Example: venue-files grep -n TODO docs: --root docs=./docs
More about one: venue-files help grep
`;

/** Help text for a call without arguments. */
export const START = `venue-files gives agents files: named folders ("roots"), and no more of them than you say.

  venue-files init --for claude-code       writes a configuration, and an entry for Claude, Cursor, VS Code, …
  venue-files serve --root docs=./docs     for clients over HTTP; prints the address and what strangers may do
  venue-files ls -lh docs: --root docs=./docs    the same folder from here

Nothing runs yet. All commands: venue-files --help
`;

/**
 * The help that words ask for: of a command, or of all that begin with a word.
 *
 * @param strict refuse further words
 * @throws UsageError
 */
export function helpText(words: readonly string[], strict: boolean): string {
  const [first, second, third] = words;
  if (first === undefined) return GENERAL;
  const exact = commandOf(`${first} ${second}`);
  const text = exact === undefined ? topic(first) : pageOf(exact);
  if (text === undefined) throw unknownCommand(first);
  const surplus = exact === undefined ? second : third;
  if (!strict || surplus === undefined) return text;
  throw new UsageError(`'help' takes one command, not also '${escapeText(checkArgument(surplus))}'`);
}

function topic(word: string): string | undefined {
  if (word === "files") return FILES;
  if (word === "drive") return DRIVES_HELP;
  if (isFileCommand(word)) return pageOf(filePage(word));
  const own = commandOf(word);
  if (own !== undefined) return pageOf(own);
  const group = commandsOf(word).flatMap((name) => commandOf(name) ?? []);
  return group.length === 0 ? undefined : group.map(pageOf).join("\n");
}

export function unknownCommand(word: string): UsageError {
  const first = Object.keys(COMMANDS).map((name) => name.split(" ")[0] ?? "");
  const names = [...new Set(first), "help", ...Object.keys(FILE_COMMANDS)];
  const near = nearestName(word, names);
  const advice = near === undefined ? `. Commands: ${names.join(", ")}` : ` - did you mean '${near}'?`;
  return new UsageError(`Unknown command '${escapeText(checkArgument(word))}'${advice}`);
}

/** The command line that shows the help for what was asked for. */
export function helpCommand([first = "", second = ""]: readonly string[]): string {
  if (commandOf(`${first} ${second}`) !== undefined) return `venue-files help ${first} ${second}`;
  const [only, ...others] = commandsOf(first);
  const known = only !== undefined && others.length === 0 ? only : topic(first) === undefined ? undefined : first;
  return known === undefined ? "venue-files --help" : `venue-files help ${known}`;
}

/** The page of one command. */
export function pageOf({ usage, text, words, options, note, example, exits }: Page): string {
  const lines = [words?.text && lineOf(`  ${words.heading}`, words.text), optionLines(options)]
    .filter(isThere)
    .join("\n");
  const parts = [`venue-files ${usage}`, text, lines, note, example && `Example: ${example}`, `Exit status: ${exits}`];
  return `${parts.filter(isThere).join("\n\n")}\n`;
}

/** The options that have a text, a line or more each. */
function optionLines(options: Options): string {
  const lines = Object.entries(options).flatMap(([name, { text, value, short, apart, heading }]) => {
    if (text === undefined) return [];
    const plain = `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
    return [`${apart === true ? "\n" : ""}${lineOf(`  ${heading ?? plain}`, text)}`];
  });
  return lines.join("\n");
}

const isThere = (part: string | undefined): boolean => part !== undefined && part !== "";

/** A heading, and its text in the column. A heading that reaches the column stands a little apart. */
function lineOf(heading: string, text: string): string {
  const gap = heading.length < INDENT ? INDENT - heading.length : heading.length === INDENT ? 2 : 3;
  return `${heading}${" ".repeat(gap)}${text.replaceAll("\n", `\n${" ".repeat(INDENT)}`)}`;
}
