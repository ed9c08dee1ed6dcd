// The configuration file of each MCP client, and the form of the entry for venue-files in it.

import { posix, win32 } from "node:path";

/** The system that a client runs on; injected, so that tests can ask for another one. */
export interface Platform {
  readonly system: NodeJS.Platform;
  /** The user's home, absolute. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  isFolder(path: string): boolean;
}

/** The command that a client starts. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

/** An entry as data of the client's file: objects from the top down to the entry's own. */
export interface Client {
  /** As people call it. */
  readonly title: string;
  readonly format: "json" | "toml" | "yaml";
  /** The keys that lead to the servers, from the top of the file. */
  readonly keys: readonly string[];
  /** The file is the user's, for all projects: an entry in it is named by the project. */
  readonly isShared?: true;
  /** @param folder of the project, absolute */
  file(folder: string, platform: Platform): string;
  /** @param name of the entry */
  entry(launch: Launch, name: string): Readonly<Record<string, unknown>>;
  /** Step that is needed before the client sees the entry. */
  readonly afterwards: string;
}

const commandEntry = ({ command, args }: Launch) => ({ command, args });
const folderFile =
  (...names: readonly string[]) =>
  (folder: string, { system }: Platform): string =>
    paths(system).join(folder, ...names);
const homeFile =
  (...names: readonly string[]) =>
  (_folder: string, { system, home }: Platform): string =>
    paths(system).join(home, ...names);

const paths = (system: NodeJS.Platform) => (system === "win32" ? win32 : posix);

/** Where programs with a window keep their settings. */
function settings(name: string, platform: Platform): string {
  const { system, home, env } = platform;
  const { join } = paths(system);
  if (system === "win32") return join(env["APPDATA"] ?? join(home, "AppData", "Roaming"), name);
  if (system === "darwin") return join(home, "Library", "Application Support", name);
  return join(env["XDG_CONFIG_HOME"] ?? join(home, ".config"), name);
}

/** Windows keeps what it installs as a package apart from other programs: there nothing else is read. */
function claudeSettings(platform: Platform): string {
  const { system, home, env, isFolder } = platform;
  const local = env["LOCALAPPDATA"] ?? win32.join(home, "AppData", "Local");
  const ofPackage = win32.join(local, "Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude");
  return system === "win32" && isFolder(ofPackage) ? ofPackage : settings("Claude", platform);
}

/** Clients by the name that `--for` takes. */
export const CLIENTS: Readonly<Record<string, Client>> = {
  "claude-code": {
    title: "Claude Code",
    format: "json",
    keys: ["mcpServers"],
    file: folderFile(".mcp.json"),
    entry: commandEntry,
    afterwards: "start claude in that folder and allow the server",
  },
  "claude-desktop": {
    title: "Claude Desktop",
    format: "json",
    isShared: true,
    keys: ["mcpServers"],
    file: (_folder, platform) => paths(platform.system).join(claudeSettings(platform), "claude_desktop_config.json"),
    entry: commandEntry,
    afterwards: "quit Claude Desktop and start it again",
  },
  cursor: {
    title: "Cursor",
    format: "json",
    keys: ["mcpServers"],
    file: folderFile(".cursor", "mcp.json"),
    entry: commandEntry,
    afterwards: "open that folder in Cursor and enable the server under Settings, MCP",
  },
  vscode: {
    title: "VS Code",
    format: "json",
    keys: ["servers"],
    file: folderFile(".vscode", "mcp.json"),
    entry: (launch) => ({ type: "stdio", ...commandEntry(launch) }),
    afterwards: "open that folder in VS Code and press Start above the entry",
  },
  zed: {
    title: "Zed",
    format: "json",
    keys: ["context_servers"],
    file: folderFile(".zed", "settings.json"),
    entry: (launch) => ({ source: "custom", ...commandEntry(launch), env: {} }),
    afterwards: "open that folder in Zed and trust it: the agent panel's settings list the server",
  },
  codex: {
    title: "Codex",
    format: "toml",
    keys: ["mcp_servers"],
    file: folderFile(".codex", "config.toml"),
    entry: commandEntry,
    afterwards: "start codex in that folder and trust it",
  },
  gemini: {
    title: "Gemini CLI",
    format: "json",
    keys: ["mcpServers"],
    file: folderFile(".gemini", "settings.json"),
    entry: commandEntry,
    afterwards: "start gemini in that folder and trust it; /mcp lists the server",
  },
  antigravity: {
    title: "Antigravity CLI",
    format: "json",
    keys: ["mcpServers"],
    file: folderFile(".agents", "mcp_config.json"),
    entry: commandEntry,
    afterwards: "start agy in that folder; /mcp lists the server",
  },
  copilot: {
    title: "GitHub Copilot CLI",
    format: "json",
    keys: ["mcpServers"],
    file: folderFile(".github", "mcp.json"),
    entry: (launch) => ({ type: "local", ...commandEntry(launch), tools: ["*"] }),
    afterwards: "start copilot in that folder and trust it; /mcp show lists the server",
  },
  kiro: {
    title: "Kiro",
    format: "json",
    keys: ["mcpServers"],
    file: folderFile(".kiro", "settings", "mcp.json"),
    entry: commandEntry,
    afterwards: "open that folder in Kiro, or start kiro-cli there",
  },
  windsurf: {
    title: "Windsurf",
    format: "json",
    keys: ["mcpServers"],
    isShared: true,
    file: homeFile(".codeium", "windsurf", "mcp_config.json"),
    entry: commandEntry,
    afterwards: "open Windsurf and press Refresh under Cascade, MCP servers",
  },
  goose: {
    title: "Goose",
    format: "yaml",
    isShared: true,
    keys: ["extensions"],
    file: (_folder, platform) =>
      platform.system === "win32"
        ? win32.join(settings("Block", platform), "goose", "config", "config.yaml")
        : posix.join(platform.env["XDG_CONFIG_HOME"] ?? posix.join(platform.home, ".config"), "goose", "config.yaml"),
    entry: ({ command, args }, name) => ({ name, type: "stdio", enabled: true, cmd: command, args, timeout: 300 }),
    afterwards: "start goose again",
  },
  opencode: {
    title: "opencode",
    format: "json",
    keys: ["mcp"],
    file: folderFile("opencode.json"),
    entry: ({ command, args }) => ({ type: "local", command: [command, ...args], enabled: true }),
    afterwards: "start opencode in that folder",
  },
};
