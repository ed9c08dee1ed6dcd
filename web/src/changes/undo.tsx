// Undo: first what will happen, then one atomic call. Files changed since are left out, never overwritten.

import { change } from "../api/call.js";
import { type ApiError, asApiError } from "../api/errors.js";
import { personOf } from "../api/labels.js";
import type { Blocked, HistoryEntry, UndoResult } from "../api/operations.js";
import { texts } from "../texts.js";
import { Dialog, showDialog } from "../ui/dialog.js";
import { Name } from "../ui/name.js";
import { notify, notifyFailure } from "../ui/notices.js";

interface Plan {
  readonly root: string;
  readonly ids: readonly string[];
  readonly files: UndoResult["files"];
  readonly blocked: readonly Blocked[];
}

/** Undoes some changes, each root by itself. @param entries newest first */
export async function undo(entries: readonly HistoryEntry[]): Promise<void> {
  const byRoot = new Map<string, string[]>();
  for (const { root, id, undoneBy } of entries)
    if (undoneBy === undefined) byRoot.set(root, [...(byRoot.get(root) ?? []), id]);
  try {
    const plans = await Promise.all([...byRoot].map(([root, ids]) => planOf(root, ids)));
    if (!(await confirm(plans))) return;
    for (const { root, ids } of plans) if (ids.length > 0) await undoOne(root, ids);
  } catch (error) {
    notifyFailure(error);
  }
}

const blockedIn = (data: unknown): readonly Blocked[] => {
  const { blocked } = (data ?? {}) as { readonly blocked?: readonly Blocked[] };
  return blocked ?? [];
};

/** Effects of an undo: asks again without blocked entries. @throws ApiError */
async function planOf(root: string, all: readonly string[]): Promise<Plan> {
  let ids = all;
  const blocked: Blocked[] = [];
  while (ids.length > 0) {
    const { files, stopped } = await dryRun(root, ids);
    if (stopped.length === 0) return { root, ids, files, blocked };
    blocked.push(...stopped);
    const gone = new Set(stopped.map(({ id }) => id));
    const rest = ids.filter((id) => !gone.has(id));
    if (rest.length === ids.length) break;
    ids = rest;
  }
  return { root, ids: [], files: [], blocked };
}

async function dryRun(
  root: string,
  ids: readonly string[],
): Promise<{ files: UndoResult["files"]; stopped: readonly Blocked[] }> {
  try {
    const result = await change("file:undo", { root, ids, dryRun: true });
    return { files: result.files, stopped: blockedIn(result) };
  } catch (error) {
    const failure: ApiError = asApiError(error);
    const stopped = blockedIn(failure.data);
    if (failure.code !== "CONFLICT" || stopped.length === 0) throw error;
    return { files: [], stopped };
  }
}

async function undoOne(root: string, ids: readonly string[]): Promise<void> {
  const { id, group, files } = await change("file:undo", { root, ids });
  const redo = id ?? group;
  const again = () =>
    void change("file:undo", { root, ...(id === undefined ? { group } : { id }) }).then(
      () => notify(texts.undone),
      notifyFailure,
    );
  notify(texts.undoneCount(files.length), redo === undefined ? undefined : { label: texts.redo, run: again });
}

const MAX_NAMED = 12;

async function confirm(plans: readonly Plan[]): Promise<boolean> {
  const blocked = plans.flatMap(({ root, blocked: some }) => some.map((one) => ({ ...one, root })));
  const files = plans.flatMap((plan) => plan.files);
  // Files are counted on both sides, however many changes there were of each.
  const kept = [...new Map(blocked.map((one) => [`${one.root}/${one.path}`, one])).values()];
  const isNothing = plans.every(({ ids }) => ids.length === 0);
  const isSure = await showDialog<boolean>((close) => (
    <Dialog
      title={texts.undoTitle}
      onClose={() => close()}
      onSubmit={() => close(true)}
      footer={
        <>
          <button type="button" onClick={() => close()}>
            {texts.cancel}
          </button>
          <button type="submit" class="primary" data-autofocus disabled={isNothing}>
            {blocked.length === 0 ? texts.undo : texts.undoRest}
          </button>
        </>
      }
    >
      <p>{isNothing ? texts.undoNothing : texts.undoWill(files.length)}</p>
      <ul class="names">
        {files.slice(0, MAX_NAMED).map(({ path }) => (
          <li key={path}>
            <Name text={path} />
          </li>
        ))}
        {files.length > MAX_NAMED ? <li>…</li> : null}
      </ul>
      {blocked.length === 0 ? null : (
        <>
          <p class="warning">{texts.undoBlocked(kept.length)}</p>
          <ul class="names">
            {kept.slice(0, MAX_NAMED).map(({ id, path, by = "" }) => (
              <li key={id}>{by === "" ? <Name text={path} /> : texts.blockedBy(path, personOf(by))}</li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  ));
  return isSure === true && !isNothing;
}
