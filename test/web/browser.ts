// A real venue on real folders, and real browsers that visit its page.

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { createVenue, type Venue, type VenueConfigInput } from "../../src/index.js";
import { describeWhere } from "../needs.js";
import { run } from "../surfaces/http/client.js";
import { PATIENCE_MS } from "../until.js";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) =>
  existsSync(path),
);

/** `describe` of tests in a browser. Where there is none they are skipped, and the reason is printed. */
export const inBrowser = describeWhere(CHROMIUM !== undefined, "there is no Chromium (apt-get install chromium)");

/** Tokens of callers, by name; at least 32 characters. */
export const TOKENS = {
  alice: "alice-token-0123456789-0123456789",
  bob: "bob-token-0123456789-0123456789-01",
  reader: "reader-token-0123456789-0123456789",
};

const ALL = [{ with: "file://", can: "crud" }];

export interface Stage {
  readonly folder: string;
  readonly venue: Venue;
  readonly browser: Browser;
  /** Opens the page as somebody; every problem that the browser reports is kept in `problems`. */
  visit(path?: string, options?: VisitOptions): Promise<Page>;
  readonly problems: string[];
  /** Absolute path in the root `files`. */
  at(path: string): string;
  close(): Promise<void>;
}

export interface VisitOptions extends BrowserContextOptions {
  readonly as?: keyof typeof TOKENS | "nobody";
}

/** @param files content by path in the root `files` */
export async function openStage(
  files: Readonly<Record<string, string | Buffer>> = {},
  config: VenueConfigInput = {},
): Promise<Stage> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-web-")));
  const at = (path: string): string => join(folder, "files", path);
  mkdirSync(at(""));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), content);
  }
  const venue = await openVenue(folder, config);
  const browser = await chromium.launch({ executablePath: CHROMIUM ?? "", args: ["--no-sandbox", "--disable-gpu"] });
  const problems: string[] = [];
  return {
    ...{ folder, venue, browser, problems, at },
    visit: (path = "", options = {}) => visit({ browser, url: venue.url, problems }, path, options),
    async close() {
      await browser.close();
      await venue.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Opens the venue of a stage, on its own folders. */
export async function openVenue(folder: string, config: VenueConfigInput = {}): Promise<Venue> {
  const { file, auth, ...others } = config;
  const tokens = Object.keys(TOKENS).map((name) => ({
    name,
    token: { env: `TOKEN_${name}` },
    caps: name === "reader" ? [{ with: "file://", can: "crud/read" }] : ALL,
  }));
  const env = Object.fromEntries(Object.entries(TOKENS).map(([name, token]) => [`TOKEN_${name}`, token]));
  const venue = await createVenue(
    {
      ...{ hostname: "127.0.0.1", port: 0, stateDir: "state", seed: "22".repeat(32), ...others },
      auth: { public: { caps: [] }, tokens, ...auth },
      file: { ...file, roots: { files: { path: join(folder, "files") }, ...file?.roots } },
    },
    { baseDir: folder, env },
  );
  await venue.listen();
  return venue;
}

/** Console messages that are no fault of the page: failed requests, which it handles. */
const EXPECTED = /Failed to load resource|net::ERR_/;

async function visit(
  { browser, url, problems }: { readonly browser: Browser; readonly url: string; readonly problems: string[] },
  path: string,
  { as = "alice", ...options }: VisitOptions,
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("pageerror", (error) => problems.push(`${error.message}\n${error.stack ?? ""}`));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !EXPECTED.test(message.text())) problems.push(message.text());
  });
  if (as !== "nobody") {
    // Only in the page itself: frames of an opaque origin have no storage.
    const isPage =
      "location.pathname.startsWith('/workspace/') && self.origin !== 'null' && sessionStorage.length === 0";
    const keep = `sessionStorage.setItem("venue-files:/workspace/", ${JSON.stringify(TOKENS[as])})`;
    await page.addInitScript({ content: `if (${isPage}) ${keep}` });
  }
  await page.goto(`${url}/workspace/${path}`);
  return page;
}

/** The editor's text, as far as it is on screen. */
export const editor = (page: Page) => page.locator(".editor .cm-content");
export const entries = (page: Page) => page.getByRole("grid");
export const entry = (page: Page, name: string) => entries(page).getByRole("row").filter({ hasText: name });

/** Types at the start of the open file. */
export async function typeFirst(page: Page, text: string): Promise<void> {
  await editor(page).click();
  await page.keyboard.press("ControlOrMeta+Home");
  await page.keyboard.type(text);
}

/** Calls an operation over HTTP, as a program would. */
export async function call(
  venue: Venue,
  operation: string,
  input: object,
  token: string = TOKENS.bob,
): Promise<unknown> {
  return (await run(venue.url, operation, input, token)).json();
}
