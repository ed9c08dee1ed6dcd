// Activity and Status in a real browser, and files that are neither edited nor hexadecimal: long text, sound, links outside.
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { call, inBrowser, openStage, type Stage, TOKENS } from "./browser.js";

const LINE = "a line of a text that is too long for the editor\n";
let stage: Stage;

/** A tenth of a second of silence: PCM, 8 bits, 8 kHz. */
function silence(): Buffer {
  const samples = Buffer.alloc(800, 128);
  const header = Buffer.alloc(44);
  header.write("RIFF", 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(8000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write("data", 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}

inBrowser("places of the page", () => {
  beforeAll(async () => {
    stage = await openStage(
      {
        "seen.txt": "seen\n",
        "outside.md": "[outside](https://elsewhere.example/page)\n",
        "sound.wav": silence(),
        "long.txt": LINE.repeat(300_000),
      },
      {
        auth: { localToken: true },
        audit: { file: "audit.jsonl" },
        file: { roots: { small: { temp: true, quota: { bytes: 1000 } } } },
      },
    );
  });
  afterAll(() => stage.close());
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  const record = (page: Page, ...texts: string[]) =>
    texts.reduce((rows, text) => rows.filter({ hasText: text }), page.getByRole("grid").getByRole("row"));

  test("an unknown root and a folder that is gone offer nothing to do in them", async () => {
    const page = await stage.visit("files/files/");
    const toolbar = page.getByRole("toolbar");
    await toolbar.getByRole("button", { name: "New file" }).waitFor();
    for (const [place, title] of [
      ["files/unknown/", "Unknown root 'unknown'"],
      ["files/files/gone/", "Not found"],
    ]) {
      await page.goto(`${stage.venue.url}/workspace/${place}`);
      await page
        .getByRole("alert")
        .getByText(title ?? "")
        .waitFor();
      expect([place, await toolbar.count()]).toEqual([place, 0]);
    }
  });

  test("calls are shown as they happen; a denial stands out; what is paused comes afterwards", async () => {
    const page = await stage.visit("activity", { as: "reader" });
    await page.getByText("Live", { exact: true }).waitFor();
    const as = (operation: string, input: object) => call(stage.venue, operation, input, TOKENS.reader);
    await as("file:read", { root: "files", path: "seen.txt" });
    await record(page, "file:read", "files/seen.txt", "OK").first().waitFor();
    await as("file:write", { root: "files", path: "not.txt", content: "x" });
    const denied = record(page, "file:write", "files/not.txt", "CAPABILITY_DENIED");
    await denied.first().waitFor();
    expect(await denied.first().locator(".tag.danger").count()).toBe(1);
    await page.getByLabel("Failures only").check();
    await record(page, "file:read").first().waitFor({ state: "detached" });
    await page.getByLabel("Failures only").uncheck();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Paused", { exact: true }).waitFor();
    await as("file:stat", { root: "files", path: "while-paused.txt" });
    await page.getByRole("button", { name: "Resume" }).click();
    await record(page, "files/while-paused.txt").first().waitFor();
    await page.getByRole("searchbox").fill("seen.txt");
    await record(page, "files/not.txt").first().waitFor({ state: "detached" });
    await record(page, "files/seen.txt").first().getByRole("link").click();
    await page.waitForURL(/files\/files\/seen\.txt$/);
    await page.context().close();
  });

  test("who is not signed in is asked to; a denial says what is needed, what is held, and whom to ask", async () => {
    const nobody = await stage.visit("", { as: "nobody" });
    await nobody.getByRole("heading", { name: "Sign in to see this" }).waitFor();
    await nobody.getByRole("button", { name: "Sign in" }).click();
    await nobody.getByLabel("Token").fill(TOKENS.alice);
    await nobody.getByLabel("Token").press("Enter");
    await nobody.getByRole("heading", { name: "Roots" }).waitFor();
    await nobody.context().close();
    const caps = [{ with: "file://small/", can: "crud/read" }];
    const given = await call(stage.venue, "auth:issue", { label: "guest", caps }, TOKENS.alice);
    const guest = await stage.visit("", { as: "nobody" });
    const { token } = given as { token: string };
    await guest.evaluate(`sessionStorage.setItem("venue-files:/workspace/", ${JSON.stringify(token)})`);
    await guest.goto(`${stage.venue.url}/workspace/files/files/seen.txt`);
    const failure = guest.getByRole("alert");
    await failure.getByText("You have no right to this").waitFor();
    await failure
      .getByText("Needed: read on files/seen.txt. You hold: read on small. Ask the operator of this venue")
      .waitFor();
    await guest.context().close();
  });

  test("an address that is no place leads back to the files", async () => {
    const page = await stage.visit("nowhere");
    await page.getByText("There is no such place").waitFor();
    await page.getByRole("link", { name: "Go to Files" }).click();
    await page.getByRole("heading", { name: "Roots" }).waitFor();
    await page.context().close();
  });

  test("a change in the activity leads to its difference", async () => {
    const page = await stage.visit("activity");
    await call(stage.venue, "file:write", { root: "files", path: "made.txt", content: "made\n" }, TOKENS.alice);
    await record(page, "file:write", "files/made.txt").first().getByRole("link").click();
    await page.waitForURL(/changes\/files\/made\.txt$/);
    await page.locator("details.file-diff").getByText("made", { exact: true }).waitFor();
    await page.context().close();
  });

  test("the operator sees calls, denials, bytes, times, quotas and free space; others what is theirs", async () => {
    const { url } = (await call(
      stage.venue,
      "auth:issue",
      { label: "operator", link: true },
      stage.venue.localToken,
    )) as { url: string };
    await call(stage.venue, "file:write", { root: "small", path: "a.txt", content: "x".repeat(500) });
    const page = await stage.visit("", { as: "nobody" });
    await page.goto("about:blank");
    await page.goto(url);
    await page.getByRole("link", { name: "Status" }).click();
    const numbers = page.locator(".numbers");
    for (const title of ["Calls", "Failures", "Denials", "Median time", "Read", "Written", "Memory"])
      await numbers.getByText(title, { exact: true }).waitFor();
    await numbers.getByText(/^≤ [\d.,]+ ms$/).waitFor();
    const small = page.getByRole("listitem").filter({ hasText: "small" });
    await small.getByText("500 B of 1 kB used").waitFor();
    await small.getByText(/ free$/).waitFor();
    await page.context().close();
    const other = await stage.visit("status");
    await other.getByText("Calls, failures and memory are shown to the operator.").waitFor();
    await other.getByText("500 B of 1 kB used").waitFor();
    expect(await other.locator(".numbers").getByText("Denials").count()).toBe(0);
    await other.context().close();
  });

  test("a link that leads outside shows its target first, and opens without a way back", async () => {
    const page = await stage.visit("files/files/outside.md");
    await page.frameLocator("iframe.preview").getByRole("link", { name: "outside" }).click();
    const dialog = page.getByRole("dialog", { name: "This link leads elsewhere" });
    await dialog.getByText("https://elsewhere.example/page").waitFor();
    await page
      .context()
      .route("https://elsewhere.example/**", (route) =>
        route.fulfill({ contentType: "text/html", body: `<p>${JSON.stringify(route.request().headers())}</p>` }),
      );
    const [opened] = await Promise.all([
      page.context().waitForEvent("page"),
      dialog.getByRole("button", { name: "Open in a new tab" }).click(),
    ]);
    await opened.waitForURL("https://elsewhere.example/page");
    expect(await opened.evaluate("[self.opener, document.referrer]")).toEqual([null, ""]);
    expect(await opened.locator("p").innerText()).not.toMatch(/referer|authorization/i);
    expect(page.url()).toMatch(/outside\.md$/);
    await page.context().close();
  });

  test("sound plays from a ticket, with no token in its address", async () => {
    const page = await stage.visit("files/files/sound.wav");
    await page.locator("audio").waitFor();
    const played = await page.evaluate(`new Promise((resolve) => {
      const audio = document.querySelector("audio");
      const done = () => resolve([audio.error === null, Math.round(audio.duration * 10)]);
      if (audio.readyState >= 1) done();
      else { audio.addEventListener("loadedmetadata", done); audio.addEventListener("error", done); }
    })`);
    expect(played).toEqual([true, 1]);
    expect(await page.locator("audio").getAttribute("src")).not.toContain(TOKENS.alice);
    await page.context().close();
  });

  test("text that is too long to edit is shown in pages, read-only", async () => {
    const page = await stage.visit("files/files/long.txt");
    await page.getByText("too large to edit, shown in pages").waitFor();
    await page.getByText(LINE.trim()).first().waitFor();
    expect(await page.getByRole("button", { name: "Previous page" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Next page" }).click();
    await page.getByText(/^262.*–/).waitFor();
    expect(await page.getByRole("button", { name: "Previous page" }).isDisabled()).toBe(false);
    expect(await page.locator(".cm-content").count()).toBe(0);
    await page.context().close();
  });
});
