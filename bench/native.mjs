// MCP servers for files in other languages, where the environment has their command lines.
import { basename } from "node:path";

/** Names of those that are given. */
export const NATIVE_SERVERS = ["rust", "go"].filter((name) => variable(name) !== undefined);

function variable(name) {
  return process.env[`VENUE_FILES_BENCH_${name.toUpperCase()}`];
}

/** @returns the words of its command line */
export const nativeCommand = (name, root) =>
  variable(name)
    .split(" ")
    .map((word) => word.replace("{root}", root));

/** The programs, without the folders where they lie. */
export const nativeNames = () => NATIVE_SERVERS.map((name) => `${name}: ${basename(variable(name).split(" ")[0])}`);

/** Tools of server-filesystem under the names that others give them, with their arguments. */
const NAMES = {
  read_text_file: [["read_text_file"], ["read_file"]],
  get_file_info: [["get_file_info"]],
  write_file: [["write_file"]],
  list_directory_with_sizes: [["list_directory_with_sizes"], ["list_directory"]],
  list_directory: [["list_directory"]],
  directory_tree: [["directory_tree"], ["tree"]],
  create_directory: [["create_directory"]],
  edit_file: [
    ["edit_file"],
    ["modify_file", ({ path, edits: [{ oldText, newText }] }) => ({ path, find: oldText, replace: newText })],
  ],
};

/** The port of a server that is neither ours nor server-filesystem. Its answers have forms of their own: of each it is only known whether it is a failure. */
export function foreignTools(port) {
  const known = new Set(port.tools.map(({ name }) => name));
  return {
    ...port,
    has: (name) => (NAMES[name] ?? []).some(([own]) => known.has(own)),
    async tool(name, args) {
      const [own, translate = (same) => same] = (NAMES[name] ?? []).find(([one]) => known.has(one)) ?? [];
      if (own === undefined) throw new NoSuchTool();
      const result = await port.tool(own, translate(args));
      if (result.isError === true) throw new Error(`${own}: ${JSON.stringify(result.content).slice(0, 300)}`);
      return result;
    },
  };
}

/** A row that a server has no tool for. */
export class NoSuchTool extends Error {}
