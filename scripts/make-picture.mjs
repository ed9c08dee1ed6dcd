// Runs a few commands in a terminal and writes what they show to docs/picture.svg. Needs a build and `script` of util-linux.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const TARGET = new URL("../docs/picture.svg", import.meta.url);
const COLUMNS = 96;
const [LINE, CHAR, FONT, MARGIN, BAR] = [19, 8.03, 13.4, 18, 34];
const COLOURS = {
  31: "#ff7b72",
  32: "#7ee787",
  33: "#e3b341",
  34: "#79c0ff",
  35: "#d2a8ff",
  36: "#76e3ea",
  90: "#8b949e",
};

const PROJECT = {
  "README.md": "# Shop\n\nTo run the shop: npm start.\n",
  "src/cart.ts": "// TODO: teh total is wrong with discounts\nexport const total = (items: Item[]) => sum(items);\n",
  "src/index.ts": 'import { total } from "./cart.js";\n',
  "src/pay/card.ts": "// TODO: retry once\nexport async function pay() {}\n",
  "docs/guide.md": "# Guide\n",
  ".env": "SECRET=1\n",
};
const RULES = `[{ with: "file://shop/", can: "crud/read" }, { with: "file://shop/src/", can: "crud/write" }]`;
const OPTIONS = "--root shop=. --deny @secrets --caps ../agent.json5";
const COMMANDS = [
  ["# An agent that may read the project, and change src/ only", ""],
  ["venue-files tree shop:", `tree shop: ${OPTIONS}`],
  ["venue-files grep -n TODO shop:", `grep -n TODO shop: ${OPTIONS}`],
  ["venue-files edit shop:src/cart.ts --old teh --new the", `edit shop:src/cart.ts --old teh --new the ${OPTIONS}`],
  ["venue-files rm shop:README.md", `rm shop:README.md ${OPTIONS}`],
];

function record() {
  const home = mkdtempSync(join(tmpdir(), "picture-"));
  try {
    for (const [path, text] of Object.entries(PROJECT)) {
      mkdirSync(dirname(join(home, "shop", path)), { recursive: true });
      writeFileSync(join(home, "shop", path), text);
    }
    writeFileSync(join(home, "agent.json5"), RULES);
    const env = { PATH: process.env.PATH, HOME: home, TERM: "xterm-256color", XDG_STATE_HOME: join(home, "state") };
    return COMMANDS.map(([shown, args]) => {
      if (args === "") return { shown, output: "" };
      const command = `stty cols ${COLUMNS}; "${process.execPath}" "${CLI}" ${args}`;
      const { stdout, error } = spawnSync("script", ["-qec", command, "/dev/null"], {
        cwd: join(home, "shop"),
        env,
        encoding: "utf8",
      });
      if (error !== undefined) throw error;
      return { shown, output: stdout.replaceAll("\r", "") };
    });
  } finally {
    rmSync(home, { recursive: true });
  }
}

/** Pieces of a line with the same look: `[text, colour, isBold, isDim]`. */
function* piecesOf(line) {
  let [colour, isBold, isDim] = ["#e6edf3", false, false];
  for (const part of line.split(/(\u001b\[[\d;]*m)/)) {
    const codes = /^\u001b\[([\d;]*)m$/.exec(part)?.[1];
    if (codes === undefined) {
      if (part !== "") yield [part, colour, isBold, isDim];
      continue;
    }
    for (const code of codes.split(";").map(Number)) {
      if (code === 0) [colour, isBold, isDim] = ["#e6edf3", false, false];
      else if (code === 1) isBold = true;
      else if (code === 2) isDim = true;
      else if (code === 22) [isBold, isDim] = [false, false];
      else if (code === 39) colour = "#e6edf3";
      else colour = COLOURS[code] ?? COLOURS[code - 60] ?? colour;
    }
  }
}

/** Breaks a line without escapes at words, as a terminal of this width would show it. */
function* wrapped(line) {
  let rest = line.replaceAll("\t", "    ");
  while (!rest.includes("\u001b") && rest.length > COLUMNS) {
    const at = rest.lastIndexOf(" ", COLUMNS);
    yield rest.slice(0, at);
    rest = rest.slice(at + 1);
  }
  yield rest;
}

const escaped = (text) => text.replace(/[&<>]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[char]);

function draw(recorded) {
  const lines = recorded.flatMap(({ shown, output }) => {
    const first = shown.startsWith("#")
      ? `\u001b[90m${shown}\u001b[0m`
      : `\u001b[32m$\u001b[0m \u001b[1m${shown}\u001b[0m`;
    const shownLines = output.trimEnd() === "" ? [] : output.trimEnd().split("\n");
    return [first, ...shownLines.flatMap((line) => [...wrapped(line)]), ""];
  });
  lines.pop();
  const texts = lines.map((line, row) => {
    let column = 0;
    const spans = [...piecesOf(line)].map(([text, colour, isBold, isDim]) => {
      const x = MARGIN + column * CHAR;
      column += text.length;
      const look = `fill="${colour}"${isBold ? ' font-weight="bold"' : ""}${isDim ? ' opacity="0.6"' : ""}`;
      return `<tspan x="${x.toFixed(1)}" textLength="${(text.length * CHAR).toFixed(1)}" ${look}>${escaped(text)}</tspan>`;
    });
    return `<text y="${BAR + (row + 1) * LINE}" xml:space="preserve">${spans.join("")}</text>`;
  });
  const [width, height] = [Math.ceil(2 * MARGIN + COLUMNS * CHAR), BAR + (lines.length + 1) * LINE];
  const dots = ["#ff5f57", "#febc2e", "#28c840"].map(
    (fill, at) => `<circle cx="${20 + at * 18}" cy="18" r="6" fill="${fill}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    "<title>venue-files in a terminal: a tree, a search, an edit with its difference, and a refused delete</title>",
    `<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>`,
    ...dots,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT}">`,
    ...texts,
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

writeFileSync(TARGET, draw(record()));
