import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type CryptoKey,
  exportJWK,
  type GenerateKeyPairOptions,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
} from "jose";

export type Claims = Readonly<Record<string, unknown>>;

/** A key pair of an issuer, and its entry in the set of keys. */
export interface KeyPair {
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function keyPair(alg = "ES256", kid = "1", options: GenerateKeyPairOptions = {}): Promise<KeyPair> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, ...options });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** Signs a token that is right but for what is given; `undefined` takes a member away. */
export function sign({ privateKey, jwk }: KeyPair, claims: Claims, header: Claims = {}): Promise<string> {
  const payload: JWTPayload = { sub: "ann", iat: nowSeconds(), exp: nowSeconds() + 600, ...claims };
  const { kid, alg = "ES256" } = jwk;
  const whole = { alg, typ: "at+jwt", kid, ...header };
  const crit = Object.fromEntries(((whole as { crit?: string[] }).crit ?? []).map((name) => [name, true]));
  return new SignJWT(payload).setProtectedHeader(JSON.parse(JSON.stringify(whole))).sign(privateKey, { crit });
}

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** An issuer on loopback: metadata and keys, unless a path is given something else. */
export class TestIssuer {
  readonly #server: Server;
  readonly paths: string[] = [];
  readonly own = new Map<string, Serve>();
  keys: KeyPair[] = [];
  url = "";

  constructor() {
    this.#server = createServer((request, response) => {
      const { url = "" } = request;
      this.paths.push(url);
      const serve = this.own.get(url) ?? this.#defaults.get(url);
      if (serve !== undefined) serve(request, response);
      else response.writeHead(404).end();
    });
  }

  readonly #defaults = new Map<string, Serve>([
    [
      "/.well-known/oauth-authorization-server",
      (_request, response) => void response.end(JSON.stringify({ issuer: this.url, jwks_uri: `${this.url}/jwks` })),
    ],
    ["/jwks", (_request, response) => void response.end(this.jwks)],
  ]);

  get jwks(): string {
    return JSON.stringify({ keys: this.keys.map(({ jwk }) => jwk) });
  }

  get key(): KeyPair {
    const [key] = this.keys;
    if (key === undefined) throw new Error("There is no key");
    return key;
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    if (this.keys.length === 0) this.keys = [await keyPair()];
    return this;
  }

  serve(path: string, how: Serve): void {
    this.own.set(path, how);
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
