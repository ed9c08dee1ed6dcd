import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Page, Request } from "playwright-core";
import { call, editor, entry, inBrowser, openStage, openVenue, type Stage, TOKENS, typeFirst } from "./browser.js";

// When something goes wrong: each line of the table in docs/workspace.md, really done. Nothing that was typed is lost.
let stage: Stage;

const readText = (path: string): string => readFileSync(stage.at(path), "utf8");
const names = ["draft", "other", "conflict", "overlap", "theirs", "copy", "clean", "dirty", "gone", "denied", "quota"];
names.push("moved", "older", "hand");
const LONG = Array.from({ length: 400 }, (_, index) => `line ${index + 1}\n`).join("");

/** Expression: resolves when the browser's store of drafts holds one that begins so. A slow typist leaves earlier ones. */
const draftIsKept = (start: string): string => `new Promise((resolve) => {
  const opened = indexedDB.open("venue-files", 1);
  opened.onsuccess = () => {
    const look = () => {
      const all = opened.result.transaction("drafts").objectStore("drafts").getAll();
      all.onsuccess = () => {
        if (!all.result.some(({ text }) => text.startsWith(${JSON.stringify(start)}))) return requestAnimationFrame(look);
        opened.result.close();
        resolve();
      };
    };
    look();
  };
})`;

const operationOf = (request: Request): string => request.postDataJSON()?.operation ?? "";

/** Expression: lets the page look at once whether the open file has changed. */
const LOOK = "dispatchEvent(new Event('focus'))";

inBrowser("when something goes wrong", () => {
  beforeAll(async () => {
    const text = Array.from({ length: 12 }, (_, index) => `line ${index + 1}\n`).join("");
    const files = Object.fromEntries(names.map((name) => [`${name}.txt`, text]));
    stage = await openStage({ ...files, "long.txt": LONG, "merged.txt": LONG });
  });
  afterAll(() => stage.close());
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  test("a draft outlasts the tab until it is saved, and nobody else sees it", async () => {
    const page = await stage.visit("files/files/draft.txt");
    await typeFirst(page, "typed ");
    await page.getByText("Not saved").waitFor();
    await page.evaluate(draftIsKept("typed line 1"));
    const second = await page.context().newPage();
    await page.close({ runBeforeUnload: false });
    await second.addInitScript({ content: `sessionStorage.setItem("venue-files:/workspace/", "${TOKENS.alice}")` });
    await second.goto(`${stage.venue.url}/workspace/files/files/draft.txt`);
    await second.getByText("Unsaved text from before was restored.").waitFor();
    await editor(second).getByText("typed line 1").waitFor();
    expect(readText("draft.txt")).toMatch(/^line 1\n/);
    // Another caller in the same browser.
    await second.getByRole("button", { name: "Account" }).click();
    await second.getByRole("menuitem", { name: "Sign in" }).click();
    await second.getByLabel("Token").fill(TOKENS.bob);
    await second.getByLabel("Token").press("Enter");
    await editor(second).getByText("line 1", { exact: true }).waitFor();
    expect(await editor(second).innerText()).not.toContain("typed");
    await second.context().close();
  });

  test("signing out asks before it discards what was typed", async () => {
    const page = await stage.visit("files/files/other.txt");
    await typeFirst(page, "typed ");
    await page.getByText("Not saved").waitFor();
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByText("1 file has text that is not saved.").waitFor();
    await page.getByRole("button", { name: "Sign out and discard" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
    await page.context().close();
  });

  test("two changes of different lines are merged; the result is saved under their version", async () => {
    const page = await stage.visit("files/files/conflict.txt");
    await typeFirst(page, "mine ");
    await page.getByText("Not saved").waitFor();
    await call(stage.venue, "file:edit", {
      root: "files",
      path: "conflict.txt",
      oldText: "line 10",
      newText: "line ten",
    });
    await page.keyboard.press("ControlOrMeta+s");
    const dialog = page.getByRole("dialog", { name: "Two versions" });
    await dialog.getByText("fit together").waitFor();
    await dialog.getByRole("button", { name: "Save result" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(readText("conflict.txt")).toMatch(/^mine line 1\nline 2\n(?:.*\n)*line ten\n/);
    await page.context().close();
  });

  test("of two changes of one line one takes mine, theirs or both; nothing undecided is saved, and no mark is ever text", async () => {
    const page = await stage.visit("files/files/overlap.txt");
    await typeFirst(page, "mine ");
    await page.getByText("Not saved").waitFor();
    const edit = (oldText: string, newText: string) =>
      call(stage.venue, "file:edit", { root: "files", path: "overlap.txt", oldText, newText });
    await edit("line 1\n", "theirs 1\n");
    await edit("line 11\n", "");
    await page.keyboard.press("ControlOrMeta+s");
    const dialog = page.getByRole("dialog", { name: "Two versions" });
    await dialog.getByText("2 differences, of which 1 needs a decision.").waitFor();
    expect(await dialog.locator(".place-other.theirs mark").first().innerText()).toBe("theirs");
    await dialog.getByRole("button", { name: "Save result" }).click();
    await dialog.getByText("1 difference left to decide").waitFor();
    expect(readText("overlap.txt")).toMatch(/^theirs 1\n/);
    // The place to decide has the focus; the keys go from one to the next, and round.
    const choice = (at: number) => dialog.getByRole("group", { name: `Difference ${at} of 2` }).locator("button:focus");
    await choice(1).waitFor();
    await page.keyboard.press("Alt+ArrowDown");
    await choice(2).waitFor();
    await page.keyboard.press("Alt+ArrowDown");
    await choice(1).waitFor();
    const choices = dialog.getByRole("group", { name: "Difference 1 of 2" });
    await choices.getByRole("button", { name: "Theirs" }).click();
    await dialog.getByText("2 differences. Both versions fit together.").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.locator(".cm-content:focus").waitFor();
    await page.keyboard.press("ControlOrMeta+s");
    // Mine is what was typed already, and a decision all the same.
    await choices.getByRole("button", { name: "Mine" }).click();
    await dialog.getByText("2 differences. Both versions fit together.").waitFor();
    await choices.getByRole("button", { name: "Both" }).click();
    await dialog.getByRole("group", { name: "Difference 2 of 2" }).getByRole("button", { name: "Mine" }).click();
    expect(await dialog.innerText()).not.toMatch(/[<>|=]{7}/);
    await dialog.getByRole("button", { name: "Save result" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(readText("overlap.txt")).toMatch(/^mine line 1\ntheirs 1\nline 2\n(?:.*\n)*line 11\nline 12\n$/);
    await page.context().close();
  });

  test("a decision by hand counts, one is taken back by undo, and who closes the dialog has lost nothing", async () => {
    const page = await stage.visit("files/files/hand.txt");
    await typeFirst(page, "mine ");
    await page.getByText("Not saved").waitFor();
    await call(stage.venue, "file:write", { root: "files", path: "hand.txt", content: "theirs\n" });
    await page.keyboard.press("ControlOrMeta+s");
    const dialog = page.getByRole("dialog", { name: "Two versions" });
    await dialog.getByRole("button", { name: "Theirs", exact: true }).click();
    await dialog.getByText("1 difference. Both versions fit together.").waitFor();
    await dialog.locator(".cm-content").click();
    await page.keyboard.press("ControlOrMeta+z");
    await dialog.getByText("1 difference, of which 1 needs a decision.").waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await editor(page).getByText("mine line 1").waitFor();
    await editor(page).click();
    await page.keyboard.press("ControlOrMeta+s");
    await dialog.locator(".cm-line").first().click();
    await page.keyboard.press("Home");
    await page.keyboard.type("by hand ");
    await dialog.getByText("1 difference. Both versions fit together.").waitFor();
    await dialog.getByRole("button", { name: "Save result" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(readText("hand.txt")).toMatch(/^by hand mine line 1\nline 2\n/);
    await page.context().close();
  });

  test("a merge goes on where one was typing, though the other version has more lines above", async () => {
    const page = await stage.visit("files/files/merged.txt?line=200");
    await editor(page).getByText("line 200", { exact: true }).click();
    await page.keyboard.press("End");
    await page.keyboard.type(" mine");
    await page.getByText("Not saved").waitFor();
    const topOf = async () => (await editor(page).getByText("line 200 mine").first().boundingBox())?.y ?? -1;
    const before = await topOf();
    const more = Array.from({ length: 90 }, (_, index) => `more ${index}\n`).join("");
    await call(stage.venue, "file:edit", { root: "files", path: "merged.txt", oldText: "line 3\n", newText: more });
    await page.keyboard.press("ControlOrMeta+s");
    const dialog = page.getByRole("dialog", { name: "Two versions" });
    await dialog.getByText("line 200 mine").waitFor();
    await dialog.getByRole("button", { name: "Save result" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    await dialog.waitFor({ state: "detached" });
    expect(Math.abs((await topOf()) - before)).toBeLessThan(3);
    await editor(page).focus();
    await page.keyboard.type("!");
    await editor(page).getByText("line 200 mine!").waitFor();
    await page.context().close();
  });

  test.each([
    ["theirs", "Take theirs", /^theirs 1\n/],
    ["copy", "Save as copy", /^theirs 1\n/],
  ])("a conflict ends by %s", async (name, button, expected) => {
    const page = await stage.visit(`files/files/${name}.txt`);
    await typeFirst(page, "mine ");
    await page.getByText("Not saved").waitFor();
    await call(stage.venue, "file:edit", {
      root: "files",
      path: `${name}.txt`,
      oldText: "line 1\n",
      newText: "theirs 1\n",
    });
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByRole("button", { name: button }).click();
    await editor(page).getByText("theirs 1").waitFor();
    expect(readText(`${name}.txt`)).toMatch(expected);
    if (name === "copy") expect(readText("copy (2).txt")).toMatch(/^mine line 1\n/);
    await page.context().close();
  });

  test("an open file that somebody changes is shown anew; typed text is never replaced", async () => {
    const [clean, dirty] = await Promise.all([
      stage.visit("files/files/clean.txt"),
      stage.visit("files/files/dirty.txt"),
    ]);
    await typeFirst(dirty, "mine ");
    await editor(clean).getByText("line 1", { exact: true }).waitFor();
    for (const path of ["clean.txt", "dirty.txt"])
      await call(stage.venue, "file:edit", { root: "files", path, oldText: "line 1\n", newText: "theirs 1\n" });
    await clean.getByText("Loaded again").waitFor();
    await editor(clean).getByText("theirs 1").waitFor();
    await dirty.getByText("was changed").waitFor();
    await editor(dirty).getByText("mine line 1").waitFor();
    await Promise.all([clean.context().close(), dirty.context().close()]);
  });

  test("what is shown anew keeps the place where one was, and says by whom it was changed", async () => {
    const page = await stage.visit("files/files/long.txt");
    await editor(page).getByText("line 1", { exact: true }).click();
    await page.locator(".cm-scroller").hover();
    await page.mouse.wheel(0, 3000);
    await editor(page).getByText("line 150", { exact: true }).waitFor();
    const scrolled = () => page.evaluate("document.querySelector('.cm-scroller').scrollTop");
    const before = await scrolled();
    await call(stage.venue, "file:edit", {
      root: "files",
      path: "long.txt",
      oldText: "line 150\n",
      newText: "theirs 150\n",
    });
    await page.getByText(/Loaded again: it was changed by bob\./).waitFor();
    await editor(page).getByText("theirs 150").waitFor();
    expect(await scrolled()).toBe(before);
    await page.keyboard.press("End");
    expect(await page.evaluate("document.activeElement.classList.contains('cm-content')")).toBe(true);
    await page.context().close();
  });

  test("the text of a deleted file stays, and may be saved again", async () => {
    const page = await stage.visit("files/files/gone.txt");
    await typeFirst(page, "mine ");
    rmSync(stage.at("gone.txt"));
    await page.getByText("The file was deleted").waitFor();
    await editor(page).getByText("mine line 1").waitFor();
    await page.getByRole("button", { name: "Save it again" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(readText("gone.txt")).toMatch(/^mine line 1\nline 2\n/);
    await page.context().close();
  });

  test("a moved file is followed with what was typed", async () => {
    const page = await stage.visit("files/files/moved.txt");
    await typeFirst(page, "mine ");
    await page.getByText("Not saved").waitFor();
    await call(stage.venue, "file:move", { root: "files", path: "moved.txt", to: "there.txt" });
    await page.getByText(/The file was moved to files\/there\.txt by bob\./).waitFor();
    await editor(page).getByText("mine line 1").waitFor();
    await page.getByRole("button", { name: "Go there" }).click();
    await page.waitForURL(/files\/there\.txt$/);
    await page.getByText("Unsaved text from before was restored.").waitFor();
    await editor(page).getByText("mine line 1").click();
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(readText("there.txt")).toMatch(/^mine line 1\n/);
    await page.context().close();
  });

  test("a draft says that the file has changed since, and is compared with it", async () => {
    const page = await stage.visit("files/files/older.txt");
    await typeFirst(page, "mine ");
    await page.getByText("Not saved").waitFor();
    await page.evaluate(draftIsKept("mine line 1"));
    await page.goto("about:blank");
    await call(stage.venue, "file:edit", { root: "files", path: "older.txt", oldText: "line 9", newText: "theirs 9" });
    await page.goto(`${stage.venue.url}/workspace/files/files/older.txt`);
    const notice = page.getByText("The file has changed since this draft was begun.");
    await notice.waitFor();
    // Looking again finds the version that the notice tells of, and does not ask who wrote it to put another notice there.
    const asked: string[] = [];
    page.on("request", (request) => asked.push(operationOf(request)));
    const looked = page.waitForResponse((response) => operationOf(response.request()) === "file:stat");
    await page.evaluate(LOOK);
    await (await looked).finished();
    expect(await notice.isVisible()).toBe(true);
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByRole("dialog").getByText("fit together").waitFor();
    expect(asked).not.toContain("file:history");
    await page.getByRole("button", { name: "Save result" }).click();
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(readText("older.txt")).toMatch(/^mine line 1\n(?:.*\n)*theirs 9\n/);
    await page.context().close();
  });

  test("a refused token is asked for over the page, and the same caller goes on where it was", async () => {
    const page = await stage.visit("files/files/denied.txt");
    await typeFirst(page, "mine ");
    await page.getByText("Not saved").waitFor();
    await page.route("**/api/v1/run", (route) =>
      route.fulfill({ status: 401, json: { error: "Invalid or expired token" } }),
    );
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByText("no longer accepts this token").waitFor();
    expect(await editor(page).innerText()).toContain("mine line 1");
    await page.unroute("**/api/v1/run");
    await page.getByLabel("Token").fill("wrong-token-0123456789-0123456789");
    await page.getByLabel("Token").press("Enter");
    await page.getByText("Invalid or expired token").first().waitFor();
    await page.getByLabel("Token").fill(TOKENS.alice);
    await page.getByLabel("Token").press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await editor(page).click();
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByText("Saved.", { exact: true }).waitFor();
    expect(readText("denied.txt")).toMatch(/^mine line 1\n/);
    await page.context().close();
  });

  test("429 is waited for; other failures say what to do and name the request", async () => {
    const page = await stage.visit("files/files/quota.txt");
    await typeFirst(page, "mine ");
    let refusals = 0;
    await page.route("**/api/v1/run", (route) => {
      if (route.request().postDataJSON().operation !== "file:write") return route.fallback();
      refusals += 1;
      if (refusals === 1)
        return route.fulfill({ status: 429, headers: { "retry-after": "1" }, json: { error: "Too many requests" } });
      const errorBody = { error: "The quota of root 'files' is used up", errorCode: "QUOTA_EXCEEDED", errorData: {} };
      return route.fulfill({ status: 507, headers: { "x-request-id": "r-17" }, json: errorBody });
    });
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByText("Delete something, or ask the operator").waitFor();
    await page.getByText("Request r-17").waitFor();
    expect(refusals).toBe(2);
    await editor(page).getByText("mine line 1").waitFor();
    await page.context().close();
  });

  inBrowser("when the venue goes away", () => {
    afterEach(() => {
      expect(stage.problems.splice(0)).toEqual([]);
    });

    test("there is a banner, text stays, changes are not repeated, and work goes on when it is back", async () => {
      stage = await openStage({ "a.txt": "one\n" });
      const port = Number(new URL(stage.venue.url).port);
      const page = await stage.visit("files/files/a.txt");
      await typeFirst(page, "mine ");
      await page.getByText("Not saved").waitFor();
      await stage.venue.close();
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByText("The venue does not answer. What you typed stays here").waitFor();
      await page.keyboard.type("more ");
      writeFileSync(stage.at("a.txt"), "two\n");
      const again = await openVenue(stage.folder, { port });
      await page.getByText("The venue does not answer. What you typed").waitFor({ state: "detached" });
      expect(readFileSync(stage.at("a.txt"), "utf8")).toBe("two\n");
      // The etag of the open file was asked again.
      await page.getByText("was changed").waitFor();
      await editor(page).getByText("mine more one").waitFor();
      await page.context().close();
      await again.close();
      await stage.close();
    });

    test("a right that was withdrawn is offered no more; the text stays, marked", async () => {
      stage = await openStage({ "a.txt": "one\n" });
      const port = Number(new URL(stage.venue.url).port);
      const page = await stage.visit("files/files/a.txt");
      await typeFirst(page, "mine ");
      await page.getByRole("button", { name: "Save" }).waitFor();
      await stage.venue.close();
      const caps = [{ with: "file://", can: "crud/read" }];
      const again = await openVenue(stage.folder, {
        port,
        auth: { tokens: [{ name: "alice", token: { env: "TOKEN_alice" }, caps }] },
      });
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByText("You no longer hold the right to this file. Your text stays here.").waitFor();
      await page.getByRole("button", { name: "Save" }).waitFor({ state: "detached" });
      await editor(page).getByText("mine one").waitFor();
      expect(readFileSync(stage.at("a.txt"), "utf8")).toBe("one\n");
      await page.getByRole("link", { name: "files", exact: true }).first().click();
      await page.getByRole("button", { name: "Refresh" }).waitFor();
      expect(await page.getByRole("button", { name: "New file" }).count()).toBe(0);
      await page.context().close();
      await again.close();
      await stage.close();
    });

    test("another version of the page is offered, and what was typed outlasts the reload", async () => {
      stage = await openStage({ "a.txt": "one\n" });
      const port = Number(new URL(stage.venue.url).port);
      const page = await stage.visit("files/files/a.txt");
      await typeFirst(page, "mine ");
      await page.getByText("Not saved").waitFor();
      await stage.venue.close();
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByText("The venue does not answer.").first().waitFor();
      const again = await openVenue(stage.folder, { port });
      // The document of a later version names another script.
      await page.route("**/workspace/", async (route) => {
        const response = await route.fetch();
        return route.fulfill({ response, body: (await response.text()).replace(/app-[\w-]+\.js/g, "app-LATER.js") });
      });
      await page.getByText("The venue was updated.").waitFor();
      await page.unroute("**/workspace/");
      await page.getByRole("button", { name: "Reload" }).click();
      await page.getByText("Unsaved text from before was restored.").waitFor();
      await editor(page).getByText("mine one").waitFor();
      expect(await page.getByText("The venue was updated.").count()).toBe(0);
      await page.context().close();
      await again.close();
      await stage.close();
    });
  });
});

// Files that attack whoever looks at them, and pages that attack the page. Each attack would set `self.pwned`.
const PWN = "(self.pwned=1,top.pwned=1)";
let other: Server;

/** Ways around sanitisers of markdown and HTML. */
const BYPASSES = [
  `<script>${PWN}</script>`,
  `<img src=x onerror="${PWN}">`,
  `<svg><script>${PWN}</script></svg>`,
  `<svg/onload="${PWN}">`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${PWN}&gt;">`,
  `<form><math><mtext></form><form><mglyph><svg><mtext><textarea><path id="</textarea><img onerror=${PWN} src=1>">`,
  `<noscript><p title="</noscript><img src=x onerror=${PWN}>">`,
  `<iframe srcdoc="<script>${PWN}</script>"></iframe>`,
  `<object data="data:text/html,<script>${PWN}</script>"></object>`,
  `<embed src="javascript:${PWN}">`,
  `<a href="javascript:${PWN}">click me</a>`,
  `[click me too](javascript:${PWN})`,
  `[and me](JaVaScRiPt&colon;${PWN})`,
  `<a href="data:text/html,<script>${PWN}</script>">data</a>`,
  `<a href="//evil.example/x" target="_top">out</a>`,
  `<base href="https://evil.example/">`,
  `<meta http-equiv="refresh" content="0;url=https://evil.example/">`,
  `<link rel="stylesheet" href="https://evil.example/x.css">`,
  `<style>@import "https://evil.example/x.css"; *{display:none}</style>`,
  `<div style="position:fixed;inset:0;background:url(https://evil.example/)">over</div>`,
  `<form action="https://evil.example/"><button>send</button></form>`,
  `<img src="https://evil.example/track.png">`,
  `![remote](https://evil.example/track2.png)`,
  `<img name="content" id="content"><a id="querySelector">clobber</a>`,
  `<video src="https://evil.example/v" autoplay onerror="${PWN}"></video>`,
  `<template><script>${PWN}</script></template><xss-element onclick="${PWN}">x</xss-element>`,
  `<select><template><img src=x onerror=${PWN}></template></select>`,
  `<![CDATA[><img src=x onerror=${PWN}>]]>`,
  `<x contenteditable autofocus onfocus="${PWN}">`,
];

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10" onload="${PWN}"><script>${PWN}</script><image href="https://evil.example/i.png"/></svg>`;
const HTML = `<!doctype html><script>${PWN}</script><img src=x onerror="${PWN}"><p>shown</p>`;

inBrowser("hostile content", () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await openStage({
      ...Object.fromEntries(BYPASSES.map((text, index) => [`bypass-${index}.md`, `begin\n\n${text}\n\nend`])),
      "page.html": HTML,
      "image.svg": SVG,
      "image.png": HTML,
      "paper.pdf": `%PDF-1.4\n/OpenAction << /S /JavaScript /JS (${PWN}) >>`,
      "code.js": `${PWN}`,
      "\u202egpj.exe": "x",
      "a\u200bb.txt": "x",
      "<img src=x onerror=alert(1)>.txt": "x",
      ["__proto__"]: "x",
      constructor: "x",
      "bidi.txt": "if (admin\u202e \u2066// check\u2069 \u2066) {\n",
    });
    other = createServer((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end("<p>elsewhere</p>");
    }).listen(0, "127.0.0.1");
  });
  afterAll(async () => {
    await stage.close();
    other.close();
  });

  /** Requests to anywhere but the venue. */
  const watch = (page: Page): string[] => {
    const out: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(stage.venue.url) && !/^(?:blob|data|about):/.test(request.url()))
        out.push(request.url());
    });
    return out;
  };
  const isPwned = async (page: Page): Promise<boolean> => {
    const found = await Promise.all(
      page.frames().map((frame) => frame.evaluate("self.pwned === 1").catch(() => false)),
    );
    return found.includes(true);
  };
  afterEach(() => {
    // The policies say what they stopped; nothing else went wrong.
    const others = stage.problems
      .splice(0)
      .filter((text) => !/Content Security Policy|sandboxed|violates|This document requires/i.test(text));
    expect(others).toEqual([]);
  });

  test("markdown and HTML run nothing, load nothing and lead nowhere", async () => {
    const page = await stage.visit("files/");
    const out = watch(page);
    for (const path of [...BYPASSES.map((_, index) => `bypass-${index}.md`), "page.html"]) {
      await page.goto(`${stage.venue.url}/workspace/files/files/${path}?view=preview`);
      const frame = page.frameLocator("iframe.preview");
      await frame.getByText(path === "page.html" ? "shown" : "begin").waitFor();
      for (const link of await frame.locator("a").all())
        await link.click({ timeout: 1000, force: true }).catch(() => {});
      const kept = ["script", "iframe", "object", "embed", "form", "link", "base", "meta", "style"].map(
        (tag) => `main ${tag}`,
      );
      expect([path, await frame.locator(kept.join(", ")).count()]).toEqual([path, 0]);
      expect([path, await isPwned(page), out]).toEqual([path, false, []]);
      expect(page.url()).toContain("/workspace/files/");
      expect(page.context().pages()).toHaveLength(1);
    }
    await page.context().close();
  });

  test("the frame has an opaque origin: no storage, no parent, no network", async () => {
    const page = await stage.visit("files/files/bypass-0.md?view=preview");
    await page.frameLocator("iframe.preview").getByText("begin").waitFor();
    const frame = page.frames().find((one) => one.url().endsWith("/preview"));
    const tried = await frame?.evaluate(`(async () => [
      self.origin,
      await fetch("/api/v1/status").then(() => "fetched", () => "refused"),
      (() => { try { return parent.document.title } catch { return "refused" } })(),
      (() => { try { return String(sessionStorage.length) } catch { return "refused" } })(),
      (() => { try { document.body.innerHTML = "<b>"; return "written" } catch { return "refused" } })(),
      (() => { try { trustedTypes.createPolicy("other", {}); return "made" } catch { return "refused" } })(),
      (() => { const s = document.createElement("script"); try { s.textContent = "self.late = 1"; document.head.append(s) } catch {} return self.late === 1 ? "ran" : "refused" })(),
    ])()`);
    expect(tried).toEqual(["null", "refused", "refused", "refused", "refused", "refused", "refused"]);
    await page.context().close();
  });

  test.each([
    ["image.svg", ".image img"],
    ["image.png", ".image img"],
    ["paper.pdf", ".hex pre"],
    ["code.js", ".cm-line"],
  ])("%s runs nothing", async (path, shown) => {
    const page = await stage.visit("files/");
    const out = watch(page);
    await page.goto(`${stage.venue.url}/workspace/files/files/${path}`);
    await page.locator(shown).first().waitFor({ state: "attached" });
    // What an image would run, it would run before it counts as decoded, or as broken.
    await page.evaluate("Promise.allSettled([...document.images].map((image) => image.decode()))");
    expect([await isPwned(page), out]).toEqual([false, []]);
    await page.context().close();
  });

  test("names hide nothing and are no markup", async () => {
    const page = await stage.visit("files/files/");
    await entry(page, "\\u{202e}gpj.exe").waitFor();
    await entry(page, "a\\u{200b}b.txt").waitFor();
    await entry(page, "<img src=x onerror=alert(1)>.txt").waitFor();
    for (const name of ["__proto__", "constructor"]) {
      await entry(page, name).getByRole("link").click();
      await editor(page).getByText("x").waitFor();
      await page.goBack();
      await entry(page, name).waitFor();
    }
    expect(await page.evaluate("({}).polluted === undefined && !('x' in {})")).toBe(true);
    await page.goto(`${stage.venue.url}/workspace/files/files/bidi.txt`);
    await editor(page).locator(".cm-specialChar").first().waitFor();
    expect(await editor(page).locator(".cm-specialChar").count()).toBe(4);
    await page.context().close();
  });

  test("a failure repeats no markup of a name", async () => {
    const page = await stage.visit(`files/files/${encodeURIComponent("<img src=x onerror=top.pwned=1>")}.txt`);
    await page.getByRole("alert").getByRole("heading").waitFor();
    expect(await isPwned(page)).toBe(false);
    await page.context().close();
  });

  test("no content of a root is a document of this origin", async () => {
    const page = await stage.visit("files/");
    for (const path of ["page.html", "image.svg", "code.js"]) {
      const ticket = (await call(stage.venue, "file:transfer", { root: "files", path, direction: "download" })) as {
        href: string;
      };
      const answer = await page.request.get(ticket.href);
      expect(answer.headers()).toMatchObject({
        "content-disposition": expect.stringMatching(/^attachment/),
        "x-content-type-options": "nosniff",
      });
      const tried = await page.evaluate(`new Promise((resolve) => {
        const script = document.createElement("script");
        script.onload = () => resolve("loaded"); script.onerror = () => resolve("refused");
        try { script.src = ${JSON.stringify(ticket.href)}; } catch { resolve("refused"); }
        document.head.append(script);
      })`);
      expect(tried).toBe("refused");
    }
    await page.context().close();
  });

  test("scripts cannot be put into the page: no inline script, no sink takes a string", async () => {
    const page = await stage.visit("files/");
    await page.getByRole("heading", { name: "Roots" }).waitFor();
    const tried = await page.evaluate(`[
      (() => { const s = document.createElement("script"); try { s.textContent = "self.pwned = 1" ; document.head.append(s) } catch {} return self.pwned === 1 })(),
      (() => { try { document.body.insertAdjacentHTML("beforeend", "<b>x</b>"); return true } catch { return false } })(),
      (() => { try { trustedTypes.createPolicy("x", { createHTML: (t) => t }); return true } catch { return false } })(),
      (() => { const b = document.createElement("button"); try { b.setAttribute("onclick", "self.pwned = 1") } catch {}; document.body.append(b); b.click(); b.remove(); return self.pwned === 1 })(),
    ]`);
    expect(tried).toEqual([false, false, false, false]);
    await page.context().close();
  });

  test("pages of another origin can neither frame it nor read it, and get no handle on it", async () => {
    const { port } = other.address() as AddressInfo;
    const page = await (await stage.browser.newContext()).newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    const url = stage.venue.url;
    const tried = await page.evaluate(`(async () => {
      const load = (tag, key, src) => new Promise((resolve) => {
        const element = document.createElement(tag);
        element.onload = () => resolve("loaded"); element.onerror = () => resolve("refused");
        element[key] = src; document.body.append(element);
      });
      return [
        await fetch("${url}/workspace/").then(() => "read", () => "refused"),
        await fetch("${url}/api/v1/run", { method: "POST", body: "{}", mode: "no-cors" }).then((r) => r.type, () => "refused"),
        await load("img", "src", "${url}/api/v1/files/files/image.svg"),
        await load("script", "src", "${url}/api/v1/files/files/code.js"),
      ];
    })()`);
    expect(tried).toEqual(["refused", expect.stringMatching(/opaque|refused/), "refused", "refused"]);
    const frames = async (path: string): Promise<string> => {
      await page.evaluate(`new Promise((resolve) => {
        const frame = Object.assign(document.createElement("iframe"), { src: "${url}${path}", onload: () => resolve() });
        document.body.replaceChildren(frame);
      })`);
      return /^chrome-error:/.test(String(await page.frames().at(-1)?.evaluate("location.href")))
        ? "refused"
        : "framed";
    };
    expect([await frames("/workspace/"), await frames("/workspace/preview")]).toEqual(["refused", "refused"]);
    const [popup] = await Promise.all([
      page.waitForEvent("popup"),
      page.evaluate(`self.handle = open("${url}/workspace/")`),
    ]);
    await popup.waitForLoadState();
    expect(await popup.evaluate("self.opener === null")).toBe(true);
    await page.context().close();
  });

  test("no cookie is set, and no token stands in an address or where other tabs keep things", async () => {
    const page = await stage.visit("files/");
    const urls: string[] = [];
    page.on("request", (request) => urls.push(request.url()));
    for (const [path, shown] of [
      ["files/files/", ".entry:not(.header)"],
      ["files/files/bypass-0.md", "iframe.preview"],
      ["access", "tbody tr"],
      ["status", ".numbers"],
    ] as const) {
      await page.goto(`${stage.venue.url}/workspace/${path}`);
      await page.locator(shown).first().waitFor();
    }
    expect(urls.filter((url) => url.includes(TOKENS.alice))).toEqual([]);
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.evaluate("[localStorage.length, document.cookie]")).toEqual([0, ""]);
    await page.context().close();
  });
});
