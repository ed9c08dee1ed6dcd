// The skill `files`: how an agent of upstream works with the file operations that are offered here, in a page.

import type { JsonObject } from "../../core/ports/adapter.js";

const DESCRIPTION = "Read, search, write and move files in the roots and drives of this venue.";

/** Paragraphs, each shown where the operations that it names are offered. */
const PARTS: readonly (readonly [needs: readonly string[], text: string])[] = [
  [
    ["file/roots"],
    "# Files\n\nFiles lie in named roots. `file:roots` lists those you may use. A call names a root and a path in it " +
      '(`{ "root": "docs", "path": "a/b.txt" }`), or a reference in `path` alone: `file://docs/a/b.txt`. A path is plain text: nothing ' +
      "is decoded, and `..` does not leave a root.",
  ],
  [
    ["dlfs/list-drives"],
    "Drives are trees of your own, at `dlfs/<drive>/<path>`; `dlfs:list-drives` names them, and the first write makes one. The drive of " +
      "another is at `<their DID>/dlfs/<drive>/<path>`, where a UCAN of theirs lets you.",
  ],
  [
    ["file/tree", "file/list", "file/stat"],
    "## Look\n\n- `file:tree`: a folder and what is below it, as text. Begin with it.\n- `file:list`: one folder with sizes and times.\n" +
      "- `file:stat`: whether a path is there, its size, and its `etag`.",
  ],
  [["file/glob"], "- `file:glob`: paths by a pattern such as `**/*.md`."],
  [["file/grep"], "- `file:grep`: lines by a regular expression."],
  [
    ["file/read"],
    '- `file:read`: content. Text comes as text, `mode: "json"` parses it, `line` and `limit` give a part. Other bytes are base64, or ' +
      "`url` says where to fetch them.",
  ],
  [
    ["file/create", "file/write", "file/append", "file/mkdir"],
    "## Change\n\n- `file:create`: a new file, from `content.inline`, `content.ref` or nothing. One that is there is refused; `ref` in the " +
      "answer is its reference, for later calls.\n- `file:write`: the whole of a file. `contentRef` takes it from another file or an asset.\n" +
      "- `file:append`: adds to its end.\n- `file:mkdir`: a folder. Folders above it must be there, or pass `parents: true`.",
  ],
  [
    ["file/edit"],
    "- `file:edit`: replaces exact pieces of a text, which is cheaper and safer than to write all of it.",
  ],
  [
    ["file/move", "file/copy", "file/delete"],
    "- `file:move` and `file:copy`: `{ from, to }`, references or paths of one root. The target must not exist. A folder is copied " +
      "empty unless `recursive: true`.\n- `file:delete`: a file or an empty folder, others with `recursive: true`.",
  ],
  [
    ["file/write"],
    "## Be safe\n\nPass the `etag` that you saw as `ifMatch`: if somebody else changed the file, the answer is `CONFLICT`; read it again. " +
      "With an `operationId` of your own a repeated call has no second effect. An error has a code and says what to do; " +
      "`CAPABILITY_DENIED` is final, and names the right that is missing.",
  ],
  [["file/history", "file/undo"], "`file:history` shows who changed what, and `file:undo` takes changes back."],
];

/** @param offered catalogue paths @returns `undefined`: no file operations are offered */
export function fileSkill(offered: readonly string[]): JsonObject | undefined {
  const paths = new Set(offered);
  const isOffered = (name: string): boolean => paths.has(`v/ops/${name}`);
  const shown = PARTS.filter(([needs]) => needs.every(isOffered));
  if (!isOffered("file/roots")) return undefined;
  const inline = `${shown.map(([, text]) => text).join("\n\n")}\n`;
  const tools = [...new Set(shown.flatMap(([needs]) => needs))].map((name) => `v/ops/${name}`);
  return {
    ...{ name: "files", description: DESCRIPTION },
    content: { contentType: "text/markdown", inline },
    skill: { tools },
  };
}
