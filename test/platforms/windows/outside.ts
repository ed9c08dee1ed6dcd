// The part of the battery that runs on Linux: it starts programs in Wine, is their HTTP client, and compares what they answer with
// what the same calls answer here.
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { cleanUp, serve as serveHere } from "../../cli/process.js";
import { CALLS, NARROWED_CALLS, type ParityCall } from "../../parity/calls.js";
import { type Ground, makeGround } from "../../parity/fixture.js";
import { http, library, type Outcome } from "../../parity/surfaces.js";
import { NOT_IN_WINE } from "./left-out.js";
import { makeLink } from "./link-files.js";
import { DAV_REQUESTS, davAnswers, mcpOverHttp } from "./over-http.js";
import { Report, SUMMARY } from "./report.js";
import { endAll, INSIDE, onWindows, serveInWine, setStage, startInWine } from "./wine.js";

interface Battery {
  readonly lab: string;
  readonly wine: string;
  readonly versions: readonly string[];
  /** Paths below test/ of suites that run in Wine as they are. */
  readonly suites: readonly string[];
}

interface Round extends Battery {
  readonly version: string;
  readonly report: Report;
  readonly expected: Expected;
}

type Answers = readonly Outcome[];

/** What is answered here. */
interface Expected {
  /** By the lists of {@link LISTS}. */
  readonly calls: readonly Answers[];
  readonly dav: readonly string[];
}

/** Pipes with a name are none of Windows' files. */
const HERE = { link: symlinkSync, pipe: () => {} };
const THERE = { link: makeLink, pipe: () => {} };

const LISTS = [
  [CALLS, false],
  [NARROWED_CALLS, true],
] as const;

/** @returns whether nothing failed */
export async function runBattery(battery: Battery): Promise<boolean> {
  const { lab } = battery;
  const report = new Report((line) => console.log(line));
  process.env["TMPDIR"] = join(lab, "tmp");
  mkdirSync(join(lab, "tmp"));
  try {
    const expected = await answersHere();
    for (const version of battery.versions) {
      setStage({ ...battery, version });
      console.log(`Node ${version} for Windows`);
      await runRound({ ...battery, version, report, expected });
    }
  } finally {
    await endAll();
    await cleanUp();
  }
  for (const [what, reason] of NOT_IN_WINE) report.skip(what, reason);
  console.log(report.summary);
  return report.counts.failed === 0;
}

async function runRound(round: Round): Promise<void> {
  // What waits for the other system takes turns.
  await Promise.all([
    runInside(round, "suites", round.suites),
    (async () => {
      await runInside(round, "surfaces", []);
      for (const name of ["library", "mcp", "commandLine"]) await compareInside(round, name);
    })(),
    overHttp(round),
  ]);
}

async function runInside({ report }: Round, program: keyof typeof INSIDE, args: readonly string[]): Promise<void> {
  const process = startInWine([INSIDE[program], ...args]);
  await process.ended;
  report.takeOver(process.stdout());
  await report.check(`${program} came to its end`, () => {
    const last = process.stdout().trimEnd().split("\n").at(-1) ?? "";
    if (!SUMMARY.test(last)) throw new Error(`${last}\n${process.stderr()}`);
  });
}

async function answersHere(): Promise<Expected> {
  const calls: Answers[] = [];
  for (const [list, narrowed] of LISTS) {
    const ground = makeGround(HERE);
    calls.push(alike(await library(ground, list, narrowed), ground.folder));
  }
  const server = await serveHere(["--config", makeGround(HERE).config]);
  const dav = await davAnswers(server.url);
  await server.stop();
  return { calls, dav };
}

/** Without times, etags, and the folder of the ground. */
function alike(outcomes: Answers, folder: string): Answers {
  const text = JSON.stringify(outcomes)
    .replaceAll(JSON.stringify(folder).slice(1, -1), "<ground>")
    .replaceAll(/<ground>[\\/]+(\w+)/g, "<ground>/$1")
    .replaceAll(/"modified":\d+/g, '"modified":0')
    .replaceAll(/,"etag":"[a-z2-7]{8}"/g, "")
    .replaceAll(/,"hint":"Go on with (?:offset: \d+|after: \\"[^"]*\\")"/g, "");
  return JSON.parse(text) as Answers;
}

/** What the programs inside have left of the answers they got. */
async function compareInside(round: Round, name: string): Promise<void> {
  for (const [index, [, narrowed]] of LISTS.entries()) {
    await round.report.check(`${name} has left its answers${narrowed ? ", narrowed" : ""}`, async () => {
      const path = join(round.lab, "answers", `${name}-${narrowed}-v${round.version}.json`);
      const { ground, outcomes } = JSON.parse(readFileSync(path, "utf8")) as { ground: Ground; outcomes: Answers };
      await compare(round, { name, index, answers: alike(outcomes, ground.folder) });
    });
  }
}

interface Compared {
  readonly name: string;
  /** In {@link LISTS}. */
  readonly index: number;
  readonly answers: Answers;
}

async function compare({ report, expected }: Round, { name, index, answers }: Compared): Promise<void> {
  for (const [at, call] of (LISTS[index]?.[0] ?? []).entries()) {
    const shown = `${name}: ${nameOf(call)}`;
    if ((call.input as { path?: string }).path?.includes("\\")) report.skip(shown, "there a backslash separates names");
    else await report.check(shown, () => same(answers[at], expected.calls[index]?.[at]));
  }
}

async function overHttp(round: Round): Promise<void> {
  const { report } = round;
  for (const [index, [calls, narrowed]] of LISTS.entries()) {
    for (const [name, surface] of Object.entries({ http, mcpOverHttp })) {
      // Capabilities of a session over MCP belong to its token.
      if (narrowed && surface === mcpOverHttp) continue;
      await report.check(`${name} answers, ${narrowed ? "narrowed" : "the operator"}`, async () => {
        const ground = makeGround(THERE);
        const answers = await surface(ground, calls, narrowed);
        await compare(round, { name, index, answers: alike(answers, onWindows(ground.folder)) });
      });
    }
  }
  await report.check("WebDAV answers", async () => {
    const server = await serveInWine(["--config", makeGround(THERE).config]);
    const answers = await davAnswers(server.url);
    await server.stop();
    for (const [at, { method, path }] of DAV_REQUESTS.entries())
      await report.check(`WebDAV: ${method} ${path}`, () => same(answers[at], round.expected.dav[at]));
  });
}

function same(got: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(got, wanted)) throw new Error(`${JSON.stringify(got)}\nnot ${JSON.stringify(wanted)}`);
}

const nameOf = ({ operation, input }: ParityCall) => `${operation} ${JSON.stringify(input).slice(0, 80)}`;
