// The `terminal/*` methods of one session: commands run in the sandbox, with only the session's directories mounted.

import { randomUUID } from "node:crypto";
import { RequestError } from "@agentclientprotocol/sdk";
import { aborted, notADirectory, notFound } from "../../../core/errors/texts.js";
import { type SandboxExit, type SandboxProcess, SHELL_PATH, shellEnvironment } from "../../../core/ports/sandbox.js";
import { rejectOnAbort } from "../../../core/turns.js";
import { ALLOWED, typeAt } from "../files/files.js";
import type { AcpPlace, Mount } from "../files/mounts.js";
import type { AcpTerminals } from "../options.js";
import { type ApprovalRequest, runApproved } from "../review/approval.js";
import { invalidParams, Refused } from "./errors.js";
import type { CreateTerminalParams } from "./params.js";
import type { FileSession, Host, Reach } from "./session.js";

/** Default and maximum bytes of output kept per command (`outputByteLimit`). */
const OUTPUT_BYTES = 1_048_576;
const MAX_OUTPUT_BYTES = 10_485_760;
/** Maximum ended, unreleased terminals per session; the oldest are dropped. */
const MAX_ENDED = 32;
/** Variables that change which program runs or what code it loads. */
const REFUSED_NAME = /^(?:LD_.*|NODE_OPTIONS|PATH)$/;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export interface TerminalRules {
  /** Absent: no terminals can be created. */
  readonly runs: AcpTerminals | undefined;
  readonly reach: readonly Reach[];
  /** Maximum concurrent commands. */
  readonly most: number;
  readonly timeoutMs: number;
}

interface Terminal {
  readonly run: SandboxProcess;
  exit: SandboxExit | undefined;
}

/** The commands that a session has started and not yet released. */
export class Terminals {
  readonly #session: FileSession;
  readonly #rules: TerminalRules;
  readonly #open = new Map<string, Terminal>();
  #starting = 0;
  #closed = false;

  constructor(session: FileSession, rules: TerminalRules) {
    this.#session = session;
    this.#rules = rules;
  }

  /** Starts a command. @returns the terminal id, once it runs @throws Refused, Rejected, FileAdapterError */
  async create(params: CreateTerminalParams, { cwd, signal }: { cwd: AcpPlace; signal: AbortSignal }): Promise<string> {
    const env = environmentOf(params.env);
    if (this.#running() >= this.#rules.most) throw invalidParams(`at most ${this.#rules.most} terminals at a time`);
    this.#starting++;
    try {
      await this.#checkDirectory(cwd, signal);
      const wanted = { env, cwd, signal };
      const { host, standing, id: sessionId } = this.#session;
      const { command, args } = params;
      const describe = (): ApprovalRequest => ({
        ...{ kind: "terminal", sessionId, command, args, env, path: cwd.sent, signal },
      });
      const asking = { approve: host.approve, standing, root: cwd.root };
      const start = (isAllowed: boolean) => this.#start(params, wanted, isAllowed);
      return await this.#keep(await runApproved("terminal", asking, describe, start), signal);
    } finally {
      this.#starting--;
    }
  }

  async output(id: string) {
    const { run, exit } = this.#get(id);
    const { combined, truncated } = run.output();
    const output = new TextDecoder("utf-8", { ignoreBOM: true }).decode(combined);
    return { output, truncated, ...(exit === undefined ? {} : { exitStatus: statusOf(exit) }) };
  }

  /** @throws ABORTED */
  async exit(id: string, signal: AbortSignal) {
    return statusOf(await rejectOnAbort(this.#get(id).run.exited, signal));
  }

  async kill(id: string) {
    await this.#get(id).run.kill();
    return {};
  }

  async release(id: string) {
    const { run } = this.#get(id);
    this.#open.delete(id);
    await run.kill();
    return {};
  }

  /** Kills all commands and rejects new ones. */
  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.allSettled(all.map(({ run }) => run.kill()));
  }

  #get(id: string): Terminal {
    const found = this.#open.get(id);
    if (found === undefined) {
      throw new Refused("UNKNOWN_TERMINAL", new RequestError(-32002, "Resource not found", { terminalId: id }));
    }
    return found;
  }

  #running(): number {
    return this.#starting + [...this.#open.values()].filter(({ exit }) => exit === undefined).length;
  }

  /**
   * Reports a missing working directory, for which the sandbox alone would give no reason. The session's own
   * directories always exist in the sandbox, so they are not checked.
   * @throws NOT_FOUND, NOT_A_DIRECTORY, and the error for a path that the session may not reach
   */
  async #checkDirectory({ root, path, absolute: sought }: AcpPlace, signal: AbortSignal): Promise<void> {
    if (this.#rules.reach.some(({ at }) => absolute(at) === absolute(sought))) return;
    const type = await typeAt(this.#session.calls, { root, path }, signal);
    if (type === "missing") throw notFound({ root, path });
    if (type !== "directory" && type !== "unseen") throw notADirectory({ root, path });
  }

  async #start(
    { command, args, outputByteLimit = OUTPUT_BYTES }: CreateTerminalParams,
    { env, cwd, signal }: { env: Readonly<Record<string, string>>; cwd: AcpPlace; signal: AbortSignal },
    isAllowed: boolean,
  ): Promise<SandboxProcess> {
    const { id: session, standing, host } = this.#session;
    const { exec } = host.adapter;
    const { runs, reach, timeoutMs } = this.#rules;
    if (exec === undefined || runs === undefined) throw invalidParams("there are no terminals");
    const at = absolute(cwd.absolute);
    return exec(
      {
        ...{ sandbox: runs.sandbox, snapshot: runs.snapshot === true },
        mounts: reach.map(({ place: [root = "", ...below], at: seen }) => ({
          root,
          ...(below.length === 0 ? {} : { prefix: below.join("/") }),
          at: absolute(seen),
          // A standing "reject always" for writes in this root applies to commands too.
          ...(standing.of("write", root) === "reject" ? { readOnly: true } : {}),
        })),
        argv: [command, ...args],
        cwd: at,
        env: { ...shellEnvironment(at), ...env },
        timeoutMs,
        outputBytes: Math.min(outputByteLimit, MAX_OUTPUT_BYTES),
        keep: "tail",
      },
      // `within` is omitted: only the session's directories are mounted, each by its own names and not through a
      // symlink.
      {
        ...host.base,
        ...{ surface: "acp", session, signal },
        ...(isAllowed ? { client: ALLOWED } : {}),
        pathRules: { floor: Math.max(...reach.map(({ place }) => place.length - 1)) },
      },
    );
  }

  async #keep(run: SandboxProcess, signal: AbortSignal): Promise<string> {
    if (this.#closed || signal.aborted) {
      await run.kill();
      throw aborted();
    }
    const id = `term-${randomUUID()}`;
    const terminal: Terminal = { run, exit: undefined };
    this.#open.set(id, terminal);
    void run.exited.then((exit) => {
      terminal.exit = exit;
      this.#dropEnded();
    });
    return id;
  }

  #dropEnded(): void {
    const ended = [...this.#open].filter(([, { exit }]) => exit !== undefined).map(([id]) => id);
    for (const id of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) this.#open.delete(id);
  }
}

const absolute = (segments: readonly string[]): string => `/${segments.join("/")}`;

const statusOf = ({ exitCode, signal }: SandboxExit) => ({ exitCode, signal });

/** @throws Refused */
function environmentOf(variables: CreateTerminalParams["env"]): Readonly<Record<string, string>> {
  for (const { name, value } of variables) {
    if (!NAME.test(name) || value.includes("\0"))
      throw invalidParams("'env' has a name or value that is not well-formed");
    if (REFUSED_NAME.test(name)) throw invalidParams(`'env' must not set ${name}`);
  }
  return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
}

const TRIAL_MS = 5000;

/**
 * Whether commands can run in the mounts in which the caller may run any. A working sandbox can still fail for some
 * roots, for example because of their owner, so a trial command decides whether terminals are offered to agents.
 */
export async function canRun(
  { adapter, base, log }: Host,
  { sandbox }: AcpTerminals,
  mounts: readonly Mount[],
): Promise<boolean> {
  const rights = adapter.rights?.("file:exec", base);
  const own = mounts.filter(({ root }) => rights?.allows([root], "exec/run") ?? true);
  if (adapter.exec === undefined || own.length === 0 || !(await sandbox.probe()).available) return false;
  const shown = own.map(({ root, prefix }) => ({ root, at: `/${prefix.join("/")}` }));
  const trial = {
    ...{ sandbox, mounts: shown, argv: ["true"], cwd: shown[0]?.at ?? "/", env: { PATH: SHELL_PATH } },
    ...{ timeoutMs: TRIAL_MS, outputBytes: 1024, keep: "tail" as const },
  };
  try {
    const run = await adapter.exec(trial, base);
    return (await run.exited).exitCode === 0;
  } catch (err) {
    log.debug({ err }, "no command can be run in the roots");
    return false;
  }
}
