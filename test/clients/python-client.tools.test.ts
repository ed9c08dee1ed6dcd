import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect } from "@jest/globals";
import { needs } from "../needs.js";
import { closeVenues, openVenue } from "./open-venue.js";

const python = process.env["VENUE_FILES_PYTHON"] ?? "";
const script = fileURLToPath(new URL("python-client.py", import.meta.url));

afterAll(closeVenues);

needs(python !== "", "Covia's Python client, which needs pip (scripts/python-clients.sh)")(
  "Covia's Python client does its calls",
  async () => {
    const { venue, url } = await openVenue();
    const { stdout } = await promisify(execFile)(python, [script, url], { timeout: 60_000 });
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
  90_000,
);
