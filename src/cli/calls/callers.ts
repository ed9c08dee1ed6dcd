// Names the makers of changes: by the label of a token where there is one, in place of its DID.

import type { VenueConfig } from "../../config/types.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import type { Log } from "../../core/ports/log.js";
import type { HolderEntry } from "../../venue/operations/auth/list.js";
import { UsageError } from "../arguments/options.js";
import { shortDid } from "../output/did.js";
import type { VenueCalls } from "./venue-calls.js";

/** A token with a label. */
export interface LabelledToken {
  readonly label: string;
  /** DID of its bearer; of an access token in the state directory the id tells it. */
  readonly did?: string;
  /** Id of an access token or session: the credential of what is done with it. */
  readonly id?: string;
}

/** The maker of a change, as a history entry tells it. */
interface Maker {
  readonly actor: string;
  readonly via: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const OPERATOR = "operator";
const ANONYMOUS = "anonymous";
const ID_CHARS = 8;
/** Shorter beginnings of an id are taken for labels. */
const MIN_ID = 4;
const MOST_CHOICES = 10;
/** DIDs that a venue makes: of access tokens by their id, of configured tokens by their name. */
const ACCESS = /:access:([0-9a-f]{32})$/;
const CONFIGURED = /:token:([^:]+)$/;
/** DID of callers without credentials. The same ending in a did:web may be the DID of a real caller. */
const PUBLIC = /^did:key:[^:]+:public$/;

/** Tokens of the configuration and of the state directory. Neither secrets nor keys are read. */
export async function tokensHere(config: VenueConfig, env: Environment, log: Log): Promise<readonly LabelledToken[]> {
  const configured = config.auth.tokens.flatMap(({ name, did }) => (did === undefined ? [] : [{ label: name, did }]));
  const { stateDirOf } = await import("../../venue/start/state/place.js");
  const { NoStateDir } = await import("../../venue/start/state/state-dir.js");
  const { openAccessStore } = await import("../../venue/identity/access-store.js");
  try {
    const issued = openAccessStore(stateDirOf(config, env), { open: () => {}, log }).tokens();
    return [...configured, ...[...issued.values()].map(({ id, label }) => ({ id, label }))];
  } catch (error) {
    if (error instanceof NoStateDir) return configured;
    throw error;
  }
}

/** Tokens that a venue elsewhere shows to the caller; none where it does not. */
export async function tokensThere(calls: Pick<VenueCalls, "run">): Promise<readonly LabelledToken[]> {
  const found: LabelledToken[] = [];
  try {
    for await (const { kind, label, did, id } of holders(calls)) {
      if (label === undefined || !["static", "access", "session", "issuer"].includes(kind)) continue;
      // All sessions of a maker have its DID.
      found.push({ label, ...(kind !== "session" && did && { did }), ...(kind !== "static" && id && { id }) });
    }
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
  }
  return found;
}

interface HolderPage {
  readonly entries: readonly HolderEntry[];
  readonly nextCursor?: string;
}

/** Who holds what in a running venue. @throws FileAdapterError */
export async function* holders(calls: Pick<VenueCalls, "run">): AsyncGenerator<HolderEntry> {
  let cursor: string | undefined;
  do {
    const page = (await calls.run("auth:list", { limit: 1000, ...(cursor && { cursor }) })) as HolderPage;
    yield* page.entries;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

/** Finds callers by what people call them, and names them. */
export class Callers {
  readonly #tokens: readonly LabelledToken[];

  constructor(tokens: readonly LabelledToken[]) {
    this.#tokens = tokens;
  }

  /** A label, or a shortened DID; escaped. Tokens with one label are told apart by their ids. */
  readonly nameOf = (actor: string): string => {
    if (!actor.startsWith("did:")) return escapeText(actor);
    if (PUBLIC.test(actor)) return ANONYMOUS;
    const id = ACCESS.exec(actor)?.[1];
    const token = this.#tokens.find((one) => one.did === actor || (id !== undefined && one.id === id));
    const label = token?.label ?? CONFIGURED.exec(actor)?.[1];
    if (label === undefined) return escapeText(id === undefined ? shortDid(actor) : `access:${id.slice(0, ID_CHARS)}`);
    // The label of a token must not pass for the operator, an anonymous caller or another token.
    const isTaken =
      label === OPERATOR || label === ANONYMOUS || this.#tokens.some((one) => one !== token && one.label === label);
    return escapeText(isTaken && id !== undefined ? `${label} (${id.slice(0, ID_CHARS)})` : label);
  };

  /** The actor of entries that a label, a short id or a DID means. @throws UsageError for none, and for several */
  actorOf(text: string, entries: readonly Maker[]): string {
    const actors = [...new Set(entries.map(({ actor }) => actor))];
    const found = actors.includes(text) ? [text] : actors.filter((actor) => this.#isMeant(actor, text));
    if (found.length === 0) {
      const names = actors.slice(0, MOST_CHOICES).map((actor) => this.nameOf(actor));
      throw new UsageError(
        `${nothingOf(text)}${names.length === 0 ? "" : `. There are changes by ${names.join(", ")}`}`,
      );
    }
    return only(found, text, (actor) => `${this.nameOf(actor)}  ${escapeText(actor)}`);
  }

  /** The credential or session of entries that its label or the beginning of its id means. @throws UsageError */
  viaOf(text: string, entries: readonly Maker[]): string {
    const labelOf = (via: string) => this.#tokens.find(({ id }) => id === via)?.label;
    const all = [...new Set(entries.map(({ via }) => via))];
    const found = all.includes(text)
      ? [text]
      : all.filter((via) => labelOf(via) === text || (text.length >= MIN_ID && via.startsWith(text)));
    if (found.length === 0) throw new UsageError(nothingOf(text));
    return only(found, text, (via) => escapeText(`${labelOf(via) ?? ""}  ${via}`.trim()));
  }

  /** The actor, or else the credential, that a name means. @throws UsageError */
  makerOf(text: string, entries: readonly Maker[]): Partial<Maker> {
    const isActor = entries.some(({ actor }) => this.#isMeant(actor, text));
    return isActor ? { actor: this.actorOf(text, entries) } : { via: this.viaOf(text, entries) };
  }

  #isMeant(actor: string, text: string): boolean {
    if (actor === text || this.nameOf(actor) === text || shortDid(actor) === text) return true;
    const id = ACCESS.exec(actor)?.[1];
    if (this.#tokens.some((one) => one.label === text && (one.did === actor || (id !== undefined && one.id === id)))) {
      return true;
    }
    const tail = id ?? actor.slice(actor.lastIndexOf(":") + 1);
    return text.length >= MIN_ID && actor !== OPERATOR && tail.startsWith(text);
  }
}

const nothingOf = (text: string): string => `Nothing was recorded of '${escapeText(text)}'`;

/** @throws UsageError for several, with all of them */
function only(found: readonly string[], text: string, show: (one: string) => string): string {
  const [one = "", ...others] = found;
  if (others.length === 0) return one;
  const choices = found.slice(0, MOST_CHOICES).map((each) => `\n  ${show(each)}`);
  throw new UsageError(`'${escapeText(text)}' means several. Give the id of one:${choices.join("")}`);
}
