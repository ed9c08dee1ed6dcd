import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { BrowserContext, Page, Request } from "playwright-core";
import { send } from "../surfaces/http/client.js";
import { PATIENCE_MS, until } from "../until.js";
import { call, entries, entry, inBrowser, openStage, type Stage, TOKENS } from "./browser.js";

// Activity and Status in a real browser, and files that are neither edited nor hexadecimal: long text, sound, links outside.
const LINE = "a line of a text that is too long for the editor\n";

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
  let stage: Stage;

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
        file: {
          roots: {
            small: { temp: true, quota: { bytes: 1000 } },
            unkept: { temp: true, journal: "off" },
            fixed: { temp: true, readOnly: true },
          },
        },
      },
    );
  });
  afterAll(() => stage.close());
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  const record = (page: Page, ...texts: string[]) =>
    texts.reduce((rows, text) => rows.filter({ hasText: text }), page.getByRole("grid").getByRole("row"));

  /** A token of an agent that may read, made by alice. */
  async function agentToken(label: string): Promise<string> {
    const caps = [{ with: "file://files/", can: "crud/read" }];
    return ((await call(stage.venue, "auth:issue", { label, caps }, TOKENS.alice)) as { token: string }).token;
  }

  test("the activity shows agents, and the look-ups of pages only when asked", async () => {
    const token = await agentToken("lone bot");
    await call(stage.venue, "file:stat", { root: "files", path: "seen.txt" }, token);
    // So many look-ups of a page that no agent is among the newest records.
    for (let looks = 0; looks < 210; looks += 1)
      await call(stage.venue, "file:stat", { root: "files", path: `look${looks}` }, TOKENS.alice);
    const page = await stage.visit("files/files/");
    await page.getByText("seen.txt").first().waitFor();
    await page.goto(`${stage.venue.url}/workspace/activity`);
    await record(page, "lone bot", "file:stat", "files/seen.txt").first().waitFor();
    expect(await record(page, "alice", "file:list").count()).toBe(0);
    await call(stage.venue, "file:write", { root: "files", path: "by-page.txt", content: "" }, TOKENS.alice);
    await record(page, "alice", "file:write", "files/by-page.txt").first().waitFor();
    await page.getByLabel("Without look-ups of pages").uncheck();
    await record(page, "alice", "audit:query").first().waitFor();
    await page.context().close();
  });

  test("a denied call opens what was needed and what was held, by pointer and by key; each person has one name", async () => {
    const token = await agentToken("curious bot");
    await call(stage.venue, "file:edit", { root: "files", path: "seen.txt", oldText: "seen", newText: "x" }, token);
    await call(stage.venue, "file:read", { root: "files", path: "../out.txt" }, token);
    const page = await stage.visit("activity");
    const denied = record(page, "curious bot", "file:edit", "files/seen.txt").first();
    await denied.getByText("needs write").waitFor();
    await denied.getByRole("button", { name: "CAPABILITY_DENIED" }).click();
    const dialog = page.getByRole("dialog", { name: "Why curious bot was refused" });
    await dialog.getByText("write on files/seen.txt", { exact: true }).waitFor();
    await dialog.getByText("read on files", { exact: true }).waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("searchbox").fill("curious bot");
    await page.getByRole("grid").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await dialog.getByText("this one leads out of it").waitFor();
    await dialog.getByRole("button", { name: "Go to Access" }).click();
    const holders = page.getByRole("row");
    await holders.filter({ hasText: "curious bot" }).getByText("Access token").waitFor();
    const alice = holders.filter({ hasText: "alice" }).first();
    expect(await alice.locator("strong").innerText()).toBe("alice");
    expect(await page.locator(".account-name").innerText()).toMatch(/^alice\n/);
    // The page itself has just used the token.
    expect(await alice.locator("td[data-title='Last used']").innerText()).toMatch(/now|(?:second|minute)s? ago/);
    await page.context().close();
  });

  test("the right by which a call was allowed has a name, not an id", async () => {
    const token = await agentToken("named bot");
    await call(stage.venue, "file:stat", { root: "files", path: "seen.txt" }, token);
    await call(stage.venue, "file:write", { root: "files", path: "named.txt", content: "" }, TOKENS.alice);
    const page = await stage.visit("activity");
    const right = (row: ReturnType<typeof record>) => row.first().getByRole("gridcell").nth(5).innerText();
    await record(page, "named bot", "file:stat").first().waitFor();
    expect(await right(record(page, "named bot", "file:stat"))).toBe("named bot");
    expect(await right(record(page, "alice", "named.txt"))).toBe("Static token");
    await page.context().close();
  });

  test("where nothing is kept nobody is told that nothing changed; the version is that of the product", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    for (const [root, why] of [
      ["unkept", 'Root "unkept" keeps no history: its journal is off'],
      ["fixed", "This root is read-only"],
    ]) {
      const page = await stage.visit(`changes/${root}/`);
      await page.getByText("No history to show").waitFor();
      await page.getByText(why ?? "").waitFor();
      expect(await page.getByText("No changes yet").count()).toBe(0);
      await page.context().close();
    }
    const page = await stage.visit("status");
    await page.locator("dd").getByText(version, { exact: true }).waitFor();
    expect(await page.locator("dd").getByText("0.9.0").count()).toBe(0);
    await page.context().close();
  });

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
    const page = await stage.visit("activity");
    await page.getByText("Live", { exact: true }).waitFor();
    const token = await agentToken("watched bot");
    const as = (operation: string, input: object) => call(stage.venue, operation, input, token);
    await as("file:read", { root: "files", path: "seen.txt" });
    await record(page, "file:read", "files/seen.txt", "OK").first().waitFor();
    await as("file:write", { root: "files", path: "not.txt", content: "x" });
    const denied = record(page, "file:write", "files/not.txt", "CAPABILITY_DENIED");
    await denied.first().waitFor();
    expect(await denied.first().locator(".tag.danger").count()).toBe(1);
    await page.getByLabel("Failures only").check();
    await record(page, "file:read", "OK").first().waitFor({ state: "detached" });
    await page.getByLabel("Failures only").uncheck();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Paused", { exact: true }).waitFor();
    await as("file:stat", { root: "files", path: "while-paused.txt" });
    await page.getByRole("button", { name: "Resume" }).click();
    await record(page, "files/while-paused.txt").first().waitFor();
    await page.getByRole("searchbox").fill("seen.txt");
    await record(page, "files/not.txt").first().waitFor({ state: "detached" });
    await record(page, "files/seen.txt", "OK").first().locator(".record-path a").click();
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
    await record(page, "file:write", "files/made.txt").first().locator(".record-path a").click();
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

  test("the operator sees the locks of WebDAV clients, and drops one", async () => {
    const { url, localToken = "" } = stage.venue;
    const kinds = "<lockscope><exclusive/></lockscope><locktype><write/></locktype>";
    const body = `<lockinfo xmlns="DAV:">${kinds}<owner>My laptop</owner></lockinfo>`;
    const dav = async (method: string, more: object = {}) =>
      (await send(`${url}/dav/files/seen.txt`, { token: localToken, method, ...more })).status;
    expect(await dav("LOCK", { body })).toBe(200);
    const link = await call(stage.venue, "auth:issue", { label: "operator", link: true }, localToken);
    const page = await stage.visit("", { as: "nobody" });
    await page.goto("about:blank");
    await page.goto((link as { url: string }).url);
    await page.getByRole("link", { name: "Status" }).click();
    await page.getByText("Operator: My laptop").waitFor();
    await page.getByRole("button", { name: "Drop the lock on files/seen.txt" }).click();
    await page.getByText("Operator: My laptop").waitFor({ state: "detached" });
    expect(await dav("PUT", { body: "seen\n" })).toBe(204);
    await page.context().close();
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

// Each place by the rules of WCAG 2.2 AA as far as a program can tell: light, dark, narrow, and with motion reduced.
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

async function violationsOf(page: Page): Promise<string[]> {
  // By the debugger's own way in: the page's policy lets no other script run.
  await page.evaluate(AXE);
  const options = JSON.stringify({ runOnly: TAGS, resultTypes: ["violations"], iframes: false });
  const { violations } = (await page.evaluate(`axe.run(document, ${options})`)) as { violations: readonly Violation[] };
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

const places: readonly (readonly [name: string, path: string, ready: string])[] = [
  ["roots", "files", "h1"],
  ["folder", "files/files/", ".entry"],
  ["empty folder", "files/empty/", ".empty"],
  ["text", "files/files/code.ts", ".cm-line"],
  ["markdown", "files/files/readme.md", "iframe.preview"],
  ["bytes", "files/files/data.bin", ".hex"],
  ["search", "files/files/?search=title", ".hits li"],
  ["trash", "files/files/?trash=", "tbody tr"],
  ["failure", "files/files/missing.txt", ".failure-place"],
  ["changes", "changes", ".changes, .empty"],
  ["changes of a root without a journal", "changes/empty/", ".empty"],
  ["no place", "nowhere", ".empty"],
  ["activity", "activity", ".record, .empty"],
  ["access", "access", "tbody tr"],
  ["access by path", "access?by=path", ".chooser"],
  ["status", "status", ".numbers"],
  ["long text", "files/files/long.txt", ".cm-line"],
];

inBrowser("accessibility", () => {
  let stage: Stage;

  beforeAll(async () => {
    stage = await openStage(
      {
        "readme.md": "# Title\n\n[link](code.ts)\n",
        "code.ts": "export const a = 1; // note\n",
        "long.txt": "line\n".repeat(300),
        "data.bin": Buffer.from([0, 1, 0]),
      },
      { audit: { file: "audit.jsonl" }, file: { roots: { empty: { temp: true } } } },
    );
    await call(stage.venue, "file:write", { root: "files", path: "new.txt", content: "new\n" });
    await call(stage.venue, "file:write", { root: "files", path: "deleted.txt", content: "deleted\n" });
    await call(stage.venue, "file:delete", { root: "files", path: "deleted.txt" });
    await call(stage.venue, "auth:issue", { label: "bot", caps: [{ with: "file://files/", can: "crud/read" }] });
  });
  afterAll(() => stage.close());
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  test.each([
    ["light", { colorScheme: "light" as const }],
    ["dark", { colorScheme: "dark" as const }],
    ["narrow", { viewport: { width: 360, height: 720 }, reducedMotion: "reduce" as const }],
    ["forced colours", { forcedColors: "active" as const }],
    ["low, so that everything scrolls", { viewport: { width: 1280, height: 260 } }],
  ])("no place breaks a rule: %s", async (_, options) => {
    const page = await stage.visit("files", options);
    for (const [name, path, ready] of places) {
      await page.goto(`${stage.venue.url}/workspace/${path}`);
      await page.locator(ready).first().waitFor();
      expect([name, await violationsOf(page)]).toEqual([name, []]);
      expect([name, await page.evaluate("document.documentElement.scrollWidth <= innerWidth")]).toEqual([name, true]);
    }
    await page.context().close();
  });

  test("nor does a dialog, a menu, a notice, or the sign-in", async () => {
    const page = await stage.visit("files/files/");
    await page.locator(".entry").nth(1).click();
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    // The list has the focus again, so that another Escape chooses nothing.
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).toBe("grid");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "More" }).click();
    await page.getByRole("menu").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole("menuitem", { name: "New folder" }).click();
    await page.getByLabel("Name of the new folder").fill("a/b");
    await page.keyboard.press("Enter");
    await page.getByText("A name must not be empty").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.goto(`${stage.venue.url}/workspace/access`);
    await page.getByRole("button", { name: "Give access" }).click();
    await page.getByRole("dialog").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.context().close();
    const nobody = await stage.visit("files", { as: "nobody" });
    await nobody.getByRole("button", { name: "Sign in" }).click();
    await nobody.getByLabel("Token").waitFor();
    expect(await violationsOf(nobody)).toEqual([]);
    await nobody.context().close();
  });

  test("every place is reached by keys alone, focus is seen, and nobody is caught in the editor", async () => {
    const page = await stage.visit("files/files/code.ts");
    await page.locator(".cm-line").first().waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to content");
    const seen = new Set<string>();
    for (let step = 0; step < 30; step += 1) {
      await page.keyboard.press("Tab");
      seen.add(String(await page.evaluate("document.activeElement.textContent.trim().slice(0, 20)")));
    }
    expect([...seen]).toEqual(expect.arrayContaining(["Files", "Changes", "Access", "Status", "files", "Download"]));
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.closest('.editor') === null")).toBe(true);
    await page.goto(`${stage.venue.url}/workspace/files/files/`);
    await page.locator(".entry").nth(1).waitFor();
    await entries(page).focus();
    await page.keyboard.press("ArrowDown");
    const active = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))";
    expect(await page.evaluate(`getComputedStyle(${active}).outlineStyle`)).toBe("solid");
    await page.context().close();
  });
});

// Many tabs of one browser: those of a session share one event stream, and nothing is missed when it changes hands.
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

const keep = (token: string) => ({
  content: `if (self.origin !== "null") sessionStorage.setItem("venue-files:/workspace/", ${JSON.stringify(token)})`,
});

/** Headless pages are all visible; this is what a page sees when another tab is shown. */
const show = (page: Page, state: "visible" | "hidden") =>
  page.evaluate(`Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"))`);

inBrowser("tabs of one session", () => {
  let stage: Stage;

  /** Another tab of the browser of a page. */
  async function openTab(page: Page, path: string, token = TOKENS.alice): Promise<Page> {
    const tab = await page.context().newPage();
    tab.setDefaultTimeout(PATIENCE_MS);
    await tab.addInitScript(keep(token));
    await tab.goto(`${stage.venue.url}/workspace/${path}`);
    return tab;
  }

  const write = (path: string) =>
    call(stage.venue, "file:write", { root: "files", path, content: "new\n" }, TOKENS.alice);

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
    // The stream is opened anew for what others want; the old one may be seen to end later.
    await until(() => streams().length === 1 && streams()[0] === first);
    // Only who has been told of something knows where to go on.
    await write("two/before.txt");
    await entry(second, "before.txt").waitFor();
    await third.getByRole("row").filter({ hasText: "two/before.txt" }).first().waitFor();
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
    await until(() => streams().length === 2 && new Set(streams()).size === 2);
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
    await until(() => streams().length === 1 && streams()[0] === page);
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
