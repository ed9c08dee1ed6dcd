// What a release is made of: the bundle for hosts of MCP, started as a host does, and the entry of the registry.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { unpackExtension } from "@anthropic-ai/mcpb";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, startNode } from "../cli/process.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const MAX_BYTES = 25_000_000;

afterAll(cleanUp);

describe("the bundle", () => {
  const folder = makeFolder({ "docs/a.txt": "hello" });
  const unpacked = join(folder, "unpacked");

  beforeAll(async () => {
    const file = join(folder, "it.mcpb");
    execFileSync(process.execPath, [join(ROOT, "scripts/release/mcpb.mjs"), file, "--here"], { stdio: "ignore" });
    expect(statSync(file).size).toBeLessThan(MAX_BYTES);
    mkdirSync(unpacked);
    expect(await unpackExtension({ mcpbPath: file, outputDir: unpacked, silent: true })).toBe(true);
  }, 120_000);

  /** Starts the server with what the host puts in for the settings of its user. */
  async function call(settings: Readonly<Record<string, string>>, name: string, args: object): Promise<string> {
    const { server } = JSON.parse(readFileSync(join(unpacked, "manifest.json"), "utf8"));
    const filled = (text: string) =>
      text
        .replace(/\$\{__dirname\}/, () => unpacked)
        .replace(/\$\{user_config\.(\w+)\}/, (whole, key) => settings[key] ?? whole);
    const env = Object.fromEntries(
      Object.entries<string>(server.mcp_config.env).map(([key, text]) => [key, filled(text)]),
    );
    const running = startNode(server.mcp_config.args.map(filled), { env });
    const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "host", version: "1" } };
    running.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hello })}\n`);
    running.child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name, arguments: args } })}\n`,
    );
    const [line] = await running.until(/^.*"id":2.*$/m);
    await running.stop();
    return line;
  }

  test("is valid, and says the version of the package", () => {
    const { version, manifest_version } = JSON.parse(readFileSync(join(unpacked, "manifest.json"), "utf8"));
    expect({ version, manifest_version }).toEqual({ version: manifest.version, manifest_version: "0.4" });
  });

  test("serves the folders that its user chose", async () => {
    const settings = { folders: join(folder, "docs"), read_only: "false", tools: "default" };
    expect(await call(settings, "file_read", { path: "a.txt" })).toContain("hello");
    expect(await call(settings, "file_write", { path: "b.txt", content: "x" })).not.toContain('isError":true');
    expect(readFileSync(join(folder, "docs/b.txt"), "utf8")).toBe("x");
  });

  test("changes nothing where its user says read only", async () => {
    const settings = { folders: join(folder, "docs"), read_only: "true", tools: "default" };
    expect(await call(settings, "file_write", { path: "c.txt", content: "x" })).toContain("Unknown tool: file_write");
    expect(existsSync(join(folder, "docs/c.txt"))).toBe(false);
  });
});

test("the entry of the registry has what its schema asks for, and the version of the package", () => {
  const script = join(ROOT, "scripts/release/server-json.mjs");
  const entry = JSON.parse(execFileSync(process.execPath, [script, script], { encoding: "utf8" }));
  expect(entry).toMatchObject({
    $schema: expect.stringContaining("/2025-12-11/"),
    name: manifest.mcpName,
    version: manifest.version,
  });
  expect(entry.name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
  expect(entry.description.length).toBeLessThanOrEqual(100);
  expect(entry.packages.map(({ registryType }: { registryType: string }) => registryType)).toEqual([
    "npm",
    "oci",
    "mcpb",
  ]);
  for (const one of entry.packages) {
    expect(one).toMatchObject({ identifier: expect.stringMatching(/./), transport: { type: "stdio" } });
    for (const argument of one.packageArguments ?? []) expect(argument.value ?? argument.valueHint).toMatch(/./);
  }
  expect(entry.packages[2].fileSha256).toMatch(/^[0-9a-f]{64}$/);
});
