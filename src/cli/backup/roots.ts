// Files of roots in and out of a backup, through the operations of the venue.

import { createWriteStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ConfigError } from "../../config/errors.js";
import type { FileCommand } from "../arguments/files/options.js";
import type { ConfigSource } from "../arguments/remote.js";
import { type CommandContext, EXIT } from "../context.js";
import { contentOf } from "../files/content.js";
import { type FileSession, withFileSession } from "../files/session.js";
import type { Source } from "./archive.js";

const PAGE = 10_000;
const NOTHING = { flags: new Set<string>(), values: new Map(), lists: new Map(), words: [], json: false };
const COMMAND: FileCommand = { name: "get", ...NOTHING };

/** Runs `work` with the operations of a configuration's roots, as its operator. */
export function withRoots(
  source: ConfigSource,
  context: CommandContext,
  work: (session: FileSession) => Promise<number>,
): Promise<number> {
  const run = {
    name: "file",
    command: COMMAND,
    source,
    capsFile: undefined,
    caller: undefined,
    remote: undefined,
    // The state directory may be about to be put in place as well.
    journals: false,
  } as const;
  return withFileSession(run, context, work);
}

/** Every file of the roots, in order. Links and special files are left out. */
export async function* rootSources(roots: readonly string[], session: FileSession): AsyncGenerator<Source> {
  const spool = await mkdtemp(join(tmpdir(), "venue-files-backup-"));
  try {
    for (const root of roots) yield* filesBelow(root, "", { session, file: join(spool, "file") });
  } finally {
    await rm(spool, { recursive: true, force: true });
  }
}

async function* filesBelow(
  root: string,
  path: string,
  { session, file }: { readonly session: FileSession; readonly file: string },
): AsyncGenerator<Source> {
  for (let offset = 0; ; offset += PAGE) {
    const { entries, total } = await session.invoke("file:list", { root, path, offset, limit: PAGE });
    for (const { name, type } of entries) {
      const inner = path === "" ? name : `${path}/${name}`;
      if (type === "directory") yield* filesBelow(root, inner, { session, file });
      if (type !== "file") continue;
      // An entry of an archive says its size first, and the file may grow while it is read.
      await pipeline(contentOf({ root, path: inner }, session), createWriteStream(file, { mode: 0o600 }));
      const { modified } = await session.invoke("file:stat", { root, path: inner });
      const handle = await open(file, "r");
      try {
        const { size } = await handle.stat();
        const read = () => handle.createReadStream({ start: 0, autoClose: false });
        yield { path: `roots/${root}/${inner}`, size, modified: Date.parse(String(modified)) || 0, read };
      } finally {
        await handle.close();
      }
    }
    if (offset + PAGE >= total) return;
  }
}

/** @throws ConfigError unless the roots are empty */
export async function requireEmptyRoots(roots: readonly string[], session: FileSession): Promise<void> {
  for (const root of roots) {
    const { total } = await session.invoke("file:list", { root, path: "", limit: 1 });
    if (total > 0) throw new ConfigError([`Cannot restore: root '${root}' is not empty`], EXIT.config);
  }
}

/** Writes one entry back. */
export async function putBack(path: string, content: AsyncIterable<Buffer>, session: FileSession): Promise<void> {
  const [, root = "", ...rest] = path.split("/");
  await session.upload({ root, path: rest.join("/"), parents: true, ifNoneMatch: "*" }, content);
}
