// The `check` command: describes a configuration, or lists its problems.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { forgetsDrives } from "../../config/checks/drives.js";
import { ConfigError } from "../../config/errors.js";
import { locate, type Problem } from "../../config/lines.js";
import { locateKeys } from "../../config/load.js";
import { checkListener, isLoopbackListener } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import { type Log, silentLog } from "../../core/ports/log.js";
import type { RootFacts } from "../../core/ports/operation.js";
import { hasDamaged } from "../../journal/check-tables.js";
import { keyOf } from "../../journal/open-journal.js";
import { type OpenRoots, openRoots, RootsError } from "../../roots/open.js";
import { networkRefusal } from "../../sandbox/bwrap/user-network.js";
import { publicCapsOf, servesPublic } from "../../venue/identity/access.js";
import { canonicalDid, type Identity } from "../../venue/identity/identity.js";
import { existingIdentity } from "../../venue/identity/own-access.js";
import { type RevocationPlace, revocationPlace } from "../../venue/identity/revocation-place.js";
import { openRevocations } from "../../venue/identity/revocations.js";
import { resolveStaticTokens, staticTokenDids } from "../../venue/identity/static-tokens.js";
import { bucketText, s3Access } from "../../venue/start/s3-access.js";
import { hasLocalToken, stateDirOf, withOwnStateDirs } from "../../venue/start/state/place.js";
import { NOT_OPENED } from "../../venue/start/state/roots.js";
import { checkSecretsOutside, knownStateDir } from "../../venue/start/state/secrets.js";
import { NoStateDir } from "../../venue/start/state/state-dir.js";
import { packageVersion } from "../../version.js";
import type { ConfigSource } from "../arguments/remote.js";
import { type CommandContext, EXIT } from "../context.js";
import { loadConfigs } from "../load-config.js";
import { describeVenue, type RevocationFacts, type VenueFacts } from "../output/describe-venue.js";
import { startProblems } from "./check-start.js";
import { isLoadable } from "./native.js";
import { writableConfig } from "./own-file.js";

/** `venue-files check`: describes what `serve` would run with this configuration, or lists all its problems. */
export async function check(source: ConfigSource, context: CommandContext): Promise<number> {
  const loaded = loadConfigs(source, context.cwd);
  const { file } = source;
  const keys = file === undefined ? { file: "", positions: new Map() } : locateKeys(file);
  const shared: string[] = [];
  const configs = collectProblems(() => withOwnStateDirs(loaded, context.env), shared) ?? loaded;
  const problems: Problem[] = shared.map((text) => ({ text }));
  const described: string[] = [];
  for (const [index, config] of configs.entries()) {
    const own: string[] = [];
    const refusal = checkListener(config);
    if (refusal !== undefined) own.push(refusal);
    const found = await factsOf(config, { env: context.env, problems: own, file: file && resolve(context.cwd, file) });
    if (found !== undefined) described.push(describeVenue(found));
    const above = keys.positions.has("venues") ? `venues[${index}].` : "";
    problems.push(...own.map((text) => ({ text, above })));
  }
  if (problems.length > 0) throw new ConfigError(locate(problems, keys), EXIT.config);
  context.stdout.write(`venue-files ${packageVersion()}: the configuration is valid\n\n${described.join("\n")}`);
  return EXIT.ok;
}

/** Context of checking one venue. */
interface Look {
  readonly env: CommandContext["env"];
  /** Collects problems, so that all are reported together. */
  readonly problems: string[];
  /** The configuration's own. */
  readonly file: string | undefined;
}

/** Opens roots and existing state, without creating anything that stays. `undefined` if something cannot be opened. */
async function factsOf(config: VenueConfig, { env, problems, file }: Look): Promise<VenueFacts | undefined> {
  const warnings: string[] = [...config.warnings];
  const log: Log = { ...silentLog, warn: (_fields, text) => warnings.push(text) };
  const attempt = <T>(step: () => T): T | undefined => collectProblems(step, problems);
  attempt(() => checkSecretsOutside(config, env));
  for (const [name, { shell }] of Object.entries(config.profiles)) {
    const refusal = shell && networkRefusal(shell);
    if (refusal !== undefined) problems.push(`profiles.${name}: ${refusal}`);
  }
  const identity = attempt(() => existingIdentity(config, log));
  problems.push(...(await startProblems(config, { env, hasKey: identity !== undefined || !isKeyMade(config) })));
  const names = namesOf(config, identity);
  const venue = { ...names, operatorDid: config.operator ?? names.did, roots: config.file.roots };
  const tokens = attempt(() => resolveStaticTokens(config.auth.tokens, env, venue));
  const revocations = attempt(() => revocationsOf(config, { names, env, log }));
  const localTokenIn = attempt(() => (hasLocalToken(config) ? stateDirOf(config, env) : undefined));
  const opened = attempt(() =>
    openRoots(config.file, undefined, config.stateDir === false ? {} : { journals: NOT_OPENED }),
  );
  try {
    if (tokens === undefined || revocations === undefined || opened === undefined) return undefined;
    const canonical = (did: string) => (identity === undefined ? did : canonicalDid(identity, did));
    const operator = config.operator ?? identity?.did ?? config.did;
    return {
      config,
      loopback: isLoopbackListener(config),
      did: identity?.did ?? config.did,
      keyIsMade: config.seedFile !== undefined && identity === undefined,
      publicAccess: servesPublic(config),
      publicCaps: publicCapsOf(config),
      localTokenIn,
      tokens,
      operatorDid: operator === undefined ? undefined : canonical(operator),
      grants: config.auth.grants.map((grant) => ({ ...grant, did: canonical(grant.did) })),
      revocations,
      roots: rootsOf(config, opened, { canonical, state: knownStateDir(config, env) }),
      commands: await commandsOf(config),
      state: knownStateDir(config, env),
      drives: drivesOf(config, env),
      assets: assetsOf(config, env),
      warnings: [
        ...warnings,
        ...opened.warnings,
        ...approvingClients(config),
        ...openTrash(config),
        ...lostSnapshots(config),
        ...writableConfig(config, file),
      ],
    };
  } finally {
    await opened?.close();
  }
}

/** Commands without a guard can remove what the trash and the journal keep. */
function openTrash({ profiles }: VenueConfig): readonly string[] {
  const unsafe = Object.entries(profiles).filter(([, { shell }]) => shell?.unsafe === true);
  return unsafe.map(
    ([name]) =>
      `Commands of profile '${name}' run without a guard: they can remove what the trash and the journal keep`,
  );
}

/** A snapshot is kept by the journal of its root. */
function lostSnapshots({ profiles, file, stateDir }: VenueConfig): readonly string[] {
  return Object.entries(profiles).flatMap(([name, { snapshot, root }]) => {
    const config = file.roots[root];
    const isOff = config !== undefined && "journal" in config && config.journal === "off";
    if (snapshot !== true || !(stateDir === false || isOff)) return [];
    return [`Profile '${name}' has snapshot: true, but its root '${escapeText(root)}' has no journal to keep it`];
  });
}

/** MCP clients with all the rights of the operator could answer for the person who is to be asked. */
function approvingClients(config: VenueConfig): readonly string[] {
  const { file, mcp } = config;
  const asking = Object.entries(file.roots).flatMap(([name, { approve }]) => (approve === undefined ? [] : [name]));
  if (asking.length === 0 || mcp === false || !hasLocalToken(config)) return [];
  const roots = asking.map((name) => `'${escapeText(name)}'`).join(", ");
  return [
    `A person is asked about changes in ${roots}, but an MCP client that has the local token is the operator, and could decide for itself by HTTP. Give it a token of 'venue-files token issue'`,
  ];
}

async function commandsOf({ profiles, file }: VenueConfig): Promise<VenueFacts["commands"]> {
  const rows: (readonly string[])[] = [];
  for (const [name, { root, prefix, shell }] of Object.entries(profiles)) {
    if (shell === undefined) continue;
    const { reportSandbox } = await import("../../sandbox/report.js");
    const { sandbox, network, processes, group } = await reportSandbox(shell, { file, root, prefix });
    const said = [sandbox, network, processes, group].filter((part) => part !== undefined);
    rows.push([name, `on ${root}`, escapeText(said.join("; "))]);
  }
  return rows;
}

function drivesOf(config: VenueConfig, env: CommandContext["env"]): string {
  const { store } = config.drives;
  if (forgetsDrives(config)) return "in memory";
  if (store === undefined || store === "memory") return `in ${join(stateDirOf(config, env), "drives")}`;
  if ("path" in store) return `in ${store.path}`;
  return bucketText(s3Access(store.s3, env));
}

function assetsOf({ storage }: VenueConfig, env: CommandContext["env"]): string {
  if (storage.content === "memory") return "in memory";
  return storage.content === "file" ? `in ${storage.path}` : bucketText(s3Access(storage.s3, env));
}

function collectProblems<T>(step: () => T, problems: string[]): T | undefined {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof ConfigError) && !(error instanceof RootsError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

/** Whether the first start will create a persistent key. */
const isKeyMade = ({ seed, seedFile }: VenueConfig): boolean =>
  seed === undefined && seedFile !== undefined && !existsSync(seedFile);

interface RevocationSources {
  readonly names: Pick<Identity, "did" | "keyDid">;
  readonly env: Look["env"];
  readonly log: Log;
}

function revocationsOf(config: VenueConfig, { names, env, log }: RevocationSources): RevocationFacts {
  const place = placeOf(config, env);
  if (place === undefined) return { has: () => false, hasToken: () => false };
  const list = openRevocations(place, { log });
  const has = (did: string) => list.has(did);
  return {
    path: place.path,
    entries: existsSync(place.path) ? list.size : undefined,
    has,
    hasToken: (name, did) => [did, ...staticTokenDids(names, name)].some(has),
  };
}

/** `undefined`: there is no list, because there is no state directory. */
function placeOf(config: VenueConfig, env: Look["env"]): RevocationPlace | undefined {
  try {
    return revocationPlace(config, env);
  } catch (error) {
    if (error instanceof NoStateDir) return undefined;
    throw error;
  }
}

/** DIDs of the venue, as far as known before its key exists. */
function namesOf(config: VenueConfig, identity: Identity | undefined): Pick<Identity, "did" | "keyDid"> {
  const did = identity?.did ?? config.did ?? "<venueDID>";
  return { did, keyDid: identity?.keyDid ?? did };
}

/** Owner of a drive, as displayed. */
const EACH_CALLER = "each caller";

interface Around {
  readonly canonical: (did: string) => string;
  /** State directory, if there is one. */
  readonly state: string | undefined;
}

function rootsOf(config: VenueConfig, opened: OpenRoots, { canonical, state }: Around): VenueFacts["roots"] {
  return opened.roots.map(({ name, kind, readOnly, engine, description, drive, hostPath, patterns }: RootFacts) => {
    const owner = config.file.roots[name]?.owner;
    return {
      name,
      kind,
      readOnly,
      engine: engine ?? "",
      ...journalPart(config, name, state && hostPath && join(state, "journal", keyOf(hostPath))),
      ...{ description, patterns },
      owner: drive === undefined ? owner && canonical(owner) : EACH_CALLER,
    };
  });
}

/** Describes the journal of a writable root. @param folder where the journal of a directory lies */
function journalPart({ file, drives, stateDir }: VenueConfig, name: string, folder = ""): { journal?: string } {
  const root = file.roots[name];
  if (root === undefined || root.readOnly) return {};
  if (root.kind === "dlfs") {
    const { bytes, days } = drives.journalQuota;
    return { journal: `log of the drives, ${Math.round(bytes / 2 ** 20)} MiB for each owner, ${days} days` };
  }
  const isUsual = root.kind === "host" && stateDir !== false;
  const { journal = isUsual ? "on" : "off", trash, journalQuota } = root;
  if (journal === "off") return {};
  if (!isLoadable("lmdb")) return { journal: "no journal: its library 'lmdb' cannot be loaded" };
  const { bytes, days } = journalQuota;
  const kept = journal === "on" ? `, ${Math.round(bytes / 2 ** 20)} MiB, trash ${trash}` : " (metadata)";
  // The journal goes on, without the entries that could not be read.
  const damage =
    folder !== "" && hasDamaged(folder) ? `; it was damaged, its old tables are beside it in ${folder}` : "";
  return { journal: `journal${kept}, ${days} days${damage}` };
}
