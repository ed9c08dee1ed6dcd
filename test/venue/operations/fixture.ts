import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "@jest/globals";
import { mintUcan } from "../../../src/authz/mint-ucan.js";
import type { Capability } from "../../../src/core/call/capability.js";
import { systemClock } from "../../../src/core/clock.js";
import type { JsonObject } from "../../../src/core/ports/adapter.js";
import { createVenue, type Venue, type VenueConfigInput } from "../../../src/index.js";
import { mintIdentity } from "../../../src/ucan/mint/claims.js";
import type { Minted, MintRequest } from "../../../src/ucan/mint/mint.js";
import { newSeed, type SigningKey, signingKeyFromSeed, signToken } from "../../../src/ucan/mint/signing-key.js";
import { readRecords } from "../../audit/records.js";
import { invoke as invokeHttp } from "../../surfaces/http/client.js";

export const now = (): number => Math.floor(Date.now() / 1000);
export const READ_DOCS: Capability = { with: "file://docs/", can: "crud/read" };

/** Somebody with a key. */
export interface Person extends SigningKey {
  /** Passes capabilities on, by default for five minutes, or until the proof ends. */
  grant(to: { did: string } | string, att: readonly Capability[], more?: Partial<MintRequest>): Promise<Minted>;
}

export function newPerson(seed: Uint8Array = newSeed()): Person {
  const key = signingKeyFromSeed(seed);
  return {
    ...key,
    grant: (to, capabilities, more = {}) => {
      const audience = typeof to === "string" ? to : to.did;
      const end = more.proofs === undefined ? { lifetimeSeconds: 300 } : {};
      return mintUcan({ key, audience, capabilities, ...end, ...more });
    },
  };
}

/** A finished job, as far as these tests look at it. */
export interface Answer {
  readonly id: string;
  readonly status: string;
  readonly caller: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: Readonly<Record<string, unknown>>;
  readonly error: string;
  readonly errorCode: string;
  readonly errorData: Readonly<Record<string, unknown>>;
}

export interface CallOptions {
  /** Who signs the bearer. */
  readonly as?: SigningKey;
  /** A bearer of another kind. */
  readonly bearer?: string | undefined;
  readonly ucans?: unknown;
  readonly caps?: unknown;
}

export interface Ground {
  readonly base: string;
  readonly venue: Venue;
  /** The venue's own key. */
  readonly key: Person;
  readonly alice: Person;
  readonly bob: Person;
  readonly carol: Person;
  /** Opens the venue: roots `docs`, `tmp`, and `hers`, which Alice owns. */
  open(config?: VenueConfigInput, options?: { readonly freshKey: boolean }): Promise<void>;
  call(operation: string, input?: object, options?: CallOptions): Promise<Answer>;
  /** The same by the operator, by the local token. */
  byOperator(operation: string, input?: object, options?: CallOptions): Promise<Answer>;
  /** What a file call in which a token is all the right there is leads to. */
  reads(person: Person, token: string, root?: string): Promise<Answer>;
  /** A token that says what it likes, for a minute unless it says otherwise. */
  says(by: Person, claims: JsonObject): string;
  /** Makes a file with a secret beside the roots. @returns its name */
  secret(name: string, text: string): string;
  /** Closes the venue, so that they are all written. */
  auditRecords(): Promise<Readonly<Record<string, unknown>>[]>;
}

/** Declares a ground for the tests of a file: a folder, and a venue in it that serves HTTP once a test opens it. */
export function useGround(): Ground {
  let base = "";
  let venue: Venue | undefined;
  const seed = Buffer.alloc(32, 7);
  const people = { key: newPerson(seed), alice: newPerson(), bob: newPerson(), carol: newPerson() };
  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
    for (const root of ["docs", "hers"]) {
      mkdirSync(join(base, root, "sub"), { recursive: true });
      writeFileSync(join(base, root, "sub/a.txt"), root);
    }
  });
  afterEach(async () => {
    await venue?.close();
    venue = undefined;
    rmSync(base, { recursive: true, force: true });
  });
  const ground: Ground = {
    ...people,
    get base() {
      return base;
    },
    get venue() {
      if (venue === undefined) throw new Error("No venue is open");
      return venue;
    },
    async open({ auth, ...config } = {}, { freshKey } = { freshKey: false }) {
      const roots = { docs: "docs", tmp: { temp: true as const }, hers: { path: "hers", owner: people.alice.did } };
      venue = await createVenue(
        {
          ...{ port: 0, stateDir: "state", audit: { file: "audit.jsonl" }, file: { roots } },
          ...(freshKey ? {} : { seed: seed.toString("hex") }),
          auth: { public: { enabled: true, caps: [{ with: "file://tmp/", can: "crud/read" }] }, ...auth },
          ...config,
        },
        { baseDir: base },
      );
      await venue.listen();
    },
    call: (operation, input = {}, options = {}) => invoke(ground.venue, { operation, input }, options),
    byOperator: (operation, input, options) =>
      ground.call(operation, input, { ...options, bearer: ground.venue.localToken }),
    reads: (person, token, root = "docs") =>
      ground.call("file:read", { root, path: "sub/a.txt" }, { as: person, ucans: [token] }),
    says: (by, claims) => signToken({ iss: by.did, ucv: "0.10.0", prf: [], exp: now() + 60, ...claims }, by),
    secret(name, text) {
      writeFileSync(join(base, name), text, { mode: 0o600 });
      return name;
    },
    async auditRecords() {
      await ground.venue.close();
      return readRecords(join(base, "audit.jsonl"));
    },
  };
  return ground;
}

async function invoke(venue: Venue, call: object, { as, bearer, ucans, caps }: CallOptions): Promise<Answer> {
  const token = as === undefined ? bearer : mintIdentity({ key: as, audience: venue.did, clock: systemClock });
  const response = await invokeHttp(venue.url, { ...call, wait: true, ucans, caps }, token);
  expect(response.status).toBe(201);
  return (await response.json()) as Answer;
}
