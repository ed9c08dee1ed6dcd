import { type Operation, READS } from "../core/ports/operation.js";
import { isWithin } from "../path/grammar.js";
import type { TrashInput, TrashOutput } from "../schema/types.js";
import { journalIn, lackPart, readIdCursor, visibleRoot, writeIdCursor } from "./history/visible-entries.js";

const PAGE = 200;

/** `trash`: what was deleted and can be brought back, newest first. */
export const trash: Operation<TrashInput, TrashOutput> = {
  name: "trash",
  on: "places",
  ...READS,
  async run({ root, path, cursor }, call) {
    const { view, segments } = visibleRoot(call, root, path);
    const of = await journalIn(view, call);
    if (of === undefined) return { entries: [], complete: true, ...(await lackPart([view], true)) };
    const binding = ["trash", call.caller, root, segments];
    const before = readIdCursor(binding, cursor);
    const { foldsCase } = view.root.backend;
    const all = (await of.journal.trash()).filter(
      (one) =>
        isWithin(one.path, segments, foldsCase) &&
        of.view.allows(one.path, "crud/read") &&
        (before === undefined || one.id < before),
    );
    const entries = all.slice(0, PAGE);
    const last = all.length > PAGE ? entries.at(-1) : undefined;
    return {
      entries: entries.map(({ path: at, ...one }) => ({ ...one, path: at.join("/") })),
      complete: last === undefined,
      ...(last === undefined ? {} : { nextCursor: writeIdCursor(binding, last.id) }),
    };
  },
};
