import { existsSync } from "node:fs";
import { ConfigError } from "../config/errors.js";
import { checkListener, isLoopbackListener } from "../config/loopback.js";
import type { VenueConfig } from "../config/types.js";
import type { Root } from "../core/operation.js";
import { openRoots, RootsError } from "../roots/open.js";
import type { Command } from "../surfaces/cli/arguments.js";
import { describeVenue, type VenueFacts } from "../surfaces/cli/describe-venue.js";
import { openIdentity } from "../venue/identity.js";
import { publicCapsOf, servesPublic } from "../venue/public-caps.js";
import { checkSecretsOutside } from "../venue/secrets.js";
import { defaultStateDir } from "../venue/state-dir.js";
import { resolveStaticTokens, type StaticToken } from "../venue/static-tokens.js";
import { packageVersion } from "../version.js";
import { type CommandContext, EXIT } from "./context.js";
import { loadConfigs } from "./load.js";

/** `venue-files check`: says what `serve` would run with this configuration, or everything that is wrong with it. */
export async function check(command: Extract<Command, { name: "check" }>, context: CommandContext): Promise<number> {
  const configs = loadConfigs(command.source, context.cwd);
  const problems: string[] = [];
  const described: string[] = [];
  for (const config of configs) {
    const refusal = checkListener(config);
    if (refusal !== undefined) problems.push(refusal);
    try {
      described.push(describeVenue(await factsOf(config, context)));
    } catch (error) {
      if (!(error instanceof ConfigError) && !(error instanceof RootsError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems, EXIT.config);
  context.stdout.write(`venue-files ${packageVersion()}: the configuration is valid\n\n${described.join("\n")}`);
  return EXIT.ok;
}

/** Opens what can be opened without leaving anything behind: roots, and an identity that exists already. */
async function factsOf(config: VenueConfig, { env }: CommandContext): Promise<VenueFacts> {
  const { seed, seedFile } = config;
  checkSecretsOutside(config, env);
  const exists = seed !== undefined || (seedFile !== undefined && existsSync(seedFile));
  const identity = exists ? openIdentity({ seed, seedFile, did: config.did }) : undefined;
  const opened = openRoots(config.file);
  try {
    const loopback = isLoopbackListener(config);
    return {
      config,
      loopback,
      did: identity?.did ?? config.did,
      keyIsMade: seedFile !== undefined && !exists,
      publicAccess: servesPublic(config),
      publicCaps: publicCapsOf(config),
      localTokenIn: (config.auth.localToken ?? loopback) ? (config.stateDir ?? defaultStateDir(env)) : undefined,
      tokens: tokensOf(config, identity, env),
      roots: opened.roots.map(rootFacts),
      warnings: [...config.warnings, ...opened.warnings],
    };
  } finally {
    await opened.close();
  }
}

const rootFacts = ({ name, kind, readOnly, engine, description }: Root) => ({
  name,
  kind,
  readOnly,
  engine: engine ?? "",
  ...(description === undefined ? {} : { description }),
});

function tokensOf(
  config: VenueConfig,
  identity: { did: string; keyDid: string } | undefined,
  env: CommandContext["env"],
): readonly StaticToken[] {
  const did = identity?.did ?? config.did ?? "<venueDID>";
  return resolveStaticTokens(config.auth.tokens, env, {
    did,
    keyDid: identity?.keyDid ?? did,
    operatorDid: config.operator ?? did,
  });
}
