// Writes the initial files of a host application into a session.

import type { BoundRoot, SeedFile } from "../profile.js";
import type { ReadonlyFiles } from "./readonly-files.js";
import type { SessionPaths } from "./session-path.js";

/** Target of the seed files. */
interface SeedBed {
  readonly root: BoundRoot;
  readonly paths: SessionPaths;
  readonly files: ReadonlyFiles;
}

/**
 * Writes the files in order, replacing existing ones, and records which are read-only for the tools.
 * @throws as `file:write`
 */
export async function seedFiles(seeds: readonly SeedFile[], { root, paths, files }: SeedBed): Promise<void> {
  for (const { path, content, encoding = "text", readonly = false } of seeds) {
    const session = paths.parse(path);
    const body = encoding === "base64" ? { bytes: content } : { content };
    await root.invoke("file:write", { path: session, ...body, parents: true });
    files.set(session, readonly);
  }
}
