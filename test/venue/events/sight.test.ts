// Who sees which events, beside what the lists of the same things show.

import { afterEach, describe, expect, test } from "@jest/globals";
import { send } from "../../surfaces/http/client.js";
import { accessOf } from "../operations/access-calls.js";
import { ALL, approvalsOf, asked, WRITE } from "../operations/approval/approval-calls.js";
import { useGround } from "../operations/fixture.js";

const ground = useGround();
const { issue } = accessOf(ground);
const { open, decide } = approvalsOf(ground);
const STAT = { root: "docs", path: "sub/a.txt" };

let end = new AbortController();
afterEach(() => {
  end.abort();
  end = new AbortController();
});

type Data = Readonly<Record<string, unknown>>;

/** Follows topics. @returns reads up to the event that is looked for, and gives all until then */
async function follow(
  bearer: string,
  ...topics: string[]
): Promise<(isLast: (data: Data) => boolean) => Promise<Data[]>> {
  const url = `${ground.venue.url}/api/v1/events?${topics.map((topic) => `topic=${topic}`).join("&")}`;
  const { body } = await send(url, { token: bearer, signal: end.signal });
  const chunks = body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  let text = "";
  return async (isLast) => {
    for (;;) {
      const whole = text.slice(0, text.lastIndexOf("\n\n") + 2);
      const seen = [...whole.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as Data);
      if (seen.some(isLast)) return seen;
      const chunk = await chunks?.next();
      if (chunk?.done !== false) throw new Error(`The stream has ended: ${text}`);
      text += chunk.value;
    }
  };
}

describe("events of approvals", () => {
  const approver = { with: "file://docs/", can: "approve" };

  test("are told to everybody who may decide, as long as they may, and to nobody else", async () => {
    await open();
    const agent = await issue({ label: "agent", caps: [ALL] });
    const holder = await issue({ label: "approver", caps: [approver] });
    const elsewhere = await issue({ label: "elsewhere", caps: [{ with: "file://tmp/", can: "approve" }] });
    const everything = await issue({ label: "all but that", caps: [{ with: "file://", can: "*" }] });
    const deciding = await follow(holder.token, "approval");
    const asking = await follow(agent.token, "approval");
    // Each of them does something of its own at the end, which would come after what it must not see.
    const others = await Promise.all([elsewhere, everything].map(({ token }) => follow(token, "approval", "job")));
    const { approvalId: id } = asked(await ground.call("file:write", WRITE, { bearer: agent.token }));
    const isIt = (state: string) => (data: Data) => data["id"] === id && data["state"] === state;
    expect(await deciding(isIt("pending"))).toMatchObject([{ effect: [{ root: "docs", path: "sub/a.txt" }] }]);
    await decide(id, { bearer: holder.token });
    await asking(isIt("once"));
    await deciding(isIt("once"));
    for (const [index, { token }] of [elsewhere, everything].entries()) {
      const { id: job } = await ground.call("file:stat", STAT, { bearer: token });
      const seen = await others[index]?.((data) => data["id"] === job);
      expect(seen?.filter(({ state }) => state !== undefined)).toEqual([]);
    }
  });

  test("are told to whoever the configuration or a UCAN lets decide", async () => {
    await ground.open({
      auth: { grants: [{ did: ground.bob.did, ...approver }] },
      file: { roots: { docs: { path: "docs", approve: { for: ["all"] } } } },
    });
    const agent = await issue({ label: "agent", caps: [ALL] });
    const { token } = await ground.key.grant(ground.carol, [approver]);
    const bearer = (await ground.carol.grant(ground.venue, [approver], { proofs: [token] })).token;
    const followers = await Promise.all([
      follow((await issue({ label: "bob" }, { as: ground.bob })).token, "approval"),
      follow(bearer, "approval"),
    ]);
    const { approvalId: id } = asked(await ground.call("file:write", WRITE, { bearer: agent.token }));
    for (const next of followers) expect(await next((data) => data["id"] === id)).toHaveLength(1);
  });
});

describe("events of the audit, of tokens and of jobs", () => {
  test("are not told to a UCAN that narrows its DID, but for those of its own jobs", async () => {
    await ground.open({ auth: { grants: [{ did: ground.bob.did, with: "file://docs/", can: "crud" }] } });
    const narrow = (await ground.bob.grant(ground.venue, [{ with: "file://docs/sub/", can: "crud/read" }])).token;
    const whole = (await issue({ label: "page" }, { as: ground.bob })).token;
    expect(await ground.call("audit:query", {}, { bearer: narrow })).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    const [narrowed, inFull] = [
      await follow(narrow, "audit", "auth", "job"),
      await follow(whole, "audit", "auth", "job"),
    ];
    const issued = await issue({ label: "another", caps: [ALL] }, { as: ground.bob });
    await ground.call("file:stat", { root: "docs", path: "sub" }, { as: ground.bob });
    const { id: others } = await ground.call("file:read", STAT, { as: ground.bob });
    const { id: job } = await ground.call("file:stat", STAT, { bearer: narrow });
    const isDone = (data: Data) => data["id"] === job && data["status"] === "COMPLETE";
    const seenInFull = await inFull(isDone);
    expect(seenInFull.some(({ id, change }) => id === issued.id && change === "issued")).toBe(true);
    expect(seenInFull.some(({ outcome }) => outcome === "OK")).toBe(true);
    const seen = await narrowed(isDone);
    expect(seen.filter((data) => "outcome" in data || "change" in data)).toEqual([]);
    expect(seenInFull.some(({ id }) => id === others)).toBe(true);
    expect(new Set(seen.map(({ id }) => id))).toEqual(new Set([job]));
  });

  test("are told to an access token of itself alone", async () => {
    await ground.open({ auth: { grants: [{ did: ground.bob.did, with: "file://docs/", can: "crud" }] } });
    const { token, did } = await issue({ label: "agent", caps: [ALL] }, { as: ground.bob });
    const own = await follow(token, "audit");
    await ground.call("file:stat", STAT, { as: ground.bob });
    await ground.call("file:stat", STAT, { bearer: token });
    const seen = await own(({ operation }) => operation === "file:stat");
    expect(new Set(seen.map(({ caller }) => caller))).toEqual(new Set([did]));
  });
});
