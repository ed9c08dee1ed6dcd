import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { cleanUp, type Running, serve } from "../../../cli/process.js";
import { EVERYDAY } from "../everyday.js";
import { CLIENT_NAMES, type ClientName, closeSessions, connect, type Session, textOf } from "../sessions.js";

let served: Running & { url: string };
beforeAll(async () => {
  served = await serve([]);
});
afterAll(async () => {
  await closeSessions();
  await cleanUp();
});

const TOOLS = EVERYDAY.join(" ");

const combinations = CLIENT_NAMES.flatMap((client) =>
  (["stdio", "HTTP"] as const).map((transport): [ClientName, "stdio" | "HTTP"] => [client, transport]),
);

describe.each(combinations)("%s over %s", (client, transport) => {
  let session: Session;
  const folder = `${client} ${transport}`;
  const place = { root: "tmp", path: `${folder}/a.txt` };
  /** Official clients check structured content against the schema that was listed. */
  const small = async (name: string, args: Record<string, unknown>) => {
    const answer = await session.call(name, args);
    expect(answer.isError ?? false).toBe(false);
    expect(JSON.parse(textOf(answer))).toEqual(answer.structuredContent);
    expect(answer.content).toHaveLength(1);
    return answer.structuredContent;
  };
  const body = async (name: string, args: Record<string, unknown>) => {
    const answer = await session.call(name, args);
    expect(answer.isError ?? false).toBe(false);
    expect(answer).not.toHaveProperty("structuredContent");
    return textOf(answer);
  };

  beforeAll(async () => {
    session = await connect(client, transport === "stdio" ? { args: [] } : { url: served.url });
  });

  test("learns who serves", () => {
    expect(session.serverVersion()).toMatchObject({ name: "venue-files", version: expect.any(String) });
    expect(session.instructions()).toContain("file_roots");
  });

  test("lists the tools", async () => {
    expect((await session.list()).map(({ name }) => name).join(" ")).toBe(TOOLS);
  });

  test("uses the tools", async () => {
    expect(await small("file_roots", {})).toMatchObject({ roots: [{ name: "tmp", kind: "temp", readOnly: false }] });
    expect(await small("file_mkdir", { root: "tmp", path: folder })).toEqual({ created: true, path: folder });
    expect(await small("file_write", { ...place, content: "one\n" })).toMatchObject({ written: 4, created: true });
    expect(await small("file_append", { ...place, bytes: "dHdvCg==" })).toMatchObject({ appended: 4, created: false });
    expect(await body("file_edit", { ...place, oldText: "one", newText: "1" })).toContain("-one\n+1\n two\n");
    expect(await body("file_edit", { ...place, edits: [{ oldText: "1", newText: "one" }] })).toContain("+one\n");
    expect(await body("file_read", place)).toBe("one\ntwo\n");
    expect(await small("file_stat", place)).toMatchObject({ exists: true, type: "file", size: 8, mime: "text/plain" });
    expect(JSON.parse(await body("file_list", { root: "tmp", path: folder, format: "json" }))).toEqual({
      entries: [{ name: "a.txt", type: "file", size: 8, modified: expect.any(Number) }],
      total: 1,
      truncated: false,
      complete: true,
    });
    expect(await body("file_tree", { root: "tmp", path: folder, info: "size" })).toBe(
      `tmp/${folder}/\n\ta.txt (8 B)\n`,
    );
    expect(await small("file_delete", { root: "tmp", path: folder, recursive: true })).toEqual({
      deleted: true,
      existed: true,
    });
    expect(await small("file_stat", place)).toEqual({ exists: false });
  });

  test.each([
    ["a body", "file_read", { root: "tmp", path: "nope" }, "Not found: tmp:nope [NOT_FOUND]", "NOT_FOUND"],
    ["a small answer", "file_stat", { root: "tmp" }, "'path' is required [INVALID_INPUT]", "INVALID_INPUT"],
  ])("is told of a failure, instead of %s", async (_name, tool, args, text, errorCode) => {
    const answer = await session.call(tool, args);
    expect(answer).toMatchObject({ isError: true, content: [{ type: "text", text }] });
    expect(answer).not.toHaveProperty("structuredContent");
    expect(answer._meta).toMatchObject({ "venue-files/error": { errorCode, errorData: expect.any(Object) } });
  });

  test("is told of an unknown tool by the protocol", async () => {
    await expect(session.call("file_nope")).rejects.toMatchObject({
      code: -32602,
      message: expect.stringMatching(/Unknown tool: file_nope$/),
    });
  });
});

test("serve has said nothing on standard error meanwhile", () => {
  expect(served.stderr()).toBe("");
});
