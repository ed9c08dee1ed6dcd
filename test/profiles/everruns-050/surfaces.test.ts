import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { createFileAdapter, createProfile, createVenue, type Venue } from "../../../src/index.js";
import { cleanUp, makeFolder, run } from "../../cli/process.js";
import { jpeg } from "../../ops/rendering/images.js";
import { send } from "../../surfaces/http/client.js";
import { closeSessions, connect, type Session, textOf } from "../../surfaces/mcp/sessions.js";
import { hashOf, whole } from "./bed.js";

const PDF = Buffer.from("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "latin1");
const PICTURE = jpeg([2, 2]);
const config = (folder: string) =>
  JSON.stringify({
    file: { roots: { r: { path: `${folder}/files` } } },
    profiles: {
      session: { profile: "everruns", root: "r", variant: "0.50", shell: { driver: "just-bash" } },
      bare: { profile: "everruns", root: "r", variant: "0.50", alias: null },
    },
  });

describe("over MCP", () => {
  let session: Session;
  let folder = "";
  const call = (name: string, args: Record<string, unknown>) => session.call(name, args);

  beforeAll(async () => {
    folder = makeFolder({ "files/f.txt": "alpha\nbeta\n", "files/a b.pdf": PDF, "files/p": PICTURE });
    writeFileSync(`${folder}/config.json5`, config(folder));
    const args = ["--profile", "session", "--config", `${folder}/config.json5`];
    session = await connect("client 2, newest protocol", { args, cwd: folder });
  });
  afterAll(async () => {
    await closeSessions();
    cleanUp();
  });

  test("the tools stand in order, in at most 2,000 tokens, and those that look say so", async () => {
    const listed = await session.list();
    const changing = ["write_file", "edit_file", "delete_file", "bash"];
    expect(listed.map(({ name, annotations }) => [name, annotations?.["readOnlyHint"]])).toEqual(
      [
        ...["read_file", "read_many_files", "write_file", "edit_file", "glob", "grep"],
        ...["list_directory", "grep_files", "delete_file", "stat_file", "bash"],
      ].map((name) => [name, !changing.includes(name)]),
    );
    const tokens = encode(JSON.stringify(listed)).length;
    expect(tokens).toBeGreaterThan(1000);
    expect(tokens).toBeLessThanOrEqual(2000);
  });

  test("reads, lists, searches and edits are compact JSON in one text", async () => {
    const content_hash = hashOf("alpha\nbeta\n");
    const read = await call("read_file", { path: "/workspace/f.txt" });
    const value = {
      ...{ path: "/workspace/f.txt", content: "1|alpha\n2|beta", total_lines: 2, lines_shown: { start: 1, end: 2 } },
      ...{ truncated: false, size_bytes: 11, content_hash, truncation: whole(14) },
    };
    expect(read.content).toEqual([{ type: "text", text: JSON.stringify(value) }]);
    for (const [tool, args] of [
      ["read_many_files", { paths: ["f.txt", "none"] }],
      ["list_directory", {}],
      ["glob", { pattern: "*" }],
      ["grep", { pattern: "alpha" }],
      ["grep_files", { pattern: "alpha", before_context: 1 }],
      ["edit_file", { path: "f.txt", expected_hash: content_hash, edits: [{ old_text: "beta", new_text: "beta" }] }],
      ["bash", { commands: "echo hi" }],
    ] as const) {
      const answer = await call(tool, args);
      expect([tool, answer.content.length, answer.structuredContent, answer.isError]).toEqual([
        ...[tool, 1, undefined, undefined],
      ]);
      expect(JSON.stringify(JSON.parse(textOf(answer)))).toBe(textOf(answer));
    }
    const written = await call("write_file", { path: "g", content: "x" });
    expect(written.structuredContent).toEqual(JSON.parse(textOf(written)));
  });

  test("a picture is a picture, and a PDF a resource", async () => {
    const picture = await call("read_file", { path: "p" });
    expect(JSON.parse(textOf(picture))).toEqual({
      ...{ path: "/workspace/p", media_type: "image/jpeg", size_bytes: PICTURE.length, content_hash: hashOf(PICTURE) },
    });
    expect(picture.content[1]).toEqual({ type: "image", data: PICTURE.toString("base64"), mimeType: "image/jpeg" });
    const pdf = await call("read_file", { path: "a b.pdf" });
    expect(JSON.parse(textOf(pdf))).toMatchObject({ media_type: "application/pdf", content_hash: hashOf(PDF) });
    const uri = "file:///workspace/a%20b.pdf";
    expect(pdf.content[1]).toEqual({
      type: "resource",
      resource: { uri, mimeType: "application/pdf", blob: PDF.toString("base64") },
    });
    expect(pdf.content).toHaveLength(2);
    expect(JSON.stringify([picture, pdf])).not.toContain(folder);
  });

  test("a failure is its text", async () => {
    for (const [tool, args, text] of [
      ["read_file", { path: "none" }, "File not found: /workspace/none"],
      ["read_many_files", { paths: ["a"] }, "Parameter `paths` must contain between 2 and 10 paths"],
      ["grep", { pattern: "x", glob: "[" }, "Invalid glob: '[' is not closed: at 3"],
      [
        "bash",
        { commands: "true", credential_usage: [] },
        "Invalid parameter credential_usage: unknown field 'credential_usage'. Known fields: commands, working_dir, timeout_ms, output",
      ],
    ] as const) {
      const answer = await call(tool, args);
      expect([answer.isError, answer.content]).toEqual([true, [{ type: "text", text }]]);
    }
  });
});

describe("over HTTP and from the command line", () => {
  let venue: Venue;
  let url = "";
  let folder = "";

  beforeAll(async () => {
    folder = makeFolder({ "files/f.txt": "alpha\n", "files/p.pdf": PDF });
    writeFileSync(`${folder}/config.json5`, config(folder));
    venue = await createVenue({ port: 0, stateDir: makeFolder(), ...JSON.parse(config(folder)) });
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
    expect(await invoke("session:read_file", { path: "f.txt" })).toMatchObject({
      ...{ status: "COMPLETE", output: { content: "1|alpha", truncation: whole(7) } },
    });
    expect(await invoke("v/ops/session/read_file", { path: "p.pdf" })).toMatchObject({
      output: { document: { base64: PDF.toString("base64"), media_type: "application/pdf" } },
    });
    expect(await invoke("bare:glob", { pattern: "/*.txt" })).toMatchObject({ output: { paths: ["/f.txt"] } });
    const edit = { path: "/f.txt", expected_hash: "sha256:0", edits: [{ old_text: "none", new_text: "" }] };
    expect(await invoke("bare:edit_file", edit)).toMatchObject({
      ...{ status: "COMPLETE", errorCode: "CONFLICT", output: { error: expect.stringContaining("edits conflict") } },
    });
  });

  test("from the command line", async () => {
    const args = ["call", "session:grep", '{"pattern":"alpha"}', "--config", `${folder}/config.json5`];
    const { stdout, status } = await run(args, { cwd: folder });
    expect([status, JSON.parse(stdout).matches]).toEqual([
      ...[0, [{ path: "/workspace/f.txt", line_number: 1, line: "alpha" }]],
    ]);
  });
});

test("without an alias no description names one", async () => {
  const adapter = await createFileAdapter({ roots: { r: { temp: true } } });
  try {
    const profile = createProfile(adapter, { profile: "everruns", root: "r", variant: "0.50", alias: null });
    expect(profile.tools).toHaveLength(10);
    expect(JSON.stringify(profile.tools)).not.toContain("workspace");
    await profile.call("write_file", { path: "/d/f", content: "x" });
    expect(await profile.call("grep", { pattern: "x" })).toMatchObject({ matches: [{ path: "/d/f" }] });
    expect(await profile.call("glob", { pattern: "/d/*" })).toEqual({ paths: ["/d/f"], truncated: false });
  } finally {
    await adapter.close();
  }
});
