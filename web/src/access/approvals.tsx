// What waits for a decision: each with what it would do. The decision itself runs nothing.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change, read } from "../api/call.js";
import { follow } from "../api/events.js";
import { personOf } from "../api/labels.js";
import type { Approval } from "../api/operations.js";
import { texts } from "../texts.js";
import { formatAgo, plain } from "../ui/format.js";
import { Name } from "../ui/name.js";
import { notify, notifyFailure } from "../ui/notices.js";

export function Approvals(): JSX.Element | null {
  const [approvals, setApprovals] = useState<readonly Approval[]>([]);
  const load = () =>
    void read("approval:list", {}).then(
      (page) => setApprovals(page.approvals.filter(({ state = "pending" }) => state === "pending")),
      () => setApprovals([]),
    );
  useEffect(() => {
    load();
    return follow(["approval"], load);
  }, []);
  return (
    <section class="approvals">
      <h2>{texts.approvals}</h2>
      {approvals.length === 0 ? <p class="hint">{texts.noApprovals}</p> : null}
      {approvals.map((one) => (
        <Waiting key={one.id} approval={one} reload={load} />
      ))}
    </section>
  );
}

function Waiting({ approval, reload }: { readonly approval: Approval; readonly reload: () => void }): JSX.Element {
  const { id, operation, caller = "", expires, effect } = approval;
  const [diff, setDiff] = useState<string | undefined>(undefined);
  useEffect(
    () =>
      void read("approval:get", { id }).then(
        (found) => setDiff(found.diff),
        () => {},
      ),
    [id],
  );
  const decide = async (decision: "once" | "deny") => {
    try {
      await change("approval:decide", { id, decision });
      notify(texts.decided[decision] ?? "");
    } catch (error) {
      notifyFailure(error);
    }
    reload();
  };
  return (
    <article class="approval">
      <p>
        <strong>{personOf(caller)}</strong> {texts.wants(plain(operation))}{" "}
        <small>{texts.waitsUntil(formatAgo(expires))}</small>
      </p>
      <ul class="names">
        {effect.map(({ root = "", path, action }) => (
          <li key={`${action} ${root} ${path}`}>
            <span class="tag">{plain(action)}</span> <Name text={root === "" ? path : `${root}/${path}`} />
          </li>
        ))}
      </ul>
      {diff === undefined ? null : <pre tabIndex={0}>{plainLines(diff)}</pre>}
      <p class="row">
        <button type="button" class="primary" onClick={() => void decide("once")}>
          {texts.allowOnce}
        </button>
        <button type="button" onClick={() => void decide("deny")}>
          {texts.deny}
        </button>
      </p>
    </article>
  );
}

/** Nothing in a difference that somebody decides by is hidden. */
const plainLines = (text: string): string => text.split("\n").map(plain).join("\n");
