// Callers of an outside issuer on the page: what they may do, when they did it last, and an end to them.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { send } from "../../../surfaces/http/client.js";
import { httpRequestOf } from "../../../surfaces/mcp/raw.js";
import { call, inBrowser, openStage, type Stage } from "../../../web/browser.js";
import { sign, TestIssuer } from "./issuer.js";

let stage: Stage;
const issuer = new TestIssuer();

inBrowser("callers of an outside issuer", () => {
  beforeAll(async () => {
    await issuer.listen();
    const map = [{ when: {}, caps: [{ with: "file://files/", can: "crud" }] }];
    const issuers = [{ issuer: issuer.url, map }];
    stage = await openStage({ "a.txt": "alpha\n" }, { auth: { localToken: true, issuers } });
  });
  afterAll(async () => {
    await stage.close();
    await issuer.close();
  });

  test("are listed with rights and last use, and end with their streams at one click", async () => {
    const { venue } = stage;
    const aud = `${venue.url}/mcp`;
    const [token, other] = await Promise.all(
      ["ann", "bob"].map((sub) => sign(issuer.key, { iss: issuer.url, aud, sub })),
    );
    const stream = await send(`${venue.url}/api/v1/events?topic=files:files`, { token });
    const params = { notifications: { resourceSubscriptions: ["venue://files/behind.txt"] } };
    const request = httpRequestOf("modern", { id: "news", method: "subscriptions/listen", params });
    const news = await send(aud, { ...request, token });
    const { did } = (await call(venue, "auth:whoami", {}, token)) as { did: string };
    await call(venue, "file:list", { root: "files" }, other);
    const { url } = (await call(venue, "auth:issue", { label: "operator", link: true }, venue.localToken)) as {
      url: string;
    };
    const page = await stage.visit(new URL(url).hash, { as: "nobody" });
    await page.locator(".account-name").getByText("Operator").first().waitFor();
    await page.goto(`${venue.url}/workspace/access`);
    const rows = page.getByRole("row").filter({ hasText: "Outside issuer" });
    const row = rows.filter({ hasText: did.slice(-32, -24) });
    await row.getByText("read on files").waitFor();
    expect(await rows.count()).toBe(2);
    expect(await row.locator("td[data-title='Last used']").innerText()).toMatch(/now|(?:second|minute)s? ago/);
    await row.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByText("whatever token its issuer gives to it").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await row.getByText("revoked").waitFor();
    await call(venue, "file:write", { root: "files", path: "behind.txt", content: "" }, venue.localToken);
    const text = await stream.text();
    expect(text).toMatch(/event: end\ndata: \{\}\n\n$/);
    expect(text).not.toContain("behind.txt");
    const [acknowledged, result, ...others] = (await news.text()).trimEnd().split("\n\n");
    expect([acknowledged, result, others]).toEqual([
      expect.stringContaining("subscriptions/acknowledged"),
      expect.stringMatching(/"result":\{.*subscriptionId":"news".*"id":"news"\}$/),
      [],
    ]);
    const statusOf = async (bearer: string | undefined) =>
      (await send(`${venue.url}/api/v1/jobs`, { token: bearer })).status;
    expect([await statusOf(token), await statusOf(other)]).toEqual([401, 200]);
    expect(stage.problems.splice(0)).toEqual([]);
    await page.context().close();
  });
});
