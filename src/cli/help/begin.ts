// Help on the commands to begin with, such as `init`.

import { CLIENTS } from "../init/clients.js";

/** Help of the commands by which people begin. */
export const BEGIN_TOPICS = {
  init: `venue-files init [FOLDER] [--root [NAME=]PATH[:ro]]… [--for CLIENT]… [--name NAME] [--port N] [--yes] [--print]
                    [--force]

Writes FOLDER/venue.json5, a configuration with comments. With --for it also adds an entry to the file of an MCP
client, which then starts venue-files by itself. Each change of a client's file is shown first; comments and order in it
stay, and what was there is kept beside it as .bak. Nothing is ever overwritten.

  --root [NAME=]PATH[:ro] a folder that agents get; may be repeated; ':ro' makes it read-only; default: FOLDER itself.
                          On a terminal you are asked
  --for CLIENT            ${Object.keys(CLIENTS).slice(0, 5).join(", ")},
                          ${Object.keys(CLIENTS).slice(5, 11).join(", ")},
                          ${Object.keys(CLIENTS).slice(11).join(", ")}; may be repeated
  --name NAME             of the entry: letters, digits, - and _; default: files, and files-FOLDER in a file that
                          is the user's for all projects (${Object.values(CLIENTS)
                            .filter(({ isShared }) => isShared)
                            .map(({ title }) => title)
                            .join(", ")})
  --port N                port of serve; default 8080
  --yes                   do not ask
  --print                 show everything, write nothing
  --force                 replace the entry of a client that has one

Example: venue-files init --root docs=./docs:ro --for claude-code

Exit status: 0 done, 1 a client's file was left as it was, 64 usage, 66 file or folder not to be had,
78 there is a configuration already, or a client's file that cannot be edited
`,
  doctor: `venue-files doctor

Says what this machine offers: Node, the engine of the jail, native libraries, the sandbox of commands, system limits,
the state directory, the clock. Changes nothing. NOTE: it works, with less; FAULT: it must be mended.

Exit status: 0 nothing must be mended, 78 something must
`,
  health: `venue-files health [--config FILE] [--host NAME] [--port N] [--url URL]

Asks /healthz of a running venue, for two seconds at most, and says ok. For HEALTHCHECK of a container, and supervisors.

  --config FILE           the venues of this configuration; else localhost, port 8080
  --host NAME, --port N   in place of those of the configuration
  --url URL               this venue: http://localhost:8080

Exit status: 0 healthy, 1 not, 64 usage, 66 file not readable, 78 invalid configuration
`,
  completion: `venue-files completion bash|zsh|fish|powershell

Prints a script by which the shell completes commands, options, clients, and ROOT:PATH by asking the venue.

Example: eval "$(venue-files completion bash)"        in ~/.bashrc; likewise zsh in ~/.zshrc
         venue-files completion fish | source         in ~/.config/fish/config.fish
         venue-files completion powershell | Out-String | Invoke-Expression        in $PROFILE

Exit status: 0 done, 64 usage
`,
} as const;
