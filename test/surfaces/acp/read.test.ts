import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import { useGround } from "../../ops/ground.js";
import { connectAgent, SDKS, type TestAgent } from "./stage.js";

const ground = useGround({ roots: { western: { temp: true, encoding: "latin1" } } });

describe.each(SDKS)("an agent on SDK %s reads", (sdk) => {
  let acp: AcpClientFs;
  let agent: TestAgent;
  let session: string;

  beforeAll(async () => {
    const mounts = [{ root: "r" }, { root: "western", prefix: "/western" }];
    acp = new AcpClientFs({ adapter: ground.adapter, mounts });
    agent = connectAgent(acp, sdk);
    session = await agent.newSession({ cwd: ground.dir, additionalDirectories: ["/western"] });
  });
  afterAll(() => agent.stop());

  const read = (path: string, range: object = {}) =>
    agent.ask(session, "fs/read_text_file", { path: join(ground.dir, path), ...range });

  beforeEach(() => {
    ground.put("three", "one\ntwo\r\nthree");
    ground.put("ended", "one\ntwo\n");
    ground.put("empty", "");
    ground.put("marked", "\ufeffone\ntwo\n");
    ground.put("return", "one\rstill\ntwo");
  });

  const ranges: readonly [string, object, string][] = [
    ["three", {}, "one\ntwo\r\nthree"],
    ["three", { line: null, limit: null }, "one\ntwo\r\nthree"],
    ["three", { line: 0 }, "one\ntwo\r\nthree"],
    ["three", { line: 1, limit: 1 }, "one\n"],
    ["three", { line: 2, limit: 1 }, "two\r\n"],
    ["three", { line: 2 }, "two\r\nthree"],
    ["three", { limit: 2 }, "one\ntwo\r\n"],
    ["three", { line: 2, limit: null }, "two\r\nthree"],
    ["three", { line: 3, limit: 4_294_967_295 }, "three"],
    ["three", { limit: 0 }, ""],
    ["three", { line: 2, limit: 0 }, ""],
    ["three", { line: 4 }, ""],
    ["ended", { line: 3 }, ""],
    ["ended", { line: 2 }, "two\n"],
    ["empty", {}, ""],
    ["empty", { line: 1 }, ""],
    ["empty", { line: 1, limit: 5 }, ""],
    ["marked", {}, "one\ntwo\n"],
    ["marked", { line: 1, limit: 1 }, "one\n"],
    ["marked", { line: 2 }, "two\n"],
    ["return", { line: 2 }, "two"],
    ["three", { _meta: { a: 1 } }, "one\ntwo\r\nthree"],
  ];
  test.each(ranges)("%s %j", async (path, range, content) => {
    expect(await read(path, range)).toEqual({ result: { content } });
  });

  test("UTF-8 and nothing else, whatever is known of the file", async () => {
    ground.put("wide", Buffer.from("\ufeffone\n", "utf16le"));
    const { error } = await read("wide");
    expect(error).toMatchObject({ code: -32602, data: { reason: "not_text" } });
    const path = "/western/file";
    const put = (bytes: Buffer) =>
      ground.adapter.invoke("file:write", { root: "western", path: "file", bytes: bytes.toString("base64") });
    await put(Buffer.from("für"));
    expect(await agent.ask(session, "fs/read_text_file", { path })).toEqual({ result: { content: "für" } });
    await put(Buffer.from("für", "latin1"));
    expect((await agent.ask(session, "fs/read_text_file", { path })).error).toMatchObject({
      data: { reason: "not_text" },
    });
  });

  test.each([
    ["three", { line: 5 }],
    ["ended", { line: 4 }],
    ["empty", { line: 2 }],
    ["three", { line: 4_294_967_295 }],
    ["three", { line: -1 }],
    ["three", { line: 1.5 }],
    ["three", { limit: -1 }],
    ["three", { line: 4_294_967_296 }],
    ["three", { line: "1" }],
  ])("%s %j is an invalid parameter", async (path, range) => {
    const { error } = await read(path, range);
    expect(error).toEqual({ code: -32602, message: expect.stringMatching(/^Invalid params/) });
  });
});
