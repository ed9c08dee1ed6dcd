// Asks questions on the terminal, one at a time.

import { createInterface } from "node:readline";
import type { CommandContext } from "../context.js";

/** Lines of standard input: an answer while a question is open, otherwise a prompt. */
export interface LineAsker {
  /** Whether there is a user to ask. */
  readonly canAsk: boolean;
  /** @returns the line typed; `undefined` at the end of input or after `signal` */
  ask(question: string, signal?: AbortSignal): Promise<string | undefined>;
  /** The next line that is not an answer; `undefined` at the end of input. */
  next(): Promise<string | undefined>;
  close(): void;
}

interface Question {
  readonly text: string;
  readonly answer: (line: string | undefined) => void;
}

/** Asks one question at a time; further ones are queued. */
export function createLineAsker({ stdin, stdout }: Pick<CommandContext, "stdin" | "stdout">): LineAsker {
  const lines = createInterface({ input: stdin, terminal: false });
  const questions: Question[] = [];
  const waiting: ((line: string | undefined) => void)[] = [];
  const unread: string[] = [];
  let isOver = false;

  const show = (): void => {
    const [first] = questions;
    if (first !== undefined) stdout.write(first.text);
  };
  const drop = (question: Question, line: string | undefined): void => {
    const at = questions.indexOf(question);
    if (at < 0) return;
    questions.splice(at, 1);
    question.answer(line);
    if (at === 0) show();
  };
  lines.on("line", (line) => {
    const [first] = questions;
    if (first !== undefined) drop(first, line);
    else if (waiting.length > 0) waiting.shift()?.(line);
    else unread.push(line);
  });
  lines.on("close", () => {
    isOver = true;
    for (const question of [...questions]) drop(question, undefined);
    for (const give of waiting.splice(0)) give(undefined);
  });
  return {
    canAsk: stdin.isTTY === true && stdout.isTTY === true,
    ask: (text, signal) =>
      new Promise((resolve) => {
        if (isOver || signal?.aborted === true) return resolve(undefined);
        const question: Question = { text, answer: resolve };
        questions.push(question);
        signal?.addEventListener("abort", () => drop(question, undefined), { once: true });
        if (questions[0] === question) show();
      }),
    next: () =>
      new Promise((resolve) => {
        const line = unread.shift();
        if (line !== undefined || isOver) resolve(line);
        else waiting.push(resolve);
      }),
    close: () => lines.close(),
  };
}
