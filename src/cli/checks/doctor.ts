// `venue-files doctor`: what this machine offers, what is missing, and what that costs. Changes nothing.

import { readFileSync } from "node:fs";
import { ConfigError } from "../../config/errors.js";
import { parseConfig } from "../../config/load.js";
import { escapeText } from "../../core/errors/texts.js";
import { attempt } from "../../core/io.js";
import { isLinux, systemName } from "../../core/system.js";
import { findWhere } from "../../jail/native/where.js";
import { openRoots } from "../../roots/open.js";
import { checkState, stateDirOf } from "../../venue/start/state/place.js";
import { NoStateDir } from "../../venue/start/state/state-dir.js";
import { packageVersion } from "../../version.js";
import { type CommandContext, EXIT } from "../context.js";
import { table } from "../output/table.js";
import { isLoadable } from "./native.js";

/** One line of the report. `note`: it works, with less. `fault`: something does not work. */
interface Finding {
  readonly subject: string;
  readonly state: "ok" | "note" | "fault";
  readonly text: string;
}

const ok = (subject: string, text: string): Finding => ({ subject, state: "ok", text });
const note = (subject: string, text: string): Finding => ({ subject, state: "note", text });
const fault = (subject: string, text: string): Finding => ({ subject, state: "fault", text });

const OLDEST_NODE = [20, 19] as const;
/** Watches that `file:watch` may take in one process. */
const WATCHES = 8192;
/** A clock before this lies: no release of this program is older. */
const RELEASED = Date.UTC(2026, 0, 1);
/** Open files that a busy venue needs. */
const OPEN_FILES = 4096;

export async function doctor(context: CommandContext): Promise<number> {
  const findings = [
    nodeVersion(),
    await engine(context),
    isLinux()
      ? native("koffi", "the fast walk of the jail", "openat2 is not used; walks take more system calls")
      : native(
          "koffi",
          "what is opened is asked where it is: races show no content from outside a root",
          "another program that swaps directories and links in a root can make calls read and change content outside it",
          findWhere() !== undefined,
        ),
    native("lmdb", "drives on disk and the journal", "drives are in memory only, and there is no journal"),
    await sandbox(context),
    ...limits(),
    stateDirectory(context),
    clock(),
  ];
  const rows = findings.map(({ subject, state, text }) => [state === "ok" ? "ok" : state.toUpperCase(), subject, text]);
  context.stdout.write(`venue-files ${packageVersion()} on this machine:\n\n${table(rows)}\n`);
  const faults = findings.filter(({ state }) => state === "fault").length;
  if (faults === 0) return EXIT.ok;
  context.stderr.write(`\n${faults} of these must be mended\n`);
  return EXIT.config;
}

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isNew = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const text = `${process.version} on ${systemName()} ${process.arch}`;
  return isNew ? ok("Node", text) : fault("Node", `${text}; needs ${OLDEST_NODE.join(".")} or newer`);
}

/** Opens the current directory as a root, which makes nothing in it. */
async function engine({ cwd }: CommandContext): Promise<Finding> {
  try {
    const { file } = parseConfig({ file: { roots: { here: { path: cwd, readOnly: true } } } }, { baseDir: cwd });
    const opened = openRoots(file);
    const found = opened.roots[0]?.engine ?? "none";
    await opened.close();
    if (found !== "real-path check") return ok("Jail", found);
    return note("Jail", `${found}: races of other programs in a root are not all held off here`);
  } catch (error) {
    return fault("Jail", error instanceof Error ? escapeText(error.message) : "it cannot be opened");
  }
}

const native = (name: string, use: string, without: string, isUsable = isLoadable(name)): Finding =>
  isUsable ? ok(name, use) : note(name, `cannot be loaded: ${without}`);

async function sandbox({ cwd }: CommandContext): Promise<Finding> {
  const profiles = { shell: { profile: "jettson", root: "here", shell: {} } };
  const config = parseConfig({ profiles, file: { roots: { here: cwd } } }, { baseDir: cwd });
  const { shell } = config.profiles["shell"] ?? {};
  if (shell === undefined) return fault("Sandbox", "its configuration has no shell");
  const { reportSandbox } = await import("../../sandbox/report.js");
  const { sandbox: found, network } = await reportSandbox(shell, { file: config.file, root: "here" });
  if (found.startsWith("none")) return note("Sandbox", `${found}. In this folder profiles have no shell`);
  return ok("Sandbox", `${found}; ${network}`);
}

function limits(): readonly Finding[] {
  if (!isLinux()) return [];
  const watches = numberIn("/proc/sys/fs/inotify/max_user_watches", /(\d+)/);
  const files = numberIn("/proc/self/limits", /^Max open files\s+(\d+)/m);
  const looks = "beyond, file:watch looks every two seconds (fs.inotify.max_user_watches)";
  return [
    ...limit("Watches", watches, WATCHES, looks),
    ...limit("Open files", files, OPEN_FILES, "a busy venue needs more (ulimit -n)"),
  ];
}

function limit(subject: string, found: number | undefined, wanted: number, advice: string): readonly Finding[] {
  if (found === undefined) return [];
  const text = found.toLocaleString("en");
  return [found >= wanted ? ok(subject, text) : note(subject, `${text}; ${advice}`)];
}

function numberIn(file: string, pattern: RegExp): number | undefined {
  const [, digits] = pattern.exec(attempt(() => readFileSync(file, "utf8")) ?? "") ?? [];
  return digits === undefined ? undefined : Number(digits);
}

function stateDirectory({ env, cwd }: CommandContext): Finding {
  try {
    const config = parseConfig({}, { baseDir: cwd });
    checkState(config, env);
    return ok("State", escapeText(stateDirOf(config, env)));
  } catch (error) {
    if (error instanceof NoStateDir) return note("State", error.message);
    if (!(error instanceof ConfigError)) throw error;
    return fault("State", error.problems.join("; "));
  }
}

function clock(): Finding {
  const now = new Date().toISOString();
  return Date.now() > RELEASED ? ok("Clock", now) : fault("Clock", `${now}: tokens and times would be wrong`);
}
