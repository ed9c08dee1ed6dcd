import { escapeText } from "../core/errors/texts.js";
import type { WalkEntry } from "../core/ports/backend.js";
import type { Operation } from "../core/ports/operation.js";
import { LOOKS } from "../core/ports/operation.js";
import type { TreeInput, TreeOutput } from "../schema/types.js";
import { HiddenCount } from "../search/sieve.js";
import { clamp } from "./content/clamp.js";
import { humanSize } from "./content/human-size.js";
import { EXHAUSTED, hintOf } from "./searching/search.js";

/** `tree`: a directory and its content as indented text, the form that costs models the fewest tokens. */
export const tree: Operation<TreeInput, TreeOutput> = {
  name: "tree",
  on: "path",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  async run(input, { root, path, access }) {
    const maxDepth = clamp(input.maxDepth, { low: 1, high: 10, otherwise: 3 });
    const maxEntries = clamp(input.maxEntries, { low: 1, high: 5000, otherwise: 500 });
    const sizes = input.info === "size";
    let lines = `${[root.name, ...path.segments].map(escapeText).join("/")}/\n`;
    let entries = 0;
    let truncated = false;
    let depthLimited = false;
    const visit = (entry: WalkEntry): "enter" | "skip" | "stop" => {
      if (entries === maxEntries) {
        truncated = true;
        return "stop";
      }
      entries++;
      lines += line(entry);
      if (entry.type !== "directory") return "skip";
      if (entry.depth < maxDepth) return "enter";
      depthLimited = true;
      return "skip";
    };
    const hidden = new HiddenCount();
    const visitDenied = () => {
      hidden.add("policy");
      return "skip" as const;
    };
    const unreadable = () => hidden.add("unreadable");
    let isExhausted = false;
    const exhausted = () => {
      isExhausted = true;
    };
    await root.backend.walk(path, { visit, visitDenied, unreadable, exhausted, sizes }, access);
    const ends = { truncated, depthLimited, isExhausted };
    return { tree: lines, truncated, entries, depthLimited, ...completenessOf(ends, hidden) };
  },
  render: ({ tree: text, ...rest }) => {
    const note = rest.reason === "error" ? rest.hint : (cutNote(rest) ?? rest.hint);
    return { kind: "text", text, rest, ...(note === undefined ? {} : { note }) };
  },
};

function completenessOf(
  { truncated, depthLimited, isExhausted }: { truncated: boolean; depthLimited: boolean; isExhausted: boolean },
  hidden: HiddenCount,
) {
  const early = truncated ? "limit" : depthLimited ? "depth" : undefined;
  const reason: "limit" | "depth" | "error" | undefined = isExhausted ? "error" : early;
  const cut = { ...(reason === undefined ? {} : { reason }), ...hidden.part() } as const;
  return { complete: reason === undefined, ...cut, ...hintOf(cut, ADVICE) };
}

const ADVICE = {
  limit: "Pass a deeper path or a larger maxEntries",
  depth: "Pass a deeper path or a larger maxDepth",
  error: EXHAUSTED,
};

function line(entry: WalkEntry): string {
  const mark = entry.type === "directory" ? "/" : entry.type === "symlink" ? "@" : "";
  const size = entry.size !== undefined && entry.type === "file" ? ` (${humanSize(entry.size)})` : "";
  return `${"\t".repeat(entry.depth)}${escapeText(entry.name)}${mark}${size}\n`;
}

function cutNote(output: { truncated: boolean; entries: number; depthLimited: boolean }): string | undefined {
  if (output.truncated)
    return `Cut after ${output.entries} entries. Call file_tree with a deeper path, or a larger maxEntries`;
  return output.depthLimited
    ? "Some directories were not entered. Call file_tree on them, or with a larger maxDepth"
    : undefined;
}
