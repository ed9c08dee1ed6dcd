// Starts programs of Node for Windows from Linux. Their output goes to files, since the pipes of Wine 8 fail.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** Where the battery runs. */
export interface Stage {
  /** A folder that is drive D: of Wine. */
  readonly lab: string;
  /** Path of the program. */
  readonly wine: string;
  /** Of Node for Windows: `node-<version>.exe` lies in the lab. */
  readonly version: string;
}

export interface InWine {
  /** All that it has written to standard output so far. */
  stdout(): string;
  stderr(): string;
  until(pattern: RegExp): Promise<RegExpExecArray>;
  /** The exit code. */
  readonly ended: Promise<number | null>;
  stop(): Promise<unknown>;
}

const LOOK_MS = 50;
/** Whatever runs longer is ended. */
const MAX_MS = 210_000;
const PROGRAM = "D:\\node_modules\\venue-files\\dist\\cli.js";
/** Where what runs inside is bundled: each lies two levels below the package, as its own code does, which finds its files by that. */
export const INSIDE = {
  surfaces: "D:\\node_modules\\venue-files\\dist\\surfaces-inside\\inside.js",
  suites: "D:\\node_modules\\venue-files\\dist\\suites-inside\\suites.js",
} as const;
const LINKS = "file:///D:/node_modules/venue-files/dist/surfaces-inside/links.js";

let stage: Stage | undefined;
let started = 0;
const running = new Set<ChildProcess>();

export function setStage(next: Stage): void {
  stage = next;
}

function currentStage(): Stage {
  if (stage === undefined) throw new Error("no stage");
  return stage;
}

/** The name on Windows of a path in the lab. */
export const onWindows = (path: string): string =>
  path.startsWith(`${currentStage().lab}/`) ? `D:${path.slice(currentStage().lab.length).replaceAll("/", "\\")}` : path;

/** Starts Node in Wine; paths in the lab are put as Windows knows them. */
export function startInWine(args: readonly string[]): InWine {
  const { lab, wine, version } = currentStage();
  const output = join(lab, `output-${version}-${started++}`);
  const descriptors = ["out", "err"].map((end) => openSync(`${output}.${end}`, "w"));
  const child = spawn(wine, [`D:\\node-${version}.exe`, ...args.map(onWindows)], {
    cwd: lab,
    timeout: MAX_MS,
    stdio: ["ignore", ...descriptors],
    env: {
      ...{ PATH: process.env["PATH"], HOME: lab, WINEPREFIX: join(lab, "prefix"), WINEDEBUG: "-all" },
      ...{ NODE_SKIP_PLATFORM_CHECK: "1", NODE_OPTIONS: `--import=${LINKS}` },
    },
  });
  for (const descriptor of descriptors) closeSync(descriptor);
  running.add(child);
  let code: number | null | undefined;
  const ended = once(child, "exit").then(([status]) => {
    running.delete(child);
    code = status as number | null;
    return code;
  });
  const written = (end: string) => readFileSync(`${output}.${end}`, "utf8").replaceAll("\r\n", "\n");
  return {
    stdout: () => written("out"),
    stderr: () => written("err"),
    async until(pattern) {
      for (;;) {
        const hasEnded = code !== undefined;
        const match = pattern.exec(written("out"));
        if (match !== null) return match;
        if (hasEnded) throw new Error(`ended with ${code} before ${pattern}: ${written("out")}${written("err")}`);
        await pause(LOOK_MS);
      }
    },
    ended,
    stop: () => {
      child.kill();
      return ended;
    },
  };
}

export async function serveInWine(args: readonly string[]): Promise<InWine & { readonly url: string }> {
  const server = startInWine([PROGRAM, "serve", "--port", "0", ...args]);
  const [, url = ""] = await server.until(/listens on (\S+)\n[\s\S]*Stop with Ctrl-C/);
  return { ...server, url };
}

/** Ends what was started and still runs. */
export async function endAll(): Promise<void> {
  const open = [...running];
  for (const child of open) child.kill("SIGKILL");
  await Promise.all(open.map((child) => (child.exitCode ?? child.signalCode) || once(child, "exit")));
}
