import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { createAnswers } from "../../../src/cli/acp/answers.js";
import { createLineAsker } from "../../../src/cli/acp/line-asker.js";
import type { CommandContext } from "../../../src/cli/context.js";
import { isOver } from "../../../src/process/identity.js";
import type { ApprovalRequest } from "../../../src/surfaces/acp/review/approval.js";
import { runHere } from "../in-process.js";
import { cleanUp, makeFolder, start } from "../process.js";

afterAll(cleanUp);

const EXAMPLE = fileURLToPath(new URL("../../../examples/acp-agent.mjs", import.meta.url));
const AGENT_2 = fileURLToPath(new URL("../../surfaces/acp/versions/agent-2.mjs", import.meta.url));
const AGENT = fileURLToPath(new URL("../../surfaces/acp/agent.mjs", import.meta.url));
const asks = (method: string, params: object): string => JSON.stringify({ method, params });

describe("venue-files acp", () => {
  test("shows what an agent does, and what it has changed", async () => {
    const docs = makeFolder({ "notes.txt": "one\n" });
    const path = join(docs, "notes.txt");
    const args = ["acp", "--yes", "--root", `docs=${docs}`, "--prompt", "notes.txt", "--", process.execPath, EXAMPLE];
    const ended = await runHere(args);
    const diff = `--- ${path}\n+++ ${path}\n@@ -1,1 +1,2 @@\n one\n+Seen by an agent.\n`;
    expect(ended.status).toBe(0);
    expect(ended.stdout).toContain(`Session session-1 in ${docs}\n`);
    expect(ended.stdout).toMatch(/\[fs\/read_text_file\] docs:notes\.txt OK, 4 bytes/);
    expect(ended.stdout).toContain(`The agent wants to change ${path}\n${diff}Allowed.\n`);
    expect(ended.stdout).toMatch(/The first line is: one\n/);
    expect(ended.stdout).toMatch(/\/etc\/passwd: -32602 outside_roots\n/);
    expect(ended.stdout).toContain("The agent has stopped: end_turn\n");
    expect(ended.stdout).toContain(`Modified (1)\n${diff}\nAudit (`);
    expect(ended.stdout).toMatch(/fs\/write_text_file +docs:notes\.txt +OK +22 +[0-9a-f]{12} → [0-9a-f]{12}\n/);
    expect(ended.stdout).toMatch(/fs\/read_text_file +\/etc\/passwd +PATH_ESCAPES_ROOT +0\n/);
    expect(readFileSync(path, "utf8")).toBe("one\nSeen by an agent.\n");
  });

  test("with --deny-writes changes nothing, and says how the agent took it", async () => {
    const docs = makeFolder({ "notes.txt": "one\n" });
    const options = ["--deny-writes", "--root", `docs=${docs}`, "--prompt", "notes.txt"];
    const ended = await runHere(["acp", ...options, "--", process.execPath, EXAMPLE]);
    expect(ended.status).toBe(1);
    expect(ended.stdout).toContain("Not allowed.\n");
    expect(ended.stdout).toContain("No file was modified.\n");
    expect(ended.stderr).toContain("The agent answered: Rejected (-32003)\n");
    expect(readFileSync(join(docs, "notes.txt"), "utf8")).toBe("one\n");
  });

  test("takes prompts from standard input, and allows nothing where nobody can be asked", async () => {
    const docs = makeFolder({ "notes.txt": "one\n" });
    const path = join(docs, "new\u001b[2J.txt");
    const prompts = [
      asks("fs/read_text_file", { path: join(docs, "notes.txt") }),
      asks("fs/write_text_file", { path, content: "\u001b]0;x\u0007" }),
    ];
    const ended = await runHere(["acp", "--root", `docs=${docs}`, "--", process.execPath, AGENT, "1"], {
      input: `${prompts.join("\n\n")}\n`,
    });
    expect(ended.status).toBe(0);
    expect(ended.stdout).toMatch(/\[fs\/read_text_file\] docs:notes\.txt OK/);
    expect(ended.stdout.match(/The agent has stopped: end_turn/g)).toHaveLength(2);
    expect(ended.stdout).not.toMatch(/\u001b|\u0007/);
    expect(ended.stdout).toMatch(/INVALID_PATH/);
  });

  test("ends with what it knows when it is stopped, and takes its agent along", async () => {
    const docs = makeFolder({ "notes.txt": "one\n" });
    const running = start(["acp", "--yes", "--root", `docs=${docs}`, "--", process.execPath, AGENT, "2"]);
    running.child.stdin.write(`${asks("fs/write_text_file", { path: join(docs, "notes.txt"), content: "two\n" })}\n`);
    await running.until(/The agent has stopped: end_turn/);
    const [, pid] = await running.until(/Session 2-(\d+)-1 in/);
    const ended = await running.stop();
    expect(ended).toMatchObject({ status: 0, stdout: expect.stringMatching(/Modified \(1\)[\s\S]*Audit \(1\)/) });
    expect(() => process.kill(Number(pid), 0)).toThrow();
  });

  test("ends what its agent has started too, also where a script started the agent", async () => {
    const docs = makeFolder({});
    const script = `sleep 600 & echo "child $!" >&2; trap "" TERM; "$0" "$1" 2; true`;
    const running = start(["acp", "--root", `docs=${docs}`, "--", "/bin/sh", "-c", script, process.execPath, AGENT]);
    const [, agent] = await running.until(/Session 2-(\d+)-1 in/);
    const [, child] = /child (\d+)/.exec(running.stderr()) ?? [];
    expect(() => process.kill(Number(child), 0)).not.toThrow();
    await running.stop();
    for (const pid of [agent, child]) expect(isOver(Number(pid))).toBe(true);
  });

  test("speaks version 2: the agent works by tools, and keeps its sessions", async () => {
    const docs = makeFolder({ "notes.txt": "one\n" });
    const args = ["acp", "--yes", "--root", `docs=${docs}`];
    const agent = ["--", process.execPath, AGENT_2, docs];
    const edit = { name: "file_edit", arguments: { path: "notes.txt", oldText: "one", newText: "two" } };
    const move = { name: "file_move", arguments: { path: "notes.txt", to: "moved.txt" } };
    const prompts = [edit, move].map((params) => asks("tools/call", params)).join("\n");
    const ended = await runHere([...args, ...agent], { input: `${prompts}\n` });
    expect(ended.status).toBe(0);
    expect(ended.stdout).toContain("The agent wants to call file:edit\n  edit docs:notes.txt\n--- notes.txt\n");
    expect(ended.stdout).toContain("The agent wants to call file:move\n  move docs:notes.txt to moved.txt\nAllowed.\n");
    expect(ended.stdout.match(/The agent has stopped: end_turn/g)).toHaveLength(2);
    expect(ended.stdout).toMatch(/file:edit +docs:notes\.txt +OK/);
    expect(readFileSync(join(docs, "moved.txt"), "utf8")).toBe("two\n");
    const listed = await runHere([...args, "--list", ...agent]);
    expect(listed.stdout).toMatch(
      /SESSION +UPDATED +DIRECTORY +TITLE\n +kept +2026-11-29T00:00:00Z +\/\S+ +A title\n$/,
    );
    expect(listed.stdout).not.toMatch(/^ *far /m);
    const resumed = await runHere([...args, "--resume", "kept", "--prompt", asks("tools/call", edit), ...agent]);
    expect(resumed.stdout).toContain("Session kept in ");
    expect(resumed.stdout).toMatch(/file:edit +docs:notes\.txt +NOT_FOUND/);
  });

  test("speaks the version that is asked for, or none", async () => {
    const docs = makeFolder({ "notes.txt": "one\n" });
    const args = (version: string) => ["acp", "--protocol", version, "--root", `docs=${docs}`, "--prompt", "x"];
    const old = await runHere([...args("2"), "--", process.execPath, AGENT, "2"]);
    expect(old.status).toBe(1);
    expect(old.stderr).toContain("The agent speaks version 1 of the protocol, not 2");
    expect((await runHere([...args("3"), "--", "x"])).stderr).toContain("--protocol must be 1, 2, auto, not '3'");
    const both = await runHere(["acp", "--list", "--resume", "x", "--", "x"]);
    expect(both.stderr).toContain("--list takes neither --resume nor --prompt");
    const none = await runHere(["acp", "--list", "--root", `docs=${docs}`, "--", process.execPath, AGENT, "1"]);
    expect(none.stderr).toContain("The agent offers no sessions to list");
  });

  test.each([
    ["that is not there", ["no-such-agent"], 69, "Cannot start the agent 'no-such-agent': no such program\n"],
    ["that ends at once", [process.execPath, "-e", "process.exit(3)"], 1, "The agent has ended with status 3\n"],
  ])("says what became of an agent %s", async (_, agent, status, message) => {
    const ended = await runHere(["acp", "--prompt", "x", "--", ...agent]);
    expect(ended.status).toBe(status);
    expect(ended.stderr).toContain(message);
  });
});

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
