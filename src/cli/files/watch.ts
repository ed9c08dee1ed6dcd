// `watch`: follows the changes at a path, a line each, until it is stopped.

import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import type { FileOutputs } from "../../schema/types.js";
import { placeOf, wordsOf } from "../arguments/files.js";
import { EXIT } from "../context.js";
import type { Paint } from "../output/paint.js";
import { type FileSession, printJson } from "./session.js";

/** Below the time that a venue elsewhere lets a call wait. */
const WAIT_MS = 20_000;
const LIMIT = 1000;

type Answer = FileOutputs["file:watch"];
type Change = Answer["events"][number];

/** Marks and colours of a line, by what happened. */
const MARKS = {
  created: ["+", "added"],
  modified: ["~", "hunk"],
  deleted: ["-", "removed"],
  moved: [">", "place"],
} as const;

/** `watch` */
export async function watch(session: FileSession<"watch">): Promise<number> {
  const { signal, context } = session;
  const [word = ""] = wordsOf(session, "ROOT:PATH");
  const place = placeOf(word);
  let { cursor, complete } = await session.invoke("file:watch", place);
  if (!complete) context.stderr.write("venue-files: changes by other programs are not seen everywhere here\n");
  while (!signal.aborted) {
    const answer = await next(session, { ...place, cursor });
    if (answer === undefined) break;
    ({ cursor } = answer);
    if (answer.overflow) {
      if (session.json) await printJson(session, { type: "overflow" });
      context.stderr.write("venue-files: changes were missed; look at what is there\n");
    }
    for (const change of answer.events) {
      if (session.json) await printJson(session, change);
      else await session.out(lineOf(change, session.paint));
    }
  }
  return EXIT.ok;
}

/** @returns `undefined` once the command is stopped */
async function next(session: FileSession, input: { root: string; path: string; cursor: string }) {
  try {
    return await session.invoke("file:watch", { ...input, waitMs: WAIT_MS, limit: LIMIT });
  } catch (error) {
    if (session.signal.aborted && error instanceof FileAdapterError && error.code === "ABORTED") return undefined;
    throw error;
  }
}

function lineOf({ type, path, from, entryType, origin }: Change, paint: Paint): string {
  const [mark, colour] = MARKS[type];
  const name = `${escapeText(path)}${entryType === "directory" ? "/" : ""}`;
  const moved = from === undefined ? name : `${escapeText(from)} -> ${name}`;
  return `${paint(`${mark} ${moved}`, colour)}${origin === "external" ? "  (external)" : ""}\n`;
}
