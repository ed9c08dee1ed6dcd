// `venue-files approvals`: shows what waits for a person, and at a terminal asks about each.

import { createInterface } from "node:readline/promises";
import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { EXIT, print } from "../context.js";
import { jsonText } from "../output/json.js";
import type { Desk } from "./running-calls.js";

interface Shown {
  readonly id: string;
  readonly operation: string;
  readonly caller: string;
  readonly effect: readonly {
    readonly root: string;
    readonly path: string;
    readonly action: string;
    readonly to?: string;
  }[];
  /** Effects beyond those. */
  readonly more?: number;
  readonly diff?: string;
  readonly code?: string;
}

const POLL_MS = 1000;

/**
 * With both ends at a terminal it stays, and asks about each request as it comes; a person who decides by the operator's
 * own token types the code that is shown. Otherwise it lists what waits, and ends.
 */
export async function approvals(json: boolean, { calls, context }: Desk): Promise<number> {
  const { stdin, stdout } = context;
  const waiting = async () => ((await calls.run("approval:list", {})) as { approvals: readonly Shown[] }).approvals;
  if (json || stdin.isTTY !== true || stdout.isTTY !== true) {
    for (const one of await waiting()) {
      await print(context, json ? `${jsonText(one)}\n` : `${escapeText(one.id)}  ${lineOf(one)}\n`);
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
      await ask(id, { calls, context }, (question) => reader.question(question));
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  reader.close();
  return EXIT.ok;
}

async function ask(id: string, { calls, context }: Desk, question: (text: string) => Promise<string>): Promise<void> {
  const one = (await calls.run("approval:get", { id })) as Shown;
  const diff = one.diff === undefined ? "" : `${one.diff.split("\n").map(escapeText).join("\n")}\n`;
  await print(context, `\n${lineOf(one)}\n${diff}`);
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

function lineOf({ operation, caller, effect, more }: Shown): string {
  const what = effect.map(
    ({ root, path, action, to }) => `${action} ${root}:${path}${to === undefined ? "" : ` → ${to}`}`,
  );
  if (more !== undefined) what.push(`and ${more} more, which are not shown`);
  return escapeText(`${what.join(", ")}  (${operation} by ${caller})`);
}
