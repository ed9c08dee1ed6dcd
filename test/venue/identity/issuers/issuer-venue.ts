import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Log } from "../../../../src/core/ports/log.js";
import { createVenue, type Venue, type VenueConfigInput } from "../../../../src/index.js";
import { type Claims, sign, TestIssuer } from "./issuer.js";

export type IssuerInput = NonNullable<NonNullable<VenueConfigInput["auth"]>["issuers"]>[number];

export const ALL = { with: "file://", can: "crud" };
export const LOCAL = "local-token-of-the-tests-local-token";

/** A venue with the root `docs`, where nobody may do anything but by the tokens of one issuer. */
export class IssuerVenue {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  readonly issuer = new TestIssuer();
  /** All that was logged. */
  readonly logged: string[] = [];
  #venue: Venue | undefined;

  constructor() {
    mkdirSync(join(this.base, "docs"));
    writeFileSync(join(this.base, "docs", "a.txt"), "alpha");
  }

  get venue(): Venue {
    if (this.#venue === undefined) throw new Error("No venue is open");
    return this.#venue;
  }

  get url(): string {
    return this.venue.url;
  }

  get resource(): string {
    return `${this.url}/mcp`;
  }

  async open(given: Partial<IssuerInput> = {}, config: VenueConfigInput = {}): Promise<void> {
    await this.issuer.listen();
    const issuers = [{ issuer: this.issuer.url, map: [{ when: {}, caps: [ALL] }], ...given }];
    const note = (fields: object, text: string) => void this.logged.push(`${text} ${JSON.stringify(fields)}`);
    const log: Log = { debugs: true, debug: note, info: note, warn: note, error: note };
    this.#venue = await createVenue(
      {
        ...{ port: 0, stateDir: "state", seedFile: "seed", file: { roots: { docs: "docs" } } },
        ...config,
        auth: { public: { enabled: false }, issuers, ...config.auth },
      },
      { baseDir: this.base, log },
    );
    await this.#venue.listen();
  }

  async close(): Promise<void> {
    await this.#venue?.close();
    await this.issuer.close();
    rmSync(this.base, { recursive: true, force: true });
  }

  /** A token for this venue, of a caller who may read. */
  token(claims: Claims = {}, header: Claims = {}): Promise<string> {
    return sign(this.issuer.key, { iss: this.issuer.url, aud: this.resource, ...claims }, header);
  }

  send(path: string, token: string | undefined, init: RequestInit = {}): Promise<Response> {
    const headers = { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...init.headers };
    return fetch(this.url + path, { ...init, headers });
  }

  run(token: string | undefined, operation: string, input: object): Promise<Response> {
    const headers = { "content-type": "application/json" };
    return this.send("/api/v1/run", token, { method: "POST", headers, body: JSON.stringify({ operation, input }) });
  }

  /** The status of reading a file. */
  async read(token: string | undefined): Promise<number> {
    return (await this.run(token, "file:read", { root: "docs", path: "a.txt" })).status;
  }

  /** What the operator is answered. */
  async operate<T>(operation: string, input: object): Promise<T> {
    return (await (await this.run(this.venue.localToken, operation, input)).json()) as T;
  }
}
