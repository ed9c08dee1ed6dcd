// `venue-files __complete WORD…`: what the last word of a file command may go on with, a line each. Called by completion scripts.

import type { FileOutputs } from "../../schema/types.js";
import { findFileCommand, readFileLine } from "../arguments/files.js";
import { type CommandContext, EXIT } from "../context.js";
import { type FileSession, withFileSession } from "./session.js";

/** Most names that are offered. */
const MOST = 500;

/**
 * Writes nothing on any error: a message would end up in the middle of what somebody is typing.
 * @param words of the command line up to the cursor, the program first; the last one may be empty
 */
export async function complete(words: readonly string[], context: CommandContext): Promise<number> {
  const current = words.at(-1) ?? "";
  const silent = { ...context, stderr: { ...context.stderr, write: () => true } as unknown as NodeJS.WriteStream };
  try {
    const found = await findFileCommand(words.slice(1, -1));
    const run = found && readFileLine(found.name, found.args);
    if (run === undefined || run === "help") return EXIT.ok;
    return await withFileSession(run, silent, async (session) => {
      const found = await candidates(session, current);
      await session.out(found.map((name) => `${name}\n`).join(""));
      return EXIT.ok;
    });
  } catch {
    return EXIT.ok;
  }
}

async function candidates(session: FileSession, current: string): Promise<readonly string[]> {
  const colon = current.indexOf(":");
  if (colon < 0) {
    const { roots } = await session.invoke("file:roots", {});
    return roots.map(({ name }) => `${name}:`).filter((name) => name.startsWith(current));
  }
  const root = current.slice(0, colon);
  const typed = current.slice(colon + 1);
  const folder = typed.slice(0, typed.lastIndexOf("/") + 1);
  const { entries }: FileOutputs["file:list"] = await session.invoke("file:list", { root, path: folder });
  return entries
    .map(({ name, type }) => `${root}:${folder}${name}${type === "directory" ? "/" : ""}`)
    .filter((name) => name.startsWith(current) && !/[\n\r]/.test(name))
    .slice(0, MOST);
}
