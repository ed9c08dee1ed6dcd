import { chmodSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { AcpAuditRecord } from "../../../src/surfaces/acp/review/audit.js";
import { useGround } from "../../ops/ground.js";
import { connectAgent, SDKS, type TestAgent } from "./stage.js";

const ground = useGround();
const audit: AcpAuditRecord[] = [];

describe.each(SDKS)("an agent on SDK %s writes", (sdk) => {
  let acp: AcpClientFs;
  let agent: TestAgent;
  let session: string;

  beforeAll(async () => {
    const { adapter } = ground;
    acp = new AcpClientFs({ adapter, mounts: [{ root: "r" }], onAudit: (record) => audit.push(record) });
    agent = connectAgent(acp, sdk);
    session = await agent.newSession({ cwd: ground.dir });
  });
  afterAll(() => agent.stop());
  beforeEach(() => {
    audit.splice(0);
  });

  const write = (path: string, content: unknown) =>
    agent.ask(session, "fs/write_text_file", { path: join(ground.dir, path), content });

  test("a new file, and the directories above it", async () => {
    expect(await write("a/b/c.txt", "one\n")).toEqual({ result: {} });
    expect(ground.get("a/b/c.txt").toString()).toBe("one\n");
  });

  test("in a new directory that is called as the root", async () => {
    expect(await write("r/c.txt", "one\n")).toEqual({ result: {} });
    expect(ground.get("r/c.txt").toString()).toBe("one\n");
  });

  test("over a file, whose permissions stay", async () => {
    ground.put("file", "old");
    chmodSync(join(ground.dir, "file"), 0o640);
    expect(await write("file", "new")).toEqual({ result: {} });
    expect(ground.get("file").toString()).toBe("new");
    expect(statSync(join(ground.dir, "file")).mode & 0o777).toBe(0o640);
    expect(ground.staged()).toEqual([]);
  });

  test.each([
    ["the mark is put back", "\ufeffold", "new", "\ufeffnew"],
    ["a mark that comes with the text is not doubled", "\ufeffold", "\ufeffnew", "\ufeffnew"],
    ["line endings are as given", "a\r\nb\r\n", "c\nd\n", "c\nd\n"],
    ["an empty text", "old", "", ""],
    ["the same text", "old", "old", "old"],
    ["over bytes that are no text", Buffer.from([0xff, 0xfe, 0x00]), "text", "text"],
  ])("%s", async (_, before, text, after) => {
    ground.put("file", before);
    expect(await write("file", text)).toEqual({ result: {} });
    expect(ground.get("file").toString()).toBe(after);
  });

  test("many times at once, and the last one stands", async () => {
    const texts = Array.from({ length: 20 }, (_, index) => `text ${index}`);
    const answers = await Promise.all(texts.map((text) => write("file", text)));
    expect(answers).toEqual(texts.map(() => ({ result: {} })));
    expect(ground.get("file").toString()).toBe("text 19");
    expect(acp.modified(session).find(({ path }) => path === join(ground.dir, "file"))).toMatchObject({
      newText: "text 19",
    });
  });

  test("what cannot be text is refused", async () => {
    ground.put("file", "old");
    expect(await write("file", "\ud800")).toEqual({
      error: { code: -32602, message: "Invalid params: 'content' is not well-formed Unicode" },
    });
    expect(await write("file", undefined)).toEqual({
      error: { code: -32602, message: "Invalid params: 'content' must be a string" },
    });
    expect(ground.get("file").toString()).toBe("old");
  });

  test("through a link that stays inside, to its target", async () => {
    ground.put("file", "old");
    symlinkSync("file", join(ground.dir, "link"));
    expect(await write("link", "new")).toEqual({ result: {} });
    expect(ground.get("file").toString()).toBe("new");
  });

  test("one audit record says what became of it", async () => {
    await write("audited", "one");
    await write("audited", "three");
    await write("../x", "no");
    const common = {
      sessionId: session,
      agent: `agent-${sdk}`,
      method: "fs/write_text_file",
      time: expect.any(Number),
    };
    const hashOne = "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed";
    const hashThree = "sha256:8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f";
    expect(audit).toEqual([
      {
        ...{ ...common, root: "r", path: "audited", bytes: 3, hashBefore: null, hashAfter: hashOne },
        ...{ outcome: "OK", ms: expect.any(Number) },
      },
      {
        ...{ ...common, root: "r", path: "audited", bytes: 5, hashBefore: hashOne, hashAfter: hashThree },
        ...{ outcome: "OK", ms: expect.any(Number) },
      },
      { ...common, path: join(ground.dir, "../x"), bytes: 0, outcome: "PATH_ESCAPES_ROOT", ms: expect.any(Number) },
    ]);
  });
});

describe("with newlines: keep", () => {
  let agent: TestAgent;
  let session: string;
  beforeAll(async () => {
    agent = connectAgent(new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r" }], newlines: "keep" }), "2");
    session = await agent.newSession({ cwd: ground.dir });
  });
  afterAll(() => agent.stop());

  test.each([
    ["most are CRLF", "a\r\nb\r\nc\n", "x\ny\r\n", "x\r\ny\r\n"],
    ["most are LF", "a\nb\nc\r\n", "x\r\ny\n", "x\ny\n"],
    ["as many of both: the first", "a\r\nb\n", "x\n", "x\r\n"],
    ["none", "a", "x\r\ny\n", "x\r\ny\n"],
  ])("line endings become those of the file: %s", async (_, before, text, after) => {
    ground.put("file", before);
    const path = join(ground.dir, "file");
    expect(await agent.ask(session, "fs/write_text_file", { path, content: text })).toEqual({ result: {} });
    expect(ground.get("file").toString()).toBe(after);
  });
});

describe("on a root with another encoding", () => {
  const latin = useGround({ root: { encoding: "latin1" } });
  let agent: TestAgent;
  let session: string;
  beforeAll(async () => {
    agent = connectAgent(new AcpClientFs({ adapter: latin.adapter, mounts: [{ root: "r" }] }), "2");
    session = await agent.newSession({ cwd: latin.dir });
  });
  afterAll(() => agent.stop());

  test("text is UTF-8 all the same", async () => {
    const path = join(latin.dir, "file");
    for (const content of ["é日", "é日!"]) {
      expect(await agent.ask(session, "fs/write_text_file", { path, content })).toEqual({ result: {} });
      expect(latin.get("file").toString()).toBe(content);
      expect(await agent.ask(session, "fs/read_text_file", { path })).toEqual({ result: { content } });
    }
  });
});
