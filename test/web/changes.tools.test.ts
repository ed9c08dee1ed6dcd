// Changes in a real browser: what an agent did, as a difference, and the way back from a part, a file, a session.
import { existsSync, readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { call, entries, entry, inBrowser, openStage, type Stage } from "./browser.js";

const LINES = Array.from({ length: 40 }, (_, index) => `line ${index + 1}\n`).join("");
let stage: Stage;

inBrowser("changes", () => {
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
