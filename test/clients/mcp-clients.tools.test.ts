// Official clients of MCP in other languages list, read, complete and hear of changes.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "@jest/globals";
import { CLI, cleanUp, makeFolder, serve } from "../cli/process.js";
import { describeWhere } from "../needs.js";

const python = process.env["VENUE_FILES_PYTHON"] ?? "";
const go = process.env["VENUE_FILES_GO_CLIENT"] ?? "";
const script = fileURLToPath(new URL("mcp-client.py", import.meta.url));

afterAll(cleanUp);

const CLIENTS = [
  ["Python", python, [script], "the official Python client, which needs pip (scripts/python-clients.sh)"],
  ["Go", go, [], "the official Go client, which needs Go (scripts/go-client.sh)"],
] as const;
const WAYS = [
  { version: "2026-07-28", transport: "stdio", missing: -32602, hears: true },
  { version: "2026-07-28", transport: "HTTP", missing: -32602, hears: true },
  { version: "2025-11-25", transport: "stdio", missing: -32002, hears: true },
  { version: "2025-11-25", transport: "HTTP", missing: -32002, hears: false },
] as const;

for (const [language, program, first, reason] of CLIENTS)
  describeWhere(program !== "", reason)(`the official ${language} client`, () => {
    for (const { version, transport, missing, hears } of WAYS)
      test(`${version} over ${transport}`, async () => {
        const folder = makeFolder({ "a.txt": "a", "sub/b.txt": "b" });
        const roots = ["--root", `docs=${folder}`];
        const server =
          transport === "HTTP" ? [`${(await serve(roots)).url}/mcp`] : [process.execPath, CLI, "mcp", ...roots];
        const home = makeFolder();
        const { stdout } = await promisify(execFile)(program, [...first, version, folder, ...server], {
          ...{ timeout: 60_000, env: { PATH: process.env["PATH"], HOME: home, TMPDIR: home } },
        });
        expect(JSON.parse(stdout)).toEqual({
          ...{ version, missing, read: "a", completed: ["sub/"], templates: ["venue://{root}/{+path}"] },
          listed: ["venue://docs/", "venue://docs/a.txt", "venue://docs/sub/"],
          ...(hears ? { updated: ["venue://docs/a.txt"], changed: "new" } : { updated: [] }),
        });
      }, 90_000);
  });
