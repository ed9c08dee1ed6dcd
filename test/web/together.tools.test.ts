// Several at once: two browsers and an MCP client on one file; links and sessions between tabs.
import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Page, Route } from "playwright-core";
import { call, editor, entry, inBrowser, openStage, type Stage, TOKENS, typeFirst } from "./browser.js";

let stage: Stage;
const READ = { with: "file://files/", can: "crud/read" };

/** A link that signs in. */
const linkOf = async (): Promise<string> =>
  ((await call(stage.venue, "auth:issue", { label: "person", link: true }, TOKENS.alice)) as { url: string }).url;

/** The token that a tab holds. */
const tokenOf = async (page: Page): Promise<string> =>
  page.evaluate('Object.entries(sessionStorage).find(([key]) => key.startsWith("venue-files:"))?.[1] ?? ""');

async function signOut(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
}

/** The page does not wait for the venue. */
async function hasEnded(token: string): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const answer = (await call(stage.venue, "auth:whoami", {}, token)) as { error?: string };
    if (answer.error?.includes("Invalid or expired token") === true) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("The session goes on");
}

inBrowser("several at once", () => {
  beforeAll(async () => {
    stage = await openStage({ "shared.txt": Array.from({ length: 9 }, (_, index) => `line ${index}\n`).join("") });
  });
  afterAll(() => stage.close());
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  test("two people and an agent change one file, and nothing of anybody's is lost", async () => {
    const [one, two] = await Promise.all([
      stage.visit("files/files/shared.txt"),
      stage.visit("files/files/shared.txt", { as: "bob" }),
    ]);
    const agent = new Client({ name: "agent", version: "1" });
    const headers = { authorization: `Bearer ${TOKENS.bob}` };
    await agent.connect(
      new StreamableHTTPClientTransport(new URL(`${stage.venue.url}/mcp`), { requestInit: { headers } }),
    );
    await typeFirst(one, "one ");
    await editor(two).click();
    await two.keyboard.press("ControlOrMeta+End");
    await two.keyboard.type("two\n");
    await one.getByText("Not saved").waitFor();
    await two.getByText("Not saved").waitFor();
    await agent.callTool({
      name: "file_edit",
      arguments: { root: "files", path: "shared.txt", oldText: "line 4", newText: "line four" },
    });
    for (const page of [one, two]) {
      await editor(page).click();
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByText("fit together").waitFor();
      await page.getByRole("button", { name: "Save result" }).click();
      await page.getByText("Saved.", { exact: true }).first().waitFor();
    }
    expect(readFileSync(stage.at("shared.txt"), "utf8")).toBe(
      "one line 0\nline 1\nline 2\nline 3\nline four\nline 5\nline 6\nline 7\nline 8\ntwo\n",
    );
    await agent.close();
    await Promise.all([one.context().close(), two.context().close()]);
  });

  test("a link signs in once; the code leaves the address before anything is requested", async () => {
    const { url } = (await call(stage.venue, "auth:issue", { label: "person", link: true }, TOKENS.alice)) as {
      url: string;
    };
    const page = await stage.visit("", { as: "nobody" });
    const sent: string[] = [];
    page.on("request", (request) => sent.push(request.url()));
    await page.goto("about:blank");
    await page.goto(url);
    await page.getByRole("button", { name: "Account" }).waitFor();
    expect(page.url()).toBe(`${stage.venue.url}/workspace/`);
    const code = url.split("#login=")[1] ?? "";
    expect(sent.filter((one) => new URL(one).pathname !== "/workspace/" && one.includes(code))).toEqual([]);
    // Another tab asks this one, and is signed in too.
    const tab = await page.context().newPage();
    await tab.goto(`${stage.venue.url}/workspace/`);
    await tab.getByRole("button", { name: "Account" }).waitFor();
    // Signing out ends it in both, and at the venue.
    const token = await tokenOf(page);
    expect(await call(stage.venue, "auth:whoami", {}, token)).toMatchObject({ authentication: "session" });
    const agent = (await call(stage.venue, "auth:issue", { label: "agent", caps: [READ] }, token)) as { token: string };
    await signOut(tab);
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await hasEnded(token);
    expect(await tab.getByText("its session may go on").count()).toBe(0);
    // What a person gave goes on.
    expect(await call(stage.venue, "auth:whoami", {}, agent.token)).toMatchObject({ authentication: "access-token" });
    const late = await stage.visit("", { as: "nobody" });
    await late.goto("about:blank");
    await late.goto(url);
    await late.getByText("Link is used or expired").waitFor();
    await Promise.all([page.context().close(), late.context().close()]);
  });

  test("signing out ends the sessions of other tabs too, and revokes no token that was pasted", async () => {
    const page = await stage.visit("", { as: "nobody" });
    await page.goto("about:blank");
    await page.goto(await linkOf());
    await page.getByRole("button", { name: "Account" }).waitFor();
    const tab = await page.context().newPage();
    await tab.goto(await linkOf());
    await tab.getByRole("button", { name: "Account" }).waitFor();
    const tokens = await Promise.all([tokenOf(page), tokenOf(tab)]);
    expect(tokens[0]).not.toBe(tokens[1]);
    await signOut(page);
    for (const one of [page, tab]) await one.getByRole("button", { name: "Sign in" }).waitFor();
    for (const token of tokens) await hasEnded(token);
    const pasted = await stage.visit("");
    await pasted.getByRole("button", { name: "Account" }).waitFor();
    await signOut(pasted);
    await pasted.getByRole("button", { name: "Sign in" }).waitFor();
    expect(await call(stage.venue, "auth:whoami", {}, TOKENS.alice)).toMatchObject({ authentication: "static-token" });
    await Promise.all([page.context().close(), pasted.context().close()]);
  });

  test.each<[string, (route: Route) => Promise<void>]>([
    ["is lost", (route) => route.abort()],
    ["is refused", (route) => route.fulfill({ status: 507, json: { error: "No space left", errorCode: "NO_SPACE" } })],
    ["fails", (route) => route.fulfill({ status: 500, body: "" })],
  ])("the page says so when the call that ends the session %s", async (_how, answer) => {
    const page = await stage.visit("", { as: "nobody" });
    await page.goto("about:blank");
    await page.goto(await linkOf());
    await page.getByRole("button", { name: "Account" }).waitFor();
    const token = await tokenOf(page);
    await page.route("**/api/v1/run", (route) =>
      route.request().postData()?.includes("auth:revoke") === true ? answer(route) : route.continue(),
    );
    await signOut(page);
    const told = page.getByText(/signed out, but its session may go on \(.*venue-files token revoke [0-9a-f]{32}$/);
    await told.waitFor();
    const [, id] = /revoke (\w+)$/.exec(await told.innerText()) ?? [];
    expect(await call(stage.venue, "auth:revoke", { id }, token)).toMatchObject({ revoked: true });
    await page.context().close();
  });

  test("access given on the page works for a program, and ends when it is revoked there", async () => {
    const page = await stage.visit("access");
    await page.getByRole("button", { name: "Give access" }).click();
    await page.getByLabel("Label").fill("build bot");
    await page.getByRole("dialog").getByText("files", { exact: true }).first().waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Give", exact: true }).click();
    await page.getByText("it is not shown again").waitFor();
    const token = (await page.locator(".secret pre").first().innerText()).trim();
    expect(token).toMatch(/^vft_[\w-]{43}$/);
    const list = () => call(stage.venue, "file:list", { root: "files" }, token);
    expect(await list()).toMatchObject({ entries: expect.any(Array) });
    expect(await call(stage.venue, "file:write", { root: "files", path: "no.txt", content: "x" }, token)).toMatchObject(
      { errorCode: "CAPABILITY_DENIED" },
    );
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Revoke build bot" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Revoked.", { exact: true }).waitFor();
    expect(await list()).toMatchObject({ error: expect.stringContaining("Invalid or expired token") });
    await page.context().close();
  });

  test("a folder is listed again once the stream of events says that some were lost", async () => {
    const page = await stage.visit();
    const EVENTS = "**/api/v1/events?*";
    let areLost = false;
    await page.route(EVENTS, (route) => {
      const body = areLost ? "event: overflow\ndata: {}\n\n" : ": nothing\n\n";
      return route.fulfill({ contentType: "text/event-stream", body });
    });
    await page.goto(`${stage.venue.url}/workspace/files/files`);
    await entry(page, "shared.txt").waitFor();
    await call(stage.venue, "file:write", { root: "files", path: "unheard.txt", content: "x" });
    // A stream that only begins anew changes nothing.
    await page.waitForRequest(EVENTS);
    await page.waitForRequest(EVENTS);
    expect(await entry(page, "unheard.txt").count()).toBe(0);
    areLost = true;
    await entry(page, "unheard.txt").waitFor();
    await page.context().close();
  });

  test("a folder of 3,000 entries shows few rows, and any of them is found", async () => {
    await call(stage.venue, "file:mkdir", { root: "files", path: "many" });
    const { mkdirSync, writeFileSync } = await import("node:fs");
    mkdirSync(stage.at("many"), { recursive: true });
    for (let index = 0; index < 3000; index += 1) writeFileSync(stage.at(`many/f${index}.txt`), "");
    const page = await stage.visit("files/files/many/");
    await page.getByText("3,000 entries", { exact: true }).waitFor();
    expect(await page.locator(".entry").count()).toBeLessThanOrEqual(100);
    // Scrolling makes no nodes: rows that leave the view are those that enter it.
    await page.evaluate("document.querySelector('.entries').scrollTop = 10000");
    await entry(page, "f300.txt").waitFor();
    await page.evaluate("for (const slot of document.querySelectorAll('.entries .slot')) slot.wasThere = true");
    await page.evaluate("document.querySelector('.entries').scrollTop = 20000");
    await entry(page, "f600.txt").waitFor();
    expect(await page.evaluate("[...document.querySelectorAll('.entries .slot')].every((slot) => slot.wasThere)")).toBe(
      true,
    );
    await page.getByRole("grid").focus();
    await page.keyboard.press("End");
    await entry(page, "f2999.txt").waitFor();
    await page.getByLabel("Filter by name").fill("f1234");
    await page.getByText("1 entry").waitFor();
    await page.context().close();
  });
});
