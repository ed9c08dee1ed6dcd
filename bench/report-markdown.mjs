import { readFileSync } from "node:fs";
import {
  extrasLines,
  machineLines,
  OFFICIAL,
  RAW,
  rowTable,
  standing,
  verdictTable,
  wireTable,
} from "./report-parts.mjs";

/** The body of docs/performance.md: the words that stand in bench/text/, and the numbers of this run between them. */
export function markdownReport(report) {
  const sections = [
    text("introduction").replace("{{standing}}", () => standing(report)),
    text("pages"),
    "## Targets",
    text("targets"),
    table(verdictTable(report)),
    "## Latency",
    text("latency"),
    table(rowTable(report, OFFICIAL)),
    "The same through the bare client:",
    table(rowTable(report, RAW)),
    "## Bytes on the wire",
    text("wire"),
    table(wireTable(report)),
    "## Start, memory, tokens, floor",
    list(extrasLines(report)),
    "## Ten jobs of a coding agent",
    text("jobs"),
    "## Remarks",
    text("remarks"),
    "## Machine and command",
    list(machineLines(report)),
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

function text(name) {
  return readFileSync(new URL(`text/${name}.md`, import.meta.url), "utf8").trim();
}

function list(lines) {
  return lines.map((line) => `- ${line}`).join("\n");
}

function table([titles, ...rows]) {
  if (titles === undefined) return "";
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const rule = titles.map((_, column) => (column === 0 ? "---" : "---:"));
  return [line(titles), line(rule), ...rows.map(line)].join("\n");
}
