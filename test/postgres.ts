// A PostgreSQL of the tests' own: a data folder in the temporary directory, a free port, and no durability.

import { execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { freePort } from "./ports.js";
import { until } from "./until.js";

/** It refuses to run as root. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const asUser = isRoot ? { uid: NOBODY, gid: NOBODY } : {};

function programsOf(): string | undefined {
  const places = ["", ...[17, 16, 15, 14].map((version) => `/usr/lib/postgresql/${version}/bin/`)];
  return places.find((place) => {
    try {
      execFileSync(`${place}postgres`, ["--version"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  });
}

const programs = programsOf();
export const hasPostgres = programs !== undefined;
export const NO_POSTGRES = "PostgreSQL is not installed (Debian: postgresql)";

export interface TestEngine {
  readonly port: number;
  /** Of a database that is empty at first. */
  readonly url: string;
  /** Where its data are. */
  readonly folder: string;
  /** At once, as a crash. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Stops all of its processes where they are, or lets them go on. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void;
  /** Runs statements one after another. @returns rows of the last one */
  sql(...statements: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

/** It takes connections before it takes statements. */
async function answers(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 2 });
  try {
    await sql`SELECT 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** A folder for an engine's data, which only its user sees. */
export function engineFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "engine-"));
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  chmodSync(folder, 0o700);
  return folder;
}

interface EngineOptions {
  /** An empty folder, as of {@link engineFolder}. */
  readonly folder?: string;
  /** A command that runs its programs as another user, which are appended to it. */
  readonly under?: readonly string[];
}

/** Starts one; call only where {@link hasPostgres}. */
export async function startPostgres({ folder = engineFolder(), under = [] }: EngineOptions = {}): Promise<TestEngine> {
  const run = { ...(under.length === 0 ? asUser : {}), cwd: "/", stdio: "ignore" } as const;
  const commandOf = (program: string, args: readonly string[]): [string, string[]] => {
    const [command = "", ...rest] = [...under, `${programs}${program}`, ...args];
    return [command, rest];
  };
  const options = ["-U", "venue", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1"];
  execFileSync(...commandOf("initdb", ["-D", folder, ...options]), run);
  const port = await freePort();
  const url = `postgres://venue:secret-of-nobody@127.0.0.1:${port}/postgres`;
  let child: ReturnType<typeof spawn> | undefined;
  const settings = ["fsync=off", "shared_buffers=16MB", "max_connections=60", `unix_socket_directories=${folder}`];
  const start = async () => {
    if (child !== undefined && child.exitCode === null) return;
    const given = [...settings, "listen_addresses=127.0.0.1"].flatMap((one) => ["-c", one]);
    child = spawn(...commandOf("postgres", ["-D", folder, "-p", `${port}`, ...given]), run);
    await until(() => {
      if (child?.exitCode !== null) throw new Error("PostgreSQL has ended by itself");
      return answers(url);
    });
  };
  const stop = async () => {
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child?.once("exit", resolve));
    // At once, as a crash: SIGQUIT.
    child.kill("SIGQUIT");
    await ended;
  };
  await start();
  return {
    ...{ port, url, folder, start, stop },
    signal(signal) {
      const { pid = 0 } = child ?? {};
      // The first one first: it would start others.
      process.kill(pid, signal);
      for (const one of readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")) {
        try {
          process.kill(Number(one), signal);
        } catch {
          // It ended meanwhile.
        }
      }
    },
    async sql(...statements) {
      const client = postgres(url, { max: 1, connection: { search_path: "venue_files" }, onnotice: () => {} });
      try {
        let rows: Awaited<ReturnType<TestEngine["sql"]>> = [];
        for (const statement of statements) rows = [...(await client.unsafe(statement))];
        return rows;
      } finally {
        await client.end({ timeout: 1 });
      }
    },
    async remove() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
