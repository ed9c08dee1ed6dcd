// Pending approvals with their effects. A decision runs nothing by itself.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change, read } from "../api/call.js";
import { personOf } from "../api/labels.js";
import type { Approval, ApprovedState } from "../api/operations.js";
import { texts } from "../texts.js";
import { formatAgo, plain } from "../ui/format.js";
import { Name } from "../ui/name.js";
import { notify, notifyFailure } from "../ui/notices.js";
import { Skeleton } from "../ui/states.js";
import { loadWaiting, waiting, watchWaiting } from "./pending-approvals.js";

export function Approvals(): JSX.Element | null {
  const approvals = waiting.value;
  useEffect(watchWaiting, []);
  return (
    <section class="approvals">
      <h2>{texts.approvals}</h2>
      {approvals.length === 0 ? <p class="hint">{texts.noApprovals}</p> : null}
      {approvals.map((one) => (
        <Waiting key={one.id} approval={one} />
      ))}
    </section>
  );
}

function Waiting({ approval }: { readonly approval: Approval }): JSX.Element {
  const { id, operation, caller = "", expires, effect, more } = approval;
  const [diff, setDiff] = useState<string | undefined>(undefined);
  useEffect(
    () =>
      void read("approval:get", { id }).then(
        (found) => setDiff(found.diff ?? ""),
        () => setDiff(""),
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
    await loadWaiting();
  };
  // A card comes with its difference: nobody decides on half of it, and no button moves from under the pointer.
  if (diff === undefined) return <Skeleton rows={4} />;
  return (
    <article class="approval">
      <p>
        <strong>{personOf(caller)}</strong> {texts.wants(plain(operation))}{" "}
        <small>{texts.waitsUntil(formatAgo(expires))}</small>
      </p>
      <ul class="names">
        {effect.map(({ root = "", path, real, action, to, toReal, before, after }) => (
          <li key={`${action} ${root} ${path}`}>
            <span class="tag">{plain(action)}</span>
            <Name text={root === "" ? path : `${root}/${path}`} />
            {real === undefined ? null : <small>{texts.leadsTo(real)}</small>}
            {to === undefined ? null : (
              <>
                <span>→</span>
                <Name text={to} />
                {toReal === undefined ? null : <small>{texts.leadsTo(toReal)}</small>}
              </>
            )}
            <Below state={after ?? before} />
          </li>
        ))}
        {more === undefined ? null : <li>{texts.moreNotShown(more)}</li>}
      </ul>
      {diff === "" ? null : <Difference text={diff} />}
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

/** The first names in a folder that comes or goes. */
function Below({ state: { entries = 0, names = [] } = {} }: { readonly state: ApprovedState | undefined }) {
  if (names.length === 0) return null;
  const more = entries - names.length;
  return (
    <ul class="names">
      {names.map((name) => (
        <li key={name}>
          <Name text={name} />
        </li>
      ))}
      {more > 0 ? <li>{texts.moreNotShown(more)}</li> : null}
    </ul>
  );
}

/** Lines by how they begin; nothing in a difference that somebody decides by is hidden. */
function Difference({ text }: { readonly text: string }): JSX.Element {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <pre class="difference" role="region" tabIndex={0} aria-label={texts.whatItWouldDo}>
      {lines.map((line, index) => {
        const [Tag, kind] = tagOf(line);
        return (
          <Tag key={index} class={kind}>
            {`${plain(line)}\n`}
          </Tag>
        );
      })}
    </pre>
  );
}

function tagOf(line: string): readonly [tag: "span" | "ins" | "del", kind: string] {
  if (/^(?:---|\+\+\+|@@)/.test(line)) return ["span", "hint"];
  if (line.startsWith("+")) return ["ins", ""];
  return line.startsWith("-") ? ["del", ""] : ["span", ""];
}
