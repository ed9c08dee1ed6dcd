// WebDAV that is off is not there; where it is on, the limits of the venue hold for it too.

import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import type { VenueConfigInput } from "../../../../src/config/types.js";
import { rawRequest, readAnswer } from "../fixture.js";
import { type DavVenue, serveDav } from "./fixture.js";

const open: DavVenue[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(open.splice(0).map((venue) => venue.close()));
});

async function serve(config: VenueConfigInput = {}, lay?: (base: string) => void): Promise<DavVenue> {
  const venue = await serveDav(config, lay);
  open.push(venue);
  return venue;
}

describe("where it is off", () => {
  test.each([
    ["webdav: false", { webdav: false }],
    ["webdav: { enabled: false }", { webdav: { enabled: false, anonymous: true } }],
  ] as [string, VenueConfigInput][])("nothing is served: %s", async (_name, config) => {
    const venue = await serve({ ...config, corsOrigins: ["https://app.example"] });
    const preflight = { origin: "https://app.example", "access-control-request-method": "PROPFIND" };
    for (const path of ["/", "/dav", "/dav/", "/dav/docs/a.txt", "/dlfs/", "/dlfs/notes/"]) {
      for (const method of ["OPTIONS", "GET", "PROPFIND", "PUT", "MKCOL", "LOCK"]) {
        const { status, headers } = await venue.dav(method, path, {
          as: "nobody",
          headers: { authorization: `Bearer ${venue.password("operator")}` },
        });
        expect([method, path, status, headers["dav"]]).toEqual([method, path, 404, undefined]);
      }
      expect([path, await venue.status("OPTIONS", path, { as: "nobody", headers: preflight })]).toEqual([path, 404]);
      // A password is no credential at any other URL.
      expect([path, await venue.status("PROPFIND", path)]).toEqual([path, 401]);
    }
    expect(readdirSync(venue.docs).filter((name) => !name.startsWith("."))).toEqual([]);
  });

  test("the page is served all the same, and WebDAV without the page", async () => {
    const noDav = await serve({ webdav: { enabled: false } });
    expect(await noDav.status("GET", "/workspace/", { as: "nobody" })).toBe(200);
    const noPage = await serve({ workspace: false });
    expect(await noPage.status("GET", "/workspace/", { as: "nobody" })).toBe(404);
    expect(await noPage.status("PROPFIND", "/dav/", { headers: { depth: "0" } })).toBe(207);
  });
});

test("the rate limit holds, by caller, and says when to come again", async () => {
  const venue = await serve({ rateLimit: { perSecond: 1, burst: 3 } });
  const ask = (method: string) => venue.dav(method, "/dav/docs/", { as: "alice", headers: { depth: "0" } });
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask("PROPFIND")));
  expect(answers.filter(({ status }) => status === 207).length).toBeGreaterThanOrEqual(3);
  const refused = answers.find(({ status }) => status === 429);
  expect(refused).toBeDefined();
  expect(Number(refused?.headers["retry-after"])).toBeGreaterThanOrEqual(1);
  expect(refused?.headers["content-type"]).toContain("application/xml");
});

describe("a client that stalls", () => {
  /** Makes timers of these delays run a thousand times faster. @returns resolves when one of them has run */
  function hurryTimers(...delays: readonly number[]): Promise<void> {
    const { setTimeout: real } = globalThis;
    return new Promise((resolve) => {
      const hurried = (run: (...args: readonly unknown[]) => void, ms = 0, ...args: readonly unknown[]) => {
        if (!delays.includes(ms)) return real(run, ms, ...args);
        return real(() => {
          run(...args);
          resolve();
        }, ms / 1000);
      };
      jest.spyOn(globalThis, "setTimeout").mockImplementation(hurried as typeof setTimeout);
    });
  }

  function start({ url, password }: DavVenue, line: string, headers: Record<string, string> = {}): Socket {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write(rawRequest(line, { authorization: `Bearer ${password("operator")}`, ...headers }));
    return socket;
  }

  /** Bytes that come until the connection ends. */
  async function countBytes(socket: Socket): Promise<number> {
    let bytes = 0;
    socket.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.on("error", () => {});
    await once(socket, "close");
    return bytes;
  }

  test("with the body of a PUT is cut off, and nothing of it is kept", async () => {
    const venue = await serve({ file: { limits: { timeoutMs: 200 } } });
    const socket = start(venue, "PUT /dav/docs/slow.txt", { "Content-Length": "100000" });
    socket.write("begun");
    const { status, headers } = await readAnswer(socket);
    expect([status, headers.get("connection")]).toEqual([504, "close"]);
    expect(existsSync(join(venue.docs, "slow.txt"))).toBe(false);
    socket.destroy();
  });

  test("with an XML body is cut off", async () => {
    const venue = await serve();
    void hurryTimers(5000, 1000);
    const socket = start(venue, "PROPFIND /dav/docs/", { Depth: "0", "Content-Length": "1000" });
    socket.write("<propfind");
    expect((await readAnswer(socket)).status).toBe(408);
    await once(socket, "close");
  });

  // Larger than what the sockets of both sides hold.
  test.each([
    ["a download", "GET", "/dav/docs/large.bin", {}],
    ["a listing", "PROPFIND", "/dav/docs/many/", { Depth: "1" }],
  ])("with what it is sent is cut off: %s", async (_name, method, path, headers) => {
    const venue = await serve({}, (base) => {
      writeFileSync(join(base, "docs/large.bin"), "");
      truncateSync(join(base, "docs/large.bin"), 64 * 1024 * 1024);
      mkdirSync(join(base, "docs/many"));
      for (let at = 1000; at < 9000; at += 1) writeFileSync(join(base, `docs/many/${"ß".repeat(120)}${at}`), "");
    });
    const whole = (await venue.dav(method, path, { headers })).text.length;
    const isCutOff = hurryTimers(60_000);
    const socket = start(venue, `${method} ${path}`, headers);
    await isCutOff;
    expect(await countBytes(socket)).toBeLessThan(whole);
    jest.restoreAllMocks();
    expect(await venue.status("GET", "/dav/")).toBe(200);
  });
});
