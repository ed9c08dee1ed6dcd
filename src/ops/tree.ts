import { escapeText } from "../core/errors/texts.js";
import type { WalkEntry } from "../core/ports/backend.js";
import { type Operation, type PathCall, type PlacesCall, READS } from "../core/ports/operation.js";
import type { TreeInput, TreeOutput } from "../schema/types.js";
import { Selection } from "../search/globs.js";
import { clamp } from "./content/clamp.js";
import { humanSize } from "./content/human-size.js";
import { withMeantExclude } from "./searching/meant-globs.js";
import { EXHAUSTED, entryName, hintOf, ignoreRules, isGitBase, warningsOf, withHidden } from "./searching/search.js";
import { type Folder, type SurveyOptions, TreeSurvey } from "./searching/tree-survey.js";

/** `tree`: a directory and its content as indented text, the form that costs models the fewest tokens. */
export const tree: Operation<TreeInput, TreeOutput> = {
  name: "tree",
  on: "places",
  ...READS,
  looksInArchives: true,
  modelDefaults: { ignore: "gitignore" },
  async run(input, call) {
    const base = call.at({ root: rootOf(input), path: input.path ?? "", abilities: ["crud/read"], changes: false });
    const survey = new TreeSurvey(await surveyOptions(input, { base, call }));
    const top = await survey.run();
    const { entries, isCut: truncated, depthLimited } = survey;
    const { root, path } = base;
    const line = `${[root.name, ...path.segments].map(escapeText).join("/")}/`;
    return {
      tree: `${linesOf({ ...top, line }, 0)}\n`,
      ...{ truncated, entries, depthLimited },
      ...completenessOf(survey, input),
      ...warningsOf(survey.hasVanished),
    };
  },
  render: ({ tree: text, ...rest }, input) => {
    const note = rest.reason === "error" ? rest.hint : cutNote(rest, input);
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
  const { ignore: mode = "none" } = input;
  const selection = new Selection(undefined, withMeantExclude(input, base, call).exclude);
  const found = await ignoreRules({ root: root.name, ignore: mode }, { base, call });
  return {
    base,
    followsLinks: input.links !== undefined,
    ...boundsOf(input),
    sizes: input.info === "size",
    ignore: found && { rules: found.rules, unread: found.unread, entersGit: isGitBase(path.segments) },
    selection,
    line: entryLine,
  };
}

const MAX_DEPTH = 10;
const MAX_ENTRIES = 5000;

const boundsOf = ({ maxDepth, maxEntries }: TreeInput) => ({
  maxDepth: clamp(maxDepth, { low: 1, high: MAX_DEPTH, otherwise: 3 }),
  maxEntries: clamp(maxEntries, { low: 1, high: MAX_ENTRIES, otherwise: 500 }),
});

/** Inputs that show more than this one does, beside a deeper path. */
function largerInputs(input: TreeInput): Record<"limit" | "depth", string> {
  const { maxDepth, maxEntries } = boundsOf(input);
  return {
    limit: maxEntries < MAX_ENTRIES ? `, or maxEntries: ${MAX_ENTRIES}` : "",
    depth: maxDepth < MAX_DEPTH ? `, or maxDepth: ${MAX_DEPTH}` : "",
  };
}

function completenessOf({ isCut, isTired, depthLimited, isExhausted, hidden }: TreeSurvey, input: TreeInput) {
  const early = isTired ? "visited" : isCut ? "limit" : depthLimited ? "depth" : undefined;
  const reason: "limit" | "visited" | "depth" | "error" | undefined = isExhausted ? "error" : early;
  const cut = { ...(reason === undefined ? {} : { reason }), ...hidden.part() } as const;
  return { complete: reason === undefined, ...cut, ...hintOf(cut, adviceOf(input)) };
}

function adviceOf(input: TreeInput) {
  const { limit, depth } = largerInputs(input);
  return {
    limit: `Pass a deeper path${limit === "" ? ", or list it" : limit}`,
    visited: "Numbers of what is left out are too low. Pass a deeper path, or list it",
    depth: `Pass a deeper path${depth}`,
    error: EXHAUSTED,
  };
}

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

function cutNote(
  { truncated, entries, depthLimited, hidden, hint }: Omit<TreeOutput, "tree">,
  input: TreeInput,
): string | undefined {
  const { limit, depth } = largerInputs(input);
  const instead = limit === "" ? ", or file_list" : limit;
  if (truncated) return withHidden(`Cut after ${entries} entries. Call file_tree with a deeper path${instead}`, hidden);
  return depthLimited ? withHidden(`Some directories were not entered. Call file_tree on them${depth}`, hidden) : hint;
}
