// The library: creates file adapters and venues without a command line.

import { assembleAdapter, type FileAdapter } from "./adapter/adapter.js";
import { openAuditFile } from "./audit/audit-file.js";
import type { AuditSink } from "./audit/record.js";
import type { CapabilityRules } from "./authz/capability-rules.js";
import { createFileVerifier } from "./authz/file-verifier.js";
import { grantsFiles } from "./authz/grant.js";
import { ConfigError } from "./config/errors.js";
import { parseConfig, parseFileConfig } from "./config/load.js";
import { checkListener } from "./config/loopback.js";
import type { DidGrant, FileConfigInput, UcanConfig, VenueConfig, VenueConfigInput } from "./config/types.js";
import type { Capability } from "./core/call/capability.js";
import { type Log, silentLog } from "./core/ports/log.js";
import { fieldsOf } from "./core/unknown.js";
import { createToolProfile, type ToolProfile } from "./profiles/library.js";
import type { ProfileBinding } from "./profiles/profile.js";
import type { RootsState } from "./roots/groups.js";
import type { PlugIn } from "./venue/catalogue/plug-in.js";
import { auditSigner } from "./venue/start/audit-signer.js";
import type { OpenLog } from "./venue/telemetry/log.js";

export type { FileAdapter, FileOperationName } from "./adapter/adapter.js";
export type { AuditRecord, AuditSink } from "./audit/record.js";
export { type MintOptions, mintUcan } from "./authz/mint-ucan.js";
export { ConfigError } from "./config/errors.js";
export type { DidGrant, FileConfigInput, RootConfigInput, UcanConfig, VenueConfigInput } from "./config/types.js";
export type { Authentication } from "./core/call/caller.js";
export type { Capability } from "./core/call/capability.js";
export { ERROR_CODES, type ErrorCode, FileAdapterError } from "./core/errors/errors.js";
export type {
  Annotations,
  AssetContent,
  InvokeContext,
  JsonObject,
  OperationMetadata,
  ResolveAsset,
} from "./core/ports/adapter.js";
export type { Log, LogFields } from "./core/ports/log.js";
export {
  DEFAULT_SHELL,
  type ExecMount,
  type ExecRequest,
  type Sandbox,
  type SandboxExit,
  type SandboxOutput,
  type SandboxProbe,
  type SandboxProcess,
  SHELL_PATH,
  type ShellConfig,
} from "./core/ports/sandbox.js";
export type { ToolProfile } from "./profiles/library.js";
export type { ProfileBinding, ProfileTool, SeedFile } from "./profiles/profile.js";
export { RootsError } from "./roots/open.js";
export { createSandbox, type SandboxParts } from "./sandbox/create.js";
export type { FileInputs, FileOutputs } from "./schema/types.js";
export { type IdentityRequest, mintIdentity } from "./ucan/mint/claims.js";
export { MintError } from "./ucan/mint/error.js";
export type { Minted, MintProfile, MintRequest } from "./ucan/mint/mint.js";
export { newSeed, type SigningKey, signingKeyFromSeed } from "./ucan/mint/signing-key.js";
export type { PlugIn, PlugInOperation } from "./venue/catalogue/plug-in.js";

/** Configuration of {@link createFileAdapter}: the `file` key of a venue's configuration, audit and authorisation. */
export interface FileAdapterConfig extends FileConfigInput {
  /** A JSON Lines file, or a custom sink. Absent: no audit. */
  readonly audit?: { readonly file: string } | AuditSink;
  /** Folder for the journals of writable host roots, made with mode 0700. Absent: changes are not recorded. */
  readonly stateDir?: string;
  /** Authority of callers named in `invoke`. Absent: only what UCANs of root owners grant them. */
  readonly auth?: FileAdapterAuth;
}

/** Authority besides that of root owners. */
export interface FileAdapterAuth {
  /** DID of this service: the `aud` of UCANs that invoke it on behalf of their issuer. */
  readonly did?: string;
  /** DID with authority over every root, and owner of roots without one. Callers without a DID act as the operator. */
  readonly operator?: string;
  readonly grants?: readonly DidGrant[];
  /** Capabilities of every caller in roots without an owner. */
  readonly publicCaps?: readonly Capability[];
  readonly ucan?: Partial<Omit<UcanConfig, "revocations">>;
  /** Seconds, 0 to 60. */
  readonly clockSkew?: number;
  /** Revoked token ids and DIDs. */
  readonly revocations?: { has(idOrDid: string): boolean };
}

/**
 * Opens roots and returns an adapter with the file operations on them.
 *
 * The caller of `invoke` is the operator unless the context names one: pass `caps` to narrow an agent, `signal` to
 * cancel. Relative paths are relative to the current directory.
 *
 * @returns `{ name: "file", description, operations, warnings, invoke(op, input, ctx), close() }`; without `close()`,
 *   temp roots remain until the next start
 * @throws ConfigError with all mistakes in `config`; RootsError for directories that cannot be roots; a system error if
 *   the audit file cannot be opened
 * @example
 * const files = await createFileAdapter({ roots: { docs: { path: "./docs", readOnly: true }, scratch: { temp: true } } });
 * const { content } = await files.invoke("file:read", { root: "docs", path: "README.md" });
 * await files.close();
 */
export async function createFileAdapter(config: FileAdapterConfig = {}): Promise<FileAdapter> {
  const { audit, auth, stateDir, ...file } = config;
  const checked = parseFileConfig(file, { baseDir: process.cwd() });
  const capabilities = parseAuth(auth ?? {});
  const sink = audit === undefined ? undefined : await openSink(audit);
  const hasDrives = Object.values(checked.roots).some(({ kind }) => kind === "dlfs");
  const adapter = await assembleAdapter(checked, {
    ...(hasDrives ? { drives: (await import("./venue/start/drives.js")).createMemoryDrives() } : {}),
    ...(stateDir === undefined ? {} : await openStateOf(stateDir)),
    discloseHostPaths: true,
    capabilities,
    audit: sink,
  });
  await adapter.lookForLacks();
  return adapter;
}

/**
 * Creates a profile: the tools of another system on one root of an adapter.
 *
 * @param adapter from {@link createFileAdapter}; remains to be closed by its creator
 * @returns `{ tools, call(name, args, ctx), ready, seed? }`; with `shell` in the binding, `tools` is complete once
 *   `ready` has resolved
 * @throws ConfigError for a root or a profile that does not exist
 * @example
 * const files = await createFileAdapter({ roots: { scratch: { temp: true } } });
 * const jettson = createProfile(files, { profile: "jettson", root: "scratch" });
 * await jettson.call("jettson_files_write", { path: "notes.md", content: "# Notes" });
 */
export function createProfile(adapter: FileAdapter, binding: ProfileBinding): ToolProfile {
  return createToolProfile(adapter, binding, async (config) =>
    (await import("./sandbox/create.js")).createSandbox(config),
  );
}

/** @throws ConfigError for capabilities that grant nothing */
function parseAuth({ did, operator, grants = [], publicCaps = [], ...rules }: FileAdapterAuth): CapabilityRules {
  const nothing = [
    ...grants.flatMap(({ with: resource, can }, index) =>
      isGrant({ with: resource, can }) ? [] : [`auth.grants[${index}]`],
    ),
    ...publicCaps.flatMap((capability, index) => (isGrant(capability) ? [] : [`auth.publicCaps[${index}]`])),
  ];
  if (nothing.length > 0)
    throw new ConfigError(
      nothing.map((key) => `'${key}' grants nothing`),
      78,
    );
  return {
    grants,
    publicCaps,
    verifier: createFileVerifier(rules),
    venueDid: did,
    operator,
  };
}

async function openStateOf(stateDir: string): Promise<RootsState> {
  const { libraryState, lookAtState } = await import("./venue/start/state/place.js");
  const path = libraryState(stateDir);
  return {
    stateDir: { path, prepare: () => void libraryState(stateDir) },
    journals: {
      openState: () => libraryState(stateDir),
      lookAtState: () => lookAtState({ stateDir }, {}),
      ...{ byDefault: true, log: silentLog },
    },
  };
}

const isGrant = grantsFiles;

async function openSink(audit: NonNullable<FileAdapterConfig["audit"]>): Promise<AuditSink> {
  if (!isAudit(audit)) throw new ConfigError(["'audit' must be { file: <path> }, or a sink with a write method"], 78);
  // The embedder closes its own sink.
  if ("write" in audit) return { write: (record) => audit.write(record), close: async () => {} };
  return openAuditFile(audit.file, () => {}, { signer: auditSigner(undefined) });
}

/** Checked at run time for callers without TypeScript. */
function isAudit(audit: unknown): boolean {
  const { write, file } = fieldsOf(audit);
  return "write" in fieldsOf(audit) ? typeof write === "function" : typeof file === "string" && file !== "";
}

/** Process environment of a venue. */
export interface VenueOptions {
  /** Base directory of relative paths. Default: the current directory. */
  readonly baseDir?: string;
  /**
   * Variables for `auth.tokens`, and `XDG_STATE_HOME` for the state directory. Default: none; the state directory is
   * then below the home directory, unless `stateDir` is set.
   */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Receives the structured log instead of the configured one. Default: no log, unless `log` is configured. */
  readonly log?: Log;
}

/** A venue in this process. */
export interface Venue {
  readonly did: string;
  /** Base URL without a trailing slash. With port 0 it is valid only once the venue listens. */
  readonly url: string;
  /** Bearer token of the operator, if enabled by the configuration. */
  readonly localToken: string | undefined;
  /** Warnings for the operator about configuration and roots; may contain host paths. */
  readonly warnings: readonly string[];
  /**
   * Hosts a custom adapter: its operations get jobs, authentication, input validation and audit, and appear in the
   * catalogue, the values and over MCP. The adapter is closed with the venue.
   * @throws Error if a name is taken or malformed
   */
  register(adapter: PlugIn): void;
  /** Serves HTTP and MCP. @throws a system error, for example with `code` `EADDRINUSE` */
  listen(): Promise<{ readonly url: string }>;
  /** Waits a while for running jobs, cancels the rest, and closes everything. */
  close(): Promise<void>;
}

/**
 * Opens a venue: serves the file adapter and custom adapters over HTTP and MCP.
 *
 * @param config the same keys as in a configuration file
 * @returns `{ did, url, localToken, warnings, register(adapter), listen(), close() }`
 * @throws ConfigError with all mistakes in `config`, and for anything that cannot be opened
 * @example
 * const venue = await createVenue({ port: 0, seedFile: "./venue.seed", file: { roots: { docs: "./docs" } } });
 * const { url } = await venue.listen();
 * await venue.close();
 */
export async function createVenue(config: VenueConfigInput = {}, options: VenueOptions = {}): Promise<Venue> {
  const { baseDir = process.cwd(), env = {} } = options;
  const checked = parseConfig(config, { baseDir, isGrant });
  const refusal = checkListener(checked);
  if (refusal !== undefined) throw new ConfigError([refusal], 78);
  const { openVenue } = await import("./venue/start/open-venue.js");
  const ownLog = options.log === undefined && config.log !== undefined ? await openLogOf(checked) : undefined;
  const opening = openVenue(checked, { listens: true, env, log: options.log ?? ownLog ?? silentLog });
  const venue = await opening.catch((error: unknown) => {
    ownLog?.close();
    throw error;
  });
  return {
    did: venue.host.did,
    get url() {
      return venue.host.url;
    },
    localToken: venue.access.localToken,
    warnings: [...checked.warnings, ...venue.adapter.warnings],
    register: (adapter) => venue.register(adapter),
    listen: async () => ({ url: (await venue.host.listen()).url }),
    close: () => venue.close().finally(() => ownLog?.close()),
  };
}

async function openLogOf(config: VenueConfig): Promise<OpenLog> {
  const { openConfiguredLog } = await import("./venue/start/open-parts.js");
  const log = openConfiguredLog(config, process.stderr);
  log.prepare();
  return log;
}
