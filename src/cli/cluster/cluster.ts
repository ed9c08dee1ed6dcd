// `venue-files cluster init` and `cluster status`

import { escapeText } from "../../core/errors/texts.js";
import type { Instance } from "../../core/ports/shared.js";
import { initShared, sharedInstances } from "../../venue/shared/admin.js";
import { type CommandContext, EXIT, print } from "../context.js";
import { loadOneConfig } from "../load-config.js";
import { table } from "../output/table.js";

export async function clusterInit(file: string, context: CommandContext): Promise<number> {
  const config = loadOneConfig({ file, roots: [] }, context.cwd);
  const schema = await initShared(config, context.env);
  await print(context, `The tables are in schema ${schema}. Start instances with: venue-files serve\n`);
  return EXIT.ok;
}

export async function clusterStatus(
  { file, json }: { readonly file: string; readonly json: boolean },
  context: CommandContext,
): Promise<number> {
  const config = loadOneConfig({ file, roots: [] }, context.cwd);
  const instances = await sharedInstances(config, context.env);
  const text = json ? instances.map((one) => `${JSON.stringify(one)}\n`).join("") : `${tableOf(instances)}\n`;
  await print(context, text);
  return differ(instances) ? EXIT.failed : EXIT.ok;
}

const HEAD = ["number", "state", "address", "version", "tokens", "grants", "roots"];

function tableOf(instances: readonly Instance[]): string {
  if (instances.length === 0) return "No instance within a day.";
  const rows = instances.map(({ number, live, advertise = "", version, digest }) => [
    ...[`${number}`, live ? "live" : "gone", advertise ?? "", version],
    ...[digest.tokens, digest.grants, digest.roots],
  ]);
  return table([HEAD, ...rows.map((cells) => cells.map(escapeText))]);
}

/** Whether live instances were configured differently, or are of different versions. */
function differ(instances: readonly Instance[]): boolean {
  const kinds = instances.filter(({ live }) => live).map(({ version, digest }) => JSON.stringify([version, digest]));
  return new Set(kinds).size > 1;
}
