// Roots that an MCP client names: which of its folders are served, and under what names.

import { opendir } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError } from "../../config/errors.js";
import { expandHome } from "../../config/home.js";
import type { HostRootInput } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import { attempt } from "../../core/io.js";
import type { RootFacts } from "../../core/ports/operation.js";
import { isWindows } from "../../core/system.js";
import { isInside, realHostPath } from "../../process/host-path.js";
import { nameOfFolder } from "../arguments/root.js";
import { EXIT } from "../context.js";

const PREFIX = "client-";

/**
 * The real paths of the folders of `--within`.
 *
 * @param cwd absolute base directory of relative paths
 * @throws ConfigError naming each that is no folder
 */
export async function realFolders(given: readonly string[], cwd: string): Promise<readonly string[]> {
  const found = await Promise.all(given.map((path) => realFolder(resolve(cwd, expandHome(path)))));
  const problems = given.filter((_, index) => found[index] === undefined);
  if (problems.length === 0) return found.flatMap((path) => path ?? []);
  throw new ConfigError(
    problems.map((path) => `--within must be a folder that can be read: '${escapeText(path)}'`),
    EXIT.config,
  );
}

/**
 * The folders that a client may have as roots, as real paths, each once. Other folders are left out without a
 * reason, or a client could learn from it what there is on the host.
 *
 * @param uris as the client sent them
 * @param within real paths; a folder must be one of them or lie below one
 * @param isOurs whether a real path touches what the venue keeps for itself
 */
export async function foldersOfClient(
  uris: readonly string[],
  within: readonly string[],
  isOurs: (path: string) => boolean,
): Promise<readonly string[]> {
  const folders = new Set<string>();
  for (const uri of uris) {
    const path = pathOf(uri);
    const real = path === undefined ? undefined : await realFolder(path);
    if (real !== undefined && within.some((dir) => isInside(real, dir)) && !isOurs(real)) folders.add(real);
  }
  return [...folders];
}

/** Roots for folders of a client. @param isTaken whether a name is that of a root of the operator's */
export function rootsForClient(
  folders: readonly string[],
  { isTaken, protect }: { readonly isTaken: (name: string) => boolean; readonly protect: readonly string[] },
): Readonly<Record<string, HostRootInput>> {
  const roots: Record<string, HostRootInput> = Object.create(null);
  for (const path of folders) {
    roots[nameOfFolder(path, (name) => isTaken(name) || Object.hasOwn(roots, name), PREFIX)] = { path, protect };
  }
  return roots;
}

/** Checks that what was opened is what was judged: a folder may have become a link in between. @throws ConfigError */
export function checkOpened(
  judged: Readonly<Record<string, HostRootInput>>,
  opened: readonly Pick<RootFacts, "name" | "hostPath">[],
): void {
  const moved = Object.entries(judged).filter(
    ([judgedName, { path }]) => opened.find(({ name }) => name === judgedName)?.hostPath !== path,
  );
  if (moved.length === 0) return;
  throw new ConfigError(
    moved.map(([name]) => `Root '${name}' was replaced while it was opened. Start again`),
    EXIT.config,
  );
}

/** The absolute path in a `file:` URI; `undefined` for anything else. */
function pathOf(uri: string): string | undefined {
  const path = attempt(() => fileURLToPath(uri));
  // Looking there would already sign in to a server that the client chose.
  return isWindows() && /^[\\/]{2}/.test(path ?? "") ? undefined : path;
}

/** The real path of a directory that can be read; `undefined` for anything else, whatever it is. */
async function realFolder(path: string): Promise<string | undefined> {
  try {
    const real = realHostPath(path);
    await (await opendir(real)).close();
    return real;
  } catch {
    return undefined;
  }
}
