// The `acp` command: runs an agent on the roots, with the user at the terminal.

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { setImmediate, setTimeout, setTimeout as sleep } from "node:timers/promises";
import {
  type ClientApp,
  methods,
  ndJsonStream,
  RequestError,
  type SessionNotification,
  type Stream,
} from "@agentclientprotocol/sdk";
import { escapeText } from "../../core/errors/texts.js";
import type { Log } from "../../core/ports/log.js";
import { DEFAULT_SHELL } from "../../core/ports/sandbox.js";
import { isWindows } from "../../core/system.js";
import { spawnAlone } from "../../process/spawn-alone.js";
import { createSandbox } from "../../sandbox/create.js";
import { AcpClientFs } from "../../surfaces/acp/client-fs.js";
import { rootsOf } from "../../surfaces/acp/files/files.js";
import { placeMounts } from "../../surfaces/acp/files/mounts.js";
import type { AcpConnection } from "../../surfaces/acp/protocol/connection.js";
import type { AcpAuditRecord } from "../../surfaces/acp/review/audit.js";
import { type OpenFiles, openFiles } from "../../venue/start/open-files.js";
import { withConfiguredLog } from "../../venue/start/open-parts.js";
import type { OwnCalls } from "../arguments/remote.js";
import { type CommandContext, codeOf, EXIT, Unavailable } from "../context.js";
import { loadCaps, loadOneConfig, warn } from "../load-config.js";
import { coloured, plain } from "../output/paint.js";
import { ownCaller } from "../own-caller.js";
import { type Answers, createAnswers } from "./answers.js";
import { createLineAsker, type LineAsker } from "./line-asker.js";
import { auditLine, auditView, modifiedView, safeLines } from "./view.js";

/** How long an agent may take to exit after closing its side, in milliseconds. */
const ENDING_MS = 1000;

interface AcpCommand extends OwnCalls {
  /** Program and arguments. */
  readonly agent: readonly string[];
  /** `undefined`: prompts are lines of standard input. */
  readonly prompt: string | undefined;
  /** Answer to the agent's requests to change something. */
  readonly answer: "ask" | "allow" | "reject";
  /** Clone the roots before each command, so that everything it changes can be undone. */
  readonly snapshot: boolean;
}

/** Context of one run of `acp`. */
interface Run {
  readonly command: AcpCommand;
  readonly context: CommandContext;
  readonly lines: LineAsker;
  readonly answers: Answers;
  /** All requests of the agent. */
  readonly records: AcpAuditRecord[];
  readonly stopped: Promise<void>;
}

/** `venue-files acp`: starts an agent on the roots, shows what it does, and lets the user decide. */
export async function acp(command: AcpCommand, context: CommandContext): Promise<number> {
  const config = loadOneConfig(command.source, context.cwd);
  const caps = loadCaps(command.capsFile);
  const caller = await ownCaller(command.caller, config, context);
  const stopped = context.untilStopped();
  return withConfiguredLog(config, context.stderr, async (log) => {
    const files = await openFiles(config, { env: context.env, log, ...caller });
    const lines = createLineAsker(context);
    try {
      await files.adapter.lookForLacks();
      warn(files, context);
      const answers = createAnswers(command.answer, { lines, context });
      return await serveAgent({ command, context, lines, answers, records: [], stopped }, { files, caps, log });
    } finally {
      lines.close();
      await files.close();
    }
  });
}

/** The files and rights of an agent. */
interface Reachable {
  readonly files: OpenFiles;
  readonly caps: readonly unknown[] | undefined;
  readonly log: Log;
}

async function serveAgent(run: Run, reachable: Reachable): Promise<number> {
  const { command, context, records } = run;
  const { fs, directories } = await openFs(run, reachable);
  const agent = await startAgent(command.agent, context);
  const connection = fs.connect(agent.stream, (app) => show(app, run));
  let sessionId: string | undefined;
  try {
    const [cwd = "/", ...additionalDirectories] = directories;
    const opening = connection.newSession({ cwd, additionalDirectories });
    const id = await untilStopped(opening, run, connection);
    if (id === undefined) return EXIT.ok;
    sessionId = id;
    context.stdout.write(`Session ${escapeText(id)} in ${directories.map(escapeText).join(", ")}\n`);
    await runPrompts(run, connection, id);
    return EXIT.ok;
  } catch (error) {
    context.stderr.write(`${await failureOf(error, agent.ended)}\n`);
    return EXIT.failed;
  } finally {
    await connection.close();
    await agent.stop();
    if (sessionId !== undefined) await printSummary(fs, sessionId, run);
    context.stdout.write(auditView(records));
  }
}

async function openFs(
  { command: { snapshot }, context, answers, records }: Run,
  { files: { adapter, context: caller }, caps, log }: Reachable,
): Promise<{ fs: AcpClientFs; directories: readonly string[] }> {
  const narrowed = caps === undefined ? {} : { caps };
  const roots = await rootsOf(adapter, { ...caller, ...narrowed });
  const mounts = roots.map(({ name: root }) => ({ root }));
  const onWarning = (text: string): void => void context.stderr.write(`Warning: ${escapeText(text)}\n`);
  const fs = new AcpClientFs({
    ...{ adapter, mounts, log, caller, ...narrowed, approve: answers.approve },
    onAudit(record) {
      records.push(record);
      context.stdout.write(auditLine(record));
    },
    terminals: { sandbox: await createSandbox(DEFAULT_SHELL, { onWarning }), snapshot },
  });
  const prefixes = new Map(placeMounts(mounts, roots).map(({ root, prefix }) => [root, `/${prefix.join("/")}`]));
  // The first root is the agent's working directory.
  return { fs, directories: mounts.map(({ root }) => prefixes.get(root) ?? "/") };
}

/** Awaits `work` until the agent exits or the user stops it. @returns `undefined` if stopped @throws AgentGone */
async function untilStopped<T>(work: Promise<T>, { stopped }: Run, { closed }: AcpConnection): Promise<T | undefined> {
  const gone = closed.then(() => {
    throw new AgentGone();
  });
  return Promise.race([work, stopped.then(() => undefined), gone]);
}

class AgentGone extends Error {
  override readonly name = "AgentGone";
}

async function runPrompts(run: Run, connection: AcpConnection, sessionId: string): Promise<void> {
  const { command, context, lines } = run;
  const once = command.prompt;
  if (once === undefined && lines.canAsk) context.stdout.write("Type what the agent is to do. Stop with Ctrl-D.\n");
  for (;;) {
    const text = once ?? (await untilStopped(lines.next(), run, connection));
    if (text === undefined) return;
    if (text.trim() === "") continue;
    const turn = connection.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text }],
    });
    const ended = await untilStopped(turn, run, connection);
    if (ended === undefined) return;
    // Lets the handlers of the agent's last messages run first.
    await setImmediate();
    context.stdout.write(`\nThe agent has stopped: ${escapeText(ended.stopReason)}\n`);
    if (once !== undefined) return;
  }
}

/** Shows the agent's messages, and answers its requests other than file access. */
function show(app: ClientApp, { context, answers }: Run): void {
  app
    .onNotification(methods.client.session.update, ({ params }) => void context.stdout.write(updateView(params)))
    .onRequest(methods.client.session.requestPermission, ({ params, signal }) => answers.permit(params, signal));
}

function updateView({ update }: SessionNotification): string {
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
      return update.content.type === "text" ? safeLines(update.content.text) : "";
    case "tool_call":
      return `[${escapeText(update.title)}]\n`;
    default:
      return "";
  }
}

async function printSummary(fs: AcpClientFs, sessionId: string, { context }: Run): Promise<void> {
  const modified = fs.modified(sessionId);
  const diffs = await Promise.all(modified.map(({ path }) => fs.diff(sessionId, path)));
  context.stdout.write(modifiedView(modified, diffs, context.stdout.isTTY === true ? coloured : plain));
}

/** If the agent has exited, that is reported as the cause, whatever error it led to. */
async function failureOf(error: unknown, ended: Promise<number | null>): Promise<string> {
  if (error instanceof RequestError) return `The agent answered: ${escapeText(error.message)} (${error.code})`;
  const code = await Promise.race([ended, setTimeout(ENDING_MS, undefined)]);
  if (code !== undefined) return `The agent has ended with status ${code ?? "?"}`;
  if (error instanceof AgentGone) return "The agent has closed the connection";
  return `The agent failed: ${error instanceof Error ? escapeText(error.message) : "?"}`;
}

// Starts the program of an agent, and ends it with everything it started.

/** Time between SIGTERM and SIGKILL, in milliseconds. */
const GRACE_MS = 2000;
const LOOK_MS = 10;
const hasGroups = (): boolean => !isWindows();

/** A running agent process. */
export interface AgentProcess {
  readonly stream: Stream;
  /** Exit code; `null` if killed by a signal. */
  readonly ended: Promise<number | null>;
  /** Ends its whole process group: terminates it first, kills it after a grace period. */
  stop(): Promise<void>;
}

/** Starts an agent as an ordinary process: not sandboxed, only its requests are restricted. @throws Unavailable */
export async function startAgent(
  words: readonly string[],
  { cwd, env, stderr }: CommandContext,
): Promise<AgentProcess> {
  const [command = "", ...args] = words;
  const child = spawnAlone(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: hasGroups() });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new RangeError("No pipes");
  const ended = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  child.stderr?.pipe(stderr, { end: false });
  try {
    await once(child, "spawn");
  } catch (error) {
    const why = codeOf(error) === "ENOENT" ? "no such program" : codeOf(error);
    throw new Unavailable(`Cannot start the agent '${escapeText(command)}': ${why}`);
  }
  return {
    stream: ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout)),
    ended,
    async stop() {
      signalGroup(child, "SIGTERM");
      const deadline = performance.now() + GRACE_MS;
      while (isGroupAlive(child) && performance.now() < deadline) await sleep(LOOK_MS);
      signalGroup(child, "SIGKILL");
      await ended;
    },
  };
}

/** Signals the process group, since an agent is often a script that starts other programs. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  if (!hasGroups()) {
    child.kill(signal);
    return;
  }
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group no longer exists.
  }
}

function isGroupAlive({ pid, exitCode, signalCode }: ChildProcess): boolean {
  if (pid === undefined) return false;
  if (!hasGroups()) return exitCode === null && signalCode === null;
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}
