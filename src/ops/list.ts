import type { Operation } from "../core/operation.js";
import { LOOKS } from "../core/operation.js";
import type { ListInput, ListOutput } from "../schema/types.js";
import { clamp } from "./clamp.js";

/** The entries of one directory, a page at a time. */
export const list: Operation<ListInput, ListOutput> = {
  name: "list",
  on: "path",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  async run(input, { root, path, access }) {
    const page = pageOf(input);
    const { entries, total } = await root.backend.list(path, page, access);
    return { entries: [...entries], total, truncated: page.offset + page.limit < total };
  },
  render: (output, input) => ({ kind: "json", value: output, rest: {}, ...cutNote(output, pageOf(input)) }),
};

interface Page {
  readonly offset: number;
  readonly limit: number;
}

const pageOf = (input: ListInput): Page => ({
  offset: clamp(input.offset, { low: 0, high: Number.MAX_SAFE_INTEGER, otherwise: 0 }),
  limit: clamp(input.limit, { low: 1, high: 10_000, otherwise: 1000 }),
});

function cutNote(output: ListOutput, { offset, limit }: Page): { note?: string } {
  if (!output.truncated) return {};
  return { note: `Cut: ${output.entries.length} of ${output.total} entries. Go on with offset: ${offset + limit}` };
}
