// Formats the requests, changes and audit records of an agent for a terminal.

import type { SessionInfo } from "@agentclientprotocol/sdk";
import { escapeText } from "../../core/errors/texts.js";
import { fieldsOf } from "../../core/unknown.js";
import type { ApprovalRequest } from "../../surfaces/acp/review/approval.js";
import type { AcpAuditRecord } from "../../surfaces/acp/review/audit.js";
import type { Modified } from "../../surfaces/acp/review/modified.js";
import type { Paint } from "../output/paint.js";
import { table } from "../output/table.js";

/** Maximum diff lines shown with a question. */
const MAX_LINES = 200;

/** Escapes untrusted text for a terminal, keeping line feeds. */
const safeLines = (text: string): string => text.split("\n").map(escapeText).join("\n");

/** Formats a unified diff. */
function diffView(diff: string, paint: Paint): string {
  const lines = diff.replace(/\n$/, "").split("\n");
  const shown = lines.slice(0, MAX_LINES).map((line) => {
    const safe = escapeText(line);
    if (/^(?:---|\+\+\+) /.test(line)) return safe;
    if (line.startsWith("+")) return paint(safe, "added");
    if (line.startsWith("-")) return paint(safe, "removed");
    return line.startsWith("@@") ? paint(safe, "hunk") : safe;
  });
  if (lines.length > MAX_LINES) shown.push(`… ${lines.length - MAX_LINES} more lines`);
  return diff === "" ? "  (nothing changes)\n" : `${shown.join("\n")}\n`;
}

/** Formats a request that needs an answer. */
export function requestView(request: ApprovalRequest, paint: Paint): string {
  if (request.kind === "write") {
    const what = request.overwrites !== undefined ? "overwrite" : request.oldText === null ? "create" : "change";
    return `\nThe agent wants to ${what} ${escapeText(request.path)}\n${diffView(request.diff, paint)}`;
  }
  if (request.kind === "change") {
    const { operation, effects, more = 0, diff } = request;
    const lines = effects.map(
      ({ action, root, path, to }) =>
        `  ${action} ${placeOf(root, path)}${to === undefined ? "" : ` to ${escapeText(to)}`}\n`,
    );
    const rest = more === 0 ? "" : `  and ${more} more\n`;
    return `\nThe agent wants to call ${escapeText(operation)}\n${lines.join("")}${rest}${diff === undefined ? "" : diffView(diff, paint)}`;
  }
  const { command, args, env, path } = request;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`);
  const words = [...variables, quoted(command), ...args.map(quoted)].join(" ");
  return `\nThe agent wants to run in ${escapeText(path)}\n  ${words}\n`;
}

const quoted = (word: string): string =>
  /^[A-Za-z0-9_./:=@%+-]+$/.test(word) ? word : `'${escapeText(word).replaceAll("'", "'\\''")}'`;

/** Formats an answered request. */
export function auditLine({ method, root, path, command, outcome, bytes, ms }: AcpAuditRecord): string {
  const size = bytes === 0 ? "" : `, ${bytes} bytes`;
  const what = command === undefined ? "" : ` ${escapeText(command)}`;
  return `[${escapeText(method)}] ${placeOf(root, path)}${what} ${outcome}${size} (${ms.toFixed(0)} ms)\n`;
}

const placeOf = (root: string | undefined, path = ""): string =>
  escapeText(root === undefined ? path || "-" : `${root}:${path || "/"}`);

/** Final summary of all requests. */
export function auditView(records: readonly AcpAuditRecord[]): string {
  if (records.length === 0) return "\nThe agent asked for nothing.\n";
  const rows = records.map((record) => [
    new Date(record.time).toISOString().slice(11, 23),
    escapeText(record.method),
    placeOf(record.root, record.path),
    record.outcome,
    `${record.bytes}`,
    detailOf(record),
  ]);
  return `\nAudit (${records.length})\n${table([["TIME", "METHOD", "FILE", "OUTCOME", "BYTES", "SHA-256 OR COMMAND"], ...rows])}\n`;
}

function detailOf({ hashBefore, hashAfter, command }: AcpAuditRecord): string {
  if (command !== undefined) return escapeText(command);
  if (hashBefore === undefined && hashAfter === undefined) return "";
  return `${shortHash(hashBefore)} → ${shortHash(hashAfter)}`;
}

const shortHash = (hash: string | null | undefined): string =>
  hash === null ? "none" : (hash?.slice("sha256:".length, "sha256:".length + 12) ?? "?");

/** Final summary of modified files. @param diffs in the same order */
export function modifiedView(modified: readonly Modified[], diffs: readonly string[], paint: Paint): string {
  if (modified.length === 0) return "\nNo file was modified.\n";
  const shown = modified.map(({ path, omitted }, index) =>
    omitted === true ? `${escapeText(path)}: too large to show\n` : diffView(diffs[index] ?? "", paint),
  );
  return `\nModified (${modified.length})\n${shown.join("")}`;
}

/** Formats an update of an agent: what it says, and the titles of its tool calls. */
export function updateView(update: object): string {
  const { sessionUpdate, content, title } = fieldsOf(update);
  switch (sessionUpdate) {
    case "agent_message_chunk":
      return textOf(content);
    case "agent_message":
      return Array.isArray(content) ? content.map(textOf).join("") : "";
    case "tool_call":
    case "tool_call_update":
      return typeof title === "string" ? `[${escapeText(title)}]\n` : "";
    default:
      return "";
  }
}

function textOf(block: unknown): string {
  const { type, text } = fieldsOf(block);
  return type === "text" && typeof text === "string" ? safeLines(text) : "";
}

/** Formats the sessions that an agent keeps. */
export function sessionsView(sessions: readonly SessionInfo[]): string {
  if (sessions.length === 0) return "The agent keeps no sessions in these roots.\n";
  const rows = sessions.map(({ sessionId, updatedAt, cwd, title }) =>
    [sessionId, updatedAt ?? "", cwd, title ?? ""].map(escapeText),
  );
  return `${table([["SESSION", "UPDATED", "DIRECTORY", "TITLE"], ...rows])}\n`;
}
