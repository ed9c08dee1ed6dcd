// Registry of the sessions of one host. A session is visible only to the connection that opened it.

import { findPlace, type Mount } from "../files/mounts.js";
import type { AcpSession, Peer, ToolServer } from "./handlers.js";
import { createFileSession, type FileSession, type Host, reachOf } from "./session.js";
import { type TerminalRules, Terminals } from "./terminals.js";

/** Directories of a session, as absolute paths below the mounts. */
export interface SessionDirectories {
  readonly cwd: string;
  readonly additionalDirectories?: readonly string[];
}

export type TerminalLimits = Omit<TerminalRules, "reach">;

/** A session that is about to be opened. */
export interface Opening {
  readonly directories: SessionDirectories;
  readonly mounts: readonly Mount[];
  /** Absent: the agent gets no tools. */
  readonly tools?: ToolServer | undefined;
}

interface Kept {
  /** Absent: the agent has ended the session. What it changed is kept. */
  readonly peer: Peer | undefined;
  /** The agent is gone. */
  readonly isLost?: true;
  readonly session: AcpSession;
}

/** All sessions of one host, each bound to one connection. */
export class Sessions {
  readonly #host: Host;
  readonly #terminals: TerminalLimits;
  readonly #open = new Map<string, Kept>();

  constructor(host: Host, terminals: TerminalLimits) {
    this.#host = host;
    this.#terminals = terminals;
  }

  /** @throws Error if the id is taken or a directory is in no mount */
  add(peer: Peer, id: string, opening: Opening): void {
    if (this.#open.has(id)) throw new Error("There is a session of this id already");
    this.#put(peer, id, opening);
  }

  /**
   * Registers a session that an agent goes on with. Changes and buffers from before are kept; "always" answers are not, as
   * another agent may have given itself that id.
   * @returns to be called with whether the agent goes on: if not, all is as it was
   * @throws Error if another connection has it or a directory is in no mount
   */
  resume(peer: Peer, id: string, opening: Opening): (isDone: boolean) => Promise<void> {
    const before = this.#open.get(id);
    const owner = before?.isLost === true ? undefined : before?.peer;
    if (owner !== undefined && owner !== peer) throw new Error("Another agent has this session");
    const session = this.#put(peer, id, opening, before?.session.files);
    return async (isDone) => {
      if (!isDone && before === undefined) this.#open.delete(id);
      else if (!isDone && before !== undefined) this.#open.set(id, before);
      const over = isDone ? before?.session : session;
      if (over !== undefined) await end(over);
    };
  }

  #put(peer: Peer, id: string, { directories, mounts, tools }: Opening, before?: FileSession): AcpSession {
    const segments = directoriesOf(directories, mounts);
    const reach = reachOf(mounts, segments);
    const own = createFileSession(
      id,
      this.#host,
      reach.map(({ place }) => place),
    );
    const files = before === undefined ? own : { ...own, buffers: before.buffers, changes: before.changes };
    const terminals = new Terminals(files, { ...this.#terminals, reach });
    const session = { files, cwd: directories.cwd, directories: segments, terminals, tools };
    this.#open.set(id, { peer, session });
    tools?.bind(session);
    return session;
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
    const session = this.get(id);
    this.#open.delete(id);
    await end(session);
  }

  /** Ends the commands of a session that its agent has given up. What it changed is kept. */
  async detach(peer: Peer, id: string): Promise<void> {
    const session = this.of(peer, id);
    if (session === undefined) return;
    this.#open.set(id, { peer: undefined, session });
    await end(session);
  }

  /**
   * Ends the commands of all sessions of a disconnected agent, or of all agents. The sessions and their changes are
   * kept.
   */
  async release(peer?: Peer): Promise<void> {
    const own = [...this.#open].filter(([, one]) => peer === undefined || one.peer === peer);
    await Promise.all(
      own.map(([id, one]) => {
        this.#open.set(id, { ...one, isLost: true });
        return end(one.session);
      }),
    );
  }
}

async function end({ terminals, tools }: AcpSession): Promise<void> {
  tools?.close();
  await terminals.close();
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
