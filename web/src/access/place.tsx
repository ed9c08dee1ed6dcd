// Access: who holds what, by holder and by path; giving and withdrawing it.

import { KeyRound, Plus } from "lucide";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change, read } from "../api/call.js";
import { offers, who } from "../api/catalogue.js";
import { follow } from "../api/events.js";
import { personOf } from "../api/labels.js";
import type { AccessEntry } from "../api/operations.js";
import { grantText, texts } from "../texts.js";
import { Dialog, showDialog } from "../ui/dialog.js";
import { formatAgo, formatMoment } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { Name } from "../ui/name.js";
import { notify, notifyFailure } from "../ui/notices.js";
import { addressOf, navigate, route } from "../ui/router.js";
import { Empty, Failure, Skeleton } from "../ui/states.js";
import { Approvals } from "./approvals.js";
import { ByPath } from "./by-path.js";
import { giveAccess } from "./grant-access.js";
import { holderOf, isInForce, mayIssueTokens, mayIssueUcans } from "./rights.js";

const PAGE = 1000;

async function loadAll(): Promise<AccessEntry[]> {
  const entries: AccessEntry[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await read("auth:list", { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    entries.push(...page.entries);
    cursor = page.nextCursor;
    if (page.complete || cursor === undefined) return entries;
  }
}

export function AccessPlace(): JSX.Element {
  const [entries, setEntries] = useState<readonly AccessEntry[] | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const load = () => void loadAll().then(setEntries, setError);
  useEffect(() => {
    load();
    return follow(["auth"], load);
  }, [who.value?.did]);
  const byPath = route.value.query.get("by") === "path";
  const give = async () => {
    await giveAccess();
    load();
  };
  return (
    <div class="page">
      <header class="page-head">
        <h1>{texts.places["access"]}</h1>
        {mayIssueTokens() || mayIssueUcans() ? (
          <button type="button" class="primary" onClick={() => void give()}>
            <Icon of={Plus} />
            {texts.give}
          </button>
        ) : null}
      </header>
      {who.value?.authentication === "access-token" ? <p class="hint">{texts.passesNothingOn}</p> : null}
      {offers("approval:list") ? <Approvals /> : null}
      <Tabs byPath={byPath} />
      {error !== undefined ? (
        <Failure error={error} retry={load} />
      ) : entries === undefined ? (
        <Skeleton />
      ) : byPath ? (
        <ByPath entries={entries.filter(isInForce)} />
      ) : (
        <Holders entries={entries} reload={load} />
      )}
    </div>
  );
}

function Tabs({ byPath }: { readonly byPath: boolean }): JSX.Element {
  const tab = (isPath: boolean, label: string) => (
    <button
      type="button"
      class="quiet"
      aria-pressed={byPath === isPath}
      onClick={() => navigate(addressOf("access", "", "", { query: { by: isPath ? "path" : undefined } }))}
    >
      {label}
    </button>
  );
  return (
    <div class="segments" role="group" aria-label={texts.rights}>
      {tab(false, texts.byHolder)}
      {tab(true, texts.byPath)}
    </div>
  );
}

interface HoldersProps {
  readonly entries: readonly AccessEntry[];
  readonly reload: () => void;
}

function Holders({ entries, reload }: HoldersProps): JSX.Element {
  const shown = [...entries].sort((one, other) => Number(isInForce(other)) - Number(isInForce(one)));
  if (shown.length === 0) return <Empty icon={KeyRound} title={texts.noAccess} />;
  return (
    <section class="table-box holders" tabIndex={0} aria-label={texts.byHolder}>
      <table>
        <thead>
          <tr>
            {[texts.holder, texts.rights, texts.lastUsed, texts.expires].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
            <th scope="col">
              <span class="unseen">{texts.revoke}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((entry, index) => (
            <Holder key={entry.id ?? `${entry.kind}-${index}`} entry={entry} reload={reload} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Holder({ entry, reload }: { readonly entry: AccessEntry; readonly reload: () => void }): JSX.Element {
  const { kind, did = "", id, grants, lastUsed, expires, revoked } = entry;
  const isOver = !isInForce(entry);
  const isOwn = id !== undefined && id === who.value?.via;
  const canRevoke =
    id !== undefined && ["access", "session", "ucan", "issuer"].includes(kind) && !isOver && offers("auth:revoke");
  return (
    <tr class={isOver ? "over" : ""}>
      <td>
        <strong>
          <Name text={holderOf(entry)} title={did} />
        </strong>
        <span class="row">
          <small>{kind === "session" ? texts.sessionOf(personOf(did)) : (texts.kinds[kind] ?? kind)}</small>
          {isOwn ? <span class="tag good">{texts.thisPage}</span> : null}
          {revoked === undefined ? null : <span class="tag danger">{texts.revokedTag}</span>}
        </span>
      </td>
      <td>
        {grants.length === 0 ? <span class="hint">{kind === "session" ? texts.asItsMaker : texts.nothing}</span> : null}
        <ul>
          {grants.map((grant) => (
            <li key={`${grant.can} ${grant.with}`}>{grantText(grant)}</li>
          ))}
        </ul>
      </td>
      <td data-title={texts.lastUsed} class={lastUsed === undefined ? "none" : ""}>
        {lastUsed === undefined ? "–" : <time title={formatMoment(lastUsed)}>{formatAgo(lastUsed)}</time>}
      </td>
      <td data-title={texts.expires} class={expires === undefined ? "none" : ""}>
        {expires === undefined ? "–" : <time title={formatMoment(expires)}>{formatAgo(expires)}</time>}
      </td>
      <td>
        {canRevoke ? (
          <button
            type="button"
            class="quiet danger"
            aria-label={`${texts.revoke} ${holderOf(entry)}`}
            onClick={() => void revoke(entry, id, reload)}
          >
            {texts.revoke}
          </button>
        ) : null}
      </td>
    </tr>
  );
}

async function revoke(entry: AccessEntry, id: string, reload: () => void): Promise<void> {
  const isSure = await showDialog<boolean>((close) => (
    <Dialog
      title={texts.revokeTitle(holderOf(entry))}
      onClose={() => close()}
      onSubmit={() => close(true)}
      footer={
        <>
          <button type="button" data-autofocus onClick={() => close()}>
            {texts.cancel}
          </button>
          <button type="submit" class="primary danger">
            {texts.revoke}
          </button>
        </>
      }
    >
      <p>{entry.kind === "issuer" ? texts.revokeCallerLead : texts.revokeLead}</p>
    </Dialog>
  ));
  if (isSure !== true) return;
  try {
    await change("auth:revoke", { id });
    notify(texts.revoked);
  } catch (error) {
    notifyFailure(error);
  }
  reload();
}
