// When something goes wrong: each line of the table in docs/workspace.md, really done. Nothing that was typed is lost.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Request } from "playwright-core";
import { call, editor, inBrowser, openStage, openVenue, type Stage, TOKENS, typeFirst } from "./browser.js";

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
