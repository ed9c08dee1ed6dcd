import { afterAll, describe, expect } from "@jest/globals";
import { cleanUp } from "../cli/process.js";
import { needs } from "../needs.js";
import { hasShellTools, readPage, runPage } from "./page.js";

afterAll(cleanUp);

describe("pages that lead through a task show commands that work, and what they answer", () => {
  const tested = needs(hasShellTools, "the pages' commands need bash, curl and sed");

  tested(
    "the tutorial",
    async () => {
      const ran = await runPage(readPage("tutorial.md"), "5I6K-f8v6s2JvveX_6zJNfq4pTcSBe1UQBXr89oP80I");
      expect(ran).toBeGreaterThan(7);
    },
    120_000,
  );

  tested(
    "delegation",
    async () => {
      const ran = await runPage(readPage("delegation.md"), "sY1v0ChcC2WdX5F-YlTF19zn6Ryyyv16XbKUQdRwwwk");
      expect(ran).toBeGreaterThan(11);
    },
    120_000,
  );

  tested(
    "two agents over HTTP",
    async () => {
      expect(await runPage(readPage("two-agents.md"))).toBeGreaterThan(11);
    },
    120_000,
  );

  tested(
    "a token, its events, an approval and the audit",
    async () => {
      const [, section = ""] = readPage("approvals.md").split(/^## A token, its events.*$/m);
      expect(await runPage(section)).toBeGreaterThan(20);
    },
    120_000,
  );
});
