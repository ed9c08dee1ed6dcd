import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { silentLog } from "../../../src/core/ports/log.js";
import type { FileOutputs } from "../../../src/schema/types.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import { type OpenVenue, openVenue } from "../../../src/venue/start/open-venue.js";
import { isRoot, OWNER } from "../../sandbox/ground.js";
import { type LocalAgent, localAgent } from "../../surfaces/acp/local.js";

/** The roots of the venue: on the host, temporary, and a drive. */
export type Kind = "host" | "temp" | "drive";

/** A venue with a journal, its surfaces, and a profile with a shell for each root; ACP sessions of one root each. */
export interface VenueGround {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly venue: OpenVenue;
  readonly agent: (kind: Kind) => LocalAgent;
  readonly sessions: AcpClientFs[];
  /** Calls of the operator. */
  readonly invoke: <N extends keyof FileOutputs>(name: N, input: object) => Promise<FileOutputs[N]>;
  /** Makes the root hold the first tree and nothing else. */
  reset(kind: Kind): Promise<void>;
  /** Paths, of files with content and time; on the host with modes. */
  snapshot(kind: Kind): Promise<string[]>;
  close(): Promise<void>;
}

/** The folder of a root as agents see it over ACP. */
export const seenByAgents = (kind: Kind): string => `/seen/${kind}`;

type Shell = NonNullable<NonNullable<VenueConfigInput["profiles"]>[string]["shell"]>;

/** @param shell of the profiles `shell-host`, `shell-temp`, … */
export async function openVenueGround(kinds: readonly Kind[], shell: Shell, more: object = {}): Promise<VenueGround> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-undo-")));
  chmodSync(home, 0o755);
  mkdirSync(join(home, "host"));
  if (isRoot) chownSync(join(home, "host"), OWNER, OWNER);
  const roots = {
    host: { path: join(home, "host"), durability: "none" },
    temp: { temp: true, journal: "on" },
    drive: { dlfs: "work" },
  } as const;
  const profiles = Object.fromEntries(
    kinds.map((root) => [`shell-${root}`, { profile: "jettson", root, shell, ...more } as const]),
  );
  const config = parseConfig(
    {
      ...{ port: 0, stateDir: join(home, "state"), drives: { store: "memory" }, profiles },
      ...{ mcp: { tools: "full" }, file: { roots } },
    } as VenueConfigInput,
    { baseDir: home, isGrant: () => true },
  );
  const venue = await openVenue(config, { listens: true, env: {}, log: silentLog });
  const { url } = await venue.host.listen();
  const caller = { callerDID: venue.access.did, authentication: "bearer" } as unknown as SurfaceContext;
  const agents = new Map<Kind, LocalAgent>();
  const sessions: AcpClientFs[] = [];
  for (const root of kinds) {
    const mounts = [{ root, prefix: seenByAgents(root) }];
    const acp = new AcpClientFs({ adapter: venue.adapter, mounts, caller });
    sessions.push(acp);
    agents.set(root, await localAgent(acp, `session-${root}`, { cwd: seenByAgents(root) }));
  }
  const folder = (kind: Kind): string =>
    venue.adapter.roots.find(({ name }) => name === kind)?.hostPath ?? join(home, kind);
  const invoke = (name: string, input: object) => venue.adapter.invoke(name as never, input as never, caller) as never;
  return {
    ...{ url, headers: { authorization: `Bearer ${venue.access.localToken}` }, venue, sessions, invoke },
    agent: (kind) => {
      const agent = agents.get(kind);
      if (agent === undefined) throw new Error(`no agent for ${kind}`);
      return agent;
    },
    reset: async (kind) => (kind === "drive" ? resetDrive(invoke) : resetFolder(folder(kind))),
    snapshot: async (kind) => (kind === "drive" ? snapshotOfDrive(invoke) : snapshotOf(folder(kind))),
    async close() {
      for (const agent of agents.values()) agent.close();
      await venue.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

const FILES = ["a", "d/a", "d/e/a"];
const contentOf = (index: number): string => `old\n${index}`;

function resetFolder(dir: string): void {
  const { uid, gid } = lstatSync(dir);
  const own = (path: string): void => chownSync(path, uid, gid);
  for (const name of readdirSync(dir)) if (name !== ".venue-files") rmSync(join(dir, name), { recursive: true });
  for (const name of ["d", "d/e"]) {
    mkdirSync(join(dir, name));
    own(join(dir, name));
  }
  for (const [index, name] of FILES.entries()) {
    writeFileSync(join(dir, name), contentOf(index));
    own(join(dir, name));
    chmodSync(join(dir, name), 0o640 + index);
    utimesSync(join(dir, name), 1_600_000_000, 1_600_000_000 + index + 0.4567);
  }
}

/** Paths with type and mode, of files also content and time in milliseconds. */
export function snapshotOf(dir: string, below = ""): string[] {
  return readdirSync(join(dir, below))
    .filter((name) => name !== ".venue-files")
    .sort()
    .flatMap((name) => {
      const path = join(below, name);
      const stat = lstatSync(join(dir, path));
      const mode = (stat.mode & 0o777).toString(8);
      if (stat.isDirectory()) return [`${path}/ ${mode}`, ...snapshotOf(dir, path)];
      const content = readFileSync(join(dir, path), "utf8");
      return [`${path} ${mode} ${Math.floor(stat.mtimeMs)} ${content.length} ${content.slice(0, 20)}`];
    });
}

type Invoke = (name: string, input: object) => never;

async function resetDrive(invoke: Invoke): Promise<void> {
  const { entries }: FileOutputs["file:list"] = await invoke("file:list", { root: "drive" });
  for (const { name } of entries) await invoke("file:delete", { root: "drive", path: name, recursive: true });
  for (const [index, path] of FILES.entries())
    await invoke("file:write", { root: "drive", path, content: contentOf(index), parents: true });
}

/**
 * Drives have no modes, and the time of a node orders it against other copies of the drive: it is always that of the
 * last change, also of an undo.
 */
async function snapshotOfDrive(invoke: Invoke, below = ""): Promise<string[]> {
  const { entries }: FileOutputs["file:list"] = await invoke("file:list", { root: "drive", path: below });
  const found: string[] = [];
  for (const { name, type } of entries) {
    const path = join(below, name);
    if (type === "directory") found.push(`${path}/`, ...(await snapshotOfDrive(invoke, path)));
    else {
      const { hash }: FileOutputs["file:hash"] = await invoke("file:hash", { root: "drive", path });
      found.push(`${path} ${hash}`);
    }
  }
  return found;
}
