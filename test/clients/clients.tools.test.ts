import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "@jest/globals";
import { CLI, cleanUp, makeFolder, serve } from "../cli/process.js";
import { describeWhere, needs } from "../needs.js";
import { closeVenues, openVenue } from "./open-venue.js";

afterAll(async () => {
  await closeVenues();
  await cleanUp();
});

// Official clients of MCP in other languages list, read, complete and hear of changes.
const python = process.env["VENUE_FILES_PYTHON"] ?? "";
const go = process.env["VENUE_FILES_GO_CLIENT"] ?? "";
const scriptOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const CLIENTS = [
  [
    "Python",
    python,
    [scriptOf("mcp-client.py")],
    "the official Python client, which needs pip (scripts/python-clients.sh)",
  ],
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
          ...{ timeout: 180_000, env: { PATH: process.env["PATH"], HOME: home, TMPDIR: home } },
        });
        expect(JSON.parse(stdout)).toEqual({
          ...{ version, missing, read: "a", completed: ["sub/"], templates: ["venue://{root}/{+path}"] },
          listed: ["venue://docs/", "venue://docs/a.txt", "venue://docs/sub/"],
          ...(hears ? { updated: ["venue://docs/a.txt"], changed: "new" } : { updated: [] }),
        });
      });
  });

needs(python !== "", "Covia's Python client, which needs pip (scripts/python-clients.sh)")(
  "Covia's Python client does its calls",
  async () => {
    const { venue, url } = await openVenue();
    const { stdout } = await promisify(execFile)(python, [scriptOf("python-client.py"), url], { timeout: 180_000 });
    const etag = expect.any(String);
    expect(JSON.parse(stdout)).toEqual({
      ...{ status: "OK", did: venue.did, operations: expect.any(Number), asset: true, job: true },
      created: { ref: "file://tmp/a.txt", written: 11, created: true, etag },
      read: expect.objectContaining({ content: "from python", encoding: "utf-8", size: 11 }),
      moved: { moved: true, from: "file://tmp/a.txt", to: "file://tmp/b.txt", atomic: true },
      copied: { copied: true, from: "file://tmp/b.txt", to: "file://tmp/c.txt", etag, files: 1, atomic: true },
      written: { written: 17, created: true, etag },
      names: ["b.txt", "c.txt", "d.bin"],
      failed: expect.stringContaining("Already exists: b.txt"),
    });
  },
);
