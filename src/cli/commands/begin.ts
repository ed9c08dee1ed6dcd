// The commands to begin with.

import { escapeText } from "../../core/errors/texts.js";
import { nearestName } from "../../schema/nearest.js";
import { checkArgument, UsageError } from "../arguments/options.js";
import { EXIT } from "../context.js";
import type { Shell } from "../help/completion.js";
import { CLIENTS } from "../init/clients.js";
import { command } from "./command.js";
import { portOf } from "./serve.js";
import { FLAG, list, value } from "./shared.js";

const ENTRY_NAME = /^[A-Za-z0-9_-]{1,60}$/;
const SHARED = Object.values(CLIENTS).filter(({ isShared }) => isShared);

/** @throws UsageError for a name that is no client's */
function checkClients(names: readonly string[]): void {
  const known = Object.keys(CLIENTS);
  for (const name of names) {
    if (Object.hasOwn(CLIENTS, name)) continue;
    const near = nearestName(name, known);
    const advice = near === undefined ? `Clients: ${known.join(", ")}` : `Did you mean '${near}'?`;
    throw new UsageError(`--for knows no client '${escapeText(name)}'. ${advice}`);
  }
}

const init = command({
  usage: `init [FOLDER] [--root [NAME=]PATH[:ro]]… [--for CLIENT]… [--name NAME] [--port N] [--yes] [--print]
                    [--force]`,
  text: `Writes FOLDER/venue.json5, a configuration with comments. With --for it also adds an entry to the file of an MCP
client, which then starts venue-files by itself. Each change of a client's file is shown first; comments and order in it
stay, and what was there is kept beside it as .bak. Nothing is ever overwritten.`,
  words: { most: Infinity },
  options: {
    root: list(
      "[NAME=]PATH[:ro]",
      "docs=./docs",
      `a folder that agents get; may be repeated; ':ro' makes it read-only; default: FOLDER itself.
On a terminal you are asked`,
    ),
    for: list(
      "CLIENT",
      "1h",
      `${Object.keys(CLIENTS).slice(0, 5).join(", ")},
${Object.keys(CLIENTS).slice(5, 11).join(", ")},
${Object.keys(CLIENTS).slice(11).join(", ")}; may be repeated`,
    ),
    name: value(
      "NAME",
      "files-shop",
      `of the entry: letters, digits, - and _; default: files, and files-FOLDER in a file that
is the user's for all projects (${SHARED.map(({ title }) => title).join(", ")})`,
    ),
    port: { type: "string", value: "N", example: "8080", text: "port of serve; default 8080" },
    yes: { ...FLAG, text: "do not ask" },
    print: { ...FLAG, text: "show everything, write nothing" },
    force: { ...FLAG, text: "replace the entry of a client that has one" },
  },
  example: "venue-files init --root docs=./docs:ro --for claude-code",
  exits: `0 done, 1 a client's file was left as it was, 64 usage, 66 file or folder not to be had,
78 there is a configuration already, or a client's file that cannot be edited`,
  async run({ values, words: [folder, ...more] }, context) {
    const { root: roots, for: clients, name: entry, port, ...flags } = values;
    if (more[0] !== undefined) {
      throw new UsageError(`'init' takes one folder, not also '${escapeText(checkArgument(more[0]))}'`);
    }
    checkClients(clients);
    if (entry !== undefined && !ENTRY_NAME.test(entry)) {
      throw new UsageError("--name takes at most 60 letters, digits, '-' and '_', which every client accepts");
    }
    return (await import("../init/init.js")).init(
      { ...flags, folder, roots, clients, entry, port: portOf(port) },
      context,
    );
  },
});

const doctor = command({
  usage: "doctor",
  text: `Says what this machine offers: Node, the engine of the jail, native libraries, the sandbox of commands, system limits,
the state directory, the clock. Changes nothing. NOTE: it works, with less; FAULT: it must be mended.`,
  options: {},
  exits: "0 nothing must be mended, 78 something must",
  run: async (_line, context) => (await import("../checks/doctor.js")).doctor(context),
});

const SHELLS: readonly Shell[] = ["bash", "zsh", "fish", "powershell"];

const completion = command({
  usage: `completion ${SHELLS.join("|")}`,
  text: "Prints a script by which the shell completes commands, options, clients, and ROOT:PATH by asking the venue.",
  words: { most: 1, needs: `the shell: ${SHELLS.join(", ")}` },
  options: {},
  example: `eval "$(venue-files completion bash)"        in ~/.bashrc; likewise zsh in ~/.zshrc
         venue-files completion fish | source         in ~/.config/fish/config.fish
         venue-files completion powershell | Out-String | Invoke-Expression        in $PROFILE`,
  exits: "0 done, 64 usage",
  async run({ words: [name = ""] }, context, commands) {
    const shell = SHELLS.find((one) => one === name);
    if (shell === undefined) {
      throw new UsageError(`'completion' knows ${SHELLS.join(", ")}, not '${escapeText(name)}'`);
    }
    context.stdout.write((await import("../help/completion.js")).completionScript(shell, commands));
    return EXIT.ok;
  },
});

export const BEGIN = { init, doctor, completion };
