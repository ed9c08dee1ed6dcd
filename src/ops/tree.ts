import { escapeText } from "../core/errors/texts.js";
import type { WalkEntry } from "../core/ports/backend.js";
import type { Operation, PathCall, PlacesCall } from "../core/ports/operation.js";
import { LOOKS } from "../core/ports/operation.js";
import type { TreeInput, TreeOutput } from "../schema/types.js";
import { compileGlobs } from "../search/globs.js";
import { clamp } from "./content/clamp.js";
import { humanSize } from "./content/human-size.js";
import { entryName } from "./searching/entry-name.js";
import { EXHAUSTED, hintOf, ignoreRules, isGitBase, withHidden } from "./searching/search.js";
import { type Folder, type Survey, type SurveyOptions, TreeSurvey } from "./searching/tree-survey.js";

/** `tree`: a directory and its content as indented text, the form that costs models the fewest tokens. */
export const tree: Operation<TreeInput, TreeOutput> = {
  name: "tree",
  on: "places",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  modelDefaults: { ignore: "gitignore" },
  async run(input, call) {
    const base = call.at({ root: rootOf(input), path: input.path ?? "", abilities: ["crud/read"], changes: false });
    const survey = await new TreeSurvey(await surveyOptions(input, { base, call })).run();
    const { entries, isCut: truncated, depthLimited } = survey;
    const { root, path } = base;
    const line = `${[root.name, ...path.segments].map(escapeText).join("/")}/`;
    return {
      tree: `${linesOf({ ...survey.top, line }, 0)}\n`,
      ...{ truncated, entries, depthLimited },
      ...completenessOf(survey),
    };
  },
  render: ({ tree: text, ...rest }) => {
    const note = rest.reason === "error" ? rest.hint : cutNote(rest);
    return { kind: "text", text, rest, ...(note === undefined ? {} : { note }) };
  },
};

/** On drives the input has `drive` in place of `root`. */
const rootOf = (input: { readonly root?: string; readonly drive?: string }): string => input.root ?? input.drive ?? "";

async function surveyOptions(
  input: TreeInput,
  { base, call }: { base: PathCall; call: PlacesCall },
): Promise<SurveyOptions> {
  const { root, path } = base;
  const { ignore: mode = "none", exclude } = input;
  const excluded = exclude === undefined ? undefined : compileGlobs(exclude, "exclude");
  const found = await ignoreRules({ root: root.name, ignore: mode }, { base, call });
  return {
    base,
    followsLinks: input.links !== undefined,
    maxDepth: clamp(input.maxDepth, { low: 1, high: 10, otherwise: 3 }),
    maxEntries: clamp(input.maxEntries, { low: 1, high: 5000, otherwise: 500 }),
    sizes: input.info === "size",
    ignore: found && { rules: found.rules, unread: found.unread, entersGit: isGitBase(path.segments) },
    exclude: excluded,
    line: entryLine,
  };
}

function completenessOf({ isCut, isTired, depthLimited, isExhausted, hidden }: Survey) {
  const early = isTired ? "visited" : isCut ? "limit" : depthLimited ? "depth" : undefined;
  const reason: "limit" | "visited" | "depth" | "error" | undefined = isExhausted ? "error" : early;
  const cut = { ...(reason === undefined ? {} : { reason }), ...hidden.part() } as const;
  return { complete: reason === undefined, ...cut, ...hintOf(cut, ADVICE) };
}

const ADVICE = {
  limit: "Pass a deeper path or a larger maxEntries",
  visited: "Numbers of what is left out are too low. Pass a deeper path",
  depth: "Pass a deeper path or a larger maxDepth",
  error: EXHAUSTED,
};

/** The lines of a folder and what is in it, without the first indent and the last line feed. */
function linesOf({ line, shown, left }: Folder, depth: number): string {
  const start = `\n${"\t".repeat(depth + 1)}`;
  const below = shown.map((one) => (typeof one === "string" ? one : linesOf(one, depth + 1)));
  if (left > 0) below.push(`… ${left} more`);
  return below.length === 0 ? line : `${line}${start}${below.join(start)}`;
}

function entryLine(entry: WalkEntry): string {
  const link = entry.type === "symlink" || entry.isLink === true ? "@" : "";
  const mark = `${link}${entry.type === "directory" ? "/" : ""}`;
  const size = entry.size !== undefined && entry.type === "file" ? ` (${humanSize(entry.size)})` : "";
  return `${entry.isUsual === true ? entry.name : entryName(entry.name)}${mark}${size}`;
}

function cutNote({ truncated, entries, depthLimited, hidden, hint }: Omit<TreeOutput, "tree">): string | undefined {
  if (truncated)
    return withHidden(
      `Cut after ${entries} entries. Call file_tree with a deeper path, or a larger maxEntries`,
      hidden,
    );
  if (!depthLimited) return hint;
  return withHidden("Some directories were not entered. Call file_tree on them, or with a larger maxDepth", hidden);
}
