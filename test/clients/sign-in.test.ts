import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ALL, IssuerVenue } from "../venue/identity/issuers/issuer-venue.js";

const REDIRECT = "http://127.0.0.1/callback";

let issuer: ChildProcess;
const here = new IssuerVenue();
beforeAll(async () => {
  const program = fileURLToPath(new URL("oidc-issuer.mjs", import.meta.url));
  issuer = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "ignore"] });
  const url = await new Promise<string>((resolve) => {
    issuer.stdout?.once("data", (text: Buffer) => resolve(String(text).trim()));
  });
  await here.open({ issuer: url, map: [{ when: { team: "editors" }, caps: [ALL] }] });
});
afterAll(async () => {
  issuer.stdin?.end();
  await here.close();
});

/** What a person's browser does: follows redirects, keeping cookies, until it is back at the client. */
async function browse(start: URL): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = start;
  for (let steps = 0; steps < 10; steps++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${response.status} ${await response.text()}`);
    url = new URL(location, url);
    if (url.href.startsWith(REDIRECT)) return url;
  }
  throw new Error("Redirected too often");
}

/** The part of a client that a host writes: what it keeps, and what the person is sent to. */
function host() {
  let tokens: unknown;
  let verifier = "";
  const sentTo: URL[] = [];
  return {
    sentTo,
    provider: {
      redirectUrl: REDIRECT,
      clientMetadata: { redirect_uris: [REDIRECT], token_endpoint_auth_method: "none" },
      clientInformation: () => ({ client_id: "assistant" }),
      tokens: () => tokens as never,
      saveTokens: (made: never) => {
        tokens = made;
      },
      redirectToAuthorization: (url: URL) => void sentTo.push(url),
      saveCodeVerifier: (text: string) => {
        verifier = text;
      },
      codeVerifier: () => verifier,
    },
  };
}

interface Session {
  call(name: string, args: Record<string, unknown>): Promise<unknown>;
  finish(back: URL): Promise<void>;
  close(): Promise<void>;
}

const CLIENTS: readonly [string, (provider: ReturnType<typeof host>["provider"]) => Promise<Session>][] = [
  [
    "the SDK of version 2",
    async (provider) => {
      let transport = new StreamableHTTPClientTransport(new URL(here.resource), { authProvider: provider });
      let client: Client | undefined;
      return {
        call: async (name, args) => {
          if (client === undefined) {
            const made = new Client({ name: "assistant", version: "1" });
            await made.connect(transport);
            client = made;
          }
          return (await client.callTool({ name, arguments: args })).content;
        },
        finish: async (back) => {
          await transport.finishAuth(back.searchParams);
          if (client !== undefined) return;
          transport = new StreamableHTTPClientTransport(new URL(here.resource), { authProvider: provider });
        },
        close: async () => client?.close(),
      };
    },
  ],
  [
    "the SDK of version 1",
    async (provider) => {
      let transport = new Transport1(new URL(here.resource), { authProvider: provider });
      let client: Client1 | undefined;
      return {
        call: async (name, args) => {
          if (client === undefined) {
            const made = new Client1({ name: "assistant", version: "1" });
            await made.connect(transport as never);
            client = made;
          }
          return (await client.callTool({ name, arguments: args })).content;
        },
        finish: async (back) => {
          await transport.finishAuth(back.searchParams.get("code") ?? "");
          if (client === undefined) transport = new Transport1(new URL(here.resource), { authProvider: provider });
        },
        close: async () => client?.close(),
      };
    },
  ],
];

describe.each(CLIENTS)("%s signs in at an outside issuer", (_name, open) => {
  test("from 401 to a call, and asks for more scopes when a call needs them", async () => {
    const { provider, sentTo } = host();
    const session = await open(provider);
    const read = () => session.call("file_read", { path: "a.txt" });
    await expect(read()).rejects.toThrow();
    expect(sentTo.map(({ searchParams }) => [searchParams.get("scope"), searchParams.get("resource")])).toEqual([
      ["files:read", here.resource],
    ]);
    await session.finish(await browse(sentTo[0] as URL));
    expect(JSON.stringify(await read())).toContain("alpha");

    const path = `by-${_name.at(-1)}.txt`;
    const write = () => session.call("file_write", { path, content: "beta" });
    await expect(write()).rejects.toThrow();
    expect(sentTo[1]?.searchParams.get("scope")?.split(" ").sort()).toEqual(["files:read", "files:write"]);
    await session.finish(await browse(sentTo[1] as URL));
    await write();
    expect(readFileSync(join(here.base, "docs", path), "utf8")).toBe("beta");
    await session.close();
  });
});
