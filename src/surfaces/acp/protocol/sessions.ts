// Registry of the sessions of one host. A session is visible only to the connection that opened it.

import { findPlace, type Mount } from "../files/mounts.js";
import type { AcpSession, Peer } from "./handlers.js";
import { createFileSession, type Host, reachOf } from "./session.js";
import { type TerminalRules, Terminals } from "./terminals.js";

/** Directories of a session, as absolute paths below the mounts. */
export interface SessionDirectories {
  readonly cwd: string;
  readonly additionalDirectories?: readonly string[];
}

export type TerminalLimits = Omit<TerminalRules, "reach">;

/** All sessions of one host, each bound to one connection. */
export class Sessions {
  readonly #host: Host;
  readonly #terminals: TerminalLimits;
  readonly #open = new Map<string, { readonly peer: Peer; readonly session: AcpSession }>();

  constructor(host: Host, terminals: TerminalLimits) {
    this.#host = host;
    this.#terminals = terminals;
  }

  /** @throws Error if the id is taken or a directory is in no mount */
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

  /** For the host: finds a session of any connection. @throws Error if it is unknown */
  get(id: string): AcpSession {
    const found = this.#open.get(id);
    if (found === undefined) throw new Error("There is no such session");
    return found.session;
  }

  /** Removes a session and ends its commands. */
  async remove(id: string): Promise<void> {
    const { terminals } = this.get(id);
    this.#open.delete(id);
    await terminals.close();
  }

  /**
   * Ends the commands of all sessions of a disconnected agent, or of all agents. The sessions and their changes are
   * kept.
   */
  async release(peer?: Peer): Promise<void> {
    const own = [...this.#open.values()].filter((one) => peer === undefined || one.peer === peer);
    await Promise.all(own.map(({ session }) => session.terminals.close()));
  }
}

/** @throws Error if a directory is in no mount */
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
