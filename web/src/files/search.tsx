// Search by name and content while the user types; an earlier search is ended, and omissions are shown.

import { SearchX } from "lucide";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { read } from "../api/call.js";
import { isAborted } from "../api/errors.js";
import type { Outputs } from "../api/operations.js";
import { texts } from "../texts.js";
import { plain } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { Name } from "../ui/name.js";
import { addressOf, navigate, route } from "../ui/router.js";
import { Empty, Failure, Skeleton } from "../ui/states.js";
import { iconOf } from "./kinds.js";

interface Found {
  readonly names: Outputs["file:glob"];
  readonly content: Outputs["file:grep"];
}

const QUIET_MS = 150;
const MAX_SHOWN = 200;

interface SearchProps {
  readonly root: string;
  readonly path: string;
}

export function SearchView({ root, path }: SearchProps): JSX.Element {
  const [text, setText] = useState(route.value.query.get("search") ?? "");
  const [isAll, setAll] = useState(false);
  const [found, setFound] = useState<Found | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const own = new AbortController();
    setError(undefined);
    if (text === "") setFound(undefined);
    else {
      const timer = setTimeout(() => {
        setBusy(true);
        navigate(addressOf("files", root, path, { directory: true, query: { search: text } }), { replace: true });
        searchFor({ root, path, text, isAll }, own.signal).then(
          (result) => {
            setFound(result);
            setBusy(false);
          },
          (failure: unknown) => {
            if (isAborted(failure)) return;
            setError(failure);
            setBusy(false);
          },
        );
      }, QUIET_MS);
      own.signal.addEventListener("abort", () => clearTimeout(timer));
    }
    return () => own.abort();
  }, [root, path, text, isAll]);
  return (
    <>
      <div class="toolbar" role="search">
        <input
          type="search"
          class="filter wide"
          aria-label={texts.searchIn(path === "" ? root : path)}
          placeholder={texts.searchIn(path === "" ? root : path)}
          value={text}
          ref={(input) => {
            if (input !== null && text === "") input.focus();
          }}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <label class="check">
          <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.currentTarget.checked)} />
          {texts.includeIgnored}
        </label>
        <a class="button quiet" href={addressOf("files", root, path, { directory: true })}>
          {texts.close}
        </a>
      </div>
      <div class={isBusy ? "results busy" : "results"} aria-busy={isBusy}>
        {error !== undefined ? (
          <Failure error={error} />
        ) : text === "" ? (
          <Empty icon={SearchX} title={texts.searchType} />
        ) : found === undefined ? (
          <Skeleton />
        ) : (
          <Results root={root} path={path} found={found} />
        )}
      </div>
    </>
  );
}

interface Question extends SearchProps {
  readonly text: string;
  readonly isAll: boolean;
}

async function searchFor({ root, path, text, isAll }: Question, signal: AbortSignal): Promise<Found> {
  const where = {
    root,
    ...(path === "" ? {} : { path }),
    ignore: isAll ? ("none" as const) : ("gitignore" as const),
    limit: MAX_SHOWN,
  };
  const pattern = `**/*${text.replace(/[\\*?[\]{}!()]/g, "\\$&")}*`;
  const [names, content] = await Promise.all([
    read("file:glob", { ...where, pattern, type: "any" }, { signal }),
    read("file:grep", { ...where, pattern: text, literal: true, ignoreCase: true }, { signal }),
  ]);
  return { names, content };
}

function Results({ root, path, found }: SearchProps & { readonly found: Found }): JSX.Element {
  const { names, content } = found;
  const matches = content.matches ?? [];
  if (names.paths.length === 0 && matches.length === 0) {
    return (
      <Empty icon={SearchX} title={texts.searchEmpty}>
        <LeftOut found={found} />
      </Empty>
    );
  }
  const inRoot = (one: string) => (path === "" || one.startsWith(`${path}/`) ? one : `${path}/${one}`);
  return (
    <>
      <section>
        <h2>
          {texts.searchNames} <small>{texts.searchTotal(names.totalMatches, names.countIsComplete)}</small>
        </h2>
        <ul class="hits">
          {names.paths.map((one) => (
            <li key={one}>
              <a href={addressOf("files", root, inRoot(one.replace(/\/$/, "")), { directory: one.endsWith("/") })}>
                <Icon of={iconOf(one.endsWith("/") ? "directory" : "file", one)} />
                <Name text={one} />
              </a>
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h2>
          {texts.searchContent} <small>{texts.searchTotal(content.totalMatches, content.countIsComplete)}</small>
        </h2>
        <ul class="hits">
          {matches.map((hit) => (
            <li key={`${hit.path}:${hit.line}`}>
              <a href={addressOf("files", root, inRoot(hit.path), { query: { line: hit.line } })}>
                <Name text={`${hit.path}:${hit.line}`} />
                <code dir="auto">{plain(hit.text.trim().slice(0, 300))}</code>
              </a>
            </li>
          ))}
        </ul>
      </section>
      <LeftOut found={found} />
    </>
  );
}

/** Skipped files are always reported. */
function LeftOut({ found }: { readonly found: Found }): JSX.Element | null {
  const hidden = Object.entries({ ...found.names.hidden, ...found.content.hidden }).filter(
    ([, many]) => (many ?? 0) > 0,
  );
  const parts = hidden.map(([why, many]) => `${many} ${texts.leftOutBy[why] ?? why}`);
  const reasons = [found.names.reason, found.content.reason].filter((one) => one !== undefined);
  if (parts.length === 0 && reasons.length === 0) return null;
  return (
    <p class="hint" role="status">
      {parts.length === 0 ? "" : texts.searchLeftOut(parts.join(", "))}{" "}
      {reasons.length === 0 ? "" : texts.endedEarly([...new Set(reasons)].join(", "))}
    </p>
  );
}
