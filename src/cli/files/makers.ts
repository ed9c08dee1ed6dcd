// Selects changes by their makers: `--actor`, `--via` and `--since` of `history` and `undo`.

import type { FileInputs } from "../../schema/types.js";
import { parseDuration } from "../arguments/duration.js";
import { UsageError } from "../arguments/options.js";
import type { Change } from "../output/history-lines.js";
import { type FileSession, type Given, pagesOf } from "./session.js";

type Filter = Pick<Given<FileInputs["file:history"]>, "actor" | "via" | "since">;

const PAGE = 500;
/** Changes beyond them are not looked through. */
const MOST = 20_000;

/** The filter that the options ask for. @throws UsageError for a name that means nobody, or several */
export async function filterOf(session: FileSession<"history" | "undo">): Promise<Filter> {
  const { values } = session;
  const [actor, via, since] = [values.actor, values.via, sinceOf(values.since)];
  if (actor === undefined && via === undefined) return { since };
  const [callers, changes] = [await session.callers(), await changesOf({ since }, session)];
  return {
    since,
    actor: actor === undefined ? undefined : callers.actorOf(actor, changes),
    via: via === undefined ? undefined : callers.viaOf(via, changes),
  };
}

/** All changes of all roots, newest first. */
export async function changesOf(filter: Filter, session: FileSession): Promise<readonly Change[]> {
  const found: Change[] = [];
  for await (const { entries, nextCursor } of pagesOf(session, "file:history", { ...filter, limit: PAGE })) {
    found.push(...entries);
    if (nextCursor === undefined || found.length < MOST) continue;
    session.context.stderr.write(`venue-files: looked through the newest ${found.length} changes only\n`);
    break;
  }
  return found;
}

/** @throws UsageError */
function sinceOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = parseDuration(text);
  if (seconds === undefined) throw new UsageError("--since takes a time before now: 30m, 2h, 7d");
  return Date.now() - seconds * 1000;
}
