// Signing out discards drafts, so it asks first.

import { texts } from "../texts.js";
import { Dialog, showDialog } from "../ui/dialog.js";
import { discardDrafts, unsavedCount } from "./buffers.js";

/** @returns whether to go on */
export async function confirmSignOut(): Promise<boolean> {
  const many = unsavedCount();
  if (many > 0) {
    const isSure = await showDialog<boolean>((close) => (
      <Dialog
        title={texts.signOut}
        onClose={() => close()}
        footer={
          <>
            <button type="button" onClick={() => close()} data-autofocus>
              {texts.cancel}
            </button>
            <button type="button" class="primary danger" onClick={() => close(true)}>
              {texts.signOutAnyway}
            </button>
          </>
        }
      >
        <p>{texts.draftsAtSignOut(many)}</p>
      </Dialog>
    ));
    if (isSure !== true) return false;
  }
  await discardDrafts();
  return true;
}
