import { once } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { createAnswers } from "../../../src/cli/acp/answers.js";
import { createLineAsker } from "../../../src/cli/acp/line-asker.js";
import type { CommandContext } from "../../../src/cli/context.js";
import type { ApprovalRequest } from "../../../src/surfaces/acp/review/approval.js";

/** A terminal whose user is the test. */
function terminal(isTTY = true) {
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const stdout = Object.assign(new PassThrough(), { isTTY });
  let seen = "";
  stdout.on("data", (chunk: Buffer) => {
    seen += chunk.toString();
  });
  const context = { stdin, stdout } as unknown as CommandContext;
  const lines = createLineAsker(context);
  /** Resolves when it has been seen so many times. */
  const until = async (text: string, times: number): Promise<void> => {
    while (seen.split(text).length <= times) await once(stdout, "data");
  };
  return { context, lines, until, type: (text: string) => stdin.write(text), end: () => stdin.end(), seen: () => seen };
}

const write = (signal = new AbortController().signal): ApprovalRequest => ({
  ...{ kind: "write", sessionId: "s", path: "/docs/a\u001b[2J", oldText: "a\n", newText: "b\u0007\n", signal },
  diff: "--- /docs/a\n+++ /docs/a\n@@ -1,1 +1,1 @@\n-a\n+b\u0007\n",
});
const command: ApprovalRequest = {
  ...{ kind: "terminal", sessionId: "s", command: "rm", args: ["-rf", "it's\u001b[2J"], env: { A: "b c" } },
  ...{ path: "/docs", signal: new AbortController().signal },
};

describe("on a terminal", () => {
  test.each([
    ["y", "allow"],
    ["No", "reject"],
    [" always ", "allow_always"],
    ["v", "reject_always"],
  ])("%j is understood", async (typed, answer) => {
    const { context, lines, type, seen } = terminal();
    const answered = createAnswers("ask", { lines, context }).approve(write());
    type(`${typed}\n`);
    expect(await answered).toBe(answer);
    expect(seen()).toContain("The agent wants to change /docs/a\\u{1b}[2J\n");
    expect(seen()).toContain("\u001b[32m+b\\u{7}\u001b[0m\n");
    expect(seen()).toContain("Allow it? [y]es");
  });

  test("what is not understood is asked again", async () => {
    const { context, lines, type, until } = terminal();
    const answered = createAnswers("ask", { lines, context }).approve(write());
    type("what?\n");
    await until("Allow it?", 2);
    type("y\n");
    expect(await answered).toBe("allow");
  });

  test("a command is shown as it would be typed", async () => {
    const { context, lines, type, seen } = terminal();
    const answered = createAnswers("ask", { lines, context }).approve(command);
    type("n\n");
    expect(await answered).toBe("reject");
    expect(seen()).toContain("The agent wants to run in /docs\n  A='b c' rm -rf 'it'\\''s\\u{1b}[2J'\n");
  });

  test("questions wait for one another, and lines for what they answer", async () => {
    const { context, lines, type, seen } = terminal();
    const { approve } = createAnswers("ask", { lines, context });
    type("a prompt\n");
    expect(await lines.next()).toBe("a prompt");
    const [first, second] = [approve(write()), approve(write())];
    type("y\nn\n");
    expect([await first, await second]).toEqual(["allow", "reject"]);
    expect(seen().match(/Allow it\?/g)).toHaveLength(2);
    const next = lines.next();
    type("another\n");
    expect(await next).toBe("another");
  });

  test("nobody waits for an answer that nobody wants any more, and the end of the input is a no", async () => {
    const { context, lines, end } = terminal();
    const { approve } = createAnswers("ask", { lines, context });
    const cancelling = new AbortController();
    const first = approve(write(cancelling.signal));
    const second = approve(write());
    cancelling.abort();
    expect(await first).toBe("reject");
    end();
    expect(await second).toBe("reject");
    expect(await approve(write())).toBe("reject");
    expect(await lines.next()).toBeUndefined();
  });
});

describe("what an agent asks of its own accord", () => {
  const options = [
    { optionId: "a", name: "Always", kind: "allow_always" as const },
    { optionId: "o", name: "Once", kind: "allow_once" as const },
    { optionId: "n", name: "No", kind: "reject_once" as const },
  ];
  const request = { sessionId: "s", toolCall: { toolCallId: "t", title: "Delete\u001b[2J" }, options };
  const selected = (optionId: string) => ({ outcome: { outcome: "selected", optionId } });
  const signal = new AbortController().signal;

  test("is answered by the user", async () => {
    const { context, lines, type, seen, until } = terminal();
    const answered = createAnswers("ask", { lines, context }).permit(request, signal);
    type("9\n");
    await until("Which one?", 2);
    type("1\n");
    expect(await answered).toEqual(selected("a"));
    expect(seen()).toContain("asks for permission: Delete\\u{1b}[2J\n");
  });

  test.each([
    ["allow", selected("o")],
    ["reject", selected("n")],
    ["ask", selected("n")],
  ] as const)("is answered by the narrowest option where nobody can be asked: %s", async (rule, answer) => {
    const { context, lines } = terminal(false);
    expect(await createAnswers(rule, { lines, context }).permit(request, signal)).toEqual(answer);
    const none = { ...request, options: [] };
    expect(await createAnswers(rule, { lines, context }).permit(none, signal)).toEqual({
      outcome: { outcome: "cancelled" },
    });
  });
});
