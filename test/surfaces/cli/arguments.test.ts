import { describe, expect, test } from "@jest/globals";
import { COMMANDS, type Command, OPTIONS, parseCommandLine, UsageError } from "../../../src/surfaces/cli/arguments.js";
import { helpText } from "../../../src/surfaces/cli/help.js";

const none = { file: undefined, roots: [] };

describe("a command line is understood:", () => {
  test.each<[string, Command]>([
    ["serve", { name: "serve", source: none, port: undefined }],
    ["serve --port 0", { name: "serve", source: none, port: 0 }],
    ["serve --port=65535", { name: "serve", source: none, port: 65_535 }],
    ["--port 80 serve", { name: "serve", source: none, port: 80 }],
    ["serve --config a.json5", { name: "serve", source: { file: "a.json5", roots: [] }, port: undefined }],
    [
      "serve --root a=. --root b=x:ro",
      { name: "serve", source: { file: undefined, roots: ["a=.", "b=x:ro"] }, port: undefined },
    ],
    ["serve --config=-odd", { name: "serve", source: { file: "-odd", roots: [] }, port: undefined }],
    ["mcp", { name: "mcp", source: none, capsFile: undefined }],
    ["mcp --caps c --root a=.", { name: "mcp", source: { file: undefined, roots: ["a=."] }, capsFile: "c" }],
    ["call file:roots", { name: "call", source: none, capsFile: undefined, operation: "file:roots", input: "{}" }],
    [
      'call file:stat {"root":"a"} --caps c',
      { name: "call", source: none, capsFile: "c", operation: "file:stat", input: '{"root":"a"}' },
    ],
    ["--version", { name: "version" }],
    ["-V", { name: "version" }],
    ["serve --version", { name: "version" }],
  ])("%s", (line, command) => {
    expect(parseCommandLine(line.split(" "))).toEqual(command);
  });
});

describe("help is given for", () => {
  test.each<[string, string | undefined]>([
    ["--help", undefined],
    ["-h", undefined],
    ["help", undefined],
    ["help serve", "serve"],
    ["--help serve", "serve"],
    ["serve --help", "serve"],
    ["serve -h", "serve"],
    ["mcp --root a=. --help", "mcp"],
    ["mcp --help --root a=.", "mcp"],
    ["call --help", "call"],
    ["call file:read --help", "call"],
    ["call file:read {} -h", "call"],
    ["serve --nonsense --help", "serve"],
    ["serve --config --help", "serve"],
    ["serve --port x --help", "serve"],
    ["serve --help=1", "serve"],
    ["--version --help", undefined],
  ])("%s", (line, topic) => {
    expect(parseCommandLine(line.split(" "))).toEqual({ name: "help", topic });
  });
});

describe("a command line is refused:", () => {
  test.each<[string, string]>([
    ["", "A command is missing. Try: venue-files serve"],
    ["--root a=.", "A command is missing. Try: venue-files serve"],
    ["srve", "Unknown command 'srve' - did you mean 'serve'?"],
    ["hepl", "Unknown command 'hepl' - did you mean 'help'?"],
    ["frobnicate", "Unknown command 'frobnicate'. Commands: serve, check, mcp, call, help"],
    ["help frobnicate", "Unknown command 'frobnicate'. Commands: serve, check, mcp, call, help"],
    ["frobnicate --help", "Unknown command 'frobnicate'. Commands: serve, check, mcp, call, help"],
    ["help serve mcp", "'help' takes one command, not also 'mcp'"],
    ["toString", "Unknown command 'toString'. Commands: serve, check, mcp, call, help"],
    ["serve --prt 1", "Unknown option '--prt' - did you mean '--port'?"],
    ["serve --frobnicate", "Unknown option '--frobnicate'"],
    ["serve --frobnicate=1", "Unknown option '--frobnicate'"],
    ["serve --toString", "Unknown option '--toString'"],
    ["serve -p 1", "Unknown option '-p'"],
    ["mcp --version=1", "--version takes no value"],
    ["serve --caps c", "'serve' has no option --caps"],
    ["mcp --port 1", "'mcp' has no option --port"],
    ["call file:roots --port 1", "'call' has no option --port"],
    ["serve x", "'serve' takes no argument 'x'"],
    ["mcp x", "'mcp' takes no argument 'x'"],
    ["serve --port", "--port needs a value, for example --port 8080"],
    ["serve --port=", "--port needs a value, for example --port 8080"],
    ["serve --port -1", "--port needs a value before '-1', for example --port 8080"],
    ["serve --config --port 1", "--config needs a value before '--port', for example --config venue.json5"],
    ["mcp --caps", "--caps needs a value, for example --caps caps.json5"],
    ["mcp --root", "--root needs a value, for example --root docs=./docs"],
    ["serve --port abc", "--port must be between 0 and 65535, not 'abc'"],
    ["serve --port 65536", "--port must be between 0 and 65535, not '65536'"],
    ["serve --port 1.5", "--port must be between 0 and 65535, not '1.5'"],
    ["serve --port 0x50", "--port must be between 0 and 65535, not '0x50'"],
    ["serve --port=-1", "--port must be between 0 and 65535, not '-1'"],
    ["serve --port 1 --port 2", "--port is given more than once"],
    ["mcp --config a --config b", "--config is given more than once"],
    ["call --caps a file:roots --caps b", "--caps is given more than once"],
    ["call", "'call' needs an operation, for example: venue-files call file:roots"],
    ["call file:stat {} {}", "'call' takes an operation and one JSON object. Quote the JSON"],
    ['call file:stat {"root": "a"}', "'call' takes an operation and one JSON object. Quote the JSON"],
  ])("%s", (line, message) => {
    const words = line.split(" ").filter((word) => word !== "");
    expect(() => parseCommandLine(words)).toThrow(new UsageError(message));
  });

  test("in words without control characters of its author", () => {
    expect(() => parseCommandLine(["\u001b[2J"])).toThrow(/^Unknown command '\\u\{1b\}\[2J'/);
  });
});

describe("the help text", () => {
  const general = helpText();

  test.each(Object.keys(COMMANDS))("in general names the command %s", (command) => {
    expect(general).toContain(`venue-files ${command}`);
  });

  test.each(Object.keys(OPTIONS))("in general names the option --%s", (option) => {
    expect(general).toContain(`--${option}`);
  });

  test.each(Object.entries(COMMANDS))("of %s names its options and no others", (command, options) => {
    const text = helpText(command as keyof typeof COMMANDS);
    expect(text).toContain(`venue-files ${command}`);
    const named = new Set([...text.matchAll(/--([a-z]+)/g)].map(([, name]) => name));
    // One more may be spoken of: that of the example.
    expect([...named].sort()).toEqual([...options].sort());
  });

  test("fits a terminal", () => {
    const texts = [general, ...Object.keys(COMMANDS).map((name) => helpText(name as keyof typeof COMMANDS))];
    for (const line of texts.join("\n").split("\n")) expect(line.length).toBeLessThanOrEqual(120);
  });
});
