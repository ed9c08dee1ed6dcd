import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, jest } from "@jest/globals";
import { openObjectStore } from "../../../../src/drive/store/s3/object-store.js";
import { CLI, cleanUp, makeFolder, type Running, start } from "../../../cli/process.js";
import { needs } from "../../../needs.js";
import { invoke } from "../../../surfaces/http/client.js";
import { ALICE, openEngine } from "../../engine/engines.js";
import { type Roughness, type RoughProxy, startRoughProxy } from "./rough-proxy.js";

/** Every call is a dozen requests, and the line is rough. */
jest.setTimeout(900_000);
afterAll(cleanUp);
const { S3_TEST_ENDPOINT: endpoint, S3_TEST_BUCKET: bucket = "drives", AWS_REGION: region = "us-east-1" } = process.env;
const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = process.env;

describe("a real server", () => {
  const CHILD = new URL("writer-child.mjs", import.meta.url);
  const BUILT = new URL("../../../../dist/drive/store/s3/object-store.js", import.meta.url);
  const possible = endpoint !== undefined && existsSync(BUILT);
  const test = needs(possible, "no S3 server is named by S3_TEST_ENDPOINT (npm run test:tools starts one)");

  /** How many acknowledged writes the child is left. */
  const ENOUGH = 12;

  test("of two venues on a real S3 server one is killed, and nothing it has acknowledged is lost", async () => {
    const folder = mkdtempSync(join(tmpdir(), "vf-real-"));
    const place = {
      bucket,
      endpoint,
      region,
      prefix: `test-${randomUUID()}`,
      credentials: { accessKeyId, secretAccessKey },
    };
    const store = await openObjectStore({ ...place, cachePath: join(folder, "own") });
    const clock = { nowMs: Date.now, monotonicMs: () => performance.now() };
    const engine = openEngine({ store, clock });
    let child: ChildProcess | undefined;
    try {
      const owner = engine.owner(ALICE);
      await owner.change("notes", (draft) => draft.writeFile(["own-first"], new Uint8Array(10)));
      const options = JSON.stringify({ ...place, cachePath: join(folder, "child"), did: ALICE });
      const other = spawn(process.execPath, [CHILD.pathname, options], { stdio: ["ignore", "pipe", "inherit"] });
      child = other;
      const acknowledged: string[] = [];
      for await (const line of createInterface({ input: other.stdout })) {
        acknowledged.push(line);
        if (acknowledged.length % 4 === 0)
          await owner.change("notes", (draft) => draft.writeFile([`own-${line}`], new Uint8Array(100_000)));
        if (acknowledged.length >= ENOUGH) other.kill("SIGKILL");
      }
      await owner.change("notes", (draft) => draft.writeFile(["own-last"], new Uint8Array(10)));
      const read = await owner.read("notes");
      const names = (await read.entries([])).map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(["own-first", "own-last", ...acknowledged]));
      for (const name of names.filter((one) => one.startsWith("child-"))) {
        const at = Number(name.slice(6));
        const { bytes } = await read.readFile([name], 0, 1 << 20);
        expect(bytes).toEqual(Buffer.alloc(at % 5 === 0 ? 200_000 : 100, at));
      }
      read.release();
      expect(await store.collect({ graceMs: 86_400_000 })).toMatchObject({ missing: 0, removed: 0 });
    } finally {
      child?.kill("SIGKILL");
      await engine.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("a real server under contention", () => {
  const possible = endpoint !== undefined && existsSync(CLI);
  const test = needs(possible, "no S3 server is named by S3_TEST_ENDPOINT (npm run test:tools starts one)");

  const TOKEN = "contended-contended-contended-contended";
  const CALLS = 1000;
  const CALLERS = 3;
  const KILL_EVERY = 120;

  /** What became of a call: `unknown` when no answer came, or one that says that it may yet come true. */
  type Fate = "acknowledged" | "refused" | "unknown";

  interface Told {
    readonly fate: Fate;
    readonly code: string;
    readonly output: Record<string, unknown>;
  }

  /** A venue in a process of its own, that can be killed and started again. */
  interface Venue {
    call(operation: string, input: object): Promise<Told>;
    kill(): Promise<void>;
  }

  async function startVenue(name: string, folder: string, proxy: RoughProxy, prefix: string): Promise<Venue> {
    const config = {
      port: 0,
      seed: "42".repeat(32),
      stateDir: join(folder, name),
      drives: { store: { s3: { bucket, endpoint: proxy.endpoint, prefix, region } } },
      file: { roots: { notes: { dlfs: "notes" } } },
      auth: {
        tokens: [
          {
            name: "alice",
            token: { env: "ALICE" },
            did: "did:web:alice.example.com",
            caps: [{ with: "file://notes/", can: "crud" }],
          },
        ],
      },
    };
    const file = join(makeFolder({ "venue.json5": JSON.stringify(config) }), "venue.json5");
    const env = { ALICE: TOKEN, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    const begin = async (): Promise<{ running: Running; url: string }> => {
      for (let tries = 0; ; tries += 1) {
        const running = start(["serve", "--config", file], { env });
        try {
          const [url = ""] = await running.until(/http:\/\/[a-z0-9.]+:\d+/);
          return { running, url };
        } catch (error) {
          // The line may be too rough to start at all.
          if (tries >= 4) throw error;
        }
      }
    };
    let current = begin();
    await current;
    return {
      async call(operation, input) {
        const { url } = await current;
        try {
          const answer = await invoke(url, { operation, input: { root: "notes", ...input }, wait: true }, TOKEN);
          return toldBy((await answer.json()) as Record<string, unknown>);
        } catch {
          return { fate: "unknown", code: "", output: {} };
        }
      },
      async kill() {
        const { running } = await current;
        current = running.stop("SIGKILL").then(begin);
        await current;
      },
    };
  }

  function toldBy(job: Record<string, unknown>): Told {
    const { status, errorCode, output } = job;
    const code = String(errorCode ?? "");
    const isRefused = ["CONFLICT", "NOT_FOUND", "ALREADY_EXISTS"].includes(code);
    const fate = status === "COMPLETE" ? "acknowledged" : isRefused ? "refused" : "unknown";
    return { fate, code, output: (output ?? {}) as Record<string, unknown> };
  }

  /** Puts of roots fare worst, as they are what decides. */
  function choose(method: string, path: string): Roughness | undefined {
    const chance = Math.random();
    if (method !== "PUT") return chance < 0.01 ? { delayMs: 50 } : undefined;
    if (!path.includes("/roots/")) return chance < 0.02 ? "unheard" : undefined;
    if (chance < 0.05) return "lost";
    if (chance < 0.12) return "unheard";
    if (chance < 0.2) return { lateMs: 600 * Math.random() };
    if (chance < 0.23) return { status: 503 };
    return chance < 0.4 ? { delayMs: 150 * Math.random() } : undefined;
  }

  /** What every call said it would write, and what it was told. */
  interface Call {
    readonly line: string;
    readonly fate: Fate;
    /** Lines that the caller had seen. */
    readonly after?: number;
  }

  async function linesOf(venue: Venue, path: string): Promise<{ lines: string[]; etag: unknown }> {
    for (let tries = 0; tries < 20; tries += 1) {
      const { fate, code, output } = await venue.call("file:read", { path, maxBytes: 8_000_000 });
      if (code === "NOT_FOUND") return { lines: [], etag: undefined };
      if (fate === "acknowledged")
        return { lines: String(output["content"]).split("\n").slice(0, -1), etag: output["etag"] };
    }
    throw new Error(`${path} cannot be read`);
  }

  const counted = (lines: readonly string[]): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
    return counts;
  };

  function expectEach(lines: readonly string[], all: readonly Call[]): void {
    const counts = counted(lines);
    const wrong = all.filter(({ line, fate }) => {
      const count = counts.get(line) ?? 0;
      return fate === "acknowledged" ? count !== 1 : fate === "refused" ? count !== 0 : count > 1;
    });
    expect(wrong).toEqual([]);
    const known = new Set(all.map(({ line }) => line));
    expect(lines.filter((line) => !known.has(line))).toEqual([]);
  }

  test("of two venues on one bucket that change the same files at once, no acknowledged change is lost, and of those who saw the same one wins", async () => {
    const proxy = await startRoughProxy(endpoint ?? "", choose);
    const folder = makeFolder();
    const prefix = `contended-${randomUUID()}`;
    const venues: Venue[] = [];
    const appends: Call[] = [];
    const sets: Call[] = [];
    const creations = new Map<number, Call[]>();
    let calls = 0;

    const append = async (venue: Venue, line: string): Promise<void> => {
      const { fate } = await venue.call("file:append", { path: "log", content: `${line}\n` });
      appends.push({ line, fate });
    };
    const compareAndSet = async (venue: Venue, line: string): Promise<void> => {
      const { lines, etag } = await linesOf(venue, "set");
      const condition = etag === undefined ? { ifNoneMatch: "*" } : { ifMatch: etag };
      const content = [...lines, line].map((one) => `${one}\n`).join("");
      const { fate } = await venue.call("file:write", { path: "set", content, ...condition });
      sets.push({ line, fate, after: lines.length });
    };
    const create = async (venue: Venue, line: string, number: number): Promise<void> => {
      const { fate } = await venue.call("file:write", {
        path: `once-${number}`,
        content: `${line}\n`,
        ifNoneMatch: "*",
      });
      creations.set(number, [...(creations.get(number) ?? []), { line, fate }]);
    };
    const caller = async (venue: Venue, who: string): Promise<void> => {
      for (let at = 0; calls < CALLS; at += 1) {
        calls += 1;
        const line = `${who}-${at}`;
        if (at % 5 === 4) await create(venue, line, at);
        else if (at % 2 === 0) await append(venue, line);
        else await compareAndSet(venue, line);
      }
    };
    let kills = 0;
    const killer = async (): Promise<void> => {
      while (calls < CALLS) {
        if (calls >= (kills + 1) * KILL_EVERY) {
          await venues[kills % 2]?.kill();
          kills += 1;
        } else await delay(20);
      }
    };
    try {
      for (const name of ["one", "other"]) venues.push(await startVenue(name, folder, proxy, prefix));
      const callers = venues.flatMap((venue, which) =>
        Array.from({ length: CALLERS }, (_, at) => caller(venue, `${which}-${at}`)),
      );
      await Promise.all([...callers, killer()]);
      for (const venue of venues) {
        expectEach((await linesOf(venue, "log")).lines, appends);
        const { lines } = await linesOf(venue, "set");
        expectEach(lines, sets);
        for (const { line, fate, after } of sets) if (fate === "acknowledged") expect(lines[after ?? -1]).toBe(line);
        for (const [number, made] of creations) {
          const {
            lines: [content, ...others],
          } = await linesOf(venue, `once-${number}`);
          expect(others).toEqual([]);
          expect(made.filter(({ fate }) => fate === "acknowledged").length).toBeLessThanOrEqual(1);
          expectEach(content === undefined ? [] : [content], made);
        }
      }
      const all = [...appends, ...sets, ...[...creations.values()].flat()];
      const of = (fate: Fate): number => all.filter((one) => one.fate === fate).length;
      console.info(
        `${all.length} calls, ${kills} kills: ${of("acknowledged")} acknowledged, ${of("refused")} refused, ${of("unknown")} unknown; ` +
          `of ${appends.length} appends, which nothing but turns can refuse, ${appends.filter(({ fate }) => fate === "refused").length} refused`,
        proxy.seen,
      );
      expect(all.length).toBeGreaterThanOrEqual(CALLS);
      expect(of("acknowledged")).toBeGreaterThan(CALLS / 4);
      expect(kills).toBeGreaterThan(1);
      expect(proxy.seen.late).toBeGreaterThan(0);
    } finally {
      await cleanUp();
      await proxy.close();
    }
  });
});
