// Approvals clicked through: an agent asks over MCP, a person sees what it would do, allows or denies it.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Page } from "playwright-core";
import { call, inBrowser, openStage, type Stage, TOKENS } from "./browser.js";

let stage: Stage;
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
const textOf = (path: string): string => readFileSync(stage.at(path), "utf8");

inBrowser("approvals", () => {
  beforeAll(async () => {
    stage = await openStage(
      { "allowed.txt": "one\ntwo\n", "denied.txt": "one\n", "changed.txt": "one\n", "late.txt": "one\n" },
      {
        auth: { localToken: true },
        file: { roots: { files: { path: "./files", approve: { for: ["delete", "overwrite"] } } } },
      },
    );
    agent = new Client({ name: "agent", version: "1" });
    const headers = { authorization: `Bearer ${TOKENS.bob}` };
    const url = new URL(`${stage.venue.url}/mcp`);
    await agent.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
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
