import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Sandbox, SandboxProcess } from "../../../src/core/ports/sandbox.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { ApprovalAnswer, ApprovalRequest } from "../../../src/surfaces/acp/review/approval.js";
import type { AcpAuditRecord } from "../../../src/surfaces/acp/review/audit.js";
import { useAcp } from "./ground.js";
import { type LocalAgent, localAgent } from "./local.js";
import { connectAgent, SDKS } from "./stage.js";
import { type Agent2Connection, connect2 } from "./versions/versions.js";

const SESSION = "s";

describe("approval of changes", () => {
  const { ground, at } = useAcp({
    root: { maxReadBytes: 2000 },
    roots: { other: { temp: true }, ro: { temp: true, readOnly: true } },
  });
  const REJECTED = (path: string) => ({
    error: { code: -32003, message: "Rejected", data: { path, reason: "rejected" } },
  });

  let asked: ApprovalRequest[];
  let answer: (request: ApprovalRequest) => Promise<ApprovalAnswer> | ApprovalAnswer;
  let audit: AcpAuditRecord[];
  let acp: AcpClientFs;
  let agent: LocalAgent;

  function newFs(caps?: readonly unknown[]): AcpClientFs {
    return new AcpClientFs({
      adapter: ground.adapter,
      mounts: [{ root: "r" }, { root: "other", prefix: "/other" }, { root: "ro", prefix: "/ro" }],
      approve: (request) => {
        asked.push(request);
        return answer(request);
      },
      onAudit: (record) => audit.push(record),
      ...(caps === undefined ? {} : { caps }),
    });
  }

  const directories = () => ({ cwd: ground.dir, additionalDirectories: ["/other", "/ro"] });

  beforeEach(async () => {
    asked = [];
    audit = [];
    answer = () => "allow";
    acp = newFs();
    agent = await localAgent(acp, SESSION, directories());
    ground.put("file", "one\ntwo\n");
  });

  const write = (path: string, content: string) => agent.ask("fs/write_text_file", { path, content });

  describe("approval", () => {
    test("is asked with the texts and their difference, and then it is written", async () => {
      answer = () => {
        expect(ground.get("file").toString()).toBe("one\ntwo\n");
        return "allow";
      };
      expect(await write(at("file"), "one\nthree\n")).toEqual({ result: {} });
      const diff = `--- ${at("file")}\n+++ ${at("file")}\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n`;
      expect(asked).toEqual([
        {
          ...{
            kind: "write",
            sessionId: SESSION,
            path: at("file"),
            oldText: "one\ntwo\n",
            newText: "one\nthree\n",
            diff,
          },
          signal: expect.any(AbortSignal),
        },
      ]);
      expect(ground.get("file").toString()).toBe("one\nthree\n");
      await write(at("new"), "x");
      expect(asked[1]).toMatchObject({ oldText: null, newText: "x" });
    });

    test("of a write over what is no text, or too large to hold, says so, and so does the audit", async () => {
      const large = "x".repeat(4000);
      ground.put("bytes", Buffer.from([0xff, 0xfe, 0xfd]));
      ground.put("large", large);
      await write(at("bytes"), "text");
      await write(at("large"), "text");
      const [bytes, short] = [asked[0], asked[1]].map((one) => (one?.kind === "write" ? one : undefined));
      expect(bytes).toMatchObject({ oldText: null, overwrites: { size: 3, hash: audit[0]?.hashBefore } });
      expect(short).toMatchObject({ oldText: null, overwrites: { size: 4000, hash: audit[1]?.hashBefore } });
      expect(short?.diff).toContain(`Overwrites 4000 bytes (${audit[1]?.hashBefore})`);
      expect(short?.diff).not.toContain("/dev/null");
      expect(audit.map(({ overwrites }) => overwrites?.size)).toEqual([3, 4000]);
      await write(at("new"), "text");
      expect(asked[2]).not.toHaveProperty("overwrites");
      expect(audit[2]).toMatchObject({ hashBefore: null });
      expect(audit[2]).not.toHaveProperty("overwrites");
    });

    test("that is refused leaves the file untouched", async () => {
      answer = () => "reject";
      expect(await write(at("file"), "x")).toEqual(REJECTED(at("file")));
      expect(await write(at("a/new"), "x")).toEqual(REJECTED(at("a/new")));
      expect(ground.get("file").toString()).toBe("one\ntwo\n");
      expect(ground.names()).toEqual(["file"]);
      expect(acp.modified(SESSION)).toEqual([]);
      expect(audit.map(({ outcome }) => outcome)).toEqual(["REJECTED", "REJECTED"]);
    });

    test.each([
      ["allow_always", { result: {} }],
      ["reject_always", REJECTED(at("file"))],
    ] as const)("%s holds for the session and the root", async (given, expected) => {
      answer = () => given;
      for (let index = 0; index < 3; index++) {
        expect(await write(at("file"), `${index}`)).toEqual("error" in expected ? REJECTED(at("file")) : expected);
      }
      expect(asked).toHaveLength(1);
      await write("/other/file", "x");
      expect(asked).toHaveLength(2);
      const second = await localAgent(acp, "second", directories());
      await second.ask("fs/write_text_file", { path: at("file"), content: "x" });
      expect(asked).toHaveLength(3);
    });

    test.each([
      ["a hook that fails", () => Promise.reject(new Error("/host/path"))],
      [
        "a hook that throws",
        () => {
          throw new Error("/host/path");
        },
      ],
    ])("%s allows nothing", async (_, failing) => {
      answer = failing;
      expect(await write(at("file"), "x")).toEqual({ error: { code: -32603, message: "Internal error" } });
      expect(ground.get("file").toString()).toBe("one\ntwo\n");
    });

    test("a hook that answers anything else allows nothing", async () => {
      answer = () => "yes" as ApprovalAnswer;
      expect(await write(at("file"), "x")).toEqual(REJECTED(at("file")));
    });

    test("is asked again when the file has changed under it", async () => {
      answer = () => {
        if (asked.length === 1) ground.put("file", "changed\n");
        return "allow";
      };
      expect(await write(at("file"), "x")).toEqual({ result: {} });
      expect(asked.map((request) => request.kind === "write" && request.oldText)).toEqual(["one\ntwo\n", "changed\n"]);
      expect(await acp.undo(SESSION)).toBe(at("file"));
      expect(ground.get("file").toString()).toBe("changed\n");
    });

    test("ends where the file keeps changing", async () => {
      answer = () => {
        ground.put("file", `${asked.length}`);
        return "allow";
      };
      expect(await write(at("file"), "x")).toEqual({
        error: {
          code: -32603,
          message: `Conflict, the file has changed meanwhile: ${at("file")}`,
          data: { path: at("file"), reason: "conflict" },
        },
      });
      expect(asked).toHaveLength(5);
      expect(ground.get("file").toString()).toBe("5");
    });

    test("is not asked where it would be for nothing", async () => {
      expect((await write("/ro/file", "x")).error).toMatchObject({ code: -32003, data: { reason: "read_only" } });
      const narrowed = newFs([{ with: "file://r/", can: "crud/read" }]);
      await expect(narrowed.capabilities()).rejects.toThrow("does not exist");
      expect(asked).toHaveLength(0);
    });

    test("is not asked of a caller that may not write, and nothing tells it what is there", async () => {
      const fs = new AcpClientFs({
        adapter: ground.adapter,
        mounts: [{ root: "r" }],
        approve: () => "allow",
        caps: [{ with: "file://r/", can: "crud/read" }],
      });
      const narrowed = await localAgent(fs, SESSION, { cwd: ground.dir });
      const required = (path: string) => ({ with: `file://r/${path}`, can: "crud/write" });
      for (const path of ["file", "nothing"]) {
        expect(await narrowed.ask("fs/write_text_file", { path: at(path), content: "x" })).toEqual({
          error: {
            code: -32003,
            message: "Permission denied",
            data: { required: required(path), held: expect.any(Array) },
          },
        });
      }
      expect(ground.names()).toEqual(["file"]);
    });

    test("who may write and not read writes blindly", async () => {
      const caps = [
        { with: "file://r/", can: "crud/write" },
        { with: "file://r/elsewhere/", can: "crud/read" },
      ];
      const fs = new AcpClientFs({
        adapter: ground.adapter,
        mounts: [{ root: "r" }],
        caps,
        onAudit: (one) => audit.push(one),
      });
      const narrowed = await localAgent(fs, SESSION, { cwd: ground.dir });
      expect(await narrowed.ask("fs/write_text_file", { path: at("file"), content: "x" })).toEqual({ result: {} });
      expect((await narrowed.ask("fs/read_text_file", { path: at("file") })).error?.code).toBe(-32003);
      expect(await fs.undo(SESSION)).toBeUndefined();
      expect(audit[0]).not.toHaveProperty("hashBefore");
    });
  });

  describe.each(SDKS)("cancelling on SDK %s", (sdk) => {
    test("a write that waits for approval answers -32800, and the file is untouched", async () => {
      const child = connectAgent(acp, sdk);
      try {
        const session = await child.newSession({ cwd: ground.dir });
        const pending = new Promise<ApprovalRequest>((resolve) => {
          answer = (request) => {
            resolve(request);
            return new Promise(() => {});
          };
        });
        const answered = child.ask(session, "fs/write_text_file", { path: at("file"), content: "x" });
        const { signal } = await pending;
        await child.cancel(session);
        expect(await answered).toEqual({ error: { code: -32800, message: "Request cancelled" } });
        expect(signal.aborted).toBe(true);
        expect(ground.get("file").toString()).toBe("one\ntwo\n");
        // The path is free for the next.
        answer = () => "allow";
        expect(await child.ask(session, "fs/write_text_file", { path: at("file"), content: "y" })).toEqual({
          result: {},
        });
      } finally {
        await child.stop();
      }
    });
  });

  test("cancelling a write that waits for its turn answers at once, and those behind it go on", async () => {
    let allow: (answer: ApprovalAnswer) => void = () => {};
    const isAsked = new Promise<void>((asking) => {
      answer = () => {
        asking();
        return new Promise((resolve) => {
          allow = resolve;
        });
      };
    });
    const first = write(at("file"), "first");
    await isAsked;
    answer = () => "allow";
    const cancelling = new AbortController();
    const second = agent.ask(
      "fs/write_text_file",
      { path: at("file"), content: "second" },
      { cancellationSignal: cancelling.signal },
    );
    const third = write(at("file"), "third");
    cancelling.abort();
    expect(await second).toEqual({ error: { code: -32800, message: "Request cancelled" } });
    expect(ground.get("file").toString()).toBe("one\ntwo\n");
    allow("allow");
    expect([await first, await third]).toEqual([{ result: {} }, { result: {} }]);
    expect(ground.get("file").toString()).toBe("third");
    expect(acp.modified(SESSION)).toMatchObject([{ oldText: "one\ntwo\n", newText: "third" }]);
  });

  test("an agent that goes ends what waits for approval", async () => {
    const pending = new Promise<ApprovalRequest>((resolve) => {
      answer = (request) => {
        resolve(request);
        return new Promise(() => {});
      };
    });
    const answered = write(at("file"), "x").catch((error: unknown) => error);
    const { signal } = await pending;
    const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
    agent.close();
    await aborted;
    await answered;
    expect(ground.get("file").toString()).toBe("one\ntwo\n");
  });
});

describe("a root that asks a person, in ACP", () => {
  const { ground, at, newFs } = useAcp({
    root: { approve: { for: ["all"] } },
    roots: { strict: { temp: true, approve: { for: ["all"], elicit: false } } },
  });
  const process: SandboxProcess = {
    started: Promise.resolve(),
    exited: Promise.resolve({ exitCode: 0, signal: null, timedOut: false, truncated: false }),
    output: () => ({ stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), combined: Buffer.alloc(0), truncated: false }),
    kill: async () => {},
  };
  const sandbox: Sandbox = {
    name: "none",
    shows: "host",
    probe: async () => ({ available: true, network: false, realBinaries: false }),
    run: () => process,
  };

  let asked: ApprovalRequest[];
  let answer: ApprovalAnswer;
  let acp: AcpClientFs;

  const agentOf = (hasHook: boolean) => {
    acp = newFs({
      mounts: [{ root: "r" }, { root: "strict", prefix: "/strict" }],
      terminals: { sandbox },
      ...(hasHook
        ? {
            approve: (request) => {
              asked.push(request);
              return answer;
            },
          }
        : {}),
    });
    return localAgent(acp, SESSION, { cwd: ground.dir, additionalDirectories: ["/strict"] });
  };

  beforeEach(() => {
    asked = [];
    answer = "allow";
    ground.put("file", "one\n");
  });

  test("takes the user of the client for that person, and its record says so", async () => {
    const agent = await agentOf(true);
    expect(await agent.ask("fs/write_text_file", { path: at("sub/new"), content: "x" })).toEqual({ result: {} });
    expect(await agent.ask("fs/write_text_file", { path: at("file"), content: "two\n" })).toEqual({ result: {} });
    expect(asked).toHaveLength(2);
    expect(ground.get("file").toString()).toBe("two\n");
    const writes = ground.audit.filter(({ operation }) => operation === "file:write");
    expect(writes.map(({ outcome, approvedBy }) => [outcome, approvedBy])).toEqual([
      ["OK", "client"],
      ["OK", "client"],
    ]);
    await acp.undo(SESSION);
    expect(ground.get("file").toString()).toBe("one\n");
  });

  test("changes nothing where the user says no, or nobody is asked", async () => {
    answer = "reject";
    const agent = await agentOf(true);
    const refused = await agent.ask("fs/write_text_file", { path: at("file"), content: "x" });
    expect(refused.error?.data).toMatchObject({ reason: "rejected" });
    const alone = await agentOf(false);
    const { error } = await alone.ask("fs/write_text_file", { path: at("file"), content: "x" });
    expect(error).toMatchObject({ code: -32003, message: expect.stringContaining("A person has to allow this") });
    expect((await alone.ask("terminal/create", { command: "sh" })).error?.message).toContain("A person has to allow");
    expect(ground.get("file").toString()).toBe("one\n");
  });

  test("asks about each change, also after 'always'", async () => {
    answer = "allow_always";
    const agent = await agentOf(true);
    for (const content of ["1", "2", "3"]) {
      expect(await agent.ask("fs/write_text_file", { path: at("file"), content })).toEqual({ result: {} });
    }
    expect(asked).toHaveLength(3);
    for (const _ of [1, 2]) await agent.ask("terminal/create", { command: "sh" });
    expect(asked.map(({ kind }) => kind).slice(3)).toEqual(["terminal", "terminal"]);
    answer = "reject";
    expect((await agent.ask("fs/write_text_file", { path: at("file"), content: "4" })).error).toBeDefined();
    expect((await agent.ask("terminal/create", { command: "sh" })).error).toBeDefined();
    expect(ground.get("file").toString()).toBe("3");
  });

  test("does not take the client's word where the operator says so", async () => {
    const agent = await agentOf(true);
    const { error } = await agent.ask("fs/write_text_file", { path: "/strict/new", content: "x" });
    expect(error?.message).toContain("A person has to allow this");
  });
});

describe("roots that ask, by tools", () => {
  const { ground, newFs } = useAcp({
    root: { approve: { for: ["delete"] } },
    roots: { strict: { temp: true, approve: { for: ["delete"], elicit: false } } },
  });

  let asked: ApprovalRequest[];
  let agent: Agent2Connection;
  let session: string;

  async function open(answer?: ApprovalAnswer): Promise<void> {
    asked = [];
    const acp = newFs({
      mounts: [{ root: "r" }, { root: "strict", prefix: "/strict" }],
      ...(answer === undefined ? {} : { approve: (request) => (asked.push(request) > 0 ? answer : "reject") }),
    });
    agent = await connect2(acp);
    session = await agent.connection.newSession({ cwd: ground.dir, additionalDirectories: ["/strict"] });
  }

  const call = async (name: string, root: string, args: object = {}): Promise<string> => {
    const { isError, code } = await agent.call(session, name, { root, path: "file", ...args });
    return isError ? (code ?? "?") : "OK";
  };

  beforeEach(async () => {
    ground.put("file", "x");
    await ground.adapter.invoke("file:write", { root: "strict", path: "file", content: "x" });
  });

  test("a root that asks about some changes takes the hook for all of them, once each", async () => {
    await open("allow");
    expect([await call("file_write", "r", { content: "y" }), await call("file_delete", "r")]).toEqual(["OK", "OK"]);
    expect(asked.map((one) => one.kind === "change" && one.operation)).toEqual(["file:write", "file:delete"]);
    expect(ground.audit.findLast(({ operation }) => operation === "file:delete")).toMatchObject({
      operation: "file:delete",
      approvedBy: "client",
    });
    await agent.stop();
  });

  test("an answer for always does not hold for what the root asks about", async () => {
    await open("allow_always");
    const made = [await call("file_write", "r", { content: "y" }), await call("file_write", "r", { content: "z" })];
    expect([...made, await call("file_delete", "r")]).toEqual(["OK", "OK", "OK"]);
    expect(asked.map((one) => one.kind === "change" && one.operation)).toEqual(["file:write", "file:delete"]);
    await agent.stop();
  });

  test("a root whose client may not decide refuses what it asks about, and the hook decides the rest", async () => {
    await open("allow");
    expect([await call("file_write", "strict", { content: "y" }), await call("file_delete", "strict")]).toEqual([
      ...["OK", "APPROVAL_REQUIRED"],
    ]);
    expect(asked.map((one) => one.kind === "change" && one.operation)).toEqual(["file:write"]);
    await agent.stop();
  });

  test("without a hook a root that asks refuses, and others do not", async () => {
    await open();
    expect([await call("file_write", "r", { content: "y" }), await call("file_delete", "r")]).toEqual([
      ...["OK", "APPROVAL_REQUIRED"],
    ]);
    await agent.stop();
  });

  test("a move between two roots is asked about as one", async () => {
    await open("allow");
    expect(await call("file_move", "r", { toRoot: "strict", to: "moved" })).toMatch(/^OK$/);
    expect(asked).toMatchObject([{ kind: "change", operation: "file:move" }]);
    await agent.stop();
  });
});
