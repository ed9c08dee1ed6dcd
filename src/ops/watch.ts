import { notFound, notSupportedHere } from "../core/errors/texts.js";
import type { Rendering } from "../core/ports/adapter.js";
import { type Operation, READS } from "../core/ports/operation.js";
import type { WatchInput, WatchOutput } from "../schema/types.js";

const USUAL_LIMIT = 200;

/** `watch`: what changed at a path and below since the last call, or what changes first. */
export const watch: Operation<WatchInput, WatchOutput> = {
  name: "watch",
  on: "path",
  ...READS,
  watches: true,
  waitsMs: ({ waitMs = 0 }) => waitMs,
  async run({ recursive = true, cursor, waitMs = 0, limit = USUAL_LIMIT }, { root, path, access, pollChanges }) {
    if (pollChanges === undefined) throw notSupportedHere("watching");
    const found = await root.backend.stat(path, access);
    // With a cursor its end may be one of the events.
    if (found === undefined && cursor === undefined) throw notFound(access.place);
    const { events, isCovered, isCut, ...rest } = await pollChanges({ recursive, cursor, waitMs, limit });
    const reason = isCut ? "limit" : "visited";
    return {
      events: [...events],
      ...rest,
      complete: isCovered && !isCut,
      ...(isCovered && !isCut ? {} : { reason }),
      ...hintOf({ overflow: rest.overflow, isCut, isCovered }),
    };
  },
  render,
};

function hintOf({ overflow, isCut, isCovered }: { overflow: boolean; isCut: boolean; isCovered: boolean }) {
  if (overflow) return { hint: "Changes were missed: list again, then go on with this cursor" };
  if (isCut) return { hint: "There are more: go on with this cursor" };
  return isCovered
    ? {}
    : {
        hint: "Changes by other programs are looked for every few seconds, not everywhere in a large tree: watch less of it",
      };
}

/** A line for each change. */
function render({ events, ...rest }: WatchOutput): Rendering {
  const lines = events.map(({ type, path, from, entryType, origin }) => {
    const name = `${path}${entryType === "directory" ? "/" : ""}`;
    return `${type} ${from === undefined ? "" : `${from} -> `}${name}${origin === "external" ? " (external)" : ""}`;
  });
  const text = lines.length === 0 ? (rest.overflow ? "overflow" : "no changes") : lines.join("\n");
  const note = `cursor ${rest.cursor}${rest.hint === undefined ? "" : `. ${rest.hint}`}`;
  return { kind: "text", text, rest: { ...rest }, note };
}
