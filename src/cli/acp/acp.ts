// The `acp` command: runs an agent on the roots, with the user at the terminal.

import { setImmediate, setTimeout } from "node:timers/promises";
import { type ClientApp, methods, RequestError, type SessionInfo } from "@agentclientprotocol/sdk";
import { escapeText } from "../../core/errors/texts.js";
import type { Log } from "../../core/ports/log.js";
import { DEFAULT_SHELL } from "../../core/ports/sandbox.js";
import { fieldsOf } from "../../core/unknown.js";
import { createSandbox } from "../../sandbox/create.js";
import { AcpClientFs } from "../../surfaces/acp/client-fs.js";
import { rootsOf } from "../../surfaces/acp/files/files.js";
import { placeMounts } from "../../surfaces/acp/files/mounts.js";
import type { ProtocolChoice } from "../../surfaces/acp/options.js";
import type { AcpConnection } from "../../surfaces/acp/protocol/connection.js";
import type { AcpAuditRecord } from "../../surfaces/acp/review/audit.js";
import { type OpenFiles, openFiles } from "../../venue/start/open-files.js";
import { withConfiguredLog } from "../../venue/start/open-parts.js";
import type { OwnCalls } from "../arguments/remote.js";
import { type CommandContext, EXIT } from "../context.js";
import { loadCaps, loadOneConfig, ownCaller, warn } from "../load-config.js";
import { coloured, plain } from "../output/paint.js";
import { startAgent } from "./agent-process.js";
import { type Answers, createAnswers } from "./answers.js";
import { createLineAsker, type LineAsker } from "./line-asker.js";
import { auditLine, auditView, modifiedView, sessionsView, updateView } from "./view.js";

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
  /** Version to speak. */
  readonly protocol: ProtocolChoice;
  /** Only list the sessions that the agent keeps. */
  readonly lists: boolean;
  /** Session of the agent to go on with. */
  readonly resume: string | undefined;
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
  /** Called when an agent of version 2 stops, with the reason. */
  onIdle(reason: string): void;
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
      return await serveAgent(
        { command, context, lines, answers, records: [], stopped, onIdle() {} },
        { files, caps, log },
      );
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
    if (command.lists) {
      context.stdout.write(sessionsView((await untilStopped(allSessions(connection), run, connection)) ?? []));
      return EXIT.ok;
    }
    const id = await untilStopped(openSession(connection, directories, command.resume), run, connection);
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
    if (!command.lists) context.stdout.write(auditView(records));
  }
}

/** @returns the id of the session: a new one, or the one to go on with */
async function openSession(connection: AcpConnection, directories: readonly string[], resume: string | undefined) {
  const [cwd = "/", ...additionalDirectories] = directories;
  if (resume === undefined) return connection.newSession({ cwd, additionalDirectories });
  await connection.resumeSession(resume, { cwd, additionalDirectories });
  return resume;
}

/** Maximum pages of sessions. */
const MAX_PAGES = 100;

async function allSessions(connection: AcpConnection): Promise<readonly SessionInfo[]> {
  const found: SessionInfo[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { sessions, nextCursor } = await connection.listSessions(cursor === undefined ? {} : { cursor });
    found.push(...sessions);
    if (nextCursor === undefined || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  return found;
}

async function openFs(
  { command: { snapshot, protocol }, context, answers, records }: Run,
  { files: { adapter, context: caller }, caps, log }: Reachable,
): Promise<{ fs: AcpClientFs; directories: readonly string[] }> {
  const narrowed = caps === undefined ? {} : { caps };
  const roots = await rootsOf(adapter, { ...caller, ...narrowed });
  const mounts = roots.map(({ name: root }) => ({ root }));
  const onWarning = (text: string): void => void context.stderr.write(`Warning: ${escapeText(text)}\n`);
  const fs = new AcpClientFs({
    ...{ adapter, mounts, log, caller, ...narrowed, protocol, approve: answers.approve },
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
    const idle = new Promise<string>((resolve) => {
      run.onIdle = resolve;
    });
    const turn = connection.agent
      .request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] })
      // The answer ends the turn in version 1; later ones tell it by an update.
      .then(({ stopReason }) => stopReason ?? idle);
    const ended = await untilStopped(turn, run, connection);
    if (ended === undefined) return;
    // Lets the handlers of the agent's last messages run first.
    await setImmediate();
    context.stdout.write(`\nThe agent has stopped: ${escapeText(ended)}\n`);
    if (once !== undefined) return;
  }
}

/** Shows the agent's messages, and answers its requests other than file access. */
function show(app: ClientApp, run: Run): void {
  const { context, answers } = run;
  app
    .onNotification(methods.client.session.update, ({ params: { update } }) => {
      const { state, stopReason } = fieldsOf(update);
      if (state === "idle") run.onIdle(String(stopReason ?? state));
      context.stdout.write(updateView(update));
    })
    .onRequest(methods.client.session.requestPermission, ({ params, signal }) => answers.permit(params, signal));
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
