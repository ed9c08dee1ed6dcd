import { mkdirSync, symlinkSync } from "node:fs";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { createFileAdapter } from "../../../../src/index.js";
import { AcpClientFs } from "../../../../src/surfaces/acp/client-fs.js";
import type { AcpOptions, ElicitAnswer, ElicitRequest } from "../../../../src/surfaces/acp/options.js";
import { fitsForm } from "../../../../src/surfaces/acp/protocol/elicitation.js";
import type { ApprovalRequest } from "../../../../src/surfaces/acp/review/approval.js";
import type { AcpAuditRecord } from "../../../../src/surfaces/acp/review/audit.js";
import { ALICE } from "../../../drives/ground.js";
import { useAcp, useStops } from "../ground.js";
import { connectAgent, SDKS } from "../stage.js";
import { type Agent2Connection, connect2, WAYS } from "./versions.js";

describe("tools of version 2", () => {
  const { ground, at, text, newFs } = useAcp({ roots: { temp: { temp: true }, ro: { temp: true, readOnly: true } } });

  const stops = useStops();
  beforeEach(() => {
    for (const name of ["one", "two"]) ground.put(`${name}/file`, `of ${name}\n`);
  });

  interface Opened {
    readonly acp: AcpClientFs;
    readonly agent: Agent2Connection;
    readonly session: string;
    call: (name: string, args?: object) => ReturnType<Agent2Connection["call"]>;
  }

  async function open(options: Partial<AcpOptions> = {}, way = WAYS[0]): Promise<Opened> {
    const acp = newFs({ ...options });
    const agent = await connect2(acp, way);
    stops.push(() => agent.stop());
    const session = await agent.connection.newSession({ cwd: at("one") });
    return { acp, agent, session, call: (name, args) => agent.call(session, name, args) };
  }

  describe.each(WAYS)("an agent of version 2 %s", (way) => {
    test("is told of neither files nor terminals, and gets the default tools", async () => {
      const { agent, session } = await open({}, way);
      expect(await agent.connection.protocol).toBe(2);
      expect(await agent.connection.files).toBe("mcp");
      const { initialize, session: opened } = (await agent.ask(session, "greeting")).result as Record<string, object>;
      expect(initialize).toMatchObject({ protocolVersion: 2, info: { name: "venue-files" }, capabilities: {} });
      expect(opened).toMatchObject({
        cwd: at("one"),
        mcpServers: [{ type: "acp", name: "venue-files", serverId: expect.any(String) }],
      });
      const { result } = (await agent.ask(session, "tools/list")).result as { result: { tools: { name: string }[] } };
      expect(result.tools.map(({ name }) => name)).toEqual(
        [
          ...["roots", "list", "tree", "read", "stat", "glob", "grep"],
          ...["write", "edit", "append", "mkdir", "move", "copy", "delete"],
        ].map((name) => `file_${name}`),
      );
      const found = (await agent.ask(session, "server/discover")).result as { result: { instructions: string } };
      expect(found.result.instructions).toContain(`${at("one")} is "one" in root r`);
      for (const method of ["fs/read_text_file", "terminal/create"]) {
        expect((await agent.ask(session, method, { sessionId: session, path: at("one/file") })).error?.code).toBe(
          -32601,
        );
      }
    });

    test("reads and writes by tools within its session, by paths in the root and by absolute ones", async () => {
      const { acp, session, call } = await open({}, way);
      expect((await call("file_read", { path: "one/file" })).text).toContain("of one");
      expect((await call("file_read", { path: at("one/file") })).text).toContain("of one");
      expect(await call("file_write", { path: at("one/new/deep"), content: "new", parents: true })).toMatchObject({
        isError: false,
      });
      expect(text("one/new/deep")).toBe("new");
      expect(acp.modified(session)).toEqual([{ path: at("one/new/deep"), oldText: null, newText: "new" }]);
      expect(await acp.undo(session)).toBe(at("one/new/deep"));
      expect(ground.names("one")).toEqual(["file"]);
      for (const path of ["two/file", at("two/file"), "one/../two/file", "/etc/passwd"]) {
        expect((await call("file_read", { path })).isError).toBe(true);
      }
    });
  });

  describe("a session's tools", () => {
    test("end with it", async () => {
      const { acp, agent, session, call } = await open();
      const other = await agent.connection.newSession({ cwd: at("two") });
      expect((await agent.call(other, "file_read", { path: "two/file" })).text).toContain("of two");
      const { session: opened } = (await agent.ask(other, "greeting")).result as {
        session: { mcpServers: { serverId: string }[] };
      };
      await acp.closeSession(other);
      const server = opened.mcpServers[0]?.serverId ?? "";
      const ended = await agent.call(session, "file_read", { path: "two/file" }, server);
      expect(ended.answer.error).toMatchObject({ code: -33001 });
      expect((await call("file_read", { path: "one/file" })).answer.error).toMatchObject({ code: -33001 });
    });

    test("see the roots as the session does", async () => {
      const { call } = await open({ mounts: [{ root: "r" }, { root: "temp", prefix: "/t" }] });
      const { roots } = JSON.parse((await call("file_roots")).text);
      expect(roots).toMatchObject([{ name: "r", path: ground.dir }]);
    });

    test("are called with the caps of the host, and never with tokens of the agent", async () => {
      const { call } = await open({ caps: [{ with: "file://r/", can: "crud/read" }] });
      expect((await call("file_read", { path: "one/file" })).isError).toBe(false);
      expect(await call("file_write", { path: "one/file", content: "x" })).toMatchObject({ code: "CAPABILITY_DENIED" });
      expect(await call("file_read", { path: "one/file", ucans: ["x"] })).toMatchObject({ code: "INVALID_INPUT" });
    });

    test("are audited, refused and malformed calls too", async () => {
      const records: AcpAuditRecord[] = [];
      const { agent, session, call } = await open({ onAudit: (record) => records.push(record) });
      await call("file_read", { path: "one/file" });
      await call("file_write", { path: "one/file", content: "other" });
      await call("file_read", { path: "two/file" });
      await call("file_none", {});
      await agent.call(session, "file_read", {}, "unknown");
      expect(records).toMatchObject([
        {
          sessionId: session,
          agent: "agent-2",
          method: "file:read",
          root: "r",
          path: "one/file",
          bytes: 7,
          outcome: "OK",
        },
        {
          ...{ method: "file:write", bytes: 5, outcome: "OK" },
          ...{ hashBefore: expect.stringMatching(/^sha256:/), hashAfter: expect.stringMatching(/^sha256:/) },
        },
        { method: "file:read", path: "two/file", outcome: "CAPABILITY_DENIED" },
        { method: "mcp/message", outcome: "INVALID_PARAMS" },
        { method: "mcp/message", outcome: "UNKNOWN_SESSION" },
      ]);
    });

    test("read the unsaved text of an open buffer, in lines too", async () => {
      const { acp, session, call } = await open();
      await acp.openBuffer(session, at("one/file"), "unsaved\nsecond\n");
      expect((await call("file_read", { path: "one/file" })).text).toContain("unsaved\nsecond\n");
      expect((await call("file_read", { path: at("one/file"), line: 2 })).text).toMatch(/^second\n/);
      await acp.openBuffer(session, at("one/nowhere"), "not on disk");
      expect((await call("file_read", { path: "one/nowhere" })).text).toContain("not on disk");
      expect(await call("file_edit", { path: "one/file", oldText: "unsaved", newText: "x" })).toMatchObject({
        code: "CONFLICT",
      });
      expect(await call("file_write", { path: "one/file", content: "whole" })).toMatchObject({ isError: false });
      expect(text("one/file")).toBe("whole");
      expect(acp.modified(session)).toMatchObject([{ oldText: "unsaved\nsecond\n", newText: "whole" }]);
      await acp.undo(session);
      expect((await call("file_read", { path: "one/file" })).text).toContain("unsaved");
      expect(text("one/file")).toBe("of one\n");
    });

    test("write over unsaved text by the etag that was read, and by no other", async () => {
      const { acp, session, call } = await open();
      await acp.openBuffer(session, at("one/file"), "unsaved");
      const etag = /etag ([^\n]+)/.exec((await call("file_read", { path: "one/file" })).text)?.[1];
      expect(await call("file_write", { path: "one/file", content: "x", ifMatch: "0000000000000000" })).toMatchObject({
        code: "CONFLICT",
      });
      expect(await call("file_write", { path: "one/file", content: "x", ifMatch: etag })).toMatchObject({
        isError: false,
      });
    });

    test("lead by no link out of the session, and tell nothing of where it leads", async () => {
      symlinkSync("../two", at("one/link"));
      symlinkSync(ground.outside, at("one/out"));
      const { call } = await open();
      for (const path of ["one/link/file", "one/link/none", "one/out/file"]) {
        for (const [name, args] of [
          ["file_read", {}],
          ["file_write", { content: "x" }],
          ["file_delete", {}],
        ] as const) {
          const { isError, text } = await call(name, { path, ...args });
          expect([path, name, isError]).toEqual([path, name, true]);
          expect(text).not.toContain("two");
        }
      }
      expect(text("two/file")).toBe("of two\n");
    });
  });

  describe("approval of tools", () => {
    const asking = async (answers: readonly string[], more: Partial<AcpOptions> = {}) => {
      const requests: ApprovalRequest[] = [];
      const left = [...answers];
      const opened = await open({
        ...more,
        approve: (request) => {
          requests.push(request);
          return (left.shift() ?? "reject") as "allow";
        },
      });
      return { ...opened, requests };
    };

    test("is asked with the difference before a write, an edit and an append; nothing is changed without it", async () => {
      const { call, requests, session } = await asking(["reject", "allow", "allow", "allow"]);
      expect(await call("file_write", { path: "one/file", content: "two" })).toMatchObject({ code: "APPROVAL_DENIED" });
      expect(text("one/file")).toBe("of one\n");
      const edit = { path: "one/file", oldText: "one", newText: "three" };
      expect(await call("file_edit", edit)).toMatchObject({ isError: false });
      expect(await call("file_append", { path: "one/file", content: "more\n" })).toMatchObject({ isError: false });
      expect(await call("file_write", { path: "one/a/b", content: "new", parents: true })).toMatchObject({
        isError: false,
      });
      const path = at("one/file");
      const asked = { kind: "change", sessionId: session };
      expect(requests).toMatchObject([
        { ...asked, operation: "file:write", path, diff: expect.stringMatching(/-of one\n\+two/) },
        { ...asked, operation: "file:edit", path, diff: expect.stringMatching(/-of one\n\+of three/) },
        { ...asked, operation: "file:append", path, diff: expect.stringMatching(/ of three\n\+more/) },
        { ...asked, path: at("one/a/b"), effects: [{ action: "create" }], diff: expect.stringContaining("+new") },
      ]);
      expect(text("one/file")).toBe("of three\nmore\n");
    });

    test("is asked with effects before anything else", async () => {
      const { acp, session, call, requests } = await asking(Array(5).fill("allow"));
      mkdirSync(at("one/dir"));
      ground.put("one/dir/x", "x");
      await call("file_mkdir", { path: "one/new" });
      await call("file_move", { path: "one/file", to: "one/new/file" });
      await call("file_copy", { path: "one/new/file", to: "one/copy" });
      await call("file_delete", { path: "one/copy" });
      await call("file_delete", { path: "one/dir", recursive: true });
      expect(requests.map(({ kind }) => kind)).toEqual(Array(5).fill("change"));
      expect(requests).toMatchObject([
        { operation: "file:mkdir", path: at("one/new"), effects: [{ action: "create", root: "r", path: "one/new" }] },
        {
          operation: "file:move",
          path: at("one/new/file"),
          effects: [{ action: "move", path: "one/file", to: "one/new/file" }],
        },
        { path: at("one/copy"), effects: [{ action: "create" }], diff: expect.stringContaining("+of one") },
        { operation: "file:delete", effects: [{ action: "delete", path: "one/copy" }] },
        { operation: "file:delete", effects: [{ action: "delete", path: "one/dir", before: { entries: 1 } }] },
      ]);
      expect(acp.modified(session)).toMatchObject([
        { path: at("one/new/file"), oldText: null, newText: "of one\n" },
        { path: at("one/file"), oldText: "of one\n", newText: "", deleted: true },
      ]);
    });

    test("shows what becomes of unsaved text", async () => {
      const { acp, session, call, requests } = await asking(["allow"]);
      await acp.openBuffer(session, at("one/file"), "unsaved\n");
      expect(await call("file_write", { path: "one/file", content: "mine\n" })).toMatchObject({ isError: false });
      expect(requests).toMatchObject([{ kind: "change", diff: expect.stringMatching(/-unsaved\n\+mine/) }]);
    });

    test("holds for what was shown: another state is asked about again", async () => {
      let count = 0;
      const { call } = await open({
        approve: () => {
          count += 1;
          if (count === 1) ground.put("one/file", "of somebody else\n");
          return "allow";
        },
      });
      expect(await call("file_write", { path: "one/file", content: "mine" })).toMatchObject({ isError: false });
      expect(count).toBe(2);
      expect(text("one/file")).toBe("mine");
    });

    test("stands for the session once it was given always, for and against", async () => {
      const { call, requests } = await asking(["allow_always"]);
      await call("file_write", { path: "one/file", content: "1" });
      await call("file_delete", { path: "one/file" });
      expect([requests.length, ground.names("one")]).toEqual([1, []]);
      const never = await asking(["reject_always", "allow"]);
      ground.put("one/file", "x");
      for (const _ of "12")
        expect((await never.call("file_delete", { path: "one/file" })).code).toBe("APPROVAL_DENIED");
      expect([never.requests.length, ground.names("one")]).toEqual([1, ["file"]]);
    });

    test.each([
      ["one mount", [{ root: "r" }]],
      ["two mounts", [{ root: "r" }, { root: "temp", prefix: "/t" }]],
    ])("is asked however a call names its places, with %s", async (_, mounts) => {
      const { acp, session, call, requests } = await asking([], { mounts });
      ground.put("one/other", "x");
      const calls: [string, object][] = [
        ["file_write", { path: "file://r/one/file", content: "x" }],
        ["file_append", { path: "file:/r/one/file", content: "x" }],
        ["file_delete", { path: "file://r/one/file" }],
        ["file_move", { from: "file://r/one/file", to: "one/moved" }],
        ["file_move", { root: "r", from: "one/file", to: "one/moved" }],
        ["file_move", { from: at("one/file"), to: at("one/moved") }],
        ["file_copy", { from: "file://r/one/file", to: "file://r/one/moved" }],
        ["file_move", { path: "file://r/one/file", to: "one/moved" }],
      ];
      for (const [name, args] of calls)
        expect([args, (await call(name, args)).code]).toEqual([args, "APPROVAL_DENIED"]);
      expect([requests.length, ground.names("one"), text("one/file")]).toEqual([
        ...[calls.length, ["file", "other"], "of one\n"],
      ]);
      expect(acp.modified(session)).toEqual([]);
    });

    test("for always in one root does not hold in another, which a call names by a reference", async () => {
      const { agent, acp } = await asking(["allow_always"], {
        mounts: [{ root: "r" }, { root: "temp", prefix: "/t" }],
      });
      const both = await agent.connection.newSession({ cwd: at("one"), additionalDirectories: ["/t"] });
      const call = (name: string, args: object) => agent.call(both, name, args);
      expect((await call("file_write", { root: "r", path: "one/file", content: "x" })).isError).toBe(false);
      for (const args of [
        { root: "r", from: "one/file", to: "file://temp/file" },
        { from: "file://r/one/file", to: "file:/temp/file" },
      ]) {
        expect((await call("file_copy", args)).code).toBe("APPROVAL_DENIED");
        expect((await call("file_move", args)).code).toBe("APPROVAL_DENIED");
      }
      expect((await call("file_move", { from: "file://r/one/file", to: "file://r/one/moved" })).isError).toBe(false);
      expect(acp.modified(both).map(({ path }) => path)).toEqual([at("one/file"), at("one/moved")]);
      expect(await acp.undo(both)).toEqual(expect.any(String));
      expect(text("one/file")).toBe("x");
    });

    test("is not asked about what the caller may not do", async () => {
      const { call, requests } = await asking([], { caps: [{ with: "file://r/", can: "crud/read" }] });
      expect(await call("file_write", { path: "one/file", content: "x" })).toMatchObject({ code: "CAPABILITY_DENIED" });
      expect(await call("file_write", { path: "two/file", content: "x" })).toMatchObject({ isError: true });
      expect(requests).toEqual([]);
    });

    test("that is cancelled changes nothing", async () => {
      let shown: (signal: AbortSignal) => void = () => {};
      const asked = new Promise<AbortSignal>((resolve) => {
        shown = resolve;
      });
      const { agent, session, call } = await open({
        approve: ({ signal }) => {
          shown(signal);
          return new Promise(() => {});
        },
      });
      const answer = call("file_write", { path: "one/file", content: "x" });
      const signal = await asked;
      await agent.connection.agent.notify("session/cancel", { sessionId: session });
      expect((await answer).answer.error).toMatchObject({ code: -32800 });
      expect(signal.aborted).toBe(true);
      expect(text("one/file")).toBe("of one\n");
    });
  });

  describe("undo of tools, without a journal", () => {
    test("takes back edits, deletions, copies and moves, and does them again", async () => {
      const { acp, session, call } = await open();
      ground.put("one/target", "replaced");
      await call("file_edit", { path: "one/file", oldText: "one", newText: "1" });
      await call("file_copy", { path: "one/file", to: "one/copy" });
      await call("file_move", { path: "one/file", to: "one/target", overwrite: true });
      await call("file_delete", { path: "one/copy" });
      const states = [["target"], ["copy", "target"], ["copy", "file", "target"], ["file", "target"]];
      expect(ground.names("one")).toEqual(states[0]);
      for (const state of states.slice(1)) {
        expect(await acp.undo(session)).toEqual(expect.any(String));
        expect(ground.names("one")).toEqual(state);
      }
      expect([text("one/target"), text("one/file")]).toEqual(["replaced", "of 1\n"]);
      await acp.undo(session);
      expect(text("one/file")).toBe("of one\n");
      expect(acp.modified(session)).toEqual([]);
      for (let left = 4; left > 0; left--) await acp.redo(session);
      expect([ground.names("one"), text("one/target")]).toEqual([["target"], "of 1\n"]);
    });

    test("of a link that was moved or removed leaves what it leads to alone", async () => {
      const { acp, session, call } = await open();
      symlinkSync("file", at("one/link"));
      symlinkSync("file", at("one/other"));
      await call("file_delete", { path: "one/link" });
      await call("file_move", { path: "one/other", to: "one/moved" });
      expect([ground.names("one"), acp.modified(session)]).toEqual([["file", "moved"], []]);
      await expect(acp.undo(session)).rejects.toMatchObject({ code: "CONFLICT" });
      expect([text("one/file"), text("one/moved")]).toEqual(["of one\n", "of one\n"]);
    });

    test("goes no further back than a directory that was deleted or moved", async () => {
      const { acp, session, call } = await open();
      ground.put("one/dir/x", "x");
      await call("file_move", { path: "one/dir", to: "one/other" });
      await expect(acp.undo(session)).rejects.toMatchObject({ code: "CONFLICT" });
      expect(acp.modified(session)).toEqual([]);
    });
  });

  test.each([
    ["a drive", { notes: { dlfs: "notes" } }, { caller: ALICE }],
    ["a temp root", { notes: { temp: true } }, {}],
  ] as const)("tools work on %s as on a folder", async (_, roots, options) => {
    const files = await createFileAdapter({ roots });
    const prefix = "/notes";
    const mounts = [{ root: "notes", prefix }];
    const acp = new AcpClientFs({ adapter: files, mounts, approve: () => "allow", ...options });
    const agent = await connect2(acp);
    const session = await agent.connection.newSession({ cwd: prefix });
    for (const [name, args] of [
      ["file_write", { path: "a/b", content: "one\n", parents: true }],
      ["file_edit", { path: `${prefix}/a/b`, oldText: "one", newText: "two" }],
      ["file_move", { path: "a/b", to: "a/c" }],
    ] as const) {
      expect(await agent.call(session, name, args)).toMatchObject({ isError: false });
    }
    expect((await agent.call(session, "file_read", { path: `${prefix}/a/c` })).text).toContain("two");
    expect(acp.modified(session)).toMatchObject([{ path: `${prefix}/a/c`, newText: "two\n" }]);
    for (const _ of "123") await acp.undo(session);
    expect(acp.modified(session)).toEqual([]);
    expect((await agent.call(session, "file_list", { path: "" })).text).not.toContain("a");
    await agent.stop();
    await files.close();
  });
});

describe("questions to the user", () => {
  const { ground, newFs } = useAcp();
  const stops = useStops();

  interface Asked {
    readonly session: string;
    readonly capabilities: unknown;
    ask(
      method: string,
      params: object,
    ): Promise<{ readonly result?: unknown; readonly error?: { readonly code: number } }>;
    cancel(): Promise<void>;
  }

  /** @param kind an SDK with an agent of version 1, or `version 2` */
  async function open(
    kind: string,
    options: Partial<AcpOptions>,
    configure?: (completed: unknown[]) => void,
  ): Promise<Asked> {
    if (kind !== "version 2") {
      const agent = connectAgent(newFs(options), kind as "1");
      stops.push(() => agent.stop());
      const session = await agent.newSession({ cwd: ground.dir });
      const { initialize } = (await agent.greeting(session)) as { initialize: { clientCapabilities: object } };
      const capabilities = (initialize.clientCapabilities as { elicitation?: object }).elicitation;
      return {
        session,
        capabilities,
        ask: (method, params) => agent.ask(session, method, params),
        cancel: () => agent.cancel(session),
      };
    }
    const completed: unknown[] = [];
    configure?.(completed);
    const agent = await connect2(newFs(options), "in process", {
      configure: (app) =>
        app
          .onNotification("session/update", () => {})
          .onNotification("elicitation/complete", ({ params }) => void completed.push(params.elicitationId)),
    });
    stops.push(() => agent.stop());
    const session = await agent.connection.newSession({ cwd: ground.dir });
    const { initialize } = (await agent.ask(session, "greeting")).result as { initialize: { capabilities: object } };
    const capabilities = (initialize.capabilities as { elicitation?: object }).elicitation;
    return {
      ...{ session, capabilities },
      ask: (method, params) => agent.ask(session, method, { sessionId: session, ...params }),
      cancel: () => agent.connection.agent.notify("session/cancel", { sessionId: session }),
    };
  }

  const schema = { type: "object", properties: { name: { type: "string", minLength: 2 } }, required: ["name"] };
  const form = { mode: "form", message: "Who?", requestedSchema: schema };
  const page = { mode: "url", message: "Sign in", url: "https://example.org/x", elicitationId: "e" };
  const CREATE = "elicitation/create";

  describe.each([...SDKS.map((sdk) => sdk as string), "version 2"])("an agent (%s) that asks the user", (kind) => {
    test("gets what the hook answers, if it fits the form", async () => {
      const requests: ElicitRequest[] = [];
      const answers: ElicitAnswer[] = [
        { action: "accept", content: { name: "Ada" } },
        { action: "accept", content: { name: "A" } },
        { action: "accept" },
        { action: "decline" },
        { action: "cancel" },
      ];
      const elicit = (request: ElicitRequest): ElicitAnswer => {
        requests.push(request);
        return answers.shift() ?? { action: "cancel" };
      };
      const { session, capabilities, ask } = await open(kind, { elicit });
      if (kind !== "1") expect(capabilities).toEqual({ form: {} });
      const results = [];
      for (let index = 0; index < 5; index++) results.push((await ask(CREATE, form)).result);
      expect(results).toEqual([
        { action: "accept", content: { name: "Ada" } },
        ...["cancel", "cancel", "decline", "cancel"].map((action) => ({ action })),
      ]);
      expect(requests[0]).toMatchObject({ mode: "form", message: "Who?", sessionId: session, schema });
      expect((await ask(CREATE, page)).error?.code).toBe(-32602);
      expect((await ask(CREATE, { ...form, sessionId: "of another" })).error?.code).toBe(-32002);
      expect(requests).toHaveLength(5);
    });

    test("is refused without a hook, and told of none", async () => {
      const { capabilities, ask } = await open(kind, {});
      expect(capabilities ?? undefined).toBeUndefined();
      expect((await ask(CREATE, form)).error?.code).toBe(-32601);
    });

    test("may name a page where the hook takes pages", async () => {
      const requests: ElicitRequest[] = [];
      const elicit = (request: ElicitRequest): ElicitAnswer => {
        requests.push(request);
        return { action: "accept" };
      };
      const { capabilities, ask } = await open(kind, { elicit, elicitUrl: true });
      if (kind !== "1") expect(capabilities).toEqual({ form: {}, url: {} });
      expect(await ask(CREATE, page)).toEqual({ result: { action: "accept" } });
      expect(requests).toMatchObject([{ mode: "url", url: "https://example.org/x" }]);
      expect(requests[0]).not.toHaveProperty("schema");
    });

    test("may cancel, and never learns why a hook has failed", async () => {
      let isAsked: () => void = () => {};
      const asked = new Promise<void>((resolve) => {
        isAsked = resolve;
      });
      let count = 0;
      const elicit = ({ signal }: ElicitRequest): Promise<ElicitAnswer> => {
        count += 1;
        if (count === 1) throw new Error("/secret/path");
        isAsked();
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve({ action: "decline" })));
      };
      const { ask, cancel } = await open(kind, { elicit });
      expect((await ask(CREATE, form)).error).toMatchObject({ code: -32603, message: "Internal error" });
      const answer = ask(CREATE, form);
      await asked;
      await cancel();
      expect((await answer).error).toMatchObject({ code: -32800 });
    });
  });

  test("the end of a page goes to the host", async () => {
    let seen: unknown[] = [];
    const { ask } = await open("version 2", { elicit: () => ({ action: "accept" }), elicitUrl: true }, (completed) => {
      seen = completed;
    });
    await ask("notify:elicitation/complete", { elicitationId: "e" });
    expect(seen).toEqual(["e"]);
  });

  describe("content fits a form", () => {
    const field = (one: object) => ({ properties: { a: one } });
    const CASES: readonly [object, unknown, boolean][] = [
      [field({ type: "string" }), { a: "x" }, true],
      [field({ type: "string" }), { a: 1 }, false],
      [field({ type: "string" }), { b: "x" }, false],
      [field({ type: "string" }), {}, true],
      [{ ...field({ type: "string" }), required: ["a"] }, {}, false],
      [field({ type: "string" }), undefined, false],
      [field({ type: "string" }), ["x"], false],
      [field({ type: "string" }), JSON.parse('{"__proto__":"x"}'), false],
      [field({ type: "string", maxLength: 1 }), { a: "😀" }, true],
      [field({ type: "string", maxLength: 1 }), { a: "ab" }, false],
      [field({ type: "string", enum: ["x"] }), { a: "y" }, false],
      [field({ type: "string", oneOf: [{ const: "x", title: "X" }] }), { a: "x" }, true],
      [field({ type: "string", oneOf: [{ const: "x", title: "X" }] }), { a: "X" }, false],
      [field({ type: "string", pattern: "^a+$" }), { a: "aa" }, true],
      [field({ type: "string", pattern: "^a+$" }), { a: "ab" }, false],
      [field({ type: "string", pattern: "(" }), { a: "(" }, false],
      [field({ type: "string", pattern: "^(a+)+$" }), { a: `${"a".repeat(5000)}b` }, false],
      [field({ type: "string", minLength: null, pattern: null, enum: null }), { a: "" }, true],
      [field({ type: "integer" }), { a: 1.5 }, false],
      [field({ type: "number", minimum: 1, maximum: 2 }), { a: 1.5 }, true],
      [field({ type: "number", minimum: 1 }), { a: 0 }, false],
      [field({ type: "number" }), { a: Number.NaN }, false],
      [field({ type: "boolean" }), { a: "true" }, false],
      [field({ type: "array", items: { type: "string", enum: ["x", "y"] } }), { a: ["x", "y"] }, true],
      [field({ type: "array", items: { type: "string", enum: ["x"] } }), { a: ["z"] }, false],
      [field({ type: "array", items: { anyOf: [{ const: "x", title: "X" }] }, maxItems: 1 }), { a: ["x"] }, true],
      [field({ type: "array", items: { type: "string", enum: ["x"] }, minItems: 1 }), { a: [] }, false],
      [field({ type: "other" }), { a: "x" }, false],
      [field({ $ref: "http://127.0.0.1:1/x" }), { a: "x" }, false],
    ];
    test.each(CASES)("%j: %j %s", async (schema, content, fits) => {
      expect(await fitsForm(schema as Record<string, unknown>, content)).toBe(fits);
    });
  });
});
