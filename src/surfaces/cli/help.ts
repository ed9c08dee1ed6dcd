import type { CommandName } from "./arguments.js";

const ROOT_OPTIONS = `  --config FILE           JSON5 configuration (see config.example.json5); none is searched for
  --root NAME=PATH[:ro]   a root, without any file; may be repeated; ':ro' makes it read-only`;

const CAPS_OPTION = "  --caps FILE             JSON5 list of capabilities that narrows every call (mcp, call)";
const PORT_OPTION = "  --port N                port to listen on; 0 picks a free one; default 8080 (serve)";

const GENERAL = `venue-files: file access for agents

Usage
  venue-files serve [--config FILE] [--port N] [--root NAME=PATH[:ro]]…
  venue-files check [--config FILE] [--root NAME=PATH[:ro]]…
  venue-files mcp   [--config FILE] [--root NAME=PATH[:ro]]… [--caps FILE]
  venue-files call <operation> ['<json>'] [--config FILE] [--root NAME=PATH[:ro]]… [--caps FILE]
  venue-files help [command]    also --help, -h
  venue-files --version         also -V

Commands
  serve   serve HTTP and MCP until stopped
  check   say what serve would run, and who may do what; nothing is started
  mcp     serve MCP on standard input and output
  call    run one operation and print its output as JSON

Options
${ROOT_OPTIONS}
${PORT_OPTION}
${CAPS_OPTION}

Without --config and --root there is one root, 'tmp': an empty temp folder that is removed at the end.
More about a command: venue-files help serve
`;

const TOPICS: Readonly<Record<CommandName, string>> = {
  serve: `venue-files serve [--config FILE] [--port N] [--root NAME=PATH[:ro]]…

Serves HTTP and MCP until stopped. On a loopback address callers without credentials may do everything in temp roots
and only read in host folders, unless the configuration says otherwise; the printed token acts as the operator. It is
kept in the state directory (XDG_STATE_HOME, else ~/.local/state), and stays the same until that file is deleted.

${ROOT_OPTIONS}
${PORT_OPTION}

SIGHUP reads the configuration again: changed roots, tokens and rights of anonymous callers take effect at once, or,
when anything in the file is wrong, nothing does.

Exit status: 0 stopped, 64 usage, 66 file not readable, 69 port or address not to be had, 78 invalid configuration
`,
  check: `venue-files check [--config FILE] [--root NAME=PATH[:ro]]…

Reads the configuration and says what serve would run: addresses, identity, roots, and who may do what in them. Nothing
is started, and nothing is made. Everything that is wrong is told at once.

${ROOT_OPTIONS}

Exit status: 0 valid, 64 usage, 66 file not readable, 78 invalid configuration
`,
  mcp: `venue-files mcp [--config FILE] [--root NAME=PATH[:ro]]… [--caps FILE]

Serves MCP on standard input and output, for clients that start their servers themselves. The caller acts as the
operator: everything in every root, unless --caps narrows it.

${ROOT_OPTIONS}
${CAPS_OPTION}

Example of a caps file: [{ with: "file://docs/", can: "crud/read" }]

Exit status: 0 the client has gone or it was stopped, 64 usage, 66 file not readable, 78 invalid configuration
`,
  call: `venue-files call <operation> ['<json>'] [--config FILE] [--root NAME=PATH[:ro]]… [--caps FILE]

Runs one operation as the operator and prints its output as JSON.

${ROOT_OPTIONS}
${CAPS_OPTION}

Operations: file:roots file:list file:tree file:read file:stat file:write file:append file:mkdir file:delete
Example: venue-files call file:read '{"root":"docs","path":"README.md"}' --root docs=.

Exit status: 0 done, 1 the operation failed (one line of JSON on standard error), 64 usage, 66 file not readable,
78 invalid configuration
`,
};

/** Help in general, or on one command. */
export const helpText = (topic?: CommandName): string => (topic === undefined ? GENERAL : TOPICS[topic]);
