// Files: the roots, a tree beside a list, and one file at a time.

import { HardDrive } from "lucide";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { who } from "../api/catalogue.js";
import { texts } from "../texts.js";
import { formatNumber, plain } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { addressOf, route } from "../ui/router.js";
import { Empty, Failure, Skeleton } from "../ui/states.js";
import { TrashView } from "./actions/trash.js";
import { Breadcrumbs } from "./breadcrumbs.js";
import { FolderView } from "./folder.js";
import { loadRoots, type Root, roots, rootsError } from "./roots.js";
import { SearchView } from "./search.js";
import { FolderTree } from "./tree.js";
import { FileView } from "./viewing/file-view.js";

export function FilesPlace(): JSX.Element {
  const { root, path, isDirectory, query } = route.value;
  useEffect(() => void loadRoots(), [who.value?.did]);
  if (root === "") return <Roots />;
  const isSearch = query.has("search");
  return (
    <div class="files">
      <FolderTree />
      <section class="pane" aria-label={texts.places["files"]}>
        <h1 class="unseen">{plain(path === "" ? root : `${root}/${path}`)}</h1>
        <Breadcrumbs root={root} path={path} isDirectory={isDirectory} />
        {isSearch ? (
          <SearchView root={root} path={path} />
        ) : query.has("trash") ? (
          <TrashView root={root} path={path} />
        ) : (
          <Content key={`${root}/${path}`} />
        )}
      </section>
    </div>
  );
}

function Content(): JSX.Element {
  const { root, path, isDirectory } = route.value;
  return isDirectory ? <FolderView root={root} path={path} /> : <FileView root={root} path={path} />;
}

function Roots(): JSX.Element {
  const all = roots.value;
  if (rootsError.value !== undefined) return <Failure error={rootsError.value} retry={() => void loadRoots()} />;
  if (all === undefined) return <Skeleton />;
  if (all.length === 0) {
    return (
      <Empty icon={HardDrive} title={texts.noRoots}>
        <p>{texts.noRootsHint}</p>
      </Empty>
    );
  }
  return (
    <div class="page">
      <h1>{texts.roots}</h1>
      <ul class="cards">
        {all.map((root) => (
          <RootCard key={root.name} root={root} />
        ))}
      </ul>
    </div>
  );
}

function RootCard({ root }: { readonly root: Root }): JSX.Element {
  const { quota, kind, readOnly, description } = root;
  return (
    <li>
      <a class="card" href={addressOf("files", root.name, "", { directory: true })}>
        <Icon of={HardDrive} size={20} />
        <div>
          <h2>{plain(root.name)}</h2>
          <p class="hint">
            {texts.rootKinds[kind]}
            {readOnly ? <span class="tag">{texts.readOnly}</span> : null}
          </p>
          {description === undefined ? null : <p dir="auto">{plain(description)}</p>}
          {quota?.bytes === undefined ? null : <Quota used={quota.usedBytes ?? 0} all={quota.bytes} />}
          {quota?.files === undefined ? null : (
            <p class="hint">{`${formatNumber(quota.usedFiles ?? 0)} / ${texts.files(quota.files)}`}</p>
          )}
        </div>
      </a>
    </li>
  );
}

function Quota({ used, all }: { readonly used: number; readonly all: number }): JSX.Element {
  return (
    <div class="quota">
      <meter min={0} max={all} value={used} high={all * 0.9} aria-label={texts.quota(used, all)} />
      <span class="hint">{texts.quota(used, all)}</span>
    </div>
  );
}
