// Named lists of patterns for the root options `deny` and `protect`.

/** Each with the copy of what was there, which `init` leaves beside it. */
const withCopies = (files: readonly string[]): readonly string[] => files.flatMap((file) => [file, `${file}.bak`]);

const SETS: Readonly<Record<string, readonly string[]>> = {
  /** Files that usually hold keys and passwords, at any depth. */
  "@secrets": [
    ...[".env", ".env.*", "*.pem", "*.key", "id_rsa*", "id_ed25519*", ".netrc", ".npmrc", ".git-credentials"],
    ...["**/.aws/**", "**/.ssh/**"],
  ],
  /** The repository of Git at any depth: a folder, or in worktrees and submodules a file. Its hooks are programs. */
  "@git": [".git"],
  /**
   * Files by which agents and MCP clients choose what they start and what they may do, at any depth: those that `init`
   * writes, and settings of well-known agents. Whoever changes one decides what runs at the next start.
   */
  "@clients": withCopies([
    ...[".mcp.json", ".claude.json", "claude_desktop_config.json", "opencode.json", "opencode.jsonc"],
    ...["**/.claude/settings.json", "**/.claude/settings.local.json"],
    ...["**/.cursor/mcp.json", "**/.cursor/hooks.json", "**/.cursor/cli.json", "**/.vscode/mcp.json"],
    ...["**/zed/settings.json", "**/Zed/settings.json", "**/.zed/settings.json", "**/.codex/config.toml"],
    ...["**/.gemini/settings.json", "**/.qwen/settings.json", "**/.kiro/settings/mcp.json", "**/.roo/mcp.json"],
    ...["**/goose/config.yaml", "**/goose/config/config.yaml", "**/.codeium/windsurf/mcp_config.json"],
  ]),
};

/** What bare folders protect, and what `init` writes. */
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
