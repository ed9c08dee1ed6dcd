// New files and folders, and new names. An existing entry is never replaced.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { change } from "../../api/call.js";
import { asApiError } from "../../api/errors.js";
import { texts } from "../../texts.js";
import { Dialog, showDialog } from "../../ui/dialog.js";
import { inSentences, joinPath, nameOf, parentOf, plain } from "../../ui/format.js";
import { notify } from "../../ui/notices.js";
import { addressOf, navigate } from "../../ui/router.js";
import { refreshFolder } from "./delete.js";

export const isName = (name: string): boolean => name !== "" && name !== "." && name !== ".." && !/[/\\\0]/.test(name);

interface NameDialogProps {
  readonly title: string;
  readonly label: string;
  readonly button: string;
  readonly name: string;
  /** @throws ApiError, shown in the dialog, which stays open */
  readonly apply: (name: string) => Promise<void>;
  readonly close: () => void;
}

function NameDialog({ title, label, button, name: first, apply, close }: NameDialogProps): JSX.Element {
  const [name, setName] = useState(first);
  const [problem, setProblem] = useState("");
  const submit = async () => {
    if (!isName(name)) {
      setProblem(texts.nameRules);
      return;
    }
    try {
      await apply(name);
      close();
    } catch (error) {
      const { code, message } = asApiError(error);
      setProblem(inSentences(plain(message), texts.nextSteps[code] ?? ""));
    }
  };
  const select = (input: HTMLInputElement | null) => {
    if (input !== null && document.activeElement !== input && name === first)
      input.setSelectionRange(0, first.lastIndexOf(".") > 0 ? first.lastIndexOf(".") : first.length);
  };
  return (
    <Dialog
      title={title}
      onClose={close}
      onSubmit={() => void submit()}
      footer={
        <>
          <button type="button" onClick={close}>
            {texts.cancel}
          </button>
          <button type="submit" class="primary">
            {button}
          </button>
        </>
      }
    >
      <label>
        {label}
        <input
          data-autofocus
          ref={select}
          value={name}
          dir="auto"
          spellcheck={false}
          autocomplete="off"
          aria-invalid={problem !== ""}
          aria-describedby="name-problem"
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <p id="name-problem" role="alert" class="problem">
        {problem}
      </p>
    </Dialog>
  );
}

type NameOptions = Omit<NameDialogProps, "close">;
const askName = (options: NameOptions): Promise<void> =>
  showDialog<void>((close) => <NameDialog {...options} close={() => close()} />).then(() => {});

export const newFolder = (root: string, folder: string): Promise<void> =>
  askName({
    title: texts.newFolder,
    label: texts.newFolderName,
    button: texts.create,
    name: "",
    apply: async (name) => {
      await change("file:mkdir", { root, path: joinPath(folder, name), ifNoneMatch: "*" });
      refreshFolder(root, folder);
    },
  });

export const newFile = (root: string, folder: string): Promise<void> =>
  askName({
    title: texts.newFile,
    label: texts.newFileName,
    button: texts.create,
    name: "",
    apply: async (name) => {
      const path = joinPath(folder, name);
      await change("file:write", { root, path, content: "", ifNoneMatch: "*" });
      refreshFolder(root, folder);
      navigate(addressOf("files", root, path));
    },
  });

export const rename = (root: string, path: string): Promise<void> =>
  askName({
    title: texts.rename,
    label: texts.renameTo(nameOf(path)),
    button: texts.rename,
    name: nameOf(path),
    apply: async (name) => {
      if (name === nameOf(path)) return;
      await change("file:move", { root, path, to: joinPath(parentOf(path), name), ifNoneMatchTo: "*" });
      notify(texts.renamed(name));
      refreshFolder(root, parentOf(path));
    },
  });
