// `venue-files init`: writes a first configuration, and the entry of venue-files into the files of MCP clients.

import { existsSync, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { createTwoFilesPatch } from "diff";
import { ConfigError } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { packageFile } from "../../core/package-files.js";
import { isWindows, systemName } from "../../core/system.js";
import { compileDeny } from "../../path/deny.js";
import { FOLDER_SETS } from "../../path/pattern-sets.js";
import { namesBelow, realPath } from "../../process/host-path.js";
import { createLineAsker, type LineAsker } from "../acp/line-asker.js";
import { parseRootArguments } from "../arguments/root.js";
import { type CommandContext, codeOf, EXIT } from "../context.js";
import { loadConfigs } from "../load-config.js";
import { linkFault } from "../output/held-folder.js";
import { writeNewFile } from "../output/new-file.js";
import { paintFor } from "../output/paint.js";
import { table } from "../output/table.js";
import { ClientFile } from "./client-file.js";
import { CLIENTS, type Client, type Launch, type Platform } from "./clients.js";
import { type ChosenRoot, configText } from "./config-text.js";
import { addEntry, EntryExists, NotEditable } from "./edit.js";

const CONFIG = "venue.json5";
/** Name of the entry in clients' files; in files for all projects with the project's name after it. */
const ENTRY = "files";
const MOST_OF_A_NAME = 40;

interface InitCommand {
  /** `undefined`: the current directory. */
  readonly folder: string | undefined;
  /** As given to `--root`. */
  readonly roots: readonly string[];
  /** Names of {@link CLIENTS}. */
  readonly clients: readonly string[];
  /** Name of the entry in clients' files. */
  readonly entry: string | undefined;
  readonly port: number | undefined;
  readonly yes: boolean;
  readonly print: boolean;
  readonly force: boolean;
}

export async function init(command: InitCommand, context: CommandContext): Promise<number> {
  const asker = createLineAsker(context);
  try {
    return await run(command, { ...context, asker });
  } finally {
    asker.close();
  }
}

type Session = CommandContext & { readonly asker: LineAsker };

async function run(command: InitCommand, session: Session): Promise<number> {
  const folder = resolve(session.cwd, command.folder ?? ".");
  const config = join(folder, CONFIG);
  const say = (text: string) => session.stdout.write(`${text}\n`);
  if (existsSync(config)) {
    if (command.roots.length > 0 || command.clients.length === 0) {
      throw new ConfigError(
        [`${CONFIG} is there already, and stays as it is. Edit it, or choose another folder`],
        EXIT.config,
      );
    }
    say(`${CONFIG} is there already and stays as it is. What a client that starts it gets:\n${opens(config)}`);
  } else {
    const text = configText(await chooseRoots(command, folder, session), {
      schema: schemaFor(folder),
      port: command.port,
    });
    if (command.print) say(`${CONFIG}:\n\n${text}`);
    else await writeNew(folder, text);
    if (!command.print) say(`Wrote ${escapeText(relative(session.cwd, config) || CONFIG)}.`);
  }
  let status: number = EXIT.ok;
  for (const name of command.clients) {
    const client = CLIENTS[name];
    if (client !== undefined && !(await addTo(client, { folder, config, command, session }))) status = EXIT.failed;
  }
  if (command.print) say("Nothing was written.");
  else if (command.clients.length === 0) say(nextSteps(relative(session.cwd, config) || CONFIG));
  return status;
}

/** Lists the roots that an existing configuration opens, since somebody else may have written it. @throws ConfigError if it is not valid */
function opens(file: string): string {
  const rows = loadConfigs({ file, roots: [] }, "/").flatMap(({ file: { roots }, profiles }) => [
    ...Object.entries(roots).map(([name, root]) => [
      escapeText(name),
      escapeText("path" in root ? root.path : root.kind),
      root.readOnly ? "read-only" : "read-write",
    ]),
    ...Object.entries(profiles).flatMap(([name, { root, shell }]) =>
      shell === undefined
        ? []
        : [[escapeText(name), `on ${escapeText(root)}`, `commands${shell.unsafe ? " WITHOUT A GUARD" : ""}`]],
    ),
  ]);
  return table(rows);
}

const nextSteps = (config: string): string => `
What it means:            venue-files check --config ${config}
Over HTTP and MCP:        venue-files serve --config ${config}
For one of your clients:  venue-files init --for ${Object.keys(CLIENTS).join("|")}`;

/** @throws ConfigError for a folder that does not exist */
async function chooseRoots(command: InitCommand, folder: string, session: Session): Promise<readonly ChosenRoot[]> {
  const { asker } = session;
  let given = command.roots;
  if (given.length === 0) {
    const isAsking = asker.canAsk && !command.yes;
    const answer = isAsking ? await asker.ask(`Folder that agents get [${escapeText(folder)}]: `) : undefined;
    const path = answer === undefined || answer.trim() === "" ? folder : answer.trim();
    const mayChange = isAsking ? await asker.ask("May they change files in it? [Y/n]: ") : undefined;
    given = [`${path}${/^n/i.test(mayChange ?? "") ? ":ro" : ""}`];
  }
  const roots = Object.entries(parseRootArguments(given, session.cwd, { folders: [], protect: [] }));
  return roots.map(([name, root]) => {
    if (typeof root === "string" || !("path" in root)) throw new ConfigError([`'${name}' is no folder`], EXIT.config);
    if (!isFolder(root.path)) {
      const option = command.roots.length === 0 ? "" : `--root ${name}: `;
      throw new ConfigError([`${option}there is no folder ${escapeText(root.path)}. Make it first`], EXIT.noInput);
    }
    const inside = namesBelow(root.path, folder);
    const path = inside === undefined ? root.path : [".", ...inside].join("/");
    return { name, path, readOnly: root.readOnly === true, settings: settingsIn(root.path, folder, session) };
  });
}

/** Patterns of the configuration and of clients' files that lie in a root: who may change those decides what runs here next. */
function settingsIn(root: string, folder: string, { env }: CommandContext): readonly string[] {
  const depth = namesBelow(realPath(folder), realPath(root));
  if (depth === undefined) return [];
  const platform = platformOf(env);
  const inside = Object.values(CLIENTS).flatMap(
    (client) => namesBelow(client.file(folder, platform), folder)?.join("/") ?? [],
  );
  const known = compileDeny(FOLDER_SETS, { foldsCase: false });
  const written = [...new Set(inside)].flatMap((file) => [file, `${file}.bak`]);
  const others = [CONFIG, ...written].filter((pattern) => !known.denies(pattern.split("/")));
  return others.map((pattern) => {
    // A pattern without a slash holds at any depth.
    return depth.length === 0 || !pattern.includes("/") ? pattern : `**/${pattern}`;
  });
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const platformOf = (env: CommandContext["env"]): Platform => {
  // On Windows HOME is set by shells alone, and clients do not heed it.
  const home = env[isWindows() ? "USERPROFILE" : "HOME"] ?? homedir();
  return { system: systemName(), home, env, isFolder };
};

/** The schema, for editors: that of the package in the folder, else that of this one. */
function schemaFor(folder: string): string {
  const own = join("node_modules", "venue-files", "schemas", "config.json");
  return existsSync(join(folder, own)) ? `./${own.replaceAll("\\", "/")}` : packageFile("schemas/config.json").href;
}

/** Writes the configuration; never replaces one. @throws ConfigError */
async function writeNew(folder: string, text: string): Promise<void> {
  const path = join(folder, CONFIG);
  try {
    mkdirSync(folder, { recursive: true });
    await writeNewFile(path, { mode: 0o644 }, (handle) => handle.writeFile(text));
  } catch (error) {
    throw linkFault(path) ?? new ConfigError([`${CONFIG} cannot be written: ${codeOf(error)}`], EXIT.noInput);
  }
}

interface Task {
  readonly folder: string;
  readonly config: string;
  readonly command: InitCommand;
  readonly session: Session;
}

/** Shows what changes in a client's file, and writes it once that is allowed. @returns whether the entry stands there */
async function addTo(client: Client, { folder, config, command, session }: Task): Promise<boolean> {
  const say = (text: string) => session.stdout.write(`${text}\n`);
  const platform = platformOf(session.env);
  const named = client.file(folder, platform);
  const shown = `${client.title} (${escapeText(named)})`;
  const file = await ClientFile.open(named, shown, [folder, platform.home]);
  const old = file.text;
  const name = command.entry ?? entryName(client, folder);
  let text: string;
  try {
    text = await addEntry(old ?? "", {
      client,
      name,
      entry: client.entry(launchOf(config), name),
      force: command.force,
    });
  } catch (error) {
    if (error instanceof EntryExists) {
      say(
        `${shown} has an entry '${name}' already. Nothing was changed there; --force replaces it, --name NAME adds another.`,
      );
      return command.print;
    }
    if (!(error instanceof NotEditable)) throw error;
    throw new ConfigError([`Cannot edit the file of ${shown}: ${error.message}. It stays as it is`], EXIT.config);
  }
  // Without context lines: a client's file may hold secrets of others.
  const patch = createTwoFilesPatch(old === undefined ? "/dev/null" : named, named, old ?? "", text, "", "", {
    context: 0,
  });
  const paint = paintFor(session);
  say(`${shown}:\n`);
  for (const line of patch.split("\n").slice(3)) {
    if (line !== "")
      say(
        paint(
          escapeText(line.replace(/\r$/, "")),
          line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "hunk",
        ),
      );
  }
  if (command.print) return true;
  if (!command.yes && !/^y/i.test((session.asker.canAsk && (await session.asker.ask("Write it? [y/N]: "))) || "")) {
    say(`Nothing was written there.${session.asker.canAsk ? "" : " Say --yes to write it."}`);
    return false;
  }
  await file.replace(text);
  say(
    `Written${old === undefined ? "" : ` (before: ${escapeText(basename(named))}.bak)`}. Now ${client.afterwards}.\n`,
  );
  return true;
}

/** Clients take letters, digits, `-` and `_`. */
function entryName({ isShared }: Client, folder: string): string {
  if (isShared !== true) return ENTRY;
  const project = basename(folder)
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9_-]+/g, "-");
  return `${ENTRY}-${project.slice(0, MOST_OF_A_NAME).replace(/^-+|-+$/g, "") || "project"}`;
}

/** How a client starts this very program. No release is published, so no `npx`. */
const launchOf = (config: string): Launch => ({
  command: process.execPath,
  args: [fileURLToPath(packageFile("dist/cli.js")), "mcp", "--config", config],
});
