// `venue-files link`, `token issue`, `token ls`, `token revoke`, `lock ls`, `lock drop`: access to a running venue.

import { userInfo } from "node:os";
import { createInterface } from "node:readline/promises";
import type { Capability } from "../../core/call/capability.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import type { EffectState } from "../../core/ports/effect.js";
import type { HolderEntry } from "../../venue/operations/auth/list.js";
import { printDuration, printTime } from "../arguments/duration.js";
import { Callers, holders, tokensThere } from "../calls/callers.js";
import { type CommandContext, EXIT, print } from "../context.js";
import { loadCaps } from "../load-config.js";
import type { NameOf } from "../output/history-lines.js";
import { jsonText } from "../output/json.js";
import { table } from "../output/table.js";
import { type Desk, openRunningCalls, type RunningTarget } from "./running-calls.js";

/** Works at a venue that runs. @returns the exit status */
export async function atDesk(
  target: RunningTarget,
  context: CommandContext,
  work: (desk: Desk) => Promise<number>,
): Promise<number> {
  const calls = openRunningCalls(target, context);
  try {
    return await work({ calls, context });
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    context.stderr.write(`${escapeText(error.message)}\n`);
    return EXIT.failed;
  } finally {
    await calls.close();
  }
}

/** The access that a link or token is to give. */
export interface WantedAccess {
  readonly label: string | undefined;
  readonly capabilities: readonly Capability[];
  /** A file with a list of capabilities. */
  readonly capsFile: string | undefined;
  readonly lifetimeSeconds: number | undefined;
  readonly json: boolean;
}

interface Issued {
  readonly id: string;
  readonly expires: number;
  readonly token?: string;
  readonly url?: string;
  readonly note?: string;
}

/** `venue-files link` and `token issue`. */
export async function issue(kind: "link" | "token", wanted: WantedAccess, { calls, context }: Desk): Promise<number> {
  const { label, capabilities, capsFile, lifetimeSeconds, json } = wanted;
  const caps = capsFile === undefined ? capabilities : (loadCaps(capsFile) ?? []);
  const isLink = kind === "link";
  const issued = (await calls.run("auth:issue", {
    label: label ?? `${kind} by ${userInfo().username}`,
    ...(caps.length === 0 ? {} : { caps }),
    ...(lifetimeSeconds === undefined ? {} : { lifetimeSeconds }),
    ...(isLink ? { link: true } : {}),
  })) as Issued;
  if (json) await print(context, `${jsonText(issued)}\n`);
  else {
    // The secret alone, for TOKEN=$(venue-files token issue …).
    await print(context, `${escapeText(issued.url ?? issued.token ?? "")}\n`);
    const left = printDuration((issued.expires - Date.now()) / 1000);
    const what = isLink ? "Opens once, within" : "Shown only here; ends in";
    context.stderr.write(`${what} ${left}. Take it back: venue-files token revoke ${escapeText(issued.id)}\n`);
    if (issued.note !== undefined) context.stderr.write(`${escapeText(issued.note)}\n`);
  }
  return EXIT.ok;
}

/** `venue-files token ls` */
export async function listTokens(json: boolean, { calls, context }: Desk): Promise<number> {
  const rows: (readonly string[])[] = [];
  for await (const entry of holders(calls)) {
    if (json) await print(context, `${jsonText(entry)}\n`);
    else rows.push(rowOf(entry));
  }
  if (!json) await print(context, `${table(rows)}\n`);
  return EXIT.ok;
}

function rowOf({ kind, id = "", label, did = "", grants, expires, lastUsed, revoked, pending }: HolderEntry): string[] {
  const rights = grants.map(({ with: resource, can }) => `${can} ${resource}`).join(", ");
  const isOver = expires !== undefined && expires <= Date.now();
  const ends = expires === undefined || isOver ? "" : `${printDuration((expires - Date.now()) / 1000)} left`;
  const state = revoked === undefined ? (pending === true ? `link, ${ends}` : ends) : "revoked";
  const used = lastUsed === undefined ? "" : `used ${printTime(lastUsed / 1000)}`;
  const holder = label ?? (did.length > 24 ? `${did.slice(0, 16)}…${did.slice(-4)}` : did);
  return [kind, id, holder, rights === "" && kind === "session" ? "all that its maker has" : rights, state, used].map(
    escapeText,
  );
}

/** `venue-files token revoke` */
export async function revokeTokens(ids: readonly string[], keep: boolean, { calls, context }: Desk): Promise<number> {
  for (const id of ids) {
    await calls.run("auth:revoke", { id, ...(keep ? { keep } : {}) });
    await print(context, `${escapeText(id)} is revoked${keep ? ", and what it made goes on" : ""}\n`);
  }
  return EXIT.ok;
}

/** `venue-files lock drop` */
export async function dropLocks(ids: readonly string[], { calls, context }: Desk): Promise<number> {
  for (const id of ids) {
    await calls.run("lock:drop", { id });
    await print(context, `${escapeText(id)} is dropped\n`);
  }
  return EXIT.ok;
}

interface HeldLock {
  readonly id: string;
  readonly root?: string;
  readonly drive?: string;
  readonly path: string;
  readonly owner: string;
  readonly holder: string;
  readonly since: number;
  readonly until: number;
}

/** `venue-files lock ls` */
export async function listLocks(json: boolean, { calls, context }: Desk): Promise<number> {
  const { locks } = (await calls.run("lock:list", {})) as { readonly locks: readonly HeldLock[] };
  if (json) for (const lock of locks) await print(context, `${jsonText(lock)}\n`);
  else if (locks.length > 0) {
    const { nameOf } = new Callers(await tokensThere(calls));
    const rows = locks.map(({ id, root, drive, path, owner, holder, since, until }) => {
      const place = root === undefined ? `drive ${drive}:${path}` : `${root}:${path}`;
      const times = [`since ${printTime(since / 1000)}`, `${printDuration((until - Date.now()) / 1000)} left`];
      return [id, escapeText(place), nameOf(holder), escapeText(owner), ...times];
    });
    await print(context, `${table(rows)}\n`);
  }
  return EXIT.ok;
}

// `venue-files approvals`: shows what waits for a person, and at a terminal asks about each.

interface Shown {
  readonly id: string;
  readonly operation: string;
  readonly caller: string;
  readonly effect: readonly {
    readonly root: string;
    readonly path: string;
    readonly real?: string;
    readonly action: string;
    readonly to?: string;
    readonly toReal?: string;
    readonly before?: Pick<EffectState, "entries" | "names">;
    readonly after?: Pick<EffectState, "entries" | "names">;
  }[];
  /** Effects beyond those. */
  readonly more?: number;
  readonly diff?: string;
  readonly code?: string;
}

const POLL_MS = 1000;
/** A difference of more rows may push the line above it off the screen. */
const LONG_ROWS = 10;
const COLUMNS = 80;

/** Rows that a text takes on a narrow terminal. */
const rowsOf = (text: string): number =>
  text.split("\n").reduce((rows, line) => rows + Math.max(1, Math.ceil(line.length / COLUMNS)), 0);

/** Escapes a text, invisible characters too: two texts that look alike could not be told apart. */
const visible = (text: string): string =>
  escapeText(text).replace(/\p{Cf}|\p{Default_Ignorable_Code_Point}/gu, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });

/**
 * With both ends at a terminal it stays, and asks about each request as it comes; a person who decides by the operator's
 * own token types the code that is shown. Otherwise it lists what waits, and ends.
 */
export async function approvals(json: boolean, { calls, context }: Desk): Promise<number> {
  const { stdin, stdout } = context;
  const { nameOf } = new Callers(await tokensThere(calls));
  const waiting = async () => ((await calls.run("approval:list", {})) as { approvals: readonly Shown[] }).approvals;
  if (json || stdin.isTTY !== true || stdout.isTTY !== true) {
    for (const one of await waiting()) {
      await print(context, json ? `${jsonText(one)}\n` : `${escapeText(one.id)}  ${lineOf(one, nameOf)}\n`);
    }
    return EXIT.ok;
  }
  let isStopped = false;
  void context.untilStopped().then(() => {
    isStopped = true;
  });
  const seen = new Set<string>();
  const reader = createInterface({ input: stdin, output: stdout });
  reader.once("close", () => {
    isStopped = true;
  });
  await print(context, "Waiting for calls that need a person. Stop with Ctrl-C.\n");
  while (!isStopped) {
    for (const { id } of [...(await waiting())].reverse()) {
      if (seen.has(id) || isStopped) continue;
      seen.add(id);
      await ask(id, { calls, context, nameOf }, (question) => reader.question(question));
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  reader.close();
  return EXIT.ok;
}

async function ask(
  id: string,
  { calls, context, nameOf }: Desk & { readonly nameOf: NameOf },
  question: (text: string) => Promise<string>,
): Promise<void> {
  const one = (await calls.run("approval:get", { id })) as Shown;
  const diff = one.diff === undefined ? "" : `${one.diff.split("\n").map(visible).join("\n")}\n`;
  // After a long difference, the summary is repeated right above the question.
  const again = rowsOf(diff) > LONG_ROWS ? `\n${lineOf(one, nameOf)}\n` : "";
  await print(context, `\n${lineOf(one, nameOf)}\n${diff}${again}`);
  const yes = one.code === undefined ? "y" : one.code;
  const answer = (await question(`Allow once? Type ${yes}, or n to deny, or nothing to leave it: `)).trim();
  if (answer !== yes && answer !== "n") return;
  const decision = answer === "n" ? "deny" : "once";
  try {
    await calls.run("approval:decide", { id, decision, ...(one.code === undefined ? {} : { code: one.code }) });
    await print(context, decision === "once" ? "Allowed once.\n" : "Denied.\n");
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    await print(context, `${escapeText(error.message)}\n`);
  }
}

function lineOf({ operation, caller, effect, more }: Shown, nameOf: NameOf): string {
  const place = (path: string, real = path) => (real === path ? path : `${path} (leads to ${real})`);
  const what = effect.map(({ root, path, real, action, to, toReal, before, after }) => {
    const target = to === undefined ? "" : ` → ${place(to, toReal)}`;
    return `${action} ${root}:${place(path, real)}${target}${namesIn(after ?? before)}`;
  });
  if (more !== undefined) what.push(`and ${more} more, which are not shown`);
  return visible(`${what.join(", ")}  (${operation} by ${nameOf(caller)})`);
}

/** The names in a folder, as far as they are told. */
function namesIn({ entries = 0, names = [] }: Pick<EffectState, "entries" | "names"> = {}): string {
  if (names.length === 0) return "";
  const more = entries > names.length ? ` and ${entries - names.length} more` : "";
  return ` (${names.join(", ")}${more})`;
}
