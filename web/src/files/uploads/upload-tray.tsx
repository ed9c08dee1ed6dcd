// The uploads, at the edge of the page, wherever one is.

import { FolderOpen, Pause, Play, RotateCcw, X } from "lucide";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { who } from "../../api/catalogue.js";
import { texts } from "../../texts.js";
import { formatSize, inSentences, nameOf, plain } from "../../ui/format.js";
import { Icon } from "../../ui/icon.js";
import { Name } from "../../ui/name.js";
import { notify } from "../../ui/notices.js";
import { cancel, clearDone, findUnfinished, goOn, pause, retry, retryFailed, type Upload, uploads } from "./uploads.js";

const MAX_SHOWN = 100;
const ENDED = ["done", "skipped", "cancelled"];

export function UploadTray(): JSX.Element | null {
  const all = uploads.value;
  useEffect(() => void findUnfinished(), [who.value?.did]);
  if (all.length === 0) return null;
  const done = all.filter(({ state }) => state === "done").length;
  const hasFailed = all.some(({ state }) => state === "failed");
  const order = [...all].sort((one, other) => Number(ENDED.includes(one.state)) - Number(ENDED.includes(other.state)));
  return (
    <section class="upload-tray" aria-label={texts.uploads}>
      <header>
        <strong role="status">{texts.uploadsRunning(done, all.length)}</strong>
        {hasFailed ? (
          <button type="button" onClick={retryFailed}>
            {texts.retryFailed}
          </button>
        ) : null}
        <button type="button" class="quiet" onClick={clearDone}>
          {texts.clearDone}
        </button>
      </header>
      <ul>
        {order.slice(0, MAX_SHOWN).map((one) => (
          <UploadRow key={one.id} upload={one} />
        ))}
      </ul>
    </section>
  );
}

function UploadRow({ upload }: { readonly upload: Upload }): JSX.Element {
  const { id, path, size, state, sent, error } = upload;
  const name = nameOf(path);
  const button = (label: string, icon: unknown, run: (id: number) => void) => (
    <button
      type="button"
      class="quiet square"
      aria-label={`${label} ${plain(name)}`}
      title={label}
      onClick={() => run(id)}
    >
      <Icon of={icon} />
    </button>
  );
  return (
    <li class={state}>
      <div class="row">
        <Name text={name} title={plain(path)} />
        <span class="hint">
          {state === "running" ? `${formatSize(sent)} / ${formatSize(size)}` : texts.uploadStates[state]}
        </span>
        {state === "running" ? button(texts.pause, Pause, pause) : null}
        {state === "paused" ? button(texts.resume, Play, retry) : null}
        {state === "unfinished" ? <ChooseAgain upload={upload} /> : null}
        {state === "failed" || state === "cancelled" ? button(texts.retry, RotateCcw, retry) : null}
        {ENDED.includes(state) ? null : button(texts.cancel, X, cancel)}
      </div>
      {state === "running" || state === "unfinished" ? (
        <progress max={Math.max(1, size)} value={sent} aria-label={plain(name)} />
      ) : null}
      {state === "unfinished" ? (
        <p class="hint">{texts.uploadChooseAgain(formatSize(sent), formatSize(size))}</p>
      ) : null}
      {error === undefined ? null : (
        <p class="problem">
          {inSentences(plain(error.message), texts.uploadSteps[error.code] ?? texts.nextSteps[error.code] ?? "")}
        </p>
      )}
    </li>
  );
}

/** After a reload the page has no file any more, until it is chosen again. */
function ChooseAgain({ upload }: { readonly upload: Upload }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const label = `${texts.chooseAgain}: ${plain(nameOf(upload.path))}`;
  const picked = (event: Event) => {
    const [file] = (event.currentTarget as HTMLInputElement).files ?? [];
    if (file !== undefined && !goOn(upload, file)) notify(texts.uploadOtherFile(nameOf(upload.path)));
  };
  return (
    <>
      <input ref={input} type="file" hidden onChange={picked} aria-label={label} />
      <button
        type="button"
        class="quiet square"
        aria-label={label}
        title={texts.chooseAgain}
        onClick={() => input.current?.click()}
      >
        <Icon of={FolderOpen} />
      </button>
    </>
  );
}
