// The folders of a root as a tree; each level is asked for when it opens.

import { signal } from "@preact/signals";
import { ChevronDown, ChevronRight, Folder, FolderOpen } from "lucide";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { read } from "../api/call.js";
import { texts } from "../texts.js";
import { joinPath, nameOf, parentOf, plain } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { Name } from "../ui/name.js";
import { addressOf, navigate, route } from "../ui/router.js";
import { TypeAhead } from "../ui/type-ahead.js";
import { VirtualRows } from "../ui/virtual.js";
import { useDrop } from "./drag.js";
import { whenListed } from "./listing.js";

const ROW = 28;
/** A folder with more entries than this shows the folders among the first. */
const MAX_LISTED = 10_000;

/** Subfolders by `root/path`. */
const children = signal<ReadonlyMap<string, readonly string[]>>(new Map());
const opened = signal<ReadonlySet<string>>(new Set());
const keyOf = (root: string, path: string): string => `${root}/${path}`;

interface Node {
  readonly path: string;
  readonly level: number;
  readonly isOpen: boolean;
  readonly isLeaf: boolean;
}

async function load(root: string, path: string): Promise<void> {
  await whenListed();
  const page = await read("file:list", { root, ...(path === "" ? {} : { path }), limit: MAX_LISTED }).catch(
    () => undefined,
  );
  if (page === undefined) return;
  const folders = page.entries.filter(({ type }) => type === "directory").map(({ name }) => joinPath(path, name));
  children.value = new Map(children.value).set(keyOf(root, path), folders);
}

/** Takes the subfolders of a folder that is listed anyway, so that it is not asked for twice. */
export function learnFolders(root: string, path: string, names: readonly string[]): void {
  const folders = names.map((name) => joinPath(path, name));
  children.value = new Map(children.value).set(keyOf(root, path), folders);
}

/** Asks again for a folder that has changed. */
export function refreshTree(root: string, path: string): void {
  if (children.value.has(keyOf(root, path))) void load(root, path);
}

function toggle(root: string, path: string, isOpen: boolean, mayLoad = true): void {
  const next = new Set(opened.value);
  if (isOpen) next.add(keyOf(root, path));
  else next.delete(keyOf(root, path));
  opened.value = next;
  if (isOpen && mayLoad && !children.value.has(keyOf(root, path))) void load(root, path);
}

function nodesOf(root: string): Node[] {
  const nodes: Node[] = [];
  const visit = (path: string, level: number) => {
    const below = children.value.get(keyOf(root, path));
    const isOpen = path === "" || opened.value.has(keyOf(root, path));
    nodes.push({ path, level, isOpen, isLeaf: path !== "" && below?.length === 0 });
    if (isOpen) for (const child of below ?? []) visit(child, level + 1);
  };
  visit("", 1);
  return nodes;
}

export function FolderTree(): JSX.Element {
  const { root, path, isDirectory, query } = route.value;
  const here = isDirectory ? path : parentOf(path);
  const nodes = useMemo(() => nodesOf(root), [root, children.value, opened.value]);
  const [focused, setFocused] = useState<string | undefined>(undefined);
  const typing = useRef(new TypeAhead());
  const nameIn = (node: Node) => (node.path === "" ? root : nameOf(node.path));
  const isOther = query.has("search") || query.has("trash");
  const { over, handlers } = useDrop({ root, path: "" });
  useEffect(() => {
    // The list of the folder on screen tells its subfolders.
    const isListed = (at: string) => isDirectory && at === here && !isOther;
    if (!isListed("") && !children.value.has(keyOf(root, ""))) void load(root, "");
    for (let at = here; at !== ""; at = parentOf(at)) toggle(root, at, true, !isListed(at));
    setFocused(undefined);
  }, [root, here]);
  const active = Math.max(
    0,
    nodes.findIndex((node) => node.path === (focused ?? here)),
  );
  const go = (node: Node) => navigate(addressOf("files", root, node.path, { directory: true }));
  const onKeyDown = (event: KeyboardEvent) => {
    const node = nodes[active];
    if (node === undefined) return;
    const isTyped = typing.current.takes(event);
    const to = isTyped
      ? (typing.current.find(nodes.map(nameIn), active) ?? active)
      : moveTo(event.key, nodes, active, node, (isOpen) => toggle(root, node.path, isOpen));
    if (!isTyped && (event.key === "Enter" || event.key === " ")) go(node);
    else if (to === undefined) return;
    else setFocused(nodes[to]?.path);
    event.preventDefault();
  };
  const row = (index: number) => {
    const node = nodes[index];
    return node === undefined ? null : (
      <TreeRow
        id={index}
        root={root}
        node={node}
        isHere={node.path === here}
        isActive={index === active}
        isOver={node.path === over?.path}
        go={() => go(node)}
      />
    );
  };
  return (
    <aside class="tree-pane" {...handlers}>
      <VirtualRows
        count={nodes.length}
        rowHeight={ROW}
        active={active}
        render={row}
        attributes={{
          class: "tree",
          role: "tree",
          tabIndex: 0,
          "aria-label": texts.folders,
          "aria-activedescendant": `tree-${active}`,
          onKeyDown,
        }}
      />
    </aside>
  );
}

/** Index that a key leads to. `undefined`: the key means nothing here. */
function moveTo(
  key: string,
  nodes: readonly Node[],
  at: number,
  node: Node,
  open: (isOpen: boolean) => void,
): number | undefined {
  if (key === "ArrowDown") return Math.min(nodes.length - 1, at + 1);
  if (key === "ArrowUp") return Math.max(0, at - 1);
  if (key === "Home") return 0;
  if (key === "End") return nodes.length - 1;
  if (key === "ArrowRight") {
    if (node.isOpen) return Math.min(nodes.length - 1, at + 1);
    open(true);
    return at;
  }
  if (key !== "ArrowLeft") return undefined;
  if (node.isOpen && node.path !== "") {
    open(false);
    return at;
  }
  return Math.max(
    0,
    nodes.findIndex(({ path }) => path === parentOf(node.path)),
  );
}

interface RowProps {
  readonly id: number;
  readonly root: string;
  readonly node: Node;
  readonly isHere: boolean;
  readonly isActive: boolean;
  /** Whether something is held over it, to be dropped. */
  readonly isOver: boolean;
  readonly go: () => void;
}

function TreeRow({ id, root, node, isHere, isActive, isOver, go }: RowProps): JSX.Element {
  const { path, level, isOpen, isLeaf } = node;
  const name = path === "" ? root : nameOf(path);
  const onToggle = (event: Event) => {
    event.stopPropagation();
    toggle(root, path, !isOpen);
  };
  return (
    <div
      id={`tree-${id}`}
      role="treeitem"
      class={`tree-row${isActive ? " active" : ""}${isOver ? " over" : ""}`}
      style={{ paddingLeft: `${(level - 1) * 14 + 4}px` }}
      aria-level={level}
      aria-expanded={isLeaf ? undefined : isOpen}
      aria-selected={isHere}
      aria-label={plain(name)}
      data-drop={path}
      onClick={go}
    >
      <span class="twisty" onClick={onToggle}>
        {isLeaf || path === "" ? null : <Icon of={isOpen ? ChevronDown : ChevronRight} size={14} />}
      </span>
      <Icon of={isOpen ? FolderOpen : Folder} />
      <Name text={name} />
    </div>
  );
}
