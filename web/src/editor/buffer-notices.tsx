// Notices about an open file that others have changed. Typed text is never replaced.

import type { JSX } from "preact";
import { mayChange } from "../files/roots.js";
import { texts } from "../texts.js";
import { addressOf, navigate } from "../ui/router.js";
import { type Buffer, carryTo } from "./buffers.js";
import { resolveConflict, saveBuffer } from "./conflict.js";

export function BufferNotices({ buffer }: { readonly buffer: Buffer }): JSX.Element {
  const notice = buffer.notice.value;
  return (
    <div role="status" class="buffer-notices">
      {notice === undefined ? null : <Shown buffer={buffer} />}
    </div>
  );
}

function Shown({ buffer }: { readonly buffer: Buffer }): JSX.Element | null {
  const notice = buffer.notice.value;
  if (notice === undefined) return null;
  const compare = (
    <button type="button" onClick={() => void resolveConflict(buffer)}>
      {texts.compare}
    </button>
  );
  const dismiss = (
    <button type="button" class="quiet" onClick={() => (buffer.notice.value = undefined)}>
      {texts.dismiss}
    </button>
  );
  if (notice.kind === "changed")
    return (
      <p class="banner">
        {texts.changedMeanwhile(notice.by)} {compare}
      </p>
    );
  if (notice.kind === "deleted")
    return (
      <p class="banner">
        {texts.deletedMeanwhile(notice.by)} <SaveAgain buffer={buffer} />
      </p>
    );
  if (notice.kind === "moved") {
    const { by, root, path } = notice;
    const follow = () => void carryTo(buffer, root, path).then(() => navigate(addressOf("files", root, path)));
    return (
      <p class="banner">
        {texts.movedMeanwhile(`${root}/${path}`, by)}{" "}
        <button type="button" onClick={follow}>
          {texts.goThere}
        </button>
      </p>
    );
  }
  if (notice.kind === "denied") return <p class="banner">{texts.rightWithdrawn}</p>;
  if (notice.kind === "reloaded")
    return (
      <p class="banner quiet">
        {texts.reloaded(notice.by)} {dismiss}
      </p>
    );
  return (
    <p class="banner quiet">
      {texts.draftRestored} {notice.isOlder ? texts.draftOlder : ""} {notice.isOlder ? compare : null} {dismiss}
    </p>
  );
}

/** The text of a deleted file may be put back. */
function SaveAgain({ buffer }: { readonly buffer: Buffer }): JSX.Element | null {
  if (!mayChange(buffer.root, buffer.path, "crud/write")) return null;
  return (
    <button type="button" disabled={buffer.isSaving.value} onClick={() => void saveBuffer(buffer)}>
      {texts.saveAgain}
    </button>
  );
}
