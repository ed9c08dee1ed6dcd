// Writes what MCP clients need to start venue-files between the markers of README.md. LAUNCH is the one place that changes
// when there is a release on npm.
import { readFileSync, writeFileSync } from "node:fs";

/** The command that starts the program, and its arguments. */
export const LAUNCH = ["node", "/path/to/venue-files/dist/cli.js"];
const FOLDER = "/path/to/project";

const [command, ...before] = LAUNCH;
const args = [...before, "mcp", FOLDER, "--deny", "@secrets"];
/** An object of one key with an object of one entry, on one line. */
const json = (key, entry) => {
  const text = JSON.stringify(entry)
    .replace(/([{,:])(?=")|,(?=[{[])|:(?=[[{t])/g, "$& ")
    .replace(/}$/, " }");
  return `{ "${key}": { "files": ${text} } }`;
};
const quoted = args.map((one) => JSON.stringify(one)).join(", ");
/** PowerShell would take `@secrets` for a variable. */
const line = [command, ...args].join(" ").replace("@secrets", '"@secrets"');

/** Title, language and text of each snippet. */
export const SNIPPETS = [
  ["Claude Code", "sh", `claude mcp add files -- ${line}`],
  ["Codex", "toml", `# .codex/config.toml\n[mcp_servers.files]\ncommand = "${command}"\nargs = [${quoted}]`],
  [
    "Claude Desktop (`claude_desktop_config.json`), Cursor (`.cursor/mcp.json`), Gemini CLI (`.gemini/settings.json`), Antigravity CLI (`.agents/mcp_config.json`), Kiro (`.kiro/settings/mcp.json`), Windsurf (`~/.codeium/windsurf/mcp_config.json`)",
    "json",
    json("mcpServers", { command, args }),
  ],
  ["VS Code (`.vscode/mcp.json`)", "json", json("servers", { type: "stdio", command, args })],
  ["Zed (`.zed/settings.json`)", "json", json("context_servers", { source: "custom", command, args, env: {} })],
  [
    "Goose (`~/.config/goose/config.yaml`)",
    "yaml",
    `extensions:\n  files: { name: files, type: stdio, enabled: true, cmd: ${command}, args: [${quoted}], timeout: 300 }`,
  ],
  ["opencode (`opencode.json`)", "json", json("mcp", { type: "local", command: [command, ...args], enabled: true })],
];

const MARKERS = /(<!-- clients -->\n)[\s\S]*(<!-- \/clients -->)/;

/** The README with the snippets in their place. */
export function withSnippets(readme) {
  const parts = SNIPPETS.map(([title, language, text]) => `${title}:\n\`\`\`${language}\n${text}\n\`\`\`\n`);
  return readme.replace(MARKERS, (_, start, end) => `${start}${parts.join("")}${end}`);
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const target = new URL("../README.md", import.meta.url);
  writeFileSync(target, withSnippets(readFileSync(target, "utf8")));
}
