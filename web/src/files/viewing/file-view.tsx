// One file: text in the editor, markdown beside its preview, images, sound and film, else its first bytes.

import { Download, GitCompareArrows } from "lucide";
import type { JSX } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { read } from "../../api/call.js";
import { offers, who } from "../../api/catalogue.js";
import { codeOf, isAborted } from "../../api/errors.js";
import type { Outputs } from "../../api/operations.js";
import { bufferOf, release } from "../../editor/buffers.js";
import { loadEditor } from "../../editor/text-editor.js";
import { texts } from "../../texts.js";
import { nameOf } from "../../ui/format.js";
import { Icon } from "../../ui/icon.js";
import { addressOf, navigate } from "../../ui/router.js";
import { Failure, Skeleton } from "../../ui/states.js";
import { download } from "../actions/download.js";
import { isInArchive, isTextName, shownAs } from "../kinds.js";
import { ImageView } from "./image-view.js";
import { BytesView, DocumentView, isDocumentName, MediaView, PagedView } from "./other-views.js";
import { TextView } from "./text-view.js";

interface Place {
  readonly root: string;
  readonly path: string;
}

export type Probe = Outputs["file:read"];
const PROBE_BYTES = 4096;

export function FileView({ root, path }: Place): JSX.Element {
  const [probe, setProbe] = useState<Probe | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const load = () => {
    const own = new AbortController();
    setError(undefined);
    look(root, path, own.signal).then(setProbe, (failure: unknown) => {
      if (isAborted(failure)) return;
      if (["IS_A_DIRECTORY", "NOT_A_FILE"].includes(codeOf(failure)))
        navigate(addressOf("files", root, path, { directory: true }), { replace: true });
      else setError(failure);
    });
    return () => own.abort();
  };
  useLayoutEffect(load, [root, path, who.value?.did]);
  useLayoutEffect(() => (isTextName(nameOf(path)) ? readAhead(root, path) : undefined), [root, path, who.value?.did]);
  if (error !== undefined) return <Failure error={error} retry={load} />;
  if (probe === undefined) return <Skeleton rows={12} />;
  return <Shown root={root} path={path} probe={probe} />;
}

/** Reads what is text by its name beside the look at its first bytes, and the editor beside both. @returns what ends it */
function readAhead(root: string, path: string): () => void {
  const buffer = bufferOf(root, path);
  void loadEditor().catch(() => {});
  // The view that shows the text reports the failure.
  void buffer.ready().catch(() => release(buffer));
  return () => release(buffer);
}

/** The first bytes say whether it is text. */
const look = (root: string, path: string, signal: AbortSignal): Promise<Probe> =>
  read("file:read", { root, path, offset: 0, length: PROBE_BYTES }, { signal });

function Shown({ root, path, probe }: Place & { readonly probe: Probe }): JSX.Element {
  const [isPaged, setPaged] = useState(false);
  const kind = shownAs(nameOf(path));
  const isText = probe.encoding !== "base64";
  if (kind === "image")
    return (
      <WithHeader
        root={root}
        path={path}
        probe={probe}
        content={<ImageView root={root} path={path} size={probe.size} />}
      />
    );
  if (kind === "audio" || kind === "video")
    return (
      <WithHeader root={root} path={path} probe={probe} content={<MediaView root={root} path={path} kind={kind} />} />
    );
  if (isDocumentName(path))
    return (
      <WithHeader
        root={root}
        path={path}
        probe={probe}
        content={<DocumentView root={root} path={path} probe={probe} />}
      />
    );
  if (!isText)
    return (
      <WithHeader root={root} path={path} probe={probe} content={<BytesView root={root} path={path} probe={probe} />} />
    );
  if (isPaged)
    return (
      <WithHeader
        root={root}
        path={path}
        probe={probe}
        content={<PagedView root={root} path={path} size={probe.size} />}
      />
    );
  return <TextView root={root} path={path} kind={kind} onTooLarge={() => setPaged(true)} />;
}

function WithHeader({
  root,
  path,
  probe,
  content,
}: Place & { readonly probe: Probe; readonly content: JSX.Element }): JSX.Element {
  return (
    <>
      <div class="toolbar" role="toolbar" aria-label={texts.viewAs}>
        <span class="hint">{texts.bytesOf(probe.size, probe.mime)}</span>
        <span class="spring" />
        <FileButtons root={root} path={path} />
      </div>
      {content}
    </>
  );
}

/** Actions on every file. */
export function FileButtons({ root, path }: Place): JSX.Element | null {
  if (isInArchive(path)) return null;
  return (
    <>
      {offers("file:history") ? (
        <a class="button quiet" href={addressOf("changes", root, path)}>
          <Icon of={GitCompareArrows} />
          <span class="wide-only">{texts.history}</span>
        </a>
      ) : null}
      <button type="button" class="quiet" title={texts.download} onClick={() => void download(root, path)}>
        <Icon of={Download} />
        <span class="wide-only">{texts.download}</span>
      </button>
    </>
  );
}
