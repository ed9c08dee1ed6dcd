// Files that are no text to edit: sound and film, PDF, long text in pages, and bytes.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { read } from "../../api/call.js";
import { isAborted } from "../../api/errors.js";
import { texts } from "../../texts.js";
import { formatSize, nameOf, plain } from "../../ui/format.js";
import { Failure, Skeleton } from "../../ui/states.js";
import { ticketFor } from "../actions/download.js";
import type { Probe } from "./file-view.js";

interface Place {
  readonly root: string;
  readonly path: string;
}

/** Plays from a ticket, so that no more is read than is heard or seen. */
export function MediaView({ root, path, kind }: Place & { readonly kind: "audio" | "video" }): JSX.Element {
  const [source, setSource] = useState<string | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => void ticketFor(root, path).then(setSource, setError), [root, path]);
  if (error !== undefined) return <Failure error={error} />;
  if (source === undefined) return <Skeleton rows={2} />;
  const label = plain(nameOf(path));
  return (
    <div class="media">
      {kind === "audio" ? (
        <audio controls src={source} aria-label={label} />
      ) : (
        <video controls src={source} aria-label={label} />
      )}
    </div>
  );
}

/** Documents by their names, whose text is shown. */
export const isDocumentName = (path: string): boolean =>
  /\.(?:pdf|(?:doc|dot|xls|xlt)[xm]|(?:ppt|pot|pps)[xm]|od[ts]|ot[ts])$/i.test(path);

/** The text of a document. A browser's own viewer works in no sandbox, and outside of one it is not let near the page. */
export function DocumentView(props: Place & { readonly probe: Probe }): JSX.Element {
  const { root, path } = props;
  const [found, setFound] = useState<Probe | undefined>(undefined);
  const [isFailed, setFailed] = useState(false);
  useEffect(() => {
    const own = new AbortController();
    read("file:read", { root, path, mode: "extract", maxChars: MOST_CHARS }, { signal: own.signal }).then(
      setFound,
      (failure: unknown) => isAborted(failure) || setFailed(true),
    );
    return () => own.abort();
  }, [root, path]);
  if (isFailed) return <BytesView {...props} />;
  if (found === undefined) return <Skeleton />;
  return (
    <>
      <p class="note">{texts.documentHint(found.truncated === true)}</p>
      <section class="plain-text" tabIndex={0} aria-label={texts.editorLabel(nameOf(path))}>
        <pre dir="auto">{found.text}</pre>
      </section>
    </>
  );
}

/** Characters of a document that are shown. */
const MOST_CHARS = 200_000;

const PAGE_BYTES = 256 * 1024;

/** Text that is too long for one read, a page at a time. */
export function PagedView({ root, path, size }: Place & { readonly size: number }): JSX.Element {
  const [at, setAt] = useState(0);
  const [page, setPage] = useState<Probe | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    const own = new AbortController();
    read("file:read", { root, path, mode: "text", offset: at, length: PAGE_BYTES }, { signal: own.signal }).then(
      (found) => setPage(found),
      (failure: unknown) => isAborted(failure) || setError(failure),
    );
    return () => own.abort();
  }, [root, path, at]);
  if (error !== undefined) return <Failure error={error} />;
  const to = Math.min(size, at + (page?.length ?? PAGE_BYTES));
  return (
    <>
      <div class="pager">
        <span class="hint">{texts.tooLargeToEdit(size)}</span>
        <span class="spring" />
        <button type="button" disabled={at === 0} onClick={() => setAt(Math.max(0, at - PAGE_BYTES))}>
          {texts.previousPage}
        </button>
        <span role="status">{texts.pageFrom(at, to, size)}</span>
        <button type="button" disabled={to >= size} onClick={() => setAt(to)}>
          {texts.nextPage}
        </button>
      </div>
      {page === undefined ? (
        <Skeleton />
      ) : (
        <section class="plain-text" tabIndex={0} aria-label={texts.editorLabel(nameOf(path))}>
          <pre dir="auto">{page.content}</pre>
        </section>
      )}
    </>
  );
}

const LINE_BYTES = 16;

/** `00000010  68 65 6c 6c 6f …  hello`. */
function hexOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += LINE_BYTES) {
    const some = [...bytes.subarray(at, at + LINE_BYTES)];
    const hex = some.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const shown = some.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex.padEnd(3 * LINE_BYTES - 1)}  ${shown}`);
  }
  return lines.join("\n");
}

const bytesOf = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
const LARGEST_HASHED = 64 * 1024 * 1024;

export function BytesView({ root, path, probe }: Place & { readonly probe: Probe }): JSX.Element {
  const [hash, setHash] = useState("");
  useEffect(() => {
    if (probe.size > LARGEST_HASHED) return;
    void read("file:hash", { root, path }).then(
      ({ hash: found }) => setHash(found),
      () => {},
    );
  }, [root, path]);
  const { content = "", encoding } = probe;
  const bytes = encoding === "base64" ? bytesOf(content) : new TextEncoder().encode(content);
  return (
    <div class="bytes">
      <dl>
        <dt>{texts.size}</dt>
        <dd>{formatSize(probe.size)}</dd>
        <dt>{texts.hash}</dt>
        <dd>
          <code>{hash === "" ? "…" : hash.replace(/^sha256:/, "")}</code>
        </dd>
      </dl>
      <p class="hint">{`${texts.noPreview} ${texts.hexOf(bytes.length)}:`}</p>
      <section class="hex" tabIndex={0} aria-label={texts.hexOf(bytes.length)}>
        <pre>{hexOf(bytes)}</pre>
      </section>
    </div>
  );
}
