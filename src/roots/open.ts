import { HostBackend } from "../backend/host.js";
import { TempHome } from "../backend/temp.js";
import type { FileConfig, RootConfig } from "../core/file-config.js";
import type { Root } from "../core/operation.js";
import { Jail } from "../jail/jail.js";
import { Locks } from "../jail/locks.js";

/** The roots of one adapter, open. */
export interface OpenRoots {
  readonly roots: readonly Root[];
  /** What an operator should know; for the operator's own eyes, since it holds host paths. */
  readonly warnings: readonly string[];
  close(): Promise<void>;
}

/**
 * Opens every configured root, or none.
 * @param config checked and complete
 * @throws Error naming each root that cannot be opened and why
 */
export async function openRoots(config: FileConfig): Promise<OpenRoots> {
  const temp = new TempHome();
  const locks = new Locks();
  const opened: { root: Root; jail: Jail }[] = [];
  const problems: string[] = [];
  const close = async () => {
    await Promise.all(opened.map(({ root }) => root.backend.close()));
    temp.remove();
  };
  for (const [name, root] of Object.entries(config.roots)) {
    try {
      opened.push(openRoot(name, root, { temp, locks, maxCopyBytes: config.limits.maxWriteBytes }));
    } catch (error) {
      problems.push(`Root '${name}' ${error instanceof Error ? error.message : "cannot be opened"}`);
    }
  }
  if (problems.length > 0) {
    await close();
    throw new RootsError(problems);
  }
  return { roots: opened.map(({ root }) => root), warnings: warningsOf(opened), close };
}

/** Roots that could not be opened. Its text is for the operator and holds the paths from the configuration. */
export class RootsError extends Error {
  override readonly name = "RootsError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.problems = problems;
  }
}

function openRoot(
  name: string,
  config: RootConfig,
  shared: { temp: TempHome; locks: Locks; maxCopyBytes: number },
): { root: Root; jail: Jail } {
  const { readOnly, crossDevice, hardLinks, io, durability } = config;
  const path = config.kind === "temp" ? shared.temp.create(config.prefix) : config.path;
  const jail = new Jail({ path, readOnly, crossDevice, io }, shared.locks);
  const rules = { durable: durability === "flush", hardLinks, maxCopyBytes: shared.maxCopyBytes };
  const root: Root = {
    name,
    kind: config.kind,
    readOnly,
    ...(config.description === undefined ? {} : { description: config.description }),
    hostPath: jail.realPath,
    backend: new HostBackend(jail, rules),
  };
  return { root, jail };
}

function warningsOf(opened: readonly { root: Root; jail: Jail }[]): string[] {
  const own = opened.flatMap(({ root, jail }) =>
    root.kind === "host" ? jail.warnings.map((warning) => `Root '${root.name}': ${warning}`) : [],
  );
  const nested = opened.flatMap((outer) =>
    opened
      .filter((inner) => inner !== outer && inner.jail.realPath.startsWith(`${outer.jail.realPath}/`))
      .map((inner) => `Root '${inner.root.name}' lies inside root '${outer.root.name}' and can be reached through it`),
  );
  return [...own, ...nested];
}
