import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createVenue, type Venue } from "../../../src/index.js";
import { cleanUp, makeFolder } from "../../cli/process.js";
import { send } from "../../surfaces/http/client.js";
import { closeSessions, connect, type Session, textOf } from "../../surfaces/mcp/sessions.js";
import { hashOf } from "./bed.js";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe("over MCP", () => {
  let session: Session;
  const call = (name: string, args: Record<string, unknown>) => session.call(name, args);

  beforeAll(async () => {
    const folder = makeFolder({ "files/f.txt": "alpha\n" });
    const args = ["--profile", "everruns", "--root", `r=${folder}/files`];
    session = await connect("client 2, newest protocol", { args, cwd: folder });
  });
  afterAll(async () => {
    await closeSessions();
    cleanUp();
  });

  test("the tools stand alone, under their own names; only small answers have a schema", async () => {
    const listed = await session.list();
    expect(listed.map(({ name, outputSchema }) => [name, outputSchema !== undefined])).toEqual([
      ["read_file", false],
      ["write_file", true],
      ["edit_file", false],
      ["list_directory", false],
      ["grep_files", false],
      ["delete_file", true],
      ["stat_file", true],
    ]);
    expect(listed.every(({ inputSchema }) => !("additionalProperties" in inputSchema))).toBe(true);
    expect(session.instructions()).toContain("content_hash");
  });

  test("bodies and lists are compact JSON in one text, small answers an object too", async () => {
    const read = await call("read_file", { path: "/workspace/f.txt" });
    const content_hash = hashOf("alpha\n");
    const value = { path: "/workspace/f.txt", content: "alpha\n", encoding: "text", size_bytes: 6, content_hash };
    expect(read.content).toEqual([{ type: "text", text: JSON.stringify(value) }]);
    expect(read.structuredContent).toBeUndefined();
    for (const [tool, args] of [
      ["list_directory", {}],
      ["grep_files", { pattern: "alpha" }],
      ["edit_file", { path: "f.txt", expected_hash: content_hash, old_text: "alpha", new_text: "alpha" }],
    ] as const) {
      const answer = await call(tool, args);
      expect([answer.content.length, answer.structuredContent, answer.isError]).toEqual([1, undefined, undefined]);
      expect(JSON.stringify(JSON.parse(textOf(answer)))).toBe(textOf(answer));
    }
    const written = await call("write_file", { path: "g", content: "x" });
    expect(written.structuredContent).toEqual(JSON.parse(textOf(written)));
    const stat = await call("stat_file", { path: "none" });
    expect(stat.structuredContent).toEqual({ path: "/workspace/none", exists: false });
  });

  test("a picture is a picture", async () => {
    const path = "/workspace/p.png";
    await call("write_file", { path, content: PIXEL, encoding: "base64" });
    const { content } = await call("read_file", { path });
    const bytes = Buffer.from(PIXEL, "base64");
    expect(content).toHaveLength(2);
    expect(JSON.parse(String(content[0]?.["text"]))).toEqual({
      ...{ path, media_type: "image/png", size_bytes: bytes.length, content_hash: hashOf(bytes) },
    });
    expect(content[1]).toMatchObject({ type: "image", data: PIXEL, mimeType: "image/png" });
  });

  test("a failure is its text", async () => {
    const answer = await call("read_file", { path: "/workspace/none" });
    expect([answer.isError, answer.structuredContent]).toEqual([true, undefined]);
    expect(answer.content).toEqual([{ type: "text", text: "File not found: /workspace/none" }]);
    const missing = await call("edit_file", { path: "f.txt" });
    expect(textOf(missing)).toBe("Missing required parameter: expected_hash");
    await expect(call("bash", { command: "true" })).rejects.toThrow("Unknown tool: bash");
  });
});

describe("over HTTP", () => {
  let venue: Venue;
  let url = "";

  beforeAll(async () => {
    venue = await createVenue({
      ...{ port: 0, stateDir: makeFolder() },
      file: { roots: { scratch: { temp: true } } },
      profiles: {
        everruns: { profile: "everruns", root: "scratch", prefix: "session-1" },
        bare: { profile: "everruns", root: "scratch", prefix: "session-2", alias: null },
      },
    });
    ({ url } = await venue.listen());
  });
  afterAll(async () => {
    await venue.close();
    cleanUp();
  });

  async function invoke(operation: string, input: object): Promise<Record<string, unknown>> {
    const response = await send(`${url}/api/v1/invoke?wait=true`, {
      token: venue.localToken,
      json: { operation, input },
    });
    return Object(await response.json());
  }

  test("a tool is an operation, and its result the output", async () => {
    const content_hash = hashOf("x");
    expect(await invoke("everruns:write_file", { path: "/workspace/f", content: "x" })).toMatchObject({
      status: "COMPLETE",
      output: { path: "/workspace/f", size_bytes: 1, created: true, content_hash },
    });
    expect(await invoke("v/ops/everruns/read_file", { path: "f" })).toMatchObject({
      output: { path: "/workspace/f", content: "x", encoding: "text", size_bytes: 1, content_hash },
    });
    expect(await invoke("bare:stat_file", { path: "/f" })).toMatchObject({ output: { path: "/f", exists: false } });
  });

  test("a failure is an output of a job that is complete, and keeps its code", async () => {
    expect(await invoke("everruns:read_file", { path: "none" })).toMatchObject({
      ...{ status: "COMPLETE", output: { error: "File not found: /workspace/none" }, errorCode: "NOT_FOUND" },
    });
    const edit = { path: "f", expected_hash: "sha256:0", old_text: "x", new_text: "y" };
    expect(await invoke("everruns:edit_file", edit)).toMatchObject({ status: "COMPLETE", errorCode: "CONFLICT" });
    expect(await invoke("everruns:edit_file", { ...edit, edits: [] })).toMatchObject({
      output: { error: "Provide either old_text/new_text or edits, not both" },
      errorCode: "INVALID_INPUT",
    });
  });
});
