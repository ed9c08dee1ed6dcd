// What people do with the pointer in a real browser: dragging, picking folders, pictures compared, jobs cancelled, rights for a DID.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { EdKeypair } from "ucans";
import { bodyOf, invoke, send } from "../surfaces/http/client.js";
import { call, entry, inBrowser, openStage, type Stage, TOKENS } from "./browser.js";

/** A GIF of one pixel. */
function pixel(red: number): Buffer {
  const image = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
  image[13] = red;
  return image;
}

let stage: Stage;

inBrowser("gestures", () => {
  beforeAll(async () => {
    stage = await openStage(
      {
        "pixel.gif": pixel(0),
        "one.txt": "1\n",
        "two.txt": "2\n",
        "three.txt": "3\n",
        "into/here.txt": "",
        "deep/below/here.txt": "",
      },
      { auth: { localToken: true }, file: { roots: { other: { temp: true } } } },
    );
  });
  afterAll(() => stage.close());
  afterEach(() => {
    expect(stage.problems.splice(0)).toEqual([]);
  });

  test("an entry is dragged into a folder of the list, and into one of the tree", async () => {
    const page = await stage.visit("files/files/");
    await entry(page, "one.txt").dragTo(entry(page, "into"));
    await page.getByText("1 item moved.").waitFor();
    expect(readFileSync(stage.at("into/one.txt"), "utf8")).toBe("1\n");
    await entry(page, "two.txt").dragTo(page.getByRole("treeitem", { name: "deep" }));
    await entry(page, "two.txt").waitFor({ state: "detached" });
    expect(readFileSync(stage.at("deep/two.txt"), "utf8")).toBe("2\n");
    await page.context().close();
  });

  test("a folder is picked and uploaded with what is in it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "venue-files-picked-"));
    mkdirSync(join(folder, "album/inner"), { recursive: true });
    writeFileSync(join(folder, "album/a.txt"), "a\n");
    writeFileSync(join(folder, "album/inner/b.txt"), "b\n");
    const page = await stage.visit("files/files/into/");
    await entry(page, "here.txt").waitFor();
    await page.locator("input[webkitdirectory]").setInputFiles(join(folder, "album"));
    await entry(page, "album").waitFor();
    await entry(page, "album").getByRole("link").click();
    await entry(page, "a.txt").waitFor();
    await entry(page, "inner").getByRole("link").click();
    await entry(page, "b.txt").waitFor();
    expect(readFileSync(stage.at("into/album/a.txt"), "utf8")).toBe("a\n");
    expect(readFileSync(stage.at("into/album/inner/b.txt"), "utf8")).toBe("b\n");
    rmSync(folder, { recursive: true });
    await page.context().close();
  });

  test("of a picture that was replaced, both versions stand beside each other", async () => {
    const bytes = pixel(255).toString("base64");
    await call(stage.venue, "file:write", { root: "files", path: "pixel.gif", bytes });
    const page = await stage.visit("changes/files/pixel.gif");
    const figures = page.locator("figure").filter({ has: page.locator("img") });
    await figures.nth(1).waitFor();
    expect(await figures.locator("figcaption").allInnerTexts()).toEqual(["Before", "After"]);
    const images = await figures.locator("img").all();
    const sources = await Promise.all(images.map((image) => image.getAttribute("src")));
    expect(new Set(sources).size).toBe(2);
    await page.context().close();
  });

  /** Starts a job that ends only when something changes. @returns its URL */
  async function startWaiting(): Promise<string> {
    const { cursor } = (await call(stage.venue, "file:watch", { root: "files", waitMs: 0 }, TOKENS.alice)) as {
      cursor: string;
    };
    const waiting = { operation: "file:watch", input: { root: "files", cursor, waitMs: 30_000 } };
    const { id } = await bodyOf<{ id: string }>(invoke(`${stage.venue.url}`, waiting, TOKENS.alice));
    return `${stage.venue.url}/api/v1/jobs/${id}`;
  }
  const statusOf = (url: string): Promise<unknown> => bodyOf(send(url, { token: TOKENS.alice }));

  test("a job that runs is cancelled", async () => {
    const url = await startWaiting();
    const page = await stage.visit("status");
    const job = page.locator(".jobs li").filter({ hasText: "file:watch" });
    await job.getByRole("button", { name: "Cancel" }).click();
    await job.getByText("cancelled", { exact: true }).waitFor();
    expect(await statusOf(url)).toMatchObject({ status: "CANCELLED" });
    await page.context().close();
  });

  test("a job is shown among the activity as soon as it runs, and cancelled there", async () => {
    const page = await stage.visit("activity");
    await page.getByText("Live", { exact: true }).waitFor();
    const running = page.getByRole("region", { name: "Running jobs" });
    expect(await running.count()).toBe(0);
    const url = await startWaiting();
    await running.getByRole("button", { name: "Cancel file:watch" }).click();
    await running.waitFor({ state: "detached" });
    expect(await statusOf(url)).toMatchObject({ status: "CANCELLED" });
    await page.context().close();
  });

  /** Opens the place "Access" with a token. */
  async function openAccess(token: string): Promise<Page> {
    const page = await stage.visit("", { as: "nobody" });
    await page.evaluate(`sessionStorage.setItem("venue-files:/workspace/", ${JSON.stringify(token)})`);
    await page.goto(`${stage.venue.url}/workspace/access`);
    await page.getByRole("button", { name: "By path" }).waitFor();
    return page;
  }

  test("who came by a token or its session is offered no UCAN, and is told who can give one", async () => {
    const issue = (input: object) => call(stage.venue, "auth:issue", { label: "guest", ...input }, TOKENS.alice);
    const { token: session } = (await issue({})) as { token: string };
    for (const token of [TOKENS.alice, session]) {
      const page = await openAccess(token);
      await page.getByRole("button", { name: "Give access" }).click();
      await page.getByRole("dialog").getByText("A UCAN for a DID needs rights of your own").waitFor();
      expect(await page.getByRole("radio").count()).toBe(2);
      await page.context().close();
    }
    const caps = [{ with: "file://files/", can: "crud/read" }];
    const { token: narrow } = (await issue({ caps })) as { token: string };
    const page = await openAccess(narrow);
    await page.getByText("This access token cannot pass on what it holds").waitFor();
    expect(await page.getByRole("button", { name: "Give access" }).count()).toBe(0);
    await page.context().close();
  });

  test("a DID is given a UCAN for one folder", async () => {
    const did = (await EdKeypair.create()).did();
    const page = await openAccess(stage.venue.localToken ?? "");
    await page.getByRole("button", { name: "Give access" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("A DID (UCAN)").check();
    await dialog.getByLabel("DID", { exact: true }).fill(did);
    await dialog.getByRole("button", { name: "files" }).click();
    await dialog.getByRole("button", { name: "into" }).click();
    await dialog.getByRole("button", { name: "Give", exact: true }).click();
    await page.getByText("it is not shown again").waitFor();
    const [, payload = ""] = (await page.locator(".secret pre").first().innerText()).trim().split(".");
    expect(JSON.parse(Buffer.from(payload, "base64url").toString())).toMatchObject({
      aud: did,
      att: [{ with: "file://files/into", can: "crud/read" }],
    });
    await page.context().close();
  });
});
