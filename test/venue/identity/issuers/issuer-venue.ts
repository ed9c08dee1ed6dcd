import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "../../../../src/config/load.js";
import type { VenueConfigInput } from "../../../../src/config/types.js";
import type { Log } from "../../../../src/core/ports/log.js";
import { type OpenVenue, openVenue } from "../../../../src/venue/start/open-venue.js";
import { run, type Sent, send } from "../../../surfaces/http/client.js";
import { type Claims, sign, TestIssuer } from "./issuer.js";

export type IssuerInput = NonNullable<NonNullable<VenueConfigInput["auth"]>["issuers"]>[number];

export const ALL = { with: "file://", can: "crud" };

/** A venue with the root `docs`, where nobody may do anything but by the tokens of one issuer. */
export class IssuerVenue {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  readonly issuer = new TestIssuer();
  /** All that was logged. */
  readonly logged: string[] = [];
  #open: OpenVenue | undefined;

  constructor() {
    mkdirSync(join(this.base, "docs"));
    writeFileSync(join(this.base, "docs", "a.txt"), "alpha");
  }

  get opened(): OpenVenue {
    if (this.#open === undefined) throw new Error("No venue is open");
    return this.#open;
  }

  get did(): string {
    return this.opened.access.did;
  }

  get url(): string {
    return this.opened.host.url;
  }

  get resource(): string {
    return `${this.url}/mcp`;
  }

  #config(given: Partial<IssuerInput>, config: VenueConfigInput) {
    const issuers = [{ issuer: this.issuer.url, map: [{ when: {}, caps: [ALL] }], ...given }];
    return parseConfig(
      {
        ...(config.listen === undefined ? { port: 0 } : {}),
        ...{ stateDir: "state", seedFile: "seed", file: { roots: { docs: "docs" } } },
        ...config,
        auth: { public: { enabled: false }, localToken: true, issuers, ...config.auth },
      },
      { baseDir: this.base },
    );
  }

  async open(given: Partial<IssuerInput> = {}, config: VenueConfigInput = {}): Promise<void> {
    if (this.issuer.url === "") await this.issuer.listen();
    const note = (fields: object, text: string) => void this.logged.push(`${text} ${JSON.stringify(fields)}`);
    const log: Log = { debugs: true, debug: note, info: note, warn: note, error: note };
    this.#open = await openVenue(this.#config(given, config), { listens: true, env: {}, log });
    await this.#open.host.listen();
  }

  reload(given: Partial<IssuerInput> = {}, config: VenueConfigInput = {}): Promise<readonly string[]> {
    return this.opened.prepareReload(this.#config(given, config)).commit();
  }

  async stop(): Promise<void> {
    await this.#open?.close();
    this.#open = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.issuer.close();
    rmSync(this.base, { recursive: true, force: true });
  }

  /** A token for this venue, of a caller who may read. */
  token(claims: Claims = {}, header: Claims = {}): Promise<string> {
    return sign(this.issuer.key, { iss: this.issuer.url, aud: this.resource, ...claims }, header);
  }

  send(path: string, token: string | undefined, sent: Sent = {}): Promise<Response> {
    return send(this.url + path, { token, ...sent });
  }

  run(token: string | undefined, operation: string, input: object): Promise<Response> {
    return run(this.url, operation, input, token);
  }

  /** The status of reading a file. */
  async read(token: string | undefined): Promise<number> {
    return (await this.run(token, "file:read", { root: "docs", path: "a.txt" })).status;
  }

  /** What the operator is answered. */
  async operate<T>(operation: string, input: object): Promise<T> {
    return (await (await this.run(this.opened.access.localToken, operation, input)).json()) as T;
  }
}
