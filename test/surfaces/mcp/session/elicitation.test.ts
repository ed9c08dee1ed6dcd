import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  Client,
  PROTOCOL_VERSION_META_KEY,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioClientTransport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { CLI, cleanUp, makeFolder } from "../../../cli/process.js";
import { ALL, approvalsOf } from "../../../venue/operations/approval/approval-calls.js";
import { useGround } from "../../../venue/operations/fixture.js";
import { ask, toolCall } from "../raw.js";
import { type Answer, textOf } from "../sessions.js";

interface Form {
  readonly message: string;
}
type Reply = { readonly action: "accept" | "decline" | "cancel"; readonly content?: Record<string, boolean> };
type OnForm = (form: Form) => Reply | Promise<Reply>;
type Call = (name: string, args: Record<string, unknown>) => Promise<Answer>;

const INFO = { name: "test", version: "1" };
const FORMS = { capabilities: { elicitation: { form: {} } } };
const YES: Reply = { action: "accept", content: { allow: true } };
const refuseForm: OnForm = () => {
  throw new Error("asked");
};
const ENVELOPE = {
  [PROTOCOL_VERSION_META_KEY]: "2026-07-28",
  [CLIENT_INFO_META_KEY]: INFO,
  [CLIENT_CAPABILITIES_META_KEY]: FORMS.capabilities,
};
/** Connections that end with their test. */
const closing: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));
afterAll(cleanUp);

interface Connected {
  readonly call: Call;
  close(): Promise<unknown>;
}

async function connect2(onForm: OnForm | undefined, mode: object, transport: object): Promise<Connected> {
  const client = new Client(INFO, { ...(onForm === undefined ? {} : FORMS), ...mode });
  if (onForm !== undefined) {
    client.setRequestHandler("elicitation/create", async ({ params }) => onForm(params as Form));
  }
  await client.connect(transport as StdioClientTransport);
  return {
    call: (name, args) => client.callTool({ name, arguments: args }) as Promise<Answer>,
    close: () => client.close(),
  };
}

async function connect1(onForm: OnForm | undefined, transport: StdioClientTransport1): Promise<Connected> {
  const client = new Client1(INFO, onForm === undefined ? {} : { capabilities: { elicitation: {} } });
  if (onForm !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => onForm(params as Form));
  }
  await client.connect(transport);
  return {
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Answer,
    close: () => client.close(),
  };
}

const NEWEST = { versionNegotiation: { mode: { pin: "2026-07-28" } } };

type Connect = (onForm: OnForm | undefined, server: ReturnType<typeof stdio>) => Promise<Connected>;
const CLIENTS: readonly (readonly [string, Connect])[] = [
  ["client 2, newest protocol", (onForm, server) => connect2(onForm, NEWEST, new StdioClientTransport(server))],
  ["client 2, protocol of 2025", (onForm, server) => connect2(onForm, {}, new StdioClientTransport(server))],
  ["client 1", (onForm, server) => connect1(onForm, new StdioClientTransport1(server))],
];

const stdio = (folder: string) => ({
  command: process.execPath,
  args: [CLI, "mcp", "--config", join(folder, "venue.json5")],
  cwd: folder,
  env: { TMPDIR: folder, HOME: folder },
  stderr: "inherit" as const,
});

describe.each(CLIENTS)("a client on standard input and output that can ask its user: %s", (_name, connect) => {
  let folder = "";
  /** The one server of these tests, which is started again once a test has ended it. */
  let session: Connected | undefined;
  let onForm: OnForm;
  let tests = 0;
  let name = "";

  beforeAll(() => {
    folder = makeFolder({ "docs/x": "", "quiet/x": "" });
    const approve = { for: ["overwrite", "delete"] };
    const roots = {
      docs: { path: join(folder, "docs"), approve },
      quiet: { path: join(folder, "quiet"), approve: { ...approve, elicit: false } },
    };
    const config = { file: { roots }, audit: { file: join(folder, "audit.jsonl") }, mcp: { tools: "full" } };
    writeFileSync(join(folder, "venue.json5"), JSON.stringify(config));
  });
  // A file of its own for each test: what one decided about another is no matter here.
  beforeEach(async () => {
    tests += 1;
    name = `${tests}.txt`;
    for (const root of ["docs", "quiet"]) writeFileSync(join(folder, root, name), "one\n");
    onForm = refuseForm;
    session ??= await connect((form) => onForm(form), stdio(folder));
  });
  const end = async (): Promise<void> => {
    await session?.close();
    session = undefined;
  };
  afterAll(end);

  const call = (tool: string, more: object = {}): Promise<Answer> =>
    (session as Connected).call(tool, { root: "docs", path: name, ...more });
  const write = (more: object = {}): Promise<Answer> => call("file_write", { content: "new\n", ...more });
  const content = (root = "docs"): string => readFileSync(join(folder, root, name), "utf8");
  const records = (): Record<string, unknown>[] =>
    readFileSync(join(folder, "audit.jsonl"), "utf8")
      .split("\n")
      .filter((line) => line.includes('"operation"') && line.includes(name))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  test("shows what the call would do, and once that is allowed, it is done", async () => {
    const [forms, before]: [Form[], string[]] = [[], []];
    onForm = (form) => {
      forms.push(form);
      before.push(content());
      return YES;
    };
    expect((await write()).isError).not.toBe(true);
    expect(content()).toBe("new\n");
    expect(forms).toHaveLength(1);
    const [first, second] = forms[0]?.message.split("\n") ?? [];
    expect(first).toBe("Allow file:write once?");
    expect(second).toMatch(`- overwrite "${name}" in root 'docs'`);
    expect(forms[0]?.message).toContain("-one\n+new\n");
    // The next call is another one.
    await write({ content: "newer\n" });
    expect(forms).toHaveLength(2);
    expect(before).toEqual(["one\n", "new\n"]);
    expect(content()).toBe("newer\n");
  });

  test.each<[string, Reply, string]>([
    ["declines", { action: "decline" }, "APPROVAL_DENIED"],
    ["sends the form without a yes", { action: "accept", content: { allow: false } }, "APPROVAL_DENIED"],
    ["dismisses it", { action: "cancel" }, "APPROVAL_REQUIRED"],
  ])("leaves everything as it is when the user %s", async (_title, reply, code) => {
    let forms = 0;
    onForm = () => {
      forms += 1;
      return reply;
    };
    const answer = await write();
    expect(answer.isError).toBe(true);
    expect(JSON.stringify(answer._meta)).toContain(code);
    expect(forms).toBe(1);
    expect(content()).toBe("one\n");
  });

  test("is not done to a file that changed while the user thought", async () => {
    let forms = 0;
    onForm = () => {
      forms += 1;
      writeFileSync(join(folder, "docs", name), "somebody else\n");
      return YES;
    };
    const answer = await call("file_delete");
    expect(JSON.stringify(answer._meta)).toContain('"reason":"changed"');
    expect(content()).toBe("somebody else\n");
    expect(forms).toBe(1);
  });

  test("is not asked where the operator says so", async () => {
    expect(textOf(await write({ root: "quiet" }))).toContain("venue-files serve");
    expect(content("quiet")).toBe("one\n");
  });

  test("that cannot ask is told how", async () => {
    const plain = await connect(undefined, stdio(folder));
    closing.push(() => plain.close());
    const refused = await plain.call("file_write", { root: "docs", path: name, content: "new\n" });
    expect(textOf(refused)).toContain("venue-files serve");
    expect(JSON.stringify(refused._meta)).not.toContain("approvalId");
    expect(content()).toBe("one\n");
  });

  test("tells its user how many effects are not shown", async () => {
    const forms: Form[] = [];
    onForm = (form) => {
      forms.push(form);
      return { action: "decline" };
    };
    const names = Array.from({ length: 22 }, (_, index) => `${index}.many`);
    for (const file of names) writeFileSync(join(folder, "docs", file), "one\n");
    const sections = names.map((file) => `*** Update File: ${file}\n@@\n-one\n+two\n`);
    const patch = `*** Begin Patch\n${sections.join("")}*** End Patch\n`;
    await (session as Connected).call("file_patch", { root: "docs", patch });
    const lines = forms[0]?.message.split("\n") ?? [];
    expect(lines.filter((line) => line.startsWith("- overwrite "))).toHaveLength(20);
    expect(lines).toContain("- and 2 more, which are not shown");
  });

  test("stands in the record as the one who allowed it", async () => {
    onForm = () => YES;
    await write();
    await end();
    const [first, second] = records();
    expect(first).toMatchObject({ operation: "file:write", outcome: "APPROVAL_REQUIRED" });
    expect(first).not.toHaveProperty("approvedBy");
    expect(second).toMatchObject({ operation: "file:write", outcome: "OK", approvedBy: "client" });
  });
});

describe("a client by URL", () => {
  const ground = useGround();
  const { issue, open, textOf: fileOf, logIn } = approvalsOf(ground);
  const connect = async (bearer: string, onForm: OnForm, mode: object = NEWEST): Promise<Call> => {
    const requestInit = { headers: { authorization: `Bearer ${bearer}` } };
    const url = new URL(`${ground.venue.url}/mcp`);
    const { call, close } = await connect2(onForm, mode, new StreamableHTTPClientTransport(url, { requestInit }));
    closing.push(close);
    return call;
  };
  const DOCS_WRITE = { root: "docs", path: "sub/a.txt", content: "new\n" };

  test.each([{}, { elicit: false }])("asks its user only by the operator's word: %j", async (more) => {
    await open({ for: ["overwrite"], ...more });
    const { token } = await issue({ label: "agent", caps: [ALL] });
    const call = await connect(token, refuseForm);
    const answer = await call("file_write", DOCS_WRITE);
    expect(JSON.stringify(answer._meta)).toContain("approvalId");
    expect(fileOf("sub/a.txt")).toBe("one\ntwo\n");
  });

  test("asks its user where the operator says so, and others see who decided", async () => {
    await open({ for: ["overwrite"], elicit: true });
    const { token } = await issue({ label: "agent", caps: [ALL] });
    const call = await connect(token, () => YES);
    // From its second call on the client is known, and asked nevertheless.
    await call("file_stat", { root: "docs", path: "sub/a.txt" });
    expect((await call("file_write", DOCS_WRITE)).isError).not.toBe(true);
    expect(fileOf("sub/a.txt")).toBe("new\n");
    const listed = await ground.call("approval:list", { state: "all" }, { bearer: await logIn() });
    expect(listed.output).toMatchObject({ approvals: [{ state: "used", by: "client" }] });
  });

  test("of a protocol of 2025 is told of the approval: there is no stream by which its user could be asked", async () => {
    await open({ for: ["overwrite"], elicit: true });
    const { token } = await issue({ label: "agent", caps: [ALL] });
    const call = await connect(token, refuseForm, {});
    const answer = await call("file_write", DOCS_WRITE);
    expect(textOf(answer)).toContain("venue-files approvals");
    const [, id = ""] = /"approvalId":"([0-9a-f]{32})"/.exec(JSON.stringify(answer._meta)) ?? [];
    await ground.call("approval:decide", { id, decision: "once" }, { bearer: await logIn() });
    expect((await call("file_write", { ...DOCS_WRITE, approval: id })).isError).not.toBe(true);
    expect(fileOf("sub/a.txt")).toBe("new\n");
  });

  test("answers its own questions alone, each once, and no approval's id is one", async () => {
    await open({ for: ["overwrite"], elicit: true });
    const agent = (await issue({ label: "agent", caps: [ALL] })).token;
    const other = (await issue({ label: "other", caps: [ALL] })).token;
    const send = async (bearer: string, more: object, content = "new\n") => {
      const call = toolCall("file_write", { ...DOCS_WRITE, content }, { ...more, _meta: ENVELOPE });
      const { result } = await ask(ground.venue.url, call, "modern", { token: bearer });
      return result as Answer & { resultType?: string; requestState?: string };
    };
    const asks = await send(agent, {});
    expect(asks.resultType).toBe("input_required");
    const inputResponses = { approval: YES };
    const listed = await ground.call("approval:list", {}, { bearer: agent });
    const [{ id }] = (listed.output as { approvals: [{ id: string }] }).approvals;
    for (const requestState of [id, "guess", undefined]) {
      const answer = await send(agent, { inputResponses, ...(requestState === undefined ? {} : { requestState }) });
      expect(answer.resultType).toBe("input_required");
    }
    const { requestState } = asks;
    expect((await send(other, { inputResponses, requestState })).resultType).toBe("input_required");
    expect(fileOf("sub/a.txt")).toBe("one\ntwo\n");
    const changed = await send(agent, { inputResponses, requestState }, "evil\n");
    expect(JSON.stringify(changed._meta)).toContain('"reason":"other_input"');
    expect((await send(agent, { inputResponses, requestState })).resultType).toBe("input_required");
    expect(fileOf("sub/a.txt")).toBe("one\ntwo\n");
  });
});
