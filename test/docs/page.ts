// Runs the commands of a page of docs/ and compares what they say with what the page shows.

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, statSync, unwatchFile, watchFile } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { CLI, makeFolder, start } from "../cli/process.js";
import { freePort } from "../ports.js";

export const readPage = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), "utf8");

export const hasShellTools = ["bash", "curl", "sed"].every((tool) => spawnSync(tool, ["--version"]).status === 0);

export interface Step {
  readonly command: string;
  /** What the page says comes back; absent: it does not say. */
  readonly output?: string;
}

/** The commands of a page in their order. An `sh` block is one step; in a `console` block each `$ ` begins one. */
function stepsOf(text: string): Step[] {
  const blocks = [...text.matchAll(/```(sh|console)\n([\s\S]*?)```/g)];
  return blocks.flatMap(([, kind, block = ""]): Step[] => {
    if (kind === "sh") return [{ command: block }];
    return block.split(/^\$ /m).flatMap((step) => {
      const [, command = "", output = ""] = /^((?:.*\\\n)*.*\n)([\s\S]*)$/.exec(step) ?? [];
      return command === "" ? [] : [{ command, output }];
    });
  });
}

/** What differs from run to run, and what a page leaves out. */
const VARIES: readonly [RegExp, string][] = [
  [/did:key:z6Mk[\w]{3,4}…\w{4}/g, "did:key:z6Mk\\w+…\\w+"],
  [/did:key:z6Mk\w{44}/g, "did:key:z6Mk\\w{44}"],
  [/\bvft_[\w-]{43}\b/g, "vft_[\\w-]{43}"],
  [/\b[0-9a-f]{32}\b/g, "[0-9a-f]{32}"],
  [/\b1[78]\d{11}\b/g, "\\d{13}"],
  [/\d+ (?:h|min) \d+ (?:min|s)(?: left)?/g, "\\d+ (?:h|min) \\d+ (?:min|s)(?: left)?"],
  [/\b[\w-]{43}\b/g, "[\\w-]{43}"],
  [/\d{4}-\d\d-\d\dT[\d:]+Z/g, "\\d{4}-\\d\\d-\\d\\dT[\\d:]+Z"],
  [/\((?:1 h|\d+ min)(?: left)?\)/g, "\\([^)]*\\)"],
  [/~\/\.local\/state/g, "\\S+"],
  [/[ ,]*…[ ,]*/g, "[\\s\\S]*"],
];

const literal = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** A pattern for what a page shows. */
function patternOf(output: string): RegExp {
  const parts: string[] = [];
  let rest = output.trim();
  const any = new RegExp(VARIES.map(([pattern]) => `(?:${pattern.source})`).join("|"));
  for (let found = any.exec(rest); found !== null; found = any.exec(rest)) {
    const text = found[0];
    parts.push(literal(rest.slice(0, found.index)));
    parts.push(VARIES.find(([pattern]) => new RegExp(`^(?:${pattern.source})$`).test(text))?.[1] ?? literal(text));
    rest = rest.slice(found.index + text.length);
  }
  return new RegExp(`^${[...parts, literal(rest)].join("")}`);
}

/** Waits until something that goes on in the background has written something. */
async function hasContent(path: string): Promise<void> {
  await new Promise<void>((resolve) => {
    watchFile(path, { interval: 50 }, ({ size }) => {
      if (size > 0) resolve();
    });
    if (existsSync(path) && statSync(path).size > 0) resolve();
  }).finally(() => unwatchFile(path));
}

/**
 * Runs a page whose first `sh` block writes files and then serves them on port 8123, and compares every answer it shows.
 *
 * @param text the page
 * @param givenId the id of a UCAN that the page shows, which is replaced by the one of this run
 * @returns how many commands were run
 */
export async function runPage(text: string, givenId?: string): Promise<number> {
  const home = makeFolder();
  const bin = makeFolder({ "venue-files": `#!/bin/sh\nexec "${process.execPath}" "${CLI}" "$@"\n` });
  chmodSync(join(bin, "venue-files"), 0o755);
  const port = await freePort("localhost");
  const env: Record<string, string> = {
    PATH: `${bin}:${process.env["PATH"] ?? ""}`,
    HOME: home,
    XDG_STATE_HOME: join(home, ".local/state"),
  };
  let id = "";
  const run = (command: string) => {
    const ported = command.replaceAll("8123", String(port));
    const given = givenId === undefined ? ported : ported.replaceAll(givenId, id);
    const { status, stdout, stderr } = spawnSync("bash", ["-c", given], { cwd: home, env, encoding: "utf8" });
    return { status, stdout, stderr, said: `${stdout}${stderr}`.replaceAll(String(port), "8123") };
  };
  const [first, ...steps] = stepsOf(text);
  const serving = first?.command ?? "";
  expect(serving).toContain("venue-files serve --config venue.json5");
  expect(run(serving.replace(/venue-files serve.*\n/, "")).status).toBe(0);
  const served = start(["serve", "--config", "venue.json5"], { cwd: home, env });
  await served.until(/Stop with Ctrl-C/);
  try {
    for (const { command, output } of steps) {
      // An audience that is left open is an example of form.
      if (command.includes("did:key:z6Mk…")) continue;
      const [, variable] = /^([A-Z]+)=/.exec(command) ?? [];
      const {
        stdout,
        stderr,
        said: all,
      } = run(variable === undefined ? command : `${command}\nprintf %s "$${variable}"`);
      if (variable !== undefined) env[variable] = stdout;
      const said = variable === undefined ? all : stderr;
      const [, follower] = /> (\S+) 2>&1 &\n$/.exec(command) ?? [];
      if (follower !== undefined) await hasContent(join(home, follower));
      if (output !== undefined && output !== "")
        expect({ command, said }).toEqual({ command, said: expect.stringMatching(patternOf(output)) });
      id ||= /\bId ([\w-]{43})/.exec(said)?.[1] ?? "";
    }
  } finally {
    await served.stop();
  }
  expect(id === "").toBe(givenId === undefined);
  return steps.length;
}
