// The text that `serve` prints when it listens.

import type { Grant } from "../../authz/grant.js";
import type { Ability, Capability } from "../../core/call/capability.js";
import { escapeText } from "../../core/errors/texts.js";
import { counted } from "../../core/errors/wording.js";
import type { RootFacts } from "../../core/ports/operation.js";
import { coversRoot, grantsOf, reachesInto, verbsIn } from "./rights.js";
import { table } from "./table.js";

/** A root in the banner. */
export type BannerRoot = Pick<RootFacts, "name" | "kind" | "readOnly" | "description" | "owner">;

/** Contents of the banner. */
export interface BannerFacts {
  readonly name: string;
  readonly version: string;
  readonly url: string;
  readonly did: string;
  readonly roots: readonly BannerRoot[];
  /** Capabilities of callers without credentials. */
  readonly publicCaps: readonly Capability[];
  /** Whether callers without credentials are served. */
  readonly publicAccess: boolean;
  readonly mcp: boolean;
  /** Whether folders can be mounted over WebDAV. */
  readonly webdav: boolean;
  /** Number of static tokens. */
  readonly tokens: number;
  /** Address of the port it listens on, which another one may lead to. */
  readonly localUrl?: string;
  /** Path of the Unix socket it listens on instead of a port. */
  readonly socket?: string;
  readonly localToken?: ShownToken;
  /** For clients in place of the operator's: an access token. */
  readonly clientToken?: string;
}

/** Bearer token of the operator. */
export interface ShownToken {
  /** Where it is kept. */
  readonly file: string;
  /** The token itself, for a terminal; output that is kept, such as a log, must not hold it. */
  readonly text?: string;
}

/** The text `serve` prints once it listens. */
export function banner(facts: BannerFacts): string {
  const grants = grantsOf(facts.publicCaps);
  const rows = facts.roots.map((root) => [
    root.name,
    root.kind,
    root.readOnly ? "read-only" : "read-write",
    `anonymous callers: ${facts.publicAccess ? anonymous(root, grants) : "refused"}`,
    escapeText(root.description ?? ""),
  ]);
  const parts = [
    `venue-files ${facts.version} listens on ${listener(facts)}`,
    `DID ${facts.did}`,
    `\nRoots\n${table(rows)}`,
    `\n${credentials(facts)}`,
    `\nTry it\n  ${curlLine(facts, grants)}`,
  ];
  if (facts.webdav && facts.socket === undefined) parts.push(`\n${mountLine(facts)}`);
  const token = clientToken(facts, grants);
  if (facts.mcp && (facts.publicAccess || token !== undefined)) {
    const heading = `MCP client configuration${token === PLACEHOLDER ? `; ${PLACEHOLDER} stands for that token` : ""}`;
    parts.push(`\n${heading}\n${clientConfiguration(facts, token)}`);
  }
  return `${parts.join("\n")}\n`;
}

/** Where it listens, and as what it is known where that is another address. */
function listener({ socket, localUrl, url }: BannerFacts): string {
  if (socket !== undefined || localUrl === undefined || localUrl === url) return socket ?? url;
  return `${localUrl}, known as ${url}`;
}

/** How to mount the roots as folders. */
const mountLine = ({ url, localToken }: BannerFacts): string =>
  `WebDAV: mount ${url}/dav/ with any user name, ${localToken === undefined ? "a token" : "the token"} as password.`;

/** Rights of an anonymous caller in a root. */
function anonymous(root: BannerRoot, grants: readonly Grant[]): string {
  if (!isPublic(root)) return "nothing, it has an owner";
  const verbs = verbsIn(root, grants);
  return verbs.length === 0 ? "nothing" : verbs.join(", ");
}

const isPublic = ({ owner }: BannerRoot): boolean => owner === undefined;

/** How to call with credentials. */
function credentials({ localToken, tokens, publicAccess }: BannerFacts): string {
  const configured = counted(tokens, "configured token");
  if (localToken !== undefined) {
    const others = tokens === 0 ? "" : `; ${configured} beside it`;
    if (localToken.text === undefined) {
      return `The token in ${escapeText(localToken.file)} acts as the operator: everything in every root${others}.`;
    }
    return `The token below acts as the operator: everything in every root. Keep it to yourself${others}.`;
  }
  const access = publicAccess ? "Anonymous callers may do what is shown above" : "Nobody is served without a token";
  return `${access}; there is no local token, ${tokens === 0 ? "and no configured one" : `but ${configured}`}.`;
}

/** A harmless example call that works as printed: a write only to a temp root, otherwise a read. */
function curlLine(facts: BannerFacts, grants: readonly Grant[]): string {
  const isOperator = facts.localToken !== undefined;
  const has = (root: BannerRoot, ability: Ability) =>
    isOperator || (isPublic(root) && grants.some((grant) => coversRoot(grant, root.name, ability)));
  const writable = facts.roots.find((root) => root.kind === "temp" && !root.readOnly && has(root, "crud/write"));
  if (writable !== undefined) {
    const input = { root: writable.name, path: "hello.txt", content: "Hello" };
    return invokeLine(facts, { operation: "v/ops/file/write", input });
  }
  const readable = facts.roots.find((root) => has(root, "crud/read"));
  if (readable !== undefined)
    return invokeLine(facts, { operation: "v/ops/file/tree", input: { root: readable.name } });
  const readsSomewhere = facts.roots
    .filter(isPublic)
    .some(({ name }) => grants.some((grant) => reachesInto(grant, name, "crud/read")));
  if (readsSomewhere) return invokeLine(facts, { operation: "v/ops/file/roots" });
  return `${curl(facts)} ${quote(`${facts.url}/api/v1/status`)}`;
}

const curl = ({ socket }: BannerFacts): string =>
  socket === undefined ? "curl -s" : `curl -s --unix-socket ${quote(socket)}`;

function invokeLine(facts: BannerFacts, body: object): string {
  const token = facts.localToken === undefined ? "" : ` -H ${authorization(facts.localToken)}`;
  const url = quote(`${facts.url}/api/v1/invoke`);
  return `${curl(facts)} ${url}${token} -H 'Content-Type: application/json' -d ${quote(JSON.stringify({ ...body, wait: true }))}`;
}

/** The header in a shell: the token, or a command that reads it. */
const authorization = ({ file, text }: ShownToken): string =>
  text === undefined ? `"Authorization: Bearer $(cat ${quote(file)})"` : `'Authorization: Bearer ${text}'`;

/** Quotes a word for a shell; an address such as `[::1]` would be a glob to some shells. */
export const quote = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

const PLACEHOLDER = "TOKEN";

/** The token that clients send; {@link PLACEHOLDER} for one that is needed but not shown. Absent: clients need none. */
function clientToken(facts: BannerFacts, grants: readonly Grant[]): string | undefined {
  const shown = facts.clientToken ?? facts.localToken?.text;
  if (shown !== undefined || facts.localToken === undefined) return shown;
  const isOpen = facts.roots.some((root) => isPublic(root) && verbsIn(root, grants).length > 0);
  return facts.publicAccess && isOpen ? undefined : PLACEHOLDER;
}

function clientConfiguration({ name, url }: BannerFacts, token: string | undefined): string {
  const headers = token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } };
  const configuration = { mcpServers: { [name]: { type: "http", url: `${url}/mcp`, ...headers } } };
  return JSON.stringify(configuration, undefined, 2).replace(/^/gm, "  ");
}
