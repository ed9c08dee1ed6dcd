import { parseArgs } from "node:util";

const HELP = `Usage: npm run bench -- [options]

  --quick          fewer samples, under a minute; numbers for orientation only
  --only TEXT      only rows whose id or title contains TEXT; may be given several times
  --check          exit code 1 unless every target is met
  --markdown       print the body of docs/performance.md instead of plain tables
  --json FILE      also write every sample to FILE
  --list           print the ids of all rows
  --help           this text
`;

const VARIABLES = `Variables:
  VENUE_FILES_BENCH_RUST, VENUE_FILES_BENCH_GO
                   command lines of other MCP servers for files, with {root} for the folder they serve:
                   "rust-mcp-filesystem --allow-write {root}", "mcp-filesystem-server {root}"
`;

/** @returns the options of the bench; ends the process for `--help` and for mistakes */
export function parseOptions(argv) {
  try {
    const { values } = parseArgs({
      args: argv,
      options: {
        quick: { type: "boolean", default: false },
        only: { type: "string", multiple: true, default: [] },
        check: { type: "boolean", default: false },
        markdown: { type: "boolean", default: false },
        json: { type: "string" },
        list: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) {
      process.stdout.write(`${HELP}\n${VARIABLES}`);
      process.exit(0);
    }
    return { ...values, command: ["npm run bench", ...(argv.length > 0 ? ["--", ...argv] : [])].join(" ") };
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${HELP}`);
    return process.exit(64);
  }
}

/** Whether a row was asked for. */
export const wanted = (options, { id, title }) =>
  options.only.length === 0 || options.only.some((text) => id.includes(text) || title.includes(text));
