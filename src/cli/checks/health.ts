// `venue-files health`: whether a venue answers, for container engines and supervisors.

import { type IncomingMessage, request } from "node:http";
import { request as secureRequest } from "node:https";
import { localUrl } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import type { ConfigSource } from "../arguments/remote.js";
import { type CommandContext, codeOf, EXIT } from "../context.js";
import { loadConfigs } from "../load-config.js";

const PATIENCE_MS = 2000;

/** Asks `/healthz` of every venue that is named. */
export async function health(source: ConfigSource, url: string | undefined, context: CommandContext): Promise<number> {
  const targets =
    url === undefined ? loadConfigs(source, context.cwd).map(targetOf) : [new URL("healthz", withTrailingSlash(url))];
  const faults = (await Promise.all(targets.map(ask))).filter((fault) => fault !== undefined);
  for (const fault of faults) context.stderr.write(`${fault}\n`);
  if (faults.length > 0) return EXIT.failed;
  context.stdout.write("ok\n");
  return EXIT.ok;
}

const withTrailingSlash = (url: string): string => (url.endsWith("/") ? url : `${url}/`);

type Target = URL | { readonly socketPath: string; readonly path: string };

function targetOf({ listen, hostname, port }: VenueConfig): Target {
  if (listen !== undefined) return { socketPath: listen.socket, path: "/healthz" };
  return new URL("/healthz", localUrl({ hostname }, port));
}

/** @returns what is wrong */
function ask(target: Target): Promise<string | undefined> {
  const name = target instanceof URL ? target.origin : target.socketPath;
  return new Promise((resolve) => {
    const fail = (why: string) => resolve(`No healthy venue at ${escapeText(name)}: ${why}`);
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = (response: IncomingMessage) => {
      response.resume();
      if (response.statusCode === 200) resolve(undefined);
      else fail(`it answers with status ${response.statusCode}`);
    };
    const call =
      target instanceof URL
        ? (target.protocol === "https:" ? secureRequest : request)(target, { signal, agent: false }, answer)
        : request({ ...target, signal, agent: false, headers: { host: "localhost" } }, answer);
    call.on("error", (error) => fail(signal.aborted ? `no answer within ${PATIENCE_MS} ms` : reasonOf(codeOf(error))));
    call.end();
  });
}

const reasonOf = (code = ""): string =>
  ["ECONNREFUSED", "ENOENT"].includes(code) ? `nothing listens there (${code})` : code || "no answer";
