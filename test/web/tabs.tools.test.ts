// Many tabs of one browser: those of a session share one event stream, and nothing is missed when it changes hands.
import { writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { BrowserContext, Page, Request } from "playwright-core";
import { call, entry, inBrowser, openStage, type Stage, TOKENS } from "./browser.js";

let stage: Stage;

/** The event streams that the pages of a context hold open, by page. */
function streamsOf(context: BrowserContext): () => Page[] {
  const open = new Set<Request>();
  context.on("request", (request) => {
    if (request.url().includes("/api/v1/events?")) open.add(request);
  });
  context.on("requestfinished", (request) => open.delete(request));
  context.on("requestfailed", (request) => open.delete(request));
  return () => [...open].map((request) => request.frame().page()).filter((page) => !page.isClosed());
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("It did not come to that");
}

const keep = (token: string) => ({
  content: `if (self.origin !== "null") sessionStorage.setItem("venue-files:/workspace/", ${JSON.stringify(token)})`,
});

/** Another tab of the browser of a page. */
async function openTab(page: Page, path: string, token = TOKENS.alice): Promise<Page> {
  const tab = await page.context().newPage();
  tab.setDefaultTimeout(10_000);
  await tab.addInitScript(keep(token));
  await tab.goto(`${stage.venue.url}/workspace/${path}`);
  return tab;
}

/** Headless pages are all visible; this is what a page sees when another tab is shown. */
const show = (page: Page, state: "visible" | "hidden") =>
  page.evaluate(`Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"))`);

const write = (path: string) =>
  call(stage.venue, "file:write", { root: "files", path, content: "new\n" }, TOKENS.alice);

inBrowser("tabs of one session", () => {
  beforeAll(async () => {
    stage = await openStage({ "one/here.txt": "", "two/here.txt": "" }, { audit: { file: "audit.jsonl" } });
  });
  afterAll(() => stage.close());
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  test("eight of them have one stream, each is told of its own place, and none waits for a connection", async () => {
    const first = await stage.visit("files/files/one/");
    const streams = streamsOf(first.context());
    await first.reload();
    const tabs = [first];
    for (const path of ["activity", "files/files/two/", "changes/files/", "status", "access", "files/files/one/"])
      tabs.push(await openTab(first, path));
    const last = await openTab(first, "files/files/two/here.txt");
    await last.locator(".cm-content").waitFor();
    await until(() => streams().length === 1);
    await Promise.all([write("one/a.txt"), write("two/b.txt")]);
    await Promise.all([entry(first, "a.txt").waitFor(), entry(tabs[2] as Page, "b.txt").waitFor()]);
    await entry(tabs[6] as Page, "a.txt").waitFor();
    await (tabs[1] as Page).getByText("Live", { exact: true }).waitFor();
    await until(() => streams().length === 1);
    await first.context().close();
  });

  test("when the tab that has the stream closes another goes on where it was", async () => {
    const first = await stage.visit("files/files/one/");
    const streams = streamsOf(first.context());
    await first.reload();
    await until(() => streams().length === 1);
    const second = await openTab(first, "files/files/two/");
    const third = await openTab(first, "activity");
    await entry(second, "here.txt").waitFor();
    await third.getByText("Live", { exact: true }).waitFor();
    expect(streams()).toEqual([first]);
    const asked: string[] = [];
    second.on("request", (request) => asked.push(request.headers()["last-event-id"] ?? ""));
    third.on("request", (request) => asked.push(request.headers()["last-event-id"] ?? ""));
    await first.close();
    await write("two/meanwhile.txt");
    await entry(second, "meanwhile.txt").waitFor();
    await third.getByRole("row").filter({ hasText: "two/meanwhile.txt" }).first().waitFor();
    await until(() => streams().length === 1);
    expect(asked.filter((id) => id !== "")).not.toEqual([]);
    await second.context().close();
  });

  test("tabs of two tokens have a stream each, and no event of one reaches the other", async () => {
    const alice = await stage.visit("activity");
    const streams = streamsOf(alice.context());
    await alice.reload();
    const reader = await openTab(alice, "activity", TOKENS.reader);
    await Promise.all([alice, reader].map((page) => page.getByText("Live", { exact: true }).waitFor()));
    await until(() => streams().length === 2);
    expect(new Set(streams())).toEqual(new Set([alice, reader]));
    // Failures are shown whoever they are of; what succeeds by a page's own token is not.
    await call(stage.venue, "file:read", { root: "files", path: "one/no.txt" }, TOKENS.alice);
    await call(stage.venue, "file:read", { root: "files", path: "two/no.txt" }, TOKENS.reader);
    await alice.getByRole("row").filter({ hasText: "one/no.txt" }).first().waitFor();
    await reader.getByRole("row").filter({ hasText: "two/no.txt" }).first().waitFor();
    expect(await reader.getByRole("row").filter({ hasText: "one/no.txt" }).count()).toBe(0);
    await alice.context().close();
  });

  test("a hidden tab has none; shown again, it shows what happened meanwhile", async () => {
    const page = await stage.visit("files/files/one/");
    const streams = streamsOf(page.context());
    await page.reload();
    await entry(page, "here.txt").waitFor();
    await until(() => streams().length === 1);
    const other = await openTab(page, "files/files/two/");
    await entry(other, "here.txt").waitFor();
    await show(page, "hidden");
    await until(() => streams().length === 1 && streams()[0] === other);
    await show(other, "hidden");
    await until(() => streams().length === 0);
    await write("one/unseen.txt");
    await write("two/unseen.txt");
    await show(page, "visible");
    await entry(page, "unseen.txt").waitFor();
    await show(other, "visible");
    await entry(other, "unseen.txt").waitFor();
    expect(streams()).toEqual([page]);
    await page.context().close();
  });

  test("signing out ends it, in all tabs", async () => {
    const page = await stage.visit("files/files/one/");
    const streams = streamsOf(page.context());
    await page.reload();
    await until(() => streams().length === 1);
    const other = await openTab(page, "activity");
    await other.getByText("Live", { exact: true }).waitFor();
    await other.getByRole("button", { name: "Account" }).click();
    await other.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await until(() => streams().length === 0);
    await page.context().close();
  });

  test("where the browser has no Web Locks each visible tab has its own", async () => {
    const page = await stage.visit("files/files/one/");
    const streams = streamsOf(page.context());
    await page.context().addInitScript({ content: "delete Navigator.prototype.locks" });
    await page.reload();
    const other = await openTab(page, "files/files/two/");
    await until(() => streams().length === 2);
    await Promise.all([entry(page, "here.txt").waitFor(), entry(other, "here.txt").waitFor()]);
    writeFileSync(stage.at("one/outside.txt"), "");
    await write("one/inside.txt");
    await entry(page, "inside.txt").waitFor();
    await show(other, "hidden");
    await until(() => streams().length === 1);
    await page.context().close();
  });
});
