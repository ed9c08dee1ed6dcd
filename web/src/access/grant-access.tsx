// Giving access: to one folder, for one hour unless changed. The new token or link is shown once.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { venuePath } from "../api/base.js";
import { change } from "../api/call.js";
import { asApiError } from "../api/errors.js";
import { FolderChooser } from "../files/actions/folder-picker.js";
import type { Target } from "../files/actions/relocate.js";
import { loadRoots, roots } from "../files/roots.js";
import { texts } from "../texts.js";
import { Dialog, showDialog } from "../ui/dialog.js";
import { formatMoment, plain } from "../ui/format.js";
import { CopyButton } from "../ui/states.js";
import { mayIssueTokens, mayIssueUcans } from "./rights.js";

type Recipient = "agent" | "person" | "did";

interface Given {
  readonly to: Recipient;
  readonly secret: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

export async function giveAccess(): Promise<void> {
  if (roots.value === undefined) await loadRoots();
  const given = await showDialog<Given>((close) => <GiveDialog close={close} />);
  if (given !== undefined) await showDialog<void>((close) => <GivenDialog given={given} close={() => close()} />);
}

const HOUR = "3600";

function GiveDialog({ close }: { readonly close: (given?: Given) => void }): JSX.Element {
  const [to, setTo] = useState<Recipient>(mayIssueTokens() ? "agent" : "did");
  const [label, setLabel] = useState("");
  const [did, setDid] = useState("");
  const [place, setPlace] = useState<Target>({
    root: roots.value?.length === 1 ? (roots.value[0]?.name ?? "") : "",
    path: "",
  });
  const [abilities, setAbilities] = useState<ReadonlySet<string>>(new Set(["crud/read"]));
  const [lifetime, setLifetime] = useState(HOUR);
  const [problem, setProblem] = useState("");
  const isReady = place.root !== "" && abilities.size > 0 && (to === "did" ? did.trim() !== "" : label.trim() !== "");
  const submit = () => {
    const caps = [...abilities].map((can) => ({ with: `file://${place.root}/${place.path}`, can }));
    issue({ to, label, did, caps, lifetimeSeconds: Number(lifetime) }).then(close, (error: unknown) =>
      setProblem(plain(asApiError(error).message)),
    );
  };
  return (
    <Dialog
      title={texts.giveTitle}
      onClose={() => close()}
      onSubmit={() => isReady && submit()}
      footer={
        <>
          <button type="button" onClick={() => close()}>
            {texts.cancel}
          </button>
          <button type="submit" class="primary" disabled={!isReady}>
            {texts.giveIt}
          </button>
        </>
      }
    >
      <Recipients to={to} onTo={setTo} />
      {/* Keys, so that neither field takes over the other's element with its limit. */}
      {to === "did" ? (
        <label key="did">
          {texts.did}
          <input
            value={did}
            placeholder="did:key:z6Mk…"
            spellcheck={false}
            onInput={(event) => setDid(event.currentTarget.value)}
          />
        </label>
      ) : (
        <label key="label">
          {texts.label}
          <input
            value={label}
            maxLength={200}
            data-autofocus
            aria-describedby="label-hint"
            onInput={(event) => setLabel(event.currentTarget.value)}
          />
          <span id="label-hint" class="hint">
            {texts.labelHint}
          </span>
        </label>
      )}
      <fieldset>
        <legend>{texts.folder}</legend>
        <FolderChooser place={place} onPlace={setPlace} />
      </fieldset>
      <Abilities held={abilities} onHeld={setAbilities} />
      <label>
        {texts.lifetime}
        <select value={lifetime} onChange={(event) => setLifetime(event.currentTarget.value)}>
          {Object.entries(texts.lifetimes).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <p role="alert" class="problem">
        {problem}
      </p>
    </Dialog>
  );
}

function Recipients({ to, onTo }: { readonly to: Recipient; readonly onTo: (to: Recipient) => void }): JSX.Element {
  const choices: [Recipient, string][] = [
    ...(mayIssueTokens()
      ? ([
          ["agent", texts.forAgent],
          ["person", texts.forPerson],
        ] as [Recipient, string][])
      : []),
    ...(mayIssueUcans() ? ([["did", texts.forDid]] as [Recipient, string][]) : []),
  ];
  return (
    <fieldset>
      <legend>{texts.giveTo}</legend>
      <div class="row">
        {choices.map(([value, text]) => (
          <label key={value} class="check">
            <input type="radio" name="recipient" checked={to === value} onChange={() => onTo(value)} />
            {text}
          </label>
        ))}
      </div>
      {mayIssueUcans() ? null : <p class="hint">{texts.noUcan}</p>}
    </fieldset>
  );
}

interface AbilitiesProps {
  readonly held: ReadonlySet<string>;
  readonly onHeld: (held: ReadonlySet<string>) => void;
}

function Abilities({ held, onHeld }: AbilitiesProps): JSX.Element {
  const toggle = (ability: string) => {
    const next = new Set(held);
    if (!next.delete(ability)) next.add(ability);
    onHeld(next);
  };
  return (
    <fieldset>
      <legend>{texts.mayDo}</legend>
      <div class="row">
        {Object.entries(texts.abilities).map(([ability, text]) => (
          <label key={ability} class="check">
            <input type="checkbox" checked={held.has(ability)} onChange={() => toggle(ability)} />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface Wish {
  readonly to: Recipient;
  readonly label: string;
  readonly did: string;
  readonly caps: readonly { readonly with: string; readonly can: string }[];
  readonly lifetimeSeconds: number;
}

/** @throws ApiError */
async function issue({ to, label, did, caps, lifetimeSeconds }: Wish): Promise<Given> {
  if (to === "did") {
    const { token, expires } = await change("ucan:issue", { aud: did.trim(), att: caps, lifetimeSeconds });
    return { to, secret: token, expires: expires * 1000 };
  }
  const link = to === "person";
  const { token = "", url, expires } = await change("auth:issue", { label: label.trim(), caps, lifetimeSeconds, link });
  return { to, secret: url ?? token, expires };
}

function GivenDialog({ given, close }: { readonly given: Given; readonly close: () => void }): JSX.Element {
  const { to, secret, expires } = given;
  const url = `${location.origin}${venuePath}`;
  const mcp = JSON.stringify(
    { mcpServers: { files: { type: "http", url: `${url}/mcp`, headers: { Authorization: `Bearer ${secret}` } } } },
    null,
    2,
  );
  const curl = `curl -s ${url}/api/v1/run -H "Authorization: Bearer ${secret}" -H 'Content-Type: application/json' -d '{"operation":"file:roots","input":{}}'`;
  return (
    <Dialog
      title={texts.giveTitle}
      onClose={close}
      onSubmit={close}
      footer={
        <button type="submit" class="primary">
          {texts.done}
        </button>
      }
    >
      <p class="warning">{`${texts.shownOnce} ${texts.until(formatMoment(expires))}.`}</p>
      <Secret title={to === "person" ? texts.link : texts.token} text={secret} />
      {to === "agent" ? (
        <>
          <Secret title={texts.configOfMcp} text={mcp} />
          <Secret title={texts.configOfCurl} text={curl} />
        </>
      ) : null}
    </Dialog>
  );
}

function Secret({ title, text }: { readonly title: string; readonly text: string }): JSX.Element {
  return (
    <section class="secret">
      <header>
        <h3>{title}</h3>
        <CopyButton text={text} label={texts.copyText} />
      </header>
      <pre tabIndex={0}>{text}</pre>
    </section>
  );
}
