// The help text of every command and topic.

import type { CommandName, HelpTopic } from "../arguments/options.js";
import { ACCESS_HELP } from "./access.js";
import { BACKUP_TOPICS } from "./backup.js";
import { BEGIN_TOPICS } from "./begin.js";
import { DRIVE_TOPICS, DRIVES } from "./drives.js";
import { FILES, GUARD_OPTIONS } from "./files.js";
import { TOKEN_TOPICS } from "./tokens.js";

const CONFIG_OPTION = "  --config FILE           JSON5 configuration (see config.example.json5); none is searched for";
const ROOT_OPTIONS = `${CONFIG_OPTION}
  --root [NAME=]PATH[:ro] a root, without any file, named like its folder unless you say; may be repeated; ':ro' makes
                          it read-only
${GUARD_OPTIONS}`;

const CAPS_OPTION = "  --caps FILE             JSON5 list of capabilities that narrows every call";
const LISTEN_OPTIONS = `  --host NAME             address to listen on, in place of that of the configuration; default localhost
  --port N                port to listen on; 0 picks a free one; default 8080`;
const KEY_OPTION =
  "  --key KEY               call as who holds this key, in place of the operator: a name, a path or env:NAME";
const PROOF_OPTION =
  "  --proof FILE            tokens that go with each call, one a line; env:NAME too; may be repeated";

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
  cat head tail           what is in it
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

Options
${ROOT_OPTIONS}
${CAPS_OPTION}
${KEY_OPTION}
${PROOF_OPTION}
  --url URL               call, and files: a venue that runs elsewhere: http://localhost:8080
  --token FILE            the bearer token for it; env:NAME too
  --help, --version       also help COMMAND, -V

Without --config and --root there is one root, 'tmp': an empty temp folder that is removed at the end.
Keys and tokens are never given as arguments, which others on this machine can see, but in files or the environment.
More about a command, with all its options: venue-files help grant
`;

const TOKEN_COMMANDS = ["token issue", "token ls", "token revoke", "token inspect", "token identity"] as const;

/** Help text for a call without arguments. */
const START = `venue-files gives agents files: named folders ("roots"), and no more of them than you say.

  venue-files init --for claude-code       writes a configuration, and an entry for Claude, Cursor, VS Code, …
  venue-files serve --root docs=./docs     for clients over HTTP; prints the address and what strangers may do
  venue-files ls -lh docs: --root docs=./docs    the same folder from here

Nothing runs yet. All commands: venue-files --help
`;

const TOPICS: Readonly<Record<CommandName, string>> = {
  ...DRIVE_TOPICS,
  ...BEGIN_TOPICS,
  ...ACCESS_HELP,
  ...BACKUP_TOPICS,
  ...TOKEN_TOPICS,
  serve: `venue-files serve [--config FILE] [--host NAME] [--port N] [--root [NAME=]PATH[:ro]]…
                [--deny GLOB]… [--protect GLOB]… [--no-protect] [--read-only]

Serves HTTP and MCP until stopped. On a loopback address callers without credentials may do everything in temp roots
and only read in host folders, unless the configuration says otherwise; the printed token acts as the operator. It is
kept in the state directory (XDG_STATE_HOME, else ~/.local/state), stays the same until that file is deleted, and is
shown on a terminal only.

${ROOT_OPTIONS}
${LISTEN_OPTIONS}

SIGHUP reads the configuration again: changed roots, owners, grants, tokens and rights of anonymous callers take effect
at once, or, when anything in the file is wrong, nothing does.

Example: venue-files serve --root docs=./docs

Exit status: 0 stopped, 64 usage, 66 file not readable, 69 port or address not to be had, 78 invalid configuration
`,
  check: `venue-files check [--config FILE] [--host NAME] [--port N] [--root [NAME=]PATH[:ro]]…
                [--deny GLOB]… [--protect GLOB]… [--no-protect] [--read-only]

Reads the configuration and says what serve would run: addresses, identity, roots, and who may do what in them. Nothing
is started, and nothing is made. All that is wrong in the file is told at once; then all that a start would miss.

${ROOT_OPTIONS}
${LISTEN_OPTIONS}

Example: venue-files check --config venue.json5

Exit status: 0 valid, 64 usage, 66 file not readable, 78 invalid configuration
`,
  mcp: `venue-files mcp [FOLDER[:ro]]… [--config FILE] [--root [NAME=]PATH[:ro]]… [--client-roots --within DIR…]
                [--deny GLOB]… [--protect GLOB]… [--no-protect] [--read-only]
                [--profile NAME | --tools full] [--caps FILE]
                [--key KEY [--proof FILE]…]

Each FOLDER is a root, named like it; .git and settings of MCP clients (.mcp.json and the like) in it may be read, not
changed, unless --no-protect.

Serves MCP on standard input and output, for clients that start their servers themselves. The caller acts as the
operator: everything in every root, unless --caps narrows it. With --key it is the DID of that key, with the rights that
the configuration and the proofs give to that.

${ROOT_OPTIONS}
  --client-roots          the folders that the client names at its start are roots too, client-<name>, like a FOLDER;
                          later changes of its list are ignored. Clients of revision 2026-07-28 name none
  --within DIR            where they must lie, by real path; may be repeated; what lies elsewhere is left out
  --tools default|full    the 14 tools for every day, or all of them; else what the configuration says
  --profile NAME          only the tools of this profile, as the other system names them; jettson and everruns need no
                          configuration where there is one root
${CAPS_OPTION}
${KEY_OPTION}
${PROOF_OPTION}

Example: venue-files mcp --root docs=./docs
Example of a caps file: [{ with: "file://docs/", can: "crud/read" }]

Exit status: 0 the client has gone or it was stopped, 64 usage, 66 file not readable, 78 invalid configuration
`,
  call: `venue-files call <operation> ['<json>'] [--config FILE] [--root [NAME=]PATH[:ro]]…
                [--deny GLOB]… [--protect GLOB]… [--no-protect] [--read-only]
                [--caps FILE] [--key KEY [--proof FILE]…]
                [--url URL [--token FILE] [--proof FILE]…]

Runs one operation as the operator, or as the DID of a key, and prints its output as JSON. The input is
JSON or JSON5; a dash in its place reads it from standard input: for what should not be seen in the list of processes.

${ROOT_OPTIONS}
${CAPS_OPTION}
${KEY_OPTION}
${PROOF_OPTION}

  --url URL               a venue that runs elsewhere, in place of --config and --root: http://localhost:8080
  --token FILE            who calls there: the bearer token in this file, or env:NAME; else anybody

Operations: file:roots file:list file:tree file:read file:readMany file:stat file:hash file:glob file:grep file:du
            file:write file:edit file:patch file:append file:mkdir file:move file:copy file:delete
            file:history file:undo file:restore file:trash file:purge file:watch file:transfer
            ucan:issue ucan:verify ucan:revoke auth:whoami auth:issue auth:list auth:revoke audit:query
            approval:list approval:get approval:decide approval:wait lock:list lock:drop,
            and the tools of profiles, <profile>:<tool>
Example: venue-files call file:read '{"root":"docs","path":"README.md"}' --root docs=.

Exit status: 0 done, 1 the operation failed (one line of JSON on standard error; for a tool of a profile its answer, as
ever), 64 usage, 66 file not readable, 69 no venue at --url, 78 invalid configuration
`,
  acp: `venue-files acp [--yes | --deny-writes] [--snapshot] [--prompt TEXT] [--config FILE] [--root [NAME=]PATH[:ro]]…
                [--deny GLOB]… [--protect GLOB]… [--no-protect] [--read-only]
                [--caps FILE] [--key KEY [--proof FILE]…] -- <agent command…>

Starts an agent of the Agent Client Protocol, opens a session on the roots, and serves what it asks for: files, and
commands where there is a sandbox for them. Every request is shown; before a change or a command you are asked. At the
end come all modified files and the audit. The agent itself is a process of yours, which nothing confines.

  --prompt TEXT           what the agent is to do; else each line of standard input is a prompt
  --yes                   allow everything, for scripts
  --deny-writes           allow no change and no command, for scripts
  --snapshot              clone the roots before each command, so that 'undo' brings back what it replaced and deleted
${ROOT_OPTIONS}
${CAPS_OPTION}
${KEY_OPTION}
${PROOF_OPTION}

Where nobody can be asked, and neither --yes nor --deny-writes is given, nothing is allowed to change.
Example: venue-files acp --root docs=. --prompt "Fix the typos in README.md" -- npx some-agent

Exit status: 0 done, 1 the agent failed, 64 usage, 66 file not readable, 69 the agent cannot be started,
78 invalid configuration
`,
};

/** Help text: general, for one command, or for a group of commands. */
export function helpText(topic?: HelpTopic): string {
  if (topic === undefined) return GENERAL;
  if (topic === "start") return START;
  if (topic === "files") return FILES;
  if (topic === "key") return `${TOPICS["key new"]}\n${TOPICS["key show"]}`;
  if (topic === "token") return TOKEN_COMMANDS.map((name) => TOPICS[name]).join("\n");
  if (topic === "backup") return `${TOPICS["backup create"]}\n${TOPICS["backup restore"]}`;
  if (topic === "drive") return DRIVES;
  return TOPICS[topic];
}
