import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVenue, type Venue, type VenueConfigInput } from "../../../src/index.js";
import { tokenId } from "../../../src/ucan/token/id.js";
import { invoke } from "../../surfaces/http/client.js";
import { alice, type Signer, signed, signer } from "../../ucan/tokens.js";

/** Who owns `docs`; `owned` is Alice's. */
export const operator = signer(7);
export const DOCS = { with: "file://docs/", can: "crud/read" };

type Claims = Readonly<Record<string, unknown>>;

export interface UcanCall {
  readonly bearer?: string;
  readonly ucans?: unknown;
  readonly root?: string;
}

export interface Job {
  readonly id: string;
  readonly status: string;
  readonly caller: string;
  readonly error?: string;
  readonly errorCode?: string;
  readonly errorData?: { readonly reasons?: readonly string[] };
  readonly output?: { readonly content?: string };
}

const now = () => Math.floor(Date.now() / 1000);
/** One end for all, so that a token made a second after its proof does not outlive it. */
const END = now() + 1800;

/** A venue with two roots that belong to the operator and to Alice, where nobody else may do anything; and its tokens. */
export class UcanVenue {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  #venue: Venue | undefined;

  constructor() {
    for (const root of ["docs", "owned"]) {
      mkdirSync(join(this.base, root));
      writeFileSync(join(this.base, root, "a.txt"), `of ${root}`);
    }
  }

  get venue(): Venue {
    if (this.#venue === undefined) throw new Error("No venue is open");
    return this.#venue;
  }

  async open(config: VenueConfigInput = {}): Promise<void> {
    await this.#venue?.close();
    const roots = { docs: "docs", owned: { path: "owned", owner: alice.did } };
    const auth = { public: { enabled: true, caps: [] }, ...config.auth };
    this.#venue = await createVenue(
      { port: 0, stateDir: "state", operator: operator.did, file: { roots }, ...config, auth },
      { baseDir: this.base },
    );
    await this.#venue.listen();
  }

  async close(): Promise<void> {
    await this.#venue?.close();
    rmSync(this.base, { recursive: true, force: true });
  }

  /** A UCAN as the SDK makes it; for the venue unless it says otherwise. */
  ucan(by: Signer, claims: Claims = {}, header: Claims = {}): string {
    const payload = { iss: by.did, aud: this.venue.did, ucv: "0.10.0", att: [], prf: [], exp: END, ...claims };
    return signed({ header: { alg: "EdDSA", typ: "JWT", kid: by.multikey, ...header }, payload }, by.privateKey);
  }

  identity(by: Signer, claims: Claims = {}): string {
    const iat = now();
    const payload = { sub: by.did, iss: by.did, aud: this.venue.did, iat, exp: iat + 300, ...claims };
    return signed({ header: { alg: "EdDSA", typ: "JWT", kid: by.multikey }, payload }, by.privateKey);
  }

  async call({ bearer, ucans, root = "docs" }: UcanCall): Promise<{ status: number; job: Job }> {
    const call = { operation: "file:read", input: { root, path: "a.txt" }, ucans, wait: true };
    const response = await invoke(this.venue.url, call, bearer);
    return { status: response.status, job: (await response.json()) as Job };
  }

  /** What came out of a call: the content, or why not. */
  async outcome(options: UcanCall): Promise<unknown> {
    const { status, job } = await this.call(options);
    if (status !== 201) return status;
    return job.output?.content ?? [job.errorCode, ...(job.errorData?.reasons ?? [])];
  }
}

export const idOf = (token: string): string => tokenId(token.slice(0, token.lastIndexOf(".")));
export const secondsFromNow = (seconds: number): number => now() + seconds;
