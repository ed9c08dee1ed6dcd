// The least an MCP server for files in Node can do: JSON lines in and out, node:fs at once, no jail, no rights, no checks, no history.
// It has the tools of server-filesystem that the bench calls; files are replaced by a rename, as there.
import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";

let made = 0;

function replace(path, content) {
  const beside = `${path}.${process.pid}-${made++}`;
  writeFileSync(beside, content);
  renameSync(beside, path);
}

function edit(path, edits) {
  let text = readFileSync(path, "utf8");
  let diff = "";
  for (const { oldText, newText } of edits) {
    const at = text.indexOf(oldText);
    text = text.slice(0, at) + newText + text.slice(at + oldText.length);
    diff += `-${oldText}\n+${newText}\n`;
  }
  replace(path, text);
  return diff;
}

function tree(path, indent) {
  let lines = "";
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    lines += entry.isDirectory()
      ? `${indent}${entry.name}/\n${tree(`${path}/${entry.name}`, `${indent}\t`)}`
      : `${indent}${entry.name}\n`;
  }
  return lines;
}

const sizes = (path) =>
  readdirSync(path)
    .map((name) => `${name} ${lstatSync(`${path}/${name}`).size}\n`)
    .join("");

const TOOLS = {
  read_text_file: ({ path }) => readFileSync(path, "utf8"),
  get_file_info({ path }) {
    const { size, mtimeMs, mode } = statSync(path);
    return JSON.stringify({ size, mtimeMs, mode });
  },
  list_directory: ({ path }) => readdirSync(path).join("\n"),
  list_directory_with_sizes: ({ path }) => sizes(path),
  directory_tree: ({ path }) => tree(path, ""),
  write_file({ path, content }) {
    replace(path, content);
    return "written";
  },
  edit_file: ({ path, edits }) => edit(path, edits),
  create_directory({ path }) {
    mkdirSync(path, { recursive: true });
    return "made";
  },
};

function resultOf(method, params) {
  switch (method) {
    case "initialize": {
      const { protocolVersion } = params;
      return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "floor", version: "1.0.0" } };
    }
    case "tools/list":
      return { tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: "object" } })) };
    default:
      return { content: [{ type: "text", text: TOOLS[params.name](params.arguments) }] };
  }
}

/** Pieces of the incomplete line. */
let pieces = [];
process.stdin.on("data", (chunk) => {
  let start = 0;
  for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
    pieces.push(chunk.subarray(start, end));
    const line = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
    pieces = [];
    start = end + 1;
    const { id, method, params } = JSON.parse(line.toString());
    if (id === undefined) continue;
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(method, params) })}\n`);
  }
  if (start < chunk.length) pieces.push(chunk.subarray(start));
});
