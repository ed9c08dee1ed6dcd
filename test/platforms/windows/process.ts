// Stands in for test/cli/process.ts in what runs here: on Windows its processes get what Node needs under Wine, and on Linux `serve` starts in Wine.
import * as real from "../../cli/process.js";
import { serveInWine } from "./wine.js";

export * from "../../cli/process.js";

const NEEDED = ["NODE_OPTIONS", "NODE_SKIP_PLATFORM_CHECK"];

function withNeeded(options: real.StartOptions): real.StartOptions {
  const env = Object.fromEntries(NEEDED.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  return { ...options, env: { ...env, ...options.env } };
}

export function startNode(args: readonly string[], options: real.StartOptions = {}): real.Running {
  return real.startNode(args, withNeeded(options));
}

export function start(args: readonly string[], options: real.StartOptions = {}): real.Running {
  return startNode([real.CLI, ...args], options);
}

/** As the original, as far as callers here need it. */
export const serve = (args: readonly string[]) => serveInWine(args);
