// The command line of `init`.

import { escapeText } from "../../../core/errors/texts.js";
import { nearestName } from "../../../schema/nearest.js";
import { CLIENTS } from "../../init/clients.js";
import { parseListener } from "../listener.js";
import { checkArgument, UsageError, type Values } from "../options.js";

/** Parsed `init` command. */
export interface InitCommand {
  readonly name: "init";
  /** `undefined`: the current directory. */
  readonly folder: string | undefined;
  /** As given to `--root`. */
  readonly roots: readonly string[];
  /** Names of {@link CLIENTS}. */
  readonly clients: readonly string[];
  /** Name of the entry in clients' files. */
  readonly entry: string | undefined;
  readonly port: number | undefined;
  readonly yes: boolean;
  readonly print: boolean;
  readonly force: boolean;
}

const ENTRY_NAME = /^[A-Za-z0-9_-]{1,60}$/;

/** @throws UsageError */
export function parseInit(rest: readonly string[], values: Values): InitCommand {
  const [folder, ...more] = rest.map(checkArgument);
  if (more[0] !== undefined) throw new UsageError(`'init' takes one folder, not also '${escapeText(more[0])}'`);
  const clients = values.get("for") ?? [];
  for (const name of clients) {
    if (Object.hasOwn(CLIENTS, name)) continue;
    const near = nearestName(name, Object.keys(CLIENTS));
    const advice = near === undefined ? `Clients: ${Object.keys(CLIENTS).join(", ")}` : `Did you mean '${near}'?`;
    throw new UsageError(`--for knows no client '${escapeText(name)}'. ${advice}`);
  }
  const entry = values.get("name")?.[0];
  if (entry !== undefined && !ENTRY_NAME.test(entry)) {
    throw new UsageError("--name takes at most 60 letters, digits, '-' and '_', which every client accepts");
  }
  return {
    ...{ entry, name: "init", folder, clients, roots: values.get("root") ?? [], port: parseListener(values)?.port },
    ...{ yes: values.has("yes"), print: values.has("print"), force: values.has("force") },
  };
}
