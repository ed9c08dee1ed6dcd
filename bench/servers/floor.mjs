// The least an MCP server for files in Node can do: JSON lines in and out, node:fs at once, no jail, no rights, no checks, no history.
// It has the tools of server-filesystem that the bench calls; files are replaced by a rename, as there.
import { lstatSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { readLines } from "../lines.mjs";

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

const tree = (path) =>
  readdirSync(path, { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? { name: entry.name, children: tree(`${path}/${entry.name}`) } : { name: entry.name },
  );

const kind = (entry) => (entry.isDirectory() ? "[DIR]" : "[FILE]");
const lines = (path, more) =>
  readdirSync(path, { withFileTypes: true })
    .map((entry) => `${kind(entry)} ${entry.name}${more(entry)}\n`)
    .join("");

const TOOLS = {
  read_text_file: ({ path }) => readFileSync(path, "utf8"),
  read_media_file: ({ path }) => ({ uri: `file://${path}`, blob: readFileSync(path, "base64") }),
  get_file_info({ path }) {
    const { size, mtimeMs, mode } = statSync(path);
    return `size: ${size}\nmodified: ${mtimeMs}\nmode: ${mode}\n`;
  },
  list_directory: ({ path }) => lines(path, () => ""),
  list_directory_with_sizes: ({ path }) => lines(path, ({ name }) => ` ${lstatSync(`${path}/${name}`).size}`),
  directory_tree: ({ path }) => JSON.stringify(tree(path)),
  write_file({ path, content }) {
    replace(path, content);
    return "written";
  },
  edit_file: ({ path, edits }) => edit(path, edits),
};

function resultOf(method, params) {
  switch (method) {
    case "initialize": {
      const { protocolVersion } = params;
      return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "floor", version: "1.0.0" } };
    }
    case "tools/list":
      return { tools: Object.keys(TOOLS).map((name) => ({ name, inputSchema: { type: "object" } })) };
    default: {
      const answer = TOOLS[params.name](params.arguments);
      const block =
        typeof answer === "string" ? { type: "text", text: answer } : { type: "resource", resource: answer };
      return { content: [block] };
    }
  }
}

readLines(process.stdin, (line) => {
  const { id, method, params } = JSON.parse(line.toString());
  if (id === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(method, params) })}\n`);
});
