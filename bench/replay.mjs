// Replays commits of a repository as patches: `node bench/replay.mjs <git directory> [commits] [skip]` after a build.
//
// Each commit is applied to the files before it, as a unified diff, and in the apply_patch format with and without the
// function headers of git; the files afterwards are compared with those of the commit, to the byte.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const [dir, count = "300", skip = "0", library = new URL("../dist/index.js", import.meta.url).href] =
  process.argv.slice(2);
if (dir === undefined) throw new Error("Usage: node bench/replay.mjs <git directory> [commits] [skip]");
const { createFileAdapter } = await import(library);

const git = (args, input) => execFileSync("git", ["--git-dir", dir, ...args], { input, maxBuffer: 2 ** 30 });
const lines = (bytes) => bytes.toString().split("\n").filter(Boolean);

/** The contents of blobs, by one process. */
function blobs(hashes) {
  const all = git(["cat-file", "--batch"], `${hashes.join("\n")}\n`);
  const contents = [];
  for (let at = 0; at < all.length; ) {
    const end = all.indexOf(10, at);
    const size = Number(all.toString("latin1", at, end).split(" ")[2]);
    contents.push(all.subarray(end + 1, end + 1 + size));
    at = end + size + 2;
  }
  return contents;
}

/** The regular files that a commit changes, before and after. `undefined`: others too, such as links. */
function filesOf(commit) {
  const raw = git(["diff-tree", "-r", "--no-commit-id", "--no-renames", "-z", `${commit}~`, commit]).toString();
  const parts = raw.split("\0");
  const changes = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [oldMode, newMode, before, after] = parts[at].slice(1).split(" ");
    if ([oldMode, newMode].some((mode) => !/^(100|000000)/.test(mode))) return undefined;
    changes.push({ path: parts[at + 1], before, after });
  }
  return changes;
}

const isNone = (hash) => /^0+$/.test(hash);

/** A unified diff of git in the apply_patch format. `undefined`: that cannot say it. */
function envelope(diff, { headers }) {
  if (/^GIT binary|^Binary files|^copy from/m.test(diff)) return undefined;
  const plain = diff
    .replace(/^( .*)\n\\ No newline.*$/gm, "$1")
    .replace(/^(-.*)\n\\ No newline.*((?:\n\+.*)+)\n\\ No newline.*$/gm, "$1$2");
  if (/^\\ No newline/m.test(plain)) return undefined;
  const out = ["*** Begin Patch"];
  for (const file of plain.split(/^(?=diff --git )/m).filter(Boolean)) {
    const [head, ...hunks] = file.replace(/\n$/, "").split(/\n(?=@@ )/);
    const name = (mark) => new RegExp(`^${mark}(.*?)\\t?$`, "m").exec(head)?.[1];
    const [from, to] = [name("rename from "), name("rename to ")];
    const old = from ?? name("--- a/");
    const now = to ?? name("\\+\\+\\+ b/");
    if (/^"|^rename (from|to) "|^[-+]{3} "/m.test(head)) return undefined;
    if (/^new file/m.test(head)) {
      if (now === undefined) return undefined;
      out.push(`*** Add File: ${now}`, ...hunks.flatMap((hunk) => hunk.split("\n").slice(1)));
    } else if (/^deleted file/m.test(head)) {
      if (old === undefined) return undefined;
      out.push(`*** Delete File: ${old}`);
    } else if (old === undefined) return undefined;
    else {
      out.push(`*** Update File: ${old}`, ...(to === undefined ? [] : [`*** Move to: ${to}`]));
      for (const hunk of hunks) {
        const [first, ...body] = hunk.split("\n");
        const title = /^@@ [^@]* @@ ?(.*)$/.exec(first)?.[1] ?? "";
        out.push(headers && title !== "" ? `@@ ${title}` : "@@", ...body);
      }
    }
  }
  return `${[...out, "*** End Patch"].join("\n")}\n`;
}

const FORMS = {
  unified: (diff) => diff,
  "envelope with headers": (diff) => envelope(diff, { headers: true }),
  "envelope without": (diff) => envelope(diff, { headers: false }),
};

const home = mkdtempSync(join(tmpdir(), "venue-files-replay-"));
const adapter = await createFileAdapter({ roots: { r: { path: home } } });
const verdicts = Object.fromEntries(
  Object.keys(FORMS).map((form) => [form, { equal: 0, wrong: [], refused: [], unsaid: 0 }]),
);
let replayed = 0;

async function replay(commit, changes, patch) {
  const [before, after] = ["before", "after"].map((side) => changes.map((one) => one[side]));
  const contents = blobs([...before, ...after].filter((hash) => !isNone(hash)));
  const take = (hash) => (isNone(hash) ? undefined : contents.shift());
  const olds = before.map(take);
  const news = after.map(take);
  const folder = join(home, commit);
  mkdirSync(folder);
  for (const [index, { path }] of changes.entries()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    if (olds[index] !== undefined) writeFileSync(join(folder, path), olds[index]);
    else if (dirname(path) === ".") continue;
  }
  try {
    await adapter.invoke("file:patch", { root: "r", path: commit, patch });
  } catch (error) {
    return `${error.code}: ${error.message.slice(0, 160)}`;
  }
  const isEqual = changes.every(({ path }, index) => {
    const place = join(folder, path);
    return news[index] === undefined
      ? !existsSync(place)
      : existsSync(place) && readFileSync(place).equals(news[index]);
  });
  return isEqual ? "equal" : "wrong";
}

for (const commit of lines(
  git(["log", "--no-merges", "--format=%H", "-n", String(Number(count) * 3), `--skip=${skip}`]),
)) {
  if (replayed === Number(count)) break;
  let changes;
  try {
    changes = filesOf(commit);
  } catch {
    continue; // The first commit, and those whose parent is not here.
  }
  if (changes === undefined || changes.length === 0) continue;
  const diff = git(["diff", "-M", `${commit}~`, commit]).toString("utf8");
  replayed++;
  for (const [form, make] of Object.entries(FORMS)) {
    const patch = make(diff);
    const verdict = patch === undefined ? "unsaid" : await replay(commit, changes, patch);
    rmSync(join(home, commit), { recursive: true, force: true });
    const found = verdicts[form];
    if (verdict === "equal" || verdict === "unsaid") found[verdict]++;
    else if (verdict === "wrong") found.wrong.push(commit);
    else found.refused.push(`${commit.slice(0, 10)} ${verdict}`);
  }
}

await adapter.close();
rmSync(home, { recursive: true, force: true });
console.log(`${replayed} commits of ${dir}`);
for (const [form, { equal, wrong, refused, unsaid }] of Object.entries(verdicts)) {
  const said = replayed - unsaid;
  const share = said === 0 ? 100 : (100 * equal) / said;
  console.log(
    `${form}: ${equal} of ${said} equal (${share.toFixed(1)} %), ${refused.length} refused, ${wrong.length} wrong`,
  );
  for (const one of [...wrong.map((commit) => `WRONG ${commit}`), ...refused]) console.log(`  ${one}`);
}
