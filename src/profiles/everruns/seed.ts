import type { BoundRoot } from "../bound-root.js";
import type { SeedFile } from "../profile.js";
import type { ReadonlyFiles } from "./readonly-files.js";
import type { SessionPaths } from "./session-path.js";

/** Where the files of a host application go. */
interface SeedBed {
  readonly root: BoundRoot;
  readonly paths: SessionPaths;
  readonly files: ReadonlyFiles;
}

/** Writes them one after the other, whatever was there, and keeps which of them the tools may not change. @throws as a write */
export async function seedFiles(seeds: readonly SeedFile[], { root, paths, files }: SeedBed): Promise<void> {
  for (const { path, content, encoding = "text", readonly = false } of seeds) {
    const session = paths.parse(path);
    const body = encoding === "base64" ? { bytes: content } : { content };
    await root.invoke("file:write", { path: session, ...body, parents: true });
    files.set(session, readonly);
  }
}
