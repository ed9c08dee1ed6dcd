// Shows the right that a denied call required, and the rights that its caller held.

import type { JSX } from "preact";
import { offers } from "../api/catalogue.js";
import { personOf } from "../api/labels.js";
import type { AuditRecord } from "../api/operations.js";
import { grantText, texts } from "../texts.js";
import { Dialog, showDialog } from "../ui/dialog.js";
import { formatMoment, plain } from "../ui/format.js";
import { addressOf, navigate } from "../ui/router.js";

export const isDenial = (outcome: string): boolean => /DENIED|SYMLINK_ESCAPE|PATH_ESCAPES|APPROVAL/.test(outcome);

export const showDenial = (record: AuditRecord): void =>
  void showDialog<void>((close) => <Denial record={record} close={() => close()} />);

function Denial({ record, close }: { readonly record: AuditRecord; readonly close: () => void }): JSX.Element {
  const { time, caller, operation, resource, outcome, denied } = record;
  const toAccess = () => {
    close();
    navigate(addressOf("access"));
  };
  return (
    <Dialog
      title={texts.denialTitle(personOf(caller))}
      onClose={close}
      onSubmit={close}
      footer={
        <>
          {offers("auth:list") ? (
            <button type="button" onClick={toAccess}>
              {texts.toAccess}
            </button>
          ) : null}
          <button type="submit" class="primary" data-autofocus>
            {texts.close}
          </button>
        </>
      }
    >
      <dl class="facts">
        <dt>{texts.operation}</dt>
        <dd>{`${plain(operation)} ${plain(resource.replace(/^(?:file|dlfs):\/\//, ""))}`}</dd>
        <dt>{texts.outcome}</dt>
        <dd>{plain(outcome)}</dd>
        <dt>{texts.time}</dt>
        <dd>{formatMoment(time)}</dd>
        <dt>{texts.needed}</dt>
        <dd>
          {denied === undefined ? (texts.denialHints[outcome] ?? texts.notRecorded) : plain(grantText(denied.required))}
        </dd>
        {denied === undefined ? null : <Held denied={denied} />}
      </dl>
    </Dialog>
  );
}

function Held({ denied: { have, more } }: { readonly denied: NonNullable<AuditRecord["denied"]> }): JSX.Element {
  return (
    <>
      <dt>{texts.held}</dt>
      <dd>
        {have.length === 0 ? texts.nothing : null}
        <ul>
          {have.map((grant) => (
            <li key={`${grant.can} ${grant.with}`}>{plain(grantText(grant))}</li>
          ))}
          {more === true ? <li>…</li> : null}
        </ul>
      </dd>
    </>
  );
}
