// Calls of the operator on a venue that runs, found by its state directory or given by its URL.

import { escapeText } from "../../core/errors/texts.js";
import { localTokenFile, stateDirOf } from "../../venue/start/state/place.js";
import { runningVenues } from "../../venue/start/state/running.js";
import { readSecretFile } from "../../venue/start/state/state-dir.js";
import { folderOf } from "../../venue/start/state/venue-folder.js";
import type { RemoteVenue } from "../arguments/remote.js";
import { HttpCalls } from "../calls/http-calls.js";
import { openRemoteCalls } from "../calls/remote-calls.js";
import type { VenueCalls } from "../calls/venue-calls.js";
import { type CommandContext, Unavailable } from "../context.js";
import { loadConfigs } from "../load-config.js";

/** Running venue that is asked. */
export interface RunningTarget {
  /** `undefined`: the one that runs with this state directory. */
  readonly remote: RemoteVenue | undefined;
  readonly config: string | undefined;
}

/** A running venue, and where its answers go. */
export interface Desk {
  readonly calls: VenueCalls;
  readonly context: CommandContext;
}

const TOKEN_FILE = { maxBytes: 64, follow: false };

/** @throws Unavailable when none runs, ConfigError */
export function openRunningCalls({ remote, config }: RunningTarget, context: CommandContext): VenueCalls {
  const { signal } = new AbortController();
  if (remote !== undefined) return openRemoteCalls(remote, context, { caps: undefined, signal });
  const { url, token } = find(config, context);
  return new HttpCalls({ url, token, ucans: [], caps: undefined, signal });
}

function find(
  config: string | undefined,
  { cwd, env }: CommandContext,
): { readonly url: string; readonly token: string } {
  const configs = config === undefined ? [{}] : loadConfigs({ file: config, roots: [] }, cwd);
  const [first = {}] = configs;
  const base = stateDirOf(first, env);
  const all = runningVenues(base);
  const named = configs.flatMap((one) => ("name" in one ? [folderOf(one.name)] : []));
  const found = [...all].filter(([folder]) => named.length === 0 || named.includes(folder));
  const [running, ...more] = found;
  if (running === undefined) {
    throw new Unavailable(
      "No venue with a local token ('auth.localToken'; off loopback only when set) runs with this state directory. Start one with 'venue-files serve', or give --url and --token",
    );
  }
  if (more.length > 0) {
    const urls = found.map(([name, { url }]) => `${escapeText(name)} (${url ?? "socket"})`).join(", ");
    throw new Unavailable(`Several venues run: ${urls}. Choose one with --config or --url`);
  }
  const [folder, { url }] = running;
  if (url === undefined) throw new Unavailable("The venue listens on a socket. Give --url of a proxy before it");
  // Each of several venues in one process has its own folder.
  for (const stateDir of [`${base}/${folder}`, base]) {
    const file = readSecretFile(localTokenFile({ stateDir }, env), TOKEN_FILE);
    if (!("fault" in file)) return { url, token: file.text.trim() };
  }
  throw new Unavailable("The venue has no local token ('auth.localToken'). Give --url and --token");
}
