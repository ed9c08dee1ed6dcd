import type { Operation } from "../core/ports/operation.js";
import { LOOKS } from "../core/ports/operation.js";
import type { ListInput, ListOutput } from "../schema/types.js";
import { clamp } from "./content/clamp.js";
import { hintOf } from "./searching/search.js";

/** `list`: the entries of one directory, in pages. */
export const list: Operation<ListInput, ListOutput> = {
  name: "list",
  on: "path",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  async run(input, { root, path, access }) {
    const page = pageOf(input);
    const { entries, total, denied } = await root.backend.list(path, page, access);
    const end = page.offset + page.limit;
    const hidden = denied === undefined ? {} : { hidden: { policy: denied } };
    const counts = { total, truncated: end < total };
    if (end < total) {
      const cut = { complete: false, reason: "limit", hint: `Go on with offset: ${end}` } as const;
      return { entries: [...entries], ...counts, ...cut, ...hidden };
    }
    return { entries: [...entries], ...counts, complete: true, ...hidden, ...hintOf(hidden, {}) };
  },
  render(output, input) {
    if (!output.truncated) return { kind: "json", value: output, rest: {} };
    // The note says what the hint says.
    const { hint: _, ...value } = output;
    return { kind: "json", value, rest: {}, ...cutNote(output, pageOf(input)) };
  },
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
