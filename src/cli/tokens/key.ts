// The commands `key new` and `key show`.

import { readdirSync } from "node:fs";
import { ConfigError } from "../../config/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import { newSeed, signingKeyFromSeed } from "../../ucan/mint/signing-key.js";
import { openState } from "../../venue/start/state/place.js";
import { openStateDir } from "../../venue/start/state/state-dir.js";
import { UsageError } from "../arguments/options.js";
import { type CommandContext, codeOf, EXIT, print } from "../context.js";
import { parseVariable } from "../environment-reference.js";
import { loadOptionalConfig } from "../load-config.js";
import { table } from "../output/table.js";
import { isKeyName, type KeyPlace, keyDirectory, keyFile, keyPlace, openSigningKey } from "./signing-key.js";
import { makeNewFile } from "./token-output.js";

/** Maximum number of keys listed. */
const MAX_LISTED = 1000;

/** `venue-files key new`: creates a key, and prints only its DID. */
export async function keyNew(key: string, config: string | undefined, context: CommandContext): Promise<number> {
  const place = keyPlace(loadOptionalConfig(config, context.cwd), context);
  if (parseVariable(key) !== undefined) {
    throw new UsageError("'key new' makes a file: give it a name or a path, not a variable");
  }
  const { path, name } = keyFile(key, place);
  if (name !== undefined) {
    openState(place, place.env, "key new");
    openStateDir(keyDirectory(place));
  }
  const seed = newSeed();
  makeNewFile(path, `${Buffer.from(seed).toString("hex")}\n`, `Key '${escapeText(key)}'`);
  context.stderr.write(`The key is in ${escapeText(path)}. Whoever can read that file is this DID:\n`);
  await print(context, `${signingKeyFromSeed(seed).did}\n`);
  return EXIT.ok;
}

/** `venue-files key show`: prints the DID of a key, or a list of all named keys. */
export async function keyShow(
  key: string | undefined,
  config: string | undefined,
  context: CommandContext,
): Promise<number> {
  const place = keyPlace(loadOptionalConfig(config, context.cwd), context);
  if (key !== undefined) {
    await print(context, `${openSigningKey(key, place).did}\n`);
    return EXIT.ok;
  }
  const names = listNames(keyDirectory(place));
  if (names.length === 0) {
    context.stderr.write("There are no keys yet. Make one with: venue-files key new NAME\n");
    return EXIT.ok;
  }
  const problems: string[] = [];
  const rows = names.slice(0, MAX_LISTED).flatMap((name) => {
    const did = didOf(name, place, problems);
    return did === undefined ? [] : [[name, did]];
  });
  if (rows.length > 0) await print(context, `${table(rows).replace(/^ {2}/gm, "")}\n`);
  if (names.length > MAX_LISTED) context.stderr.write(`There are ${names.length - MAX_LISTED} more.\n`);
  if (problems.length > 0) throw new ConfigError(problems, EXIT.config);
  return EXIT.ok;
}

/** An unusable key is reported without hiding the others. */
function didOf(name: string, place: KeyPlace, problems: string[]): string | undefined {
  try {
    return openSigningKey(name, place).did;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

/** @throws ConfigError 66 */
function listNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter(isKeyName).sort();
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return [];
    throw new ConfigError([`Cannot read the folder of keys: ${code}: ${escapeText(directory)}`], EXIT.noInput);
  }
}
