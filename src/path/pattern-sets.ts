// Named lists of patterns for the root options `deny` and `protect`.

/** Each with the copy of what was there, which `init` leaves beside it. */
const withCopies = (files: readonly string[]): readonly string[] => files.flatMap((file) => [file, `${file}.bak`]);

/** Names in folders of one name, at any depth, with all below. Without groups: their folders above may be renamed. */
const inside = (folder: string, ...names: readonly string[]): readonly string[] =>
  names.map((name) => `**/${folder}/${name}`);

const SETS: Readonly<Record<string, readonly string[]>> = {
  /** Files that usually hold keys and passwords, at any depth. */
  "@secrets": [
    // Templates hold names of variables, and no values.
    ...[
      ".env",
      ".env.!(example|sample|template|dist)",
      "*.pem",
      "*.key",
      "id_rsa*",
      "id_ed25519*",
      ".netrc",
      ".npmrc",
      ".git-credentials",
    ],
    ...["**/.aws/**", "**/.ssh/**"],
  ],
  /** The repository of Git at any depth: a folder, or in worktrees and submodules a file. Its hooks are programs. */
  "@git": [".git"],
  /**
   * Files by which agents and MCP clients choose what they start and what they may do, at any depth: those that `init`
   * writes, and settings, hooks, servers, plugins and commands of well-known agents. Whoever changes one decides what runs next.
   */
  "@clients": withCopies([
    ...[".mcp.json", ".claude.json", "claude_desktop_config.json", "cline_mcp_settings.json"],
    ...["opencode.json", "opencode.jsonc", "crush.json", ".crush.json", ".aider.conf.yml", ".roomodes"],
    ...[".continuerc.json", ".claude-plugin"],
    ...inside(".claude", "settings.json", "settings.local.json", "hooks", "plugins", "commands", "agents", "skills"),
    ...inside(".cursor", "mcp.json", "hooks.json", "cli.json", "environment.json", "sandbox.json", "hooks", "commands"),
    ...inside(".vscode", "mcp.json"),
    ...[...inside(".copilot", "mcp-config.json", "config.json"), ...inside(".github", "mcp.json", "hooks")],
    ...["zed", "Zed", ".zed"].flatMap((folder) => inside(folder, "settings.json")),
    ...inside(".codex", "config.toml", "hooks.json", "rules", "prompts", "skills"),
    ...[".gemini", ".qwen"].flatMap((folder) =>
      inside(folder, "settings.json", "commands", "extensions", "hooks", "policies", "agents", "skills"),
    ),
    ...[...inside("goose", "config.yaml", "config/config.yaml"), ...inside(".goose", "config.yaml", "recipes")],
    ...[".opencode/opencode.json", ".opencode/opencode.jsonc"].map((file) => `**/${file}`),
    ...inside(".opencode", "package.json", "plugin", "plugins", "tool", "tools", "command", "commands"),
    ...inside(".opencode", "agent", "agents", "mode", "modes", "skill", "skills"),
    ...inside(".amazonq", "mcp.json", "settings.json", "default.json", "cli-agents", "agents", "hooks"),
    ...inside(".junie", "mcp", "mcp.json", "settings.json", "config.json", "commands", "agents", "skills", "hooks"),
    ...inside(".factory", "mcp.json", "settings.json", "settings.local.json", "hooks.json", "hooks", "plugins"),
    ...inside(".factory", "commands", "droids", "skills"),
    ...inside(
      ".continue",
      "config.json",
      "config.yaml",
      "config.ts",
      "permissions.yaml",
      "settings.json",
      "mcpServers",
    ),
    ...inside(".continue", "agents", "assistants", "hooks", "plugins", "commands"),
    ...inside(".windsurf", "mcp.json", "mcp_config.json", "hooks.json", "settings.json", "hooks", "plugins"),
    ...[
      ...inside(".windsurf", "commands", "workflows"),
      ...inside(".codeium/windsurf", "mcp_config.json", "hooks.json"),
    ],
    ...inside(".kiro", "settings", "hooks", "agents", "powers"),
    ...[...inside(".roo", "mcp.json", "commands"), ...inside(".clinerules", "hooks")],
    ...[
      ...inside(".trae", "mcp.json"),
      ...inside(".augment", "settings.json", "commands"),
      ...inside(".amp", "settings.json"),
    ],
    ...inside(".agents", "mcp_config.json", "commands", "plugins", "skills"),
  ]),
  /** Texts that tell agents how to work, at any depth. People ask agents to write them, so nothing protects them by default. */
  "@instructions": [
    ...[
      "AGENTS.md",
      "AGENTS.override.md",
      "AGENT.md",
      "CLAUDE.md",
      "CLAUDE.local.md",
      "GEMINI.md",
      "QWEN.md",
      "CRUSH.md",
    ],
    ...[".cursorrules", ".windsurfrules", ".clinerules", ".roorules", ".goosehints", ".rules", ".augment-guidelines"],
    ...[...inside(".claude", "rules", "output-styles", "CLAUDE.md"), ...inside(".cursor", "rules")],
    ...inside(".github", "copilot-instructions.md", "instructions", "prompts", "agents", "chatmodes"),
    ...[
      ...inside(".windsurf", "rules"),
      ...inside(".continue", "rules", "prompts"),
      ...inside(".amazonq", "rules", "prompts"),
    ],
    ...[
      ...inside(".junie", "guidelines.md", "guidelines", "rules"),
      ...inside(".factory", "rules"),
      ...inside(".kiro", "steering"),
    ],
    ...["rules", "rules-*"].flatMap((name) => inside(".roo", name)),
    ...[
      ...inside(".trae", "rules"),
      ...inside(".augment", "rules"),
      ...inside(".agents", "rules"),
      ...inside(".idx", "airules.md"),
    ],
  ],
};

/** Patterns that bare folders protect, and that `init` writes. */
export const FOLDER_SETS: readonly string[] = ["@git", "@clients"];

const SET_NAMES: readonly string[] = Object.keys(SETS);

/**
 * Resolves a pattern that may be the name of a set. Names begin with `@`; `@(` opens a group of a glob, and a path may
 * begin with such a segment (`@types/**`).
 *
 * @throws Error for an unknown set; the message completes "must be a glob: …"
 */
export function patternsOf(pattern: string): readonly string[] {
  if (Object.hasOwn(SETS, pattern)) return SETS[pattern] ?? [];
  const [first = ""] = pattern.split("/", 1);
  const isSetName = first === pattern ? /^@(?!\()/.test(first) : Object.hasOwn(SETS, first);
  if (!isSetName) return [pattern];
  throw new Error(
    `there is no set '${pattern}', only ${SET_NAMES.slice(0, -1).join(", ")} and ${SET_NAMES.at(-1)}; a name with @ is written [@]`,
  );
}
