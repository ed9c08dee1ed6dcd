import { counted } from "../core/errors/wording.js";
import type { TagOf } from "../core/etag.js";
import type { Rendering } from "../core/ports/adapter.js";
import type { Entry, ListedPart } from "../core/ports/backend.js";
import { type Operation, READS } from "../core/ports/operation.js";
import type { ListInput, ListOutput } from "../schema/types.js";
import { clamp, countWithin } from "./content/clamp.js";
import { mimeByName } from "./content/mime.js";
import { entryName, hintOf, warningsOf } from "./searching/search.js";

/** `list`: the entries of one directory, in pages. */
export const list: Operation<ListInput, ListOutput> = {
  name: "list",
  on: "path",
  ...READS,
  looksInArchives: true,
  async run(input, { root, path, access, terms, tagOf, budget }) {
    const page = { ...pageOf(input), startsWith: terms?.startsWith };
    const stamps = terms?.tags === true && tagOf !== undefined;
    const listed = await root.backend.list(path, stamps ? { ...page, stamps } : page, access);
    const { total, denied, unreadable, vanished = 0 } = listed;
    const names = listed.entries.map(({ name }) => name);
    const most = budget === undefined ? names.length : countWithin(names, budget.defaultBytes);
    const found = listed.entries.slice(0, most);
    const typed = terms?.listsTypes === true ? found.map(addMime) : found;
    const entries = stamps ? typed.map((entry) => addTag(entry, tagOf)) : typed;
    const end = listed.start + (most < names.length ? most : page.limit);
    const counted = { ...(denied && { policy: denied }), ...(unreadable && { unreadable }) };
    const hidden = Object.keys(counted).length === 0 ? {} : { hidden: counted };
    const counts = { total, truncated: end < total, ...warningsOf(vanished > 0) };
    if (end < total) {
      const last = names[Math.min(most, names.length) - 1];
      const next = last === undefined ? `offset: ${end}` : `after: ${JSON.stringify(last)}`;
      const cut = { complete: false, reason: "limit", hint: `Go on with ${next}` } as const;
      return { entries: [...entries], ...counts, ...cut, ...hidden };
    }
    return { entries: [...entries], ...counts, complete: true, ...hidden, ...hintFor(hidden) };
  },
  render: (output, input) => (formatOf(input) === "json" ? renderJson(output) : renderText(output)),
  renderFields: {
    format: {
      type: "string",
      enum: ["text", "json"],
      description: "text (default): name/, name size (bytes), link@; json: also type, modified (ms)",
    },
  },
};

function hintFor({ hidden }: Pick<ListOutput, "hidden">): { hint?: string } {
  // `unreadable` counts entries in a list, and folders in searches.
  if (hidden?.unreadable === undefined || hidden.policy !== undefined)
    return hintOf(hidden === undefined ? {} : { hidden }, {});
  return { hint: `Left out: ${hidden.unreadable} that cannot be examined` };
}

function addMime(entry: Entry): Entry & { readonly mime?: string } {
  const { name, type, unreachable } = entry;
  const mime = type === "file" && unreachable !== true ? mimeByName(name) : undefined;
  return mime === undefined ? entry : { ...entry, mime };
}

/** The stamp itself stays inside: it names device and inode. */
const addTag = ({ stamp, ...entry }: Entry, tagOf: TagOf): Entry & { readonly tag?: string } =>
  stamp === undefined ? entry : { ...entry, tag: tagOf(stamp) };

/** Only surfaces for models have the field. */
const formatOf = (input: ListInput & { readonly format?: unknown }): unknown => input.format;

function renderJson(output: ListOutput): Rendering {
  if (!output.truncated) return { kind: "json", value: output, rest: {} };
  // The note contains the hint.
  const { hint: _, ...value } = output;
  return { kind: "json", value, rest: {}, ...noteOf(output) };
}

function renderText(output: ListOutput): Rendering {
  const { entries, hint: _, ...rest } = output;
  const text = entries.map((entry) => `${entryLine(entry)}\n`).join("");
  const nothing =
    output.total === 0
      ? "Empty directory"
      : `Past the end: the directory has ${counted(output.total, "entry", "entries")}`;
  return { kind: "text", text: text === "" ? nothing : text, rest, ...noteOf(output) };
}

function entryLine({ name, type, size }: ListOutput["entries"][number]): string {
  const shown = entryName(name);
  if (type === "directory") return `${shown}/`;
  if (type === "file") return `${shown} ${size}`;
  return type === "symlink" ? `${shown}@` : shown;
}

const pageOf = (input: ListInput): ListedPart => ({
  after: input.after,
  offset: clamp(input.offset, { low: 0, high: Number.MAX_SAFE_INTEGER, otherwise: 0 }),
  limit: clamp(input.limit, { low: 1, high: 10_000, otherwise: 1000 }),
});

function noteOf(output: ListOutput): { note?: string } {
  if (!output.truncated) return output.hint === undefined ? {} : { note: output.hint };
  return { note: `Cut: ${output.entries.length} of ${output.total} entries. ${output.hint}` };
}
