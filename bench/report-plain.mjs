import { extrasLines, machineLines, OFFICIAL, RAW, rowTable, verdictTable, wireTable } from "./report-parts.mjs";

/** The tables for a terminal. */
export function plainReport(report) {
  const sections = [
    machineLines(report).join("\n"),
    heading("Through the official client; library and node:fs in process", rowTable(report, OFFICIAL)),
    heading("Through a bare client", rowTable(report, RAW)),
    heading("Bytes on the wire", wireTable(report)),
    heading("Targets", verdictTable(report)),
    extrasLines(report).join("\n"),
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

function heading(title, table) {
  return table.length <= 1 ? "" : `${title}\n${align(table)}`;
}

function align(table) {
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  return table
    .map((row) =>
      row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join("  "),
    )
    .join("\n");
}
