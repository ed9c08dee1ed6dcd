import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CLI, cleanUp, makeFolder, run, serve, startNode } from "../cli/process.js";
import { bodyOf, invoke } from "../surfaces/http/client.js";
import { startRaw } from "../surfaces/mcp/raw.js";

afterAll(cleanUp);

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const manifest = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as { version: string };

/** Runs a module text with plain Node, without anything of Jest. */
async function evaluate(text: string): Promise<unknown> {
  const running = startNode(["--input-type=module", "--eval", text], { cwd: PACKAGE });
  const { status, stdout, stderr } = await running.ended;
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe("the library, built, under plain Node", () => {
  const use = (specifier: string) =>
    evaluate(`
      import { createFileAdapter, ERROR_CODES, FileAdapterError } from ${JSON.stringify(specifier)};
      const files = await createFileAdapter({ roots: { scratch: { temp: true } } });
      await files.invoke("file:write", { root: "scratch", path: "a/b.txt", content: "hello", parents: true });
      const { content } = await files.invoke("file:read", { root: "scratch", path: "a/b.txt" });
      const failed = await files.invoke("file:read", { root: "scratch", path: "no" }).catch((error) => error);
      await files.close();
      console.log(JSON.stringify([content, failed instanceof FileAdapterError, failed.code in ERROR_CODES]));
    `);

  test.each([["venue-files"], [new URL("../../dist/index.js", import.meta.url).href]])(
    "is imported as %s and works",
    async (specifier) => {
      expect(await use(specifier)).toEqual(["hello", true, true]);
    },
  );

  test("exports what its documentation names, and its package.json", async () => {
    const names = await evaluate(`
      import * as library from "venue-files";
      import manifest from "venue-files/package.json" with { type: "json" };
      console.log(JSON.stringify([Object.keys(library).sort(), manifest.version]));
    `).catch((error: unknown) => error);
    expect(names).toEqual([
      [
        ...[
          "ConfigError",
          "DEFAULT_SHELL",
          "ERROR_CODES",
          "FileAdapterError",
          "MintError",
          "RootsError",
          "SHELL_PATH",
          "createFileAdapter",
          "createProfile",
          "createSandbox",
          "createVenue",
        ],
        ...["mintIdentity", "mintUcan", "newSeed", "signingKeyFromSeed"],
      ],
      manifest.version,
    ]);
  });

  test("tells of a mistake that its user does not catch without pages of its own code", async () => {
    const text = 'import { createVenue } from "venue-files"; await createVenue({ prot: 1 });';
    const running = startNode(["--input-type=module", "--eval", text], { cwd: PACKAGE });
    const { status, stderr } = await running.ended;
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining("Unknown config key 'prot'") });
    expect(stderr.length).toBeLessThan(8000);
  });

  test("has drives as values, on their own", async () => {
    const found = await evaluate(`
      import { applyOp, dir, hashOf, merge } from "venue-files/drive";
      const write = (root, path, text, at) => applyOp(root, { op: "write", path, data: Buffer.from(text), at });
      const empty = dir([], 0);
      const [one, other] = [write(empty, "a.txt", "one", 10), write(empty, "b.txt", "two", 20)];
      console.log(JSON.stringify([hashOf(merge(one, other)) === hashOf(merge(other, one)), hashOf(empty)]));
    `);
    expect(found).toEqual([true, expect.stringMatching(/^[0-9a-f]{64}$/)]);
  });

  test("runs the example of an adapter of one's own", async () => {
    const running = startNode([join(PACKAGE, "examples/second-adapter.mjs"), "0"]);
    const [, url] = await running.until(/curl -s (\S+)\/api\/v1\/invoke/);
    const roll = (input: object) => bodyOf(invoke(`${url}`, { operation: "v/ops/dice/roll", input }));
    expect(await roll({ sides: 2 })).toMatchObject({ status: "COMPLETE", output: { points: expect.any(Number) } });
    expect(await roll({ sides: 3 })).toMatchObject({ status: "FAILED", error: "'sides' must be even" });
    expect(await roll({ sides: 1 })).toMatchObject({ error: "'sides' must be between 2 and 1000" });
    expect((await running.stop("SIGINT")).status).toBe(0);
  });

  test.each([
    ["library", /^Line 3: One\. \(more from line 4\)\nout\/\n[\s\S]*CAPABILITY_DENIED\n$/],
    ["compare-and-set", /^20 increments, \d+ conflicts, count 20\n$/],
    ["pages", /^4 pages, 8893 characters\n25 entries, /],
    ["transfer", /^206 bytes 1048576-2097151\/2097152\nreplaced: 204, again with the old etag: 412\n$/],
    [
      "access-token",
      /APPROVAL_REQUIRED\n[\s\S]*once\n[\s\S]*modified inbox\/note\.txt\n[\s\S]*401 Invalid or expired token\n$/,
    ],
    ["audit", / file:write file:\/\/tmp\/in\/a\.txt OK\n.* file:read file:\/\/tmp\/secret\.txt CAPABILITY_DENIED\n$/],
  ])("runs the example %s, which checks itself", async (name, expected) => {
    const ended = await startNode([join(PACKAGE, `examples/${name}.mjs`)]).ended;
    expect(ended).toMatchObject({ status: 0, stderr: "", stdout: expect.stringMatching(expected) });
  });

  test("has no example that no test runs", () => {
    const tests = ["smoke", "acp"].map((name) => readFileSync(new URL(`./${name}.test.ts`, import.meta.url), "utf8"));
    // acp-host starts acp-agent.
    const files = readdirSync(join(PACKAGE, "examples")).filter((file) => file !== "acp-agent.mjs");
    const names = files.map((file) => file.replace(".mjs", ""));
    const run = (name: string) => tests.some((text) => new RegExp(`["/]${name}(?:\\.mjs)?["\`]`).test(text));
    expect(names.filter((name) => !run(name))).toEqual([]);
  });

  test("runs the example of delegation, which checks itself", async () => {
    const running = startNode([join(PACKAGE, "examples/delegation.mjs")]);
    const [, denial] = await running.until(/reads its folder again: (.*)/);
    expect(denial).toMatch(
      /^Capability denied: file:read requires crud\/read on file:\/\/docs\/reports\/drafts\/one\.txt\./,
    );
    expect(await running.ended).toMatchObject({ status: 0, stderr: "" });
  });

  test.each(["venue-files/dist/cli.js", "venue-files/dist/jail/jail.js"])("keeps %s to itself", async (specifier) => {
    const code = await evaluate(`
      const error = await import(${JSON.stringify(specifier)}).catch((error) => error);
      console.log(JSON.stringify(error.code));
    `);
    expect(code).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED");
  });
});

describe("the command line, built, under plain Node", () => {
  test("can be started as a program", () => {
    expect(readFileSync(CLI, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  test("tells its version", async () => {
    expect(await run(["--version"])).toMatchObject({ status: 0, stdout: `${manifest.version}\n`, stderr: "" });
  });

  test("serves", async () => {
    const served = await serve([]);
    const response = await invoke(served.url, { operation: "file:roots" });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ status: "COMPLETE", output: { roots: [{ name: "tmp" }] } });
    expect((await served.stop()).status).toBe(0);
  });
});

describe("a start loads only what it needs:", () => {
  /** The modules of which any code has run in a process: V8 says so when it ends. */
  async function modulesOf(act: (env: Record<string, string>) => Promise<unknown>): Promise<string[]> {
    const folder = makeFolder();
    await act({ NODE_V8_COVERAGE: folder });
    const urls = readdirSync(folder).flatMap((file) => {
      const report = JSON.parse(readFileSync(join(folder, file), "utf8")) as { result: { url: string }[] };
      return report.result.map(({ url }) => url);
    });
    expect(urls).toContain(new URL("../../dist/cli.js", import.meta.url).href);
    return urls;
  }

  function packagesIn(urls: readonly string[]): string[] {
    const names = urls.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]);
    return [...new Set(names.filter((name) => name !== undefined))].sort();
  }

  const packagesOf = async (act: Parameters<typeof modulesOf>[0]) => packagesIn(await modulesOf(act));
  /** What only the modules of WebDAV, of the page and of shared state have in them, as far as they were loaded. */
  function partsIn(urls: readonly string[]): string[] {
    const own = urls.filter((url) => url.startsWith(new URL("../../dist/", import.meta.url).href));
    const text = own.map((url) => readFileSync(fileURLToPath(url), "utf8")).join("\n");
    return ["PROPFIND", "dist/web/", "INSERT INTO"].filter((part) => text.includes(part));
  }
  const largest = (urls: readonly string[]): number =>
    Math.max(...urls.filter((url) => url.startsWith("file:")).map((url) => statSync(fileURLToPath(url)).size));

  test("mcp until it is asked something, no package of a surface", async () => {
    const packages = await packagesOf(async (env) => {
      const raw = await startRaw([], { env });
      await raw.request("tools/list");
      raw.process.child.stdin.end();
      await raw.process.ended;
    });
    for (const name of ["@modelcontextprotocol/server", "fastify", "ajv", "json5", "fastest-levenshtein", "pino"]) {
      expect(packages).not.toContain(name);
    }
  });

  test("mcp at its first call, no validator but the generated one, and nothing of WebDAV or the page", async () => {
    const modules = await modulesOf(async (env) => {
      const raw = await startRaw([], { env });
      await raw.call("file_roots");
      raw.process.child.stdin.end();
      await raw.process.ended;
    });
    for (const name of ["fastify", "ajv"]) expect(packagesIn(modules)).not.toContain(name);
    expect(partsIn(modules)).toEqual([]);
  });

  // Half a megabyte of the program is one file, which servers and calls load at their start (scripts/shared-chunk.mjs).
  test("call, neither HTTP nor MCP, but most of the program", async () => {
    const modules = await modulesOf((env) => run(["call", "file:roots"], { env }));
    for (const name of ["ajv", "fastify", "@modelcontextprotocol/server", "json5"])
      expect(packagesIn(modules)).not.toContain(name);
    expect(partsIn(modules)).toEqual([]);
    expect(largest(modules)).toBeGreaterThan(300_000);
  });

  test.each([["--version"], ["--help"], ["completion bash"]])(
    "%s, no package and little of the program",
    async (line) => {
      const modules = await modulesOf((env) => run(line.split(" "), { env }));
      expect(packagesIn(modules)).toEqual([]);
      expect(largest(modules)).toBeLessThan(60_000);
    },
  );

  test("serve until /mcp is used, no MCP SDK; as one process, nothing of what several share, and no file of it", async () => {
    const files: string[] = [];
    const modules = await modulesOf(async (env) => {
      const served = await serve([], { env });
      await fetch(`${served.url}/api/v1/status`);
      files.push(...readdirSync(join(served.tmp, ".local/state/venue-files"), { recursive: true }).map(String));
      await served.stop();
    });
    const packages = packagesIn(modules);
    expect(partsIn(modules)).toEqual(["PROPFIND", "dist/web/"]);
    expect(packages).toContain("fastify");
    // While there are descriptors left: the first line may be that there are none.
    expect(packages).toContain("pino");
    expect(packages).not.toContain("@modelcontextprotocol/server");
    // One process is alone: it has neither the client of an engine nor what uses it.
    expect(packages).not.toContain("postgres");
    const own = ["venue-files", "venue-files/running.json"];
    expect(files.toSorted()).toEqual(["format", "local-token", "revocation-guard", ...own]);
  });
});

describe("the package", () => {
  let files: string[];
  beforeAll(() => {
    const text = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: PACKAGE,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const [pack] = JSON.parse(text) as { files: { path: string }[] }[];
    files = pack?.files.map(({ path }) => path) ?? [];
  });

  test.each([
    "dist/cli.js",
    "dist/index.js",
    "dist/index.d.ts",
    "schemas/config.json",
    "schemas/file/read.json",
    "config.example.json5",
    "package.json",
    "README.md",
    "LICENSE",
    "SECURITY.md",
  ])("holds %s", (path) => {
    expect(files).toContain(path);
    expect(existsSync(join(PACKAGE, path))).toBe(true);
  });

  test("holds neither tests nor sources nor benchmarks", () => {
    const odd = files.filter((path) => !/^(?:dist|deploy|schemas|docs|examples)\//.test(path));
    expect(odd.sort()).toEqual(["LICENSE", "README.md", "SECURITY.md", "config.example.json5", "package.json"].sort());
    expect(files.filter((path) => /\btests?\b|(?<!\.d)\.ts$/.test(path))).toEqual([]);
  });

  // Until package.json leaves it out ("!dist/.tsbuildinfo" in its files).
  test("holds nothing of the compiler's own", () => {
    expect(files.filter((path) => path.includes("tsbuildinfo"))).toEqual([]);
  });

  test("has every built file that a source stands for", () => {
    expect(files.filter((path) => path.startsWith("dist/") && path.endsWith(".js")).length).toBeGreaterThan(50);
  });
});
