import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
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
import { CLI, makeFolder } from "../../cli/process.js";
import { ALL, approvalsOf } from "../../venue/operations/approval/approval-calls.js";
import { useGround } from "../../venue/operations/fixture.js";
import { type Answer, textOf } from "./sessions.js";

interface Form {
  readonly message: string;
}
type Reply = { readonly action: "accept" | "decline" | "cancel"; readonly content?: Record<string, boolean> };
type OnForm = (form: Form) => Reply | Promise<Reply>;
type Call = (name: string, args: Record<string, unknown>) => Promise<Answer>;

const INFO = { name: "test", version: "1" };
const FORMS = { capabilities: { elicitation: { form: {} } } };
const YES: Reply = { action: "accept", content: { allow: true } };
const ENVELOPE = {
  [PROTOCOL_VERSION_META_KEY]: "2026-07-28",
  [CLIENT_INFO_META_KEY]: INFO,
  [CLIENT_CAPABILITIES_META_KEY]: FORMS.capabilities,
};
const WRITE = { path: "a.txt", content: "new\n" };

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

let folder = "";
let audit = "";
let approve: object = { for: ["overwrite", "delete"] };
beforeEach(() => {
  folder = makeFolder();
  audit = join(folder, "audit.jsonl");
  approve = { for: ["overwrite", "delete"] };
  mkdirSync(join(folder, "docs"));
  writeFileSync(join(folder, "docs/a.txt"), "one\n");
});

function configFile(): string {
  const path = join(folder, "venue.json5");
  const file = { roots: { docs: { path: join(folder, "docs"), approve } } };
  writeFileSync(path, JSON.stringify({ file, audit: { file: audit }, mcp: { tools: "full" } }));
  return path;
}

const content = (): string => readFileSync(join(folder, "docs/a.txt"), "utf8");
const records = (): Record<string, unknown>[] =>
  readFileSync(audit, "utf8")
    .split("\n")
    .filter((line) => line.includes('"operation"'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const stdio = () => ({
  command: process.execPath,
  args: [CLI, "mcp", "--config", configFile()],
  cwd: folder,
  env: { TMPDIR: folder, HOME: folder },
  stderr: "inherit" as const,
});

async function connect2(onForm: OnForm | undefined, mode: object, transport: object): Promise<Call> {
  const client = new Client(INFO, { ...(onForm === undefined ? {} : FORMS), ...mode });
  if (onForm !== undefined) {
    client.setRequestHandler("elicitation/create", async ({ params }) => onForm(params as Form));
  }
  await client.connect(transport as StdioClientTransport);
  closing.push(() => client.close());
  return (name, args) => client.callTool({ name, arguments: args }) as Promise<Answer>;
}

const NEWEST = { versionNegotiation: { mode: { pin: "2026-07-28" } } };

const CLIENTS: Readonly<Record<string, (onForm: OnForm | undefined) => Promise<Call>>> = {
  "client 2, newest protocol": (onForm) => connect2(onForm, NEWEST, new StdioClientTransport(stdio())),
  "client 2, protocol of 2025": (onForm) => connect2(onForm, {}, new StdioClientTransport(stdio())),
  "client 1": async (onForm) => {
    const client = new Client1(INFO, onForm === undefined ? {} : { capabilities: { elicitation: {} } });
    if (onForm !== undefined) {
      client.setRequestHandler(ElicitRequestSchema, async ({ params }) => onForm(params as Form));
    }
    await client.connect(new StdioClientTransport1(stdio()));
    closing.push(() => client.close());
    return async (name, args) => (await client.callTool({ name, arguments: args })) as Answer;
  },
};

test("the user of a client is told how many effects are not shown", async () => {
  const forms: Form[] = [];
  const call = await connect2(
    (form) => {
      forms.push(form);
      return { action: "decline" };
    },
    NEWEST,
    new StdioClientTransport(stdio()),
  );
  const names = Array.from({ length: 22 }, (_, index) => `${index}.txt`);
  for (const name of names) writeFileSync(join(folder, "docs", name), "one\n");
  const sections = names.map((name) => `*** Update File: ${name}\n@@\n-one\n+two\n`);
  await call("file_patch", { patch: `*** Begin Patch\n${sections.join("")}*** End Patch\n` });
  const lines = forms[0]?.message.split("\n") ?? [];
  expect(lines.filter((line) => line.startsWith("- overwrite "))).toHaveLength(20);
  expect(lines).toContain("- and 2 more, which are not shown");
});

describe.each(Object.keys(CLIENTS))("a client on standard input and output that can ask its user: %s", (name) => {
  const connect = (onForm: OnForm | undefined): Promise<Call> => (CLIENTS[name] as (typeof CLIENTS)[string])(onForm);

  test("shows what the call would do, and once that is allowed, it is done", async () => {
    const [forms, before]: [Form[], string[]] = [[], []];
    const call = await connect((form) => {
      forms.push(form);
      before.push(content());
      return YES;
    });
    expect((await call("file_write", WRITE)).isError).not.toBe(true);
    expect(content()).toBe("new\n");
    expect(forms).toHaveLength(1);
    expect(forms[0]?.message).toMatch(/^Allow file:write once\?\n- overwrite "a.txt" in root 'docs'/);
    expect(forms[0]?.message).toContain("-one\n+new\n");
    // The next call is another one.
    await call("file_write", { ...WRITE, content: "newer\n" });
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
    const call = await connect(() => {
      forms += 1;
      return reply;
    });
    const answer = await call("file_write", WRITE);
    expect(answer.isError).toBe(true);
    expect(JSON.stringify(answer._meta)).toContain(code);
    expect(forms).toBe(1);
    expect(content()).toBe("one\n");
  });

  test("is not done to a file that changed while the user thought", async () => {
    let forms = 0;
    const call = await connect(() => {
      forms += 1;
      writeFileSync(join(folder, "docs/a.txt"), "somebody else\n");
      return YES;
    });
    const answer = await call("file_delete", { path: "a.txt" });
    expect(JSON.stringify(answer._meta)).toContain('"reason":"changed"');
    expect(content()).toBe("somebody else\n");
    expect(forms).toBe(1);
  });

  test("is not asked where the operator says so, and one that cannot ask is told how", async () => {
    const plain = await connect(undefined);
    const refused = await plain("file_write", WRITE);
    expect(textOf(refused)).toContain("venue-files serve");
    expect(JSON.stringify(refused._meta)).not.toContain("approvalId");
    approve = { for: ["overwrite"], elicit: false };
    const call = await connect(() => {
      throw new Error("asked");
    });
    expect(textOf(await call("file_write", WRITE))).toContain("venue-files serve");
    expect(content()).toBe("one\n");
  });

  test("stands in the record as the one who allowed it", async () => {
    const call = await connect(() => YES);
    await call("file_write", WRITE);
    await Promise.all(closing.splice(0).map((close) => close()));
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
    return connect2(onForm, mode, new StreamableHTTPClientTransport(url, { requestInit }));
  };
  const DOCS_WRITE = { root: "docs", path: "sub/a.txt", content: "new\n" };

  test.each([{}, { elicit: false }])("asks its user only by the operator's word: %j", async (more) => {
    await open({ for: ["overwrite"], ...more });
    const { token } = await issue({ label: "agent", caps: [ALL] });
    const call = await connect(token, () => {
      throw new Error("asked");
    });
    const answer = await call("file_write", DOCS_WRITE);
    expect(JSON.stringify(answer._meta)).toContain("approvalId");
    expect(fileOf("sub/a.txt")).toBe("one\ntwo\n");
  });

  test("asks its user where the operator says so, and others see who decided", async () => {
    await open({ for: ["overwrite"], elicit: true });
    const { token } = await issue({ label: "agent", caps: [ALL] });
    const call = await connect(token, () => YES);
    expect((await call("file_write", DOCS_WRITE)).isError).not.toBe(true);
    expect(fileOf("sub/a.txt")).toBe("new\n");
    const listed = await ground.call("approval:list", { state: "all" }, { bearer: await logIn() });
    expect(listed.output).toMatchObject({ approvals: [{ state: "used", by: "client" }] });
  });

  test("of a protocol of 2025 is told of the approval: there is no stream by which its user could be asked", async () => {
    await open({ for: ["overwrite"], elicit: true });
    const { token } = await issue({ label: "agent", caps: [ALL] });
    const refuse: OnForm = () => {
      throw new Error("asked");
    };
    const call = await connect(token, refuse, {});
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
      const headers = {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "file_write" },
        authorization: `Bearer ${bearer}`,
      };
      const params = { name: "file_write", arguments: { ...DOCS_WRITE, content }, ...more, _meta: ENVELOPE };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
      const text = await (await fetch(`${ground.venue.url}/mcp`, { method: "POST", headers, body })).text();
      const json = text.startsWith("{") ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? text);
      return JSON.parse(json).result as Answer & { resultType?: string; requestState?: string };
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
