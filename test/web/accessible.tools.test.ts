// Each place by the rules of WCAG 2.2 AA as far as a program can tell: light, dark, narrow, and with motion reduced.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { call, entries, inBrowser, openStage, type Stage } from "./browser.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
let stage: Stage;

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
