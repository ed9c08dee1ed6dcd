import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Client } from "@modelcontextprotocol/client";
import type { Page, Route } from "playwright-core";
import { mcpClient } from "../surfaces/mcp/sessions.js";
import { until } from "../until.js";
import { call, editor, entries, entry, inBrowser, openStage, type Stage, TOKENS, typeFirst } from "./browser.js";

// Several at once: two browsers and an MCP client on one file; links and sessions between tabs.
const READ = { with: "file://files/", can: "crud/read" };

/** The token that a tab holds. */
const tokenOf = async (page: Page): Promise<string> =>
  page.evaluate('Object.entries(sessionStorage).find(([key]) => key.startsWith("venue-files:"))?.[1] ?? ""');

async function signOut(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
}

inBrowser("several at once", () => {
  let stage: Stage;

  /** A link that signs in. */
  const linkOf = async (): Promise<string> =>
    ((await call(stage.venue, "auth:issue", { label: "person", link: true }, TOKENS.alice)) as { url: string }).url;

  /** The page does not wait for the venue. */
  async function hasEnded(token: string): Promise<void> {
    await until(async () => {
      const answer = (await call(stage.venue, "auth:whoami", {}, token)) as { error?: string };
      return answer.error?.includes("Invalid or expired token") === true;
    }, 100);
  }

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
    const agent = await mcpClient({ url: stage.venue.url, token: TOKENS.bob });
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

// Changes in a real browser: what an agent did, as a difference, and the way back from a part, a file, a session.
const LINES = Array.from({ length: 40 }, (_, index) => `line ${index + 1}\n`).join("");

inBrowser("changes", () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await openStage({
      "notes.txt": LINES,
      "second.txt": LINES,
      "parts.txt": LINES,
      "doomed.txt": "doomed\n",
      "trash/me.txt": "me\n",
    });
    const edit = (path: string, from: string, to: string) =>
      call(stage.venue, "file:edit", { root: "files", path, oldText: `${from}\n`, newText: `${to}\n` });
    await edit("notes.txt", "line 3", "line three");
    await edit("notes.txt", "line 30", "line thirty");
    await edit("second.txt", "line 5", "line five");
    await edit("parts.txt", "line 2", "line two");
    await edit("parts.txt", "line 38", "line thirty-eight");
    await call(stage.venue, "file:write", { root: "files", path: "new.txt", content: "new\n" });
    await call(stage.venue, "file:delete", { root: "files", path: "doomed.txt" });
  });
  afterAll(() => stage.close());
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  test("a session shows each file from before the first change to after the last, with counts", async () => {
    const page = await stage.visit("changes/files/");
    const file = page.locator("details.file-diff").filter({ hasText: "files/notes.txt" });
    await file.getByText("+2").waitFor();
    await file.getByText("−2").waitFor();
    await file.getByText("line three").waitFor();
    await file.getByText("unchanged lines").first().waitFor();
    await page.locator("details.file-diff").filter({ hasText: "files/doomed.txt" }).getByText("Removed").waitFor();
    await page.getByRole("button", { name: "Side by side" }).click();
    await file.locator(".cm-merge-a").getByText("line 30", { exact: true }).waitFor();
    await page.context().close();
  });

  test("every card of a long session has its difference once it is in view, and keeps it when others change", async () => {
    const paths = Array.from({ length: 12 }, (_, index) => `cards/card ${index}.txt`);
    const write = (path: string) =>
      call(stage.venue, "file:write", { root: "files", path, content: `text of ${path}\n`, parents: true });
    for (const path of paths) await write(path);
    const page = await stage.visit("changes/files/cards");
    const cards = page.locator("details.file-diff");
    const last = cards.filter({ hasText: "files/cards/card 0.txt" });
    await last.scrollIntoViewIfNeeded();
    await last.getByText("text of cards/card 0.txt").waitFor();
    await last.getByText("+1").waitFor();
    const read: string[] = [];
    page.on("request", (request) => read.push(request.postData() ?? ""));
    await write("cards/card 12.txt");
    await page.locator("button.change").filter({ hasText: "card 12.txt" }).waitFor();
    await page.getByRole("button", { name: "13 changes in 13 files" }).click();
    await cards.filter({ hasText: "card 12.txt" }).scrollIntoViewIfNeeded();
    await cards.filter({ hasText: "card 12.txt" }).getByText("+1").waitFor();
    // Of what is shown already nothing is read again.
    expect(read.filter((text) => text.includes('"file:read"') && text.includes("card 0.txt"))).toEqual([]);
    await page.context().close();
  });

  test("no letter of a name is cut off below, in any place", async () => {
    const page = await stage.visit("changes/files/");
    await page.locator(".change").first().waitFor();
    for (const path of ["changes/files/", "files/files/", "activity", "access?by=path"]) {
      await page.goto(`${stage.venue.url}/workspace/${path}`);
      await page.locator(".change, .entry, .chooser button, .failure-place").first().waitFor();
      // Of what cuts off what is too long, each line is as high as its letters.
      const cut = await page.evaluate(`[...document.querySelectorAll("#app *")].flatMap((one) => {
        const { overflowY, lineHeight, fontSize } = getComputedStyle(one);
        const hasText = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
        const isLow = Number.parseFloat(lineHeight) < 1.2 * Number.parseFloat(fontSize);
        return overflowY === "hidden" && hasText && isLow ? [one.outerHTML] : [];
      })`);
      expect([path, cut]).toEqual([path, []]);
    }
    await page.context().close();
  });

  test("a part of a change is taken back, the rest stays", async () => {
    const page = await stage.visit("changes/files/parts.txt");
    await page.getByRole("button", { name: "Unified" }).click();
    const undoPart = page.getByRole("button", { name: "Undo this part" });
    await undoPart.first().waitFor();
    await undoPart.first().click();
    await page.getByText("This part is as before.").waitFor();
    expect(readFileSync(stage.at("parts.txt"), "utf8")).toBe(LINES.replace("line 38\n", "line thirty-eight\n"));
    await page.context().close();
  });

  test("what was changed since is named and left out; the rest is undone, and can be redone", async () => {
    await call(stage.venue, "file:edit", {
      root: "files",
      path: "second.txt",
      oldText: "line five\n",
      newText: "line cinq\n",
    });
    const page = await stage.visit("changes/files/");
    const change = (path: string) => page.locator("button.change").filter({ hasText: path });
    await change("files/notes.txt").first().click();
    await change("files/notes.txt")
      .nth(1)
      .click({ modifiers: ["ControlOrMeta"] });
    await change("files/second.txt")
      .last()
      .click({ modifiers: ["ControlOrMeta"] });
    await page.getByText("3 changes in 2 files").last().waitFor();
    await page.getByRole("button", { name: "Undo…" }).click();
    const dialog = page.getByRole("dialog", { name: "Undo" });
    await dialog.getByText("1 file stays as it is").waitFor();
    await dialog.getByText("second.txt").waitFor();
    await dialog.getByRole("button", { name: "Undo the rest" }).click();
    await page.getByText("as before.").first().waitFor();
    expect(readFileSync(stage.at("notes.txt"), "utf8")).toBe(LINES);
    expect(readFileSync(stage.at("second.txt"), "utf8")).toContain("line cinq\n");
    await page.getByRole("button", { name: "Redo" }).click();
    await page.getByText("Undone.", { exact: true }).waitFor();
    expect(readFileSync(stage.at("notes.txt"), "utf8")).toContain("line three\n");
    await page.context().close();
  });

  test("a deleted file comes back", async () => {
    const page = await stage.visit("changes/files/doomed.txt");
    await page.getByRole("button", { name: "Undo…" }).click();
    await page.getByRole("dialog").getByText("1 file will be as before.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByText("1 file as before.").waitFor();
    expect(readFileSync(stage.at("doomed.txt"), "utf8")).toBe("doomed\n");
    await page.context().close();
  });

  test("deleting in the list goes to the trash, and its notice undoes it", async () => {
    const page = await stage.visit("files/files/trash/");
    await entry(page, "me.txt").waitFor();
    await entries(page).focus();
    await page.keyboard.press("Delete");
    await page.getByText("They go to the trash").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("1 item deleted.").waitFor();
    expect(existsSync(stage.at("trash/me.txt"))).toBe(false);
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await entry(page, "me.txt").waitFor();
    expect(readFileSync(stage.at("trash/me.txt"), "utf8")).toBe("me\n");
    await page.context().close();
  });

  test("the trash lists what was deleted; an entry is restored by keys alone, another is gone for good", async () => {
    for (const path of ["bin/back.txt", "bin/gone.txt"]) {
      await call(stage.venue, "file:write", { root: "files", path, content: `${path}\n`, parents: true });
      await call(stage.venue, "file:delete", { root: "files", path });
    }
    const page = await stage.visit("files/files/bin/");
    await page.getByRole("link", { name: "Trash" }).click();
    await page.getByText("2 deleted items").waitFor();
    await page.getByRole("checkbox", { name: "Choose bin/back.txt" }).focus();
    await page.keyboard.press("Space");
    await page.getByText("1 selected").waitFor();
    await page.getByRole("button", { name: "Restore" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("1 item restored.").waitFor();
    expect(readFileSync(stage.at("bin/back.txt"), "utf8")).toBe("bin/back.txt\n");
    await page.getByText("1 deleted item", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Delete all for good" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("1 item will be gone for good.").waitFor();
    await dialog.getByRole("button", { name: "Delete for good" }).click();
    await page.getByText("The trash is empty").waitFor();
    expect(await call(stage.venue, "file:trash", { root: "files", path: "bin" })).toMatchObject({ entries: [] });
    await page.getByRole("link", { name: "Close" }).click();
    await entry(page, "back.txt").waitFor();
    await page.context().close();
  });
});

// Approvals clicked through: an agent asks over MCP, a person sees what it would do, allows or denies it.
let agent: Client;
let page: Page;
let letStreamsOpen: () => void = () => {};
const asked = new Promise<void>((resolve) => {
  letStreamsOpen = resolve;
});

interface Answer {
  readonly isError: boolean;
  readonly text: string;
}

/** Writes a file as the agent. */
async function write(path: string, content: string, approval?: string): Promise<Answer> {
  const { content: parts, isError = false } = (await agent.callTool({
    name: "file_write",
    arguments: { root: "files", path, content, ...(approval === undefined ? {} : { approval }) },
  })) as { content: readonly { readonly text?: string }[]; isError?: boolean };
  return { isError, text: parts.map(({ text = "" }) => text).join("\n") };
}

/** The id that the agent is told to repeat the call with. */
async function ask(path: string, content: string): Promise<string> {
  const { isError, text } = await write(path, content);
  expect(isError).toBe(true);
  return /approval: "?([0-9a-f]+)/.exec(text)?.[1] ?? `no id in: ${text}`;
}

const card = (path: string) => page.locator(".approval").filter({ hasText: path });

inBrowser("approvals", () => {
  let stage: Stage;
  const textOf = (path: string): string => readFileSync(stage.at(path), "utf8");

  beforeAll(async () => {
    stage = await openStage(
      { "allowed.txt": "one\ntwo\n", "denied.txt": "one\n", "changed.txt": "one\n", "late.txt": "one\n" },
      {
        auth: { localToken: true },
        file: { roots: { files: { path: "./files", approve: { for: ["delete", "overwrite"] } } } },
      },
    );
    agent = await mcpClient({ url: stage.venue.url, token: TOKENS.bob });
    // A person decides, signed in by a link: no token of a program may.
    const issued = await call(stage.venue, "auth:issue", { label: "person", link: true }, stage.venue.localToken);
    page = await stage.visit("", { as: "nobody" });
    await page.goto("about:blank");
    // What is asked before the page has its stream of events is shown all the same.
    await page.route("**/api/v1/events?*", async (route) => {
      await asked;
      await route.continue().catch(() => {});
    });
    await page.goto((issued as { readonly url: string }).url);
    await page.locator(".card").first().waitFor();
  });
  afterAll(async () => {
    await agent.close();
    await stage.close();
  });
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  test("what waits is counted wherever one is, shown as a difference, and allowed once", async () => {
    const id = await ask("allowed.txt", "one\nthree\n");
    letStreamsOpen();
    await page.getByTitle("1 waiting for a decision").waitFor();
    await page.getByRole("link", { name: /^Access/ }).click();
    await card("allowed.txt").locator("del", { hasText: "-two" }).waitFor();
    await card("allowed.txt").locator("ins", { hasText: "+three" }).waitFor();
    expect(textOf("allowed.txt")).toBe("one\ntwo\n");
    await card("allowed.txt").getByRole("button", { name: "Allow once" }).click();
    await page.getByText("Allowed once.").waitFor();
    await card("allowed.txt").waitFor({ state: "detached" });
    // The decision runs nothing; the agent repeats its call, and only once.
    expect(textOf("allowed.txt")).toBe("one\ntwo\n");
    expect(await write("allowed.txt", "one\nthree\n", id)).toMatchObject({ isError: false });
    expect(textOf("allowed.txt")).toBe("one\nthree\n");
    expect(await write("allowed.txt", "again\n", id)).toMatchObject({ isError: true });
    await page.getByText("Nothing waits for a decision.").waitFor();
  });

  test("what is denied stays undone", async () => {
    const id = await ask("denied.txt", "two\n");
    await card("denied.txt").getByRole("button", { name: "Deny" }).click();
    await page.getByText("Denied.", { exact: true }).waitFor();
    expect(await write("denied.txt", "two\n", id)).toMatchObject({ isError: true });
    expect(textOf("denied.txt")).toBe("one\n");
  });

  test("what was looked at is what is allowed: a file that changes in between stays as it is", async () => {
    const id = await ask("changed.txt", "two\n");
    await card("changed.txt").locator("del", { hasText: "-one" }).waitFor();
    writeFileSync(stage.at("changed.txt"), "somebody else's\n");
    await card("changed.txt").getByRole("button", { name: "Allow once" }).click();
    await card("changed.txt").waitFor({ state: "detached" });
    const { isError, text } = await write("changed.txt", "two\n", id);
    expect(isError).toBe(true);
    expect(text).toMatch(/changed/i);
    expect(textOf("changed.txt")).toBe("somebody else's\n");
  });

  test("a card has its difference from the start, so that nobody decides on half of it", async () => {
    let letGo = () => {};
    const later = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const isAsked = new Promise<void>((resolve) => {
      void page.route("**/api/v1/run", async (route) => {
        if (route.request().postDataJSON().operation !== "approval:get") return route.fallback();
        resolve();
        await later;
        return route.fallback();
      });
    });
    await ask("late.txt", "two\n");
    await isAsked;
    expect(await card("late.txt").count()).toBe(0);
    letGo();
    await card("late.txt").waitFor();
    expect(await card("late.txt").locator("ins").allInnerTexts()).toEqual(["+two\n"]);
    await page.unroute("**/api/v1/run");
    await card("late.txt").getByRole("button", { name: "Deny" }).click();
    await card("late.txt").waitFor({ state: "detached" });
  });

  test("what is in a folder that goes is shown by its first names", async () => {
    mkdirSync(stage.at("lib/deep"), { recursive: true });
    writeFileSync(stage.at("lib/deep/in it.sh"), "");
    const call = { name: "file_delete", arguments: { root: "files", path: "lib", recursive: true } };
    expect((await agent.callTool(call)).isError).toBe(true);
    for (const name of ["deep/", "deep/in it.sh"]) await card("files/lib").getByText(name, { exact: true }).waitFor();
    await card("files/lib").getByRole("button", { name: "Deny" }).click();
    await card("files/lib").waitFor({ state: "detached" });
  });
});
