import { findPlace, type Mount } from "../files/mounts.js";
import type { AcpSession, Peer } from "./handlers.js";
import { createFileSession, type Host, reachOf } from "./session.js";
import { type TerminalRules, Terminals } from "./terminals.js";

/** Directories of a session: absolute paths below the mounts. */
export interface SessionDirectories {
  readonly cwd: string;
  readonly additionalDirectories?: readonly string[];
}

export type TerminalLimits = Omit<TerminalRules, "reach">;

/** Every session of one host. Each belongs to the side of one connection, and no other knows it. */
export class Sessions {
  readonly #host: Host;
  readonly #terminals: TerminalLimits;
  readonly #open = new Map<string, { readonly peer: Peer; readonly session: AcpSession }>();

  constructor(host: Host, terminals: TerminalLimits) {
    this.#host = host;
    this.#terminals = terminals;
  }

  /** @throws Error where the id is taken, or a directory lies in no mount */
  add(
    peer: Peer,
    id: string,
    { directories, mounts }: { directories: SessionDirectories; mounts: readonly Mount[] },
  ): void {
    if (this.#open.has(id)) throw new Error("There is a session of this id already");
    const segments = directoriesOf(directories, mounts);
    const reach = reachOf(mounts, segments);
    const files = createFileSession(
      id,
      this.#host,
      reach.map(({ place }) => place),
    );
    const terminals = new Terminals(files, { ...this.#terminals, reach });
    this.#open.set(id, { peer, session: { files, cwd: directories.cwd, directories: segments, terminals } });
  }

  of(peer: Peer, id: string): AcpSession | undefined {
    const found = this.#open.get(id);
    return found?.peer === peer ? found.session : undefined;
  }

  /** For the host itself, whichever agent it is of. @throws Error */
  get(id: string): AcpSession {
    const found = this.#open.get(id);
    if (found === undefined) throw new Error("There is no such session");
    return found.session;
  }

  /** Forgets a session, and ends its commands. */
  async remove(id: string): Promise<void> {
    const { terminals } = this.get(id);
    this.#open.delete(id);
    await terminals.close();
  }

  /** Ends the commands of all sessions of an agent that is gone, or of all; what they changed stays known. */
  async release(peer?: Peer): Promise<void> {
    const own = [...this.#open.values()].filter((one) => peer === undefined || one.peer === peer);
    await Promise.all(own.map(({ session }) => session.terminals.close()));
  }
}

/** @throws Error for one that lies in no mount */
export function directoriesOf(
  { cwd, additionalDirectories = [] }: SessionDirectories,
  mounts: readonly Mount[],
): readonly (readonly string[])[] {
  const named = [["cwd", cwd] as const, ...additionalDirectories.map((one) => ["additionalDirectories", one] as const)];
  return named.map(([name, path]) => {
    const place = findPlace(mounts, path);
    if (place === undefined) throw new Error(`'${name}' must be an absolute path in a mount: ${path}`);
    return place.absolute;
  });
}
