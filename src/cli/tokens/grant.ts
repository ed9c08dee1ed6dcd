// The `grant` command.

import { covers, FILE_SEMANTICS, type Grant, parseGrant, wordsOf } from "../../authz/grant.js";
import { ConfigError } from "../../config/errors.js";
import { parseConfig } from "../../config/load.js";
import type { Ability, Capability } from "../../core/call/capability.js";
import { systemClock } from "../../core/clock.js";
import { escapeText } from "../../core/errors/texts.js";
import { checkAudience } from "../../ucan/mint/claims.js";
import { MintError } from "../../ucan/mint/error.js";
import { type Minted, type MintRules, mint } from "../../ucan/mint/mint.js";
import type { SigningKey } from "../../ucan/mint/signing-key.js";
import { otherDidKey } from "../../ucan/token/key-types.js";
import { printDuration, printTime } from "../arguments/duration.js";
import { UsageError } from "../arguments/options.js";
import { type CommandContext, EXIT } from "../context.js";
import { loadOptionalConfig } from "../load-config.js";
import { shortDid } from "../output/did.js";
import { type VenueView, viewVenue } from "./inspect.js";
import { keyPlace, openSigningKey } from "./signing-key.js";
import { readTokens } from "./token-files.js";
import { checkTokenOutput, putToken } from "./token-output.js";

/** A parsed `grant` command; keys and tokens are not read yet. */
interface GrantCommand {
  readonly to: string;
  readonly capabilities: readonly Capability[];
  /** `undefined`: the default lifetime. */
  readonly lifetimeSeconds: number | undefined;
  readonly key: string | undefined;
  readonly config: string | undefined;
  readonly proofs: readonly string[];
  readonly profile: "covia" | "ucan-0.8";
  /** A path; `-`: standard output. */
  readonly out: string | undefined;
}

/** `venue-files grant`: signs a UCAN, and describes it on standard error. */
export async function grant(command: GrantCommand, context: CommandContext): Promise<number> {
  const { to, capabilities, out } = command;
  checkTokenOutput(out, context);
  checkTo(to);
  for (const capability of capabilities) checkCapability(capability);
  const config = loadOptionalConfig(command.config, context.cwd);
  const view = config === undefined ? undefined : viewVenue(config, context);
  const key = signerOf(command, view, context);
  const minted = await mintOrExplain(command, key, { context, view });
  if (minted === undefined) return EXIT.failed;
  await putToken(minted.token, out, context);
  const { token, expiresAt } = minted;
  const now = Math.floor(systemClock.nowMs() / 1000);
  context.stderr.write(`${summary(command, key, { ...minted, now })}\n`);
  const lifetimeSeconds = expiresAt - now;
  const warnings = grantWarnings({ signer: key.did, audience: to, capabilities, lifetimeSeconds, token }, view);
  for (const warning of warnings) context.stderr.write(`Warning: ${warning}\n`);
  return EXIT.ok;
}

/** Abilities of file operations; a capability that covers none of them is a mistake. */
const ABILITIES: readonly Ability[] = ["crud/read", "crud/write", "crud/delete"];

/** Checks a capability, naming the half that makes it grant nothing. @throws UsageError */
function checkCapability({ with: resource, can }: Capability): void {
  if (parseGrant({ with: resource, can: "*" }) === undefined) {
    const form = "file:// with a root and a path, such as file://docs/reports/, without %, wildcards or ..";
    throw new UsageError(`--with must be ${form}, not '${escapeText(resource)}'`);
  }
  const grant = parseGrant({ with: "file://", can });
  if (grant !== undefined && ABILITIES.some((ability) => covers(grant, { segments: [], words: wordsOf(ability) })))
    return;
  const abilities = "crud/read, crud/write, crud/delete or crud (all three)";
  throw new UsageError(`--can must be an ability: ${abilities}, not '${escapeText(can)}'`);
}

/** @throws ConfigError if the key cannot be used, or the venue has no persistent key */
function signerOf(command: GrantCommand, view: VenueView | undefined, context: CommandContext): SigningKey {
  if (command.key !== undefined) return openSigningKey(command.key, keyPlace(view?.config, context));
  if (view?.key !== undefined) return view.key;
  const { seedFile } = view?.config ?? {};
  const why =
    seedFile === undefined
      ? "it has another one at each start. Set 'seedFile'"
      : `there is no file yet: ${escapeText(seedFile)}. Start the venue once`;
  throw new ConfigError([`The key of this venue cannot sign: ${why}, or name a key with --key`], EXIT.config);
}

interface Surroundings {
  readonly context: CommandContext;
  readonly view: VenueView | undefined;
}

async function mintOrExplain(
  command: GrantCommand,
  key: SigningKey,
  { context, view }: Surroundings,
): Promise<Minted | undefined> {
  const { to: audience, capabilities, lifetimeSeconds, profile } = command;
  const proofs = readTokens(command.proofs, context);
  const lifetime = lifetimeSeconds === undefined ? {} : { lifetimeSeconds };
  try {
    return await mint({ key, audience, capabilities, proofs, profile, ...lifetime }, rulesOf(view, context));
  } catch (error) {
    if (!(error instanceof MintError)) throw error;
    context.stderr.write(`No token was made. ${error.message}\n`);
    return undefined;
  }
}

/** Rules of the configured venue, else those of a venue with the default configuration. */
function rulesOf(view: VenueView | undefined, { cwd }: CommandContext): MintRules<Grant> {
  const { auth } = view?.config ?? parseConfig({}, { baseDir: cwd });
  return {
    semantics: FILE_SEMANTICS,
    clock: systemClock,
    clockSkewSeconds: auth.clockSkew,
    maxLifetimeSeconds: auth.ucan.maxLifetime,
  };
}

/** Summary of issuer, audience, capabilities and their end. @param now in seconds since the epoch */
function summary(
  { to, capabilities }: GrantCommand,
  key: SigningKey,
  { id, endsAt, now }: Minted & { readonly now: number },
): string {
  const what = capabilities.map(({ with: resource, can }) => `${can} on ${escapeText(resource)}`).join(", ");
  const until = `${printTime(endsAt)} (${printDuration(endsAt - now)})`;
  return `${shortDid(key.did)} gives ${shortDid(to)} ${what} until ${until}. Id ${id}`;
}

/** A newly minted token. */
interface NewGrant {
  readonly signer: string;
  readonly audience: string;
  readonly capabilities: readonly Capability[];
  readonly lifetimeSeconds: number;
  readonly token: string;
}

/**
 * Warnings about a new token, one sentence each. Not errors: another venue, or this one later, may judge differently.
 *
 * @param view absent: owners are unknown
 */
function* grantWarnings(made: NewGrant, view: VenueView | undefined): Generator<string> {
  const { signer, audience } = made;
  const canonical = (did: string) => view?.canonicalDid(did) ?? did;
  if (canonical(audience) === canonical(signer)) yield "the token is for its own signer";
  if (view === undefined) return;
  const most = view.config.auth.maxIdentityLifetime;
  if (view.did !== undefined && canonical(audience) === view.did && made.lifetimeSeconds > most) {
    yield `as a bearer this venue takes tokens that live at most ${printDuration(most)}; beside another one this is fine`;
  }
  for (const capability of made.capabilities) {
    const warning = warningOf(capability, made, view);
    if (warning !== undefined) yield warning;
  }
}

function warningOf(capability: Capability, { signer, token }: NewGrant, view: VenueView): string | undefined {
  const grant = parseGrant(capability);
  // A drive has its owner in its name, or belongs to the signer.
  if (grant === undefined || grant.owner !== undefined) return undefined;
  const resource = escapeText(capability.with);
  const [root] = grant.segments;
  if (root !== undefined && !Object.hasOwn(view.config.file.roots, root)) {
    return `there is no root '${root}' in this configuration, so ${resource} leads nowhere`;
  }
  const owner = view.ownerOf(root);
  if (owner === undefined) {
    return `nobody can say yet who owns ${resource}: the key of this venue is not there yet, or another at each start`;
  }
  const [read] = view.verifier.read([token]);
  const gives = read?.verdict(owner).grants.some(({ grant: { written } }) => isSame(written, capability)) ?? false;
  if (gives) return undefined;
  const whose = root === undefined ? "what has no owner of its own belongs" : `root '${root}' belongs`;
  return (
    `the token gives nothing on ${resource}: ${whose} to ${shortDid(owner)}, ` +
    `not to ${shortDid(signer)}, and no proof goes back to that owner`
  );
}

const isSame = (a: Capability, b: Capability): boolean => a.with === b.with && a.can === b.can;

/** Checks that the value of `--to` can be an audience. @throws UsageError */
export function checkTo(did: string): void {
  try {
    checkAudience(did);
  } catch (error) {
    if (!(error instanceof MintError)) throw error;
    const not = otherDidKey(did) ?? `'${escapeText(did)}'`;
    throw new UsageError(`--to must be a did:key of an Ed25519 key, or another DID, not ${not}`);
  }
}
