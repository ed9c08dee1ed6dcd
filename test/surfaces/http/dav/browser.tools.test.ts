// Pages of other origins, in a real browser that holds Basic credentials of the venue.

import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { inBrowser, openStage, type Stage, TOKENS } from "../../../web/browser.js";

/** The same site at another port, and another site. */
const HOSTS = ["127.0.0.1", "localhost"];
let stage: Stage;
/** Asks for Basic credentials as the venue does, and believes them whoever sends the request. */
let trusting: Server;
let elsewhere: Server;
/** Methods that the trusting server was sent with credentials. */
const believed: string[] = [];

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/** What a page can make a browser send: each is done when the browser has got an answer, or has refused. */
const ATTACKS = (target: string): string => `(async () => {
  const ask = (method, path, more = {}) =>
    fetch("${target}" + path, { method, credentials: "include", ...more }).then(
      async (answer) => (await answer.text().catch(() => "")) || answer.type,
      () => "refused",
    );
  const load = (tag, key, attributes = {}) =>
    new Promise((resolve) => {
      const element = Object.assign(document.createElement(tag), attributes);
      element.onload = () => resolve("loaded");
      element.onerror = () => resolve("refused");
      element[key] = "${target}secret.txt";
      document.body.append(element);
    });
  const submitted = (method) =>
    new Promise((resolve) => {
      const frame = Object.assign(document.createElement("iframe"), { name: "into-" + method });
      document.body.append(frame);
      const form = Object.assign(document.createElement("form"), { method, target: frame.name, enctype: "text/plain" });
      form.action = "${target}secret.txt";
      document.body.append(form);
      frame.onload = () => resolve("sent");
      form.submit();
    });
  return [
    await ask("GET", "secret.txt"),
    await ask("GET", "secret.txt", { mode: "no-cors" }),
    await ask("HEAD", "secret.txt", { mode: "no-cors" }),
    await ask("POST", "secret.txt", { mode: "no-cors", body: "written" }),
    await ask("PUT", "secret.txt", { body: "written" }),
    await ask("DELETE", "secret.txt"),
    await ask("MKCOL", "made"),
    await ask("PROPFIND", "", { headers: { depth: "1" } }),
    await ask("MOVE", "secret.txt", { headers: { destination: "/dav/files/moved" } }),
    await load("img", "src"),
    await load("script", "src"),
    await load("link", "href", { rel: "stylesheet" }),
    await submitted("get"),
    await submitted("post"),
  ];
})()`;

/** A page of another origin, in a browser that holds credentials of both servers. */
async function attacker(host: string): Promise<Page> {
  const page = await (await stage.browser.newContext()).newPage();
  for (const base of [stage.venue.url, `http://127.0.0.1:${portOf(trusting)}`]) {
    const url = new URL("/dav/files/", base);
    Object.assign(url, { username: "me", password: TOKENS.alice });
    expect((await page.goto(url.href))?.status()).toBe(200);
  }
  // They are kept: the address alone is enough.
  expect((await page.goto(`${stage.venue.url}/dav/files/`))?.status()).toBe(200);
  await page.goto(`http://${host}:${portOf(elsewhere)}/`);
  return page;
}

interface Answered {
  readonly method: string;
  readonly status: number;
  readonly hasPassword: boolean;
}

/** Tells what the network sent to the venue and got, also where the browser keeps the answer from the page. */
async function watch(page: Page): Promise<() => Answered[]> {
  const session = await page.context().newCDPSession(page);
  // Their events come in any order.
  const [methods, passwords, statuses] = [new Map<string, string>(), new Set<string>(), new Map<string, number>()];
  session.on("Network.requestWillBeSent", ({ requestId, request }) => {
    if (request.url.startsWith(stage.venue.url)) methods.set(requestId, request.method);
  });
  session.on("Network.requestWillBeSentExtraInfo", ({ requestId, headers }) => {
    if (Object.keys(headers).some((name) => name.toLowerCase() === "authorization")) passwords.add(requestId);
  });
  session.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode }) => statuses.set(requestId, statusCode));
  await session.send("Network.enable");
  return () =>
    [...methods].map(([id, method]) => ({ method, status: statuses.get(id) ?? 0, hasPassword: passwords.has(id) }));
}

inBrowser("a browser that holds the password", () => {
  beforeAll(async () => {
    // Every origin may call, so that nothing but the password is in question.
    stage = await openStage({ "secret.txt": "SECRET" }, { webdav: true, corsOrigins: "*" });
    trusting = createServer((request, response) => {
      const { authorization } = request.headers;
      if (authorization !== undefined) believed.push(request.method ?? "");
      response.writeHead(authorization === undefined ? 401 : 200, { "www-authenticate": 'Basic realm="trusting"' });
      response.end("SECRET");
    }).listen(0, "127.0.0.1");
    elsewhere = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<p>elsewhere</p>");
    }).listen(0);
    await Promise.all([trusting, elsewhere].map((one) => new Promise((resolve) => one.once("listening", resolve))));
  });
  afterAll(async () => {
    await stage.close();
    for (const server of [trusting, elsewhere]) {
      server.closeAllConnections();
      server.close();
    }
  });

  test.each(HOSTS)("neither reads nor changes anything for a page of %s", async (host) => {
    const page = await attacker(host);
    const answersOf = await watch(page);
    const seen = (await page.evaluate(ATTACKS(`${stage.venue.url}/dav/files/`))) as string[];
    expect(seen.join()).not.toContain("SECRET");
    expect(seen.slice(4, 9)).toEqual(Array(5).fill("refused"));
    expect(seen.slice(9, 12)).toEqual(Array(3).fill("refused"));
    // Preflights carry no password, and what the browser refused by them has no answer.
    const answers = answersOf().filter(({ method, status }) => status > 0 && method !== "OPTIONS");
    expect(answers.filter(({ status }) => status < 400)).toEqual([]);
    const withPassword = answers.filter(({ hasPassword }) => hasPassword).map(({ method }) => method);
    if (host === "127.0.0.1") expect(withPassword).toEqual(expect.arrayContaining(["GET", "HEAD", "POST"]));
    expect([
      readdirSync(stage.at("")).filter((name) => !name.startsWith(".")),
      readFileSync(stage.at("secret.txt"), "utf8"),
    ]).toEqual([["secret.txt"], "SECRET"]);
    await page.context().close();
  });

  test("sends it with requests of another page: a server that believes them is read and written", async () => {
    const page = await attacker("127.0.0.1");
    believed.length = 0;
    await page.evaluate(ATTACKS(`http://127.0.0.1:${portOf(trusting)}/dav/files/`));
    expect(new Set(believed)).toEqual(new Set(["GET", "HEAD", "POST"]));
    await page.context().close();
  });
});
