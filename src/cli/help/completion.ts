// Completion scripts for shells, made from the tables that command lines are read by. Roots and paths in them come from
// `venue-files __complete`.

import type { Commands } from "../commands/command.js";
import { FILE_COMMANDS, fileOptions, isFileCommand } from "../commands/files.js";
import { CLIENTS } from "../init/clients.js";

const toOptions = (names: readonly string[]): string[] => names.map((name) => `--${name}`);

function tables(commands: Commands): Completed {
  const second = new Map<string, string[]>();
  const options = new Map<string, readonly string[]>();
  for (const [name, { options: own }] of Object.entries(commands)) {
    const [one = "", two] = name.split(" ");
    if (two !== undefined) second.set(one, [...(second.get(one) ?? []), two]);
    options.set(name, toOptions([...Object.keys(own), "help"]));
  }
  second.set("completion", Object.keys(SCRIPTS));
  const onPaths = Object.keys(FILE_COMMANDS).filter(isFileCommand);
  for (const name of onPaths) options.set(name, toOptions([...Object.keys(fileOptions(name)), "help"]));
  const singles = Object.keys(commands).filter((name) => !name.includes(" "));
  const first = [...singles, ...second.keys(), ...onPaths, "help"].filter(isFirst);
  return { first, second, options, onPaths, clients: Object.keys(CLIENTS), fileValues };
}

const isFirst = (name: string, index: number, all: readonly string[]): boolean => all.indexOf(name) === index;

/** Options whose value is a file or folder of this machine. */
const FILE_VALUES = ["config", "root", "caps", "proof", "out", "token", "within"];
const fileValues = toOptions(FILE_VALUES);

/** The script that a shell evaluates: `eval "$(venue-files completion bash)"`. */
export function completionScript(shell: Shell, commands: Commands): string {
  return SCRIPTS[shell](tables(commands));
}

/** Commands with the same options share a line. */
function caseLines(
  { options }: Completed,
  line: (names: readonly string[], options: readonly string[]) => string,
): string {
  const groups = new Map<string, string[]>();
  for (const [name, list] of options) groups.set(list.join(" "), [...(groups.get(list.join(" ")) ?? []), name]);
  return [...groups].map(([list, names]) => line(names, list.split(" "))).join("\n");
}

/** The common body of bash and zsh, which differ in how they hand words over and take candidates back. */
const posixBody = (all: Completed): string => `  local one=\${words[1]} command=\${words[1]} options=
  case "$one" in
${[...all.second].map(([name, list]) => `    ${name}) command="$one \${words[2]}"; [ $at -eq 2 ] && candidates="${list.join(" ")}";;`).join("\n")}
  esac
  case "$command" in
${caseLines(all, (names, list) => `    ${names.map((name) => `"${name}"`).join("|")}) options="${list.join(" ")}";;`)}
  esac
  case "$before" in
    ${fileValues.join("|")}) files=1; return 0;;
    --for) [ "$one" = init ] && candidates="${all.clients.join(" ")}";;
    *) [ $at -eq 1 ] && candidates="${all.first.join(" ")}";;
  esac
  case "$current" in -*) candidates=$options;; esac
  if [ -z "$candidates" ]; then
    case "$one" in
      ${all.onPaths.join("|")}) asked=1 candidates=$(venue-files __complete "\${words[@]}" 2>/dev/null);;
    esac
    files=1
  fi`;

/** Names of files come from anybody: they are compared and quoted, never expanded (`compgen -W` would run what they hold). */
const bashScript = (
  all: Completed,
): string => `# Completion of venue-files for bash: eval "$(venue-files completion bash)"
_venue_files() {
  local line=\${COMP_LINE:0:COMP_POINT} words at current before files= candidates= asked= IFS=$' \\t\\n'
  # Backslashes before blanks are taken away, as the shell will.
  read -a words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  at=$((\${#words[@]} - 1)) current=\${words[at]} before=\${words[at-1]}
  _venue_files_words
  [[ -z $asked ]] && candidates=\${candidates// /$'\\n'}
  local cut= candidate
  # A colon ends a word for bash: what stands before it must not come again.
  [[ $current == *:* && $COMP_WORDBREAKS == *:* ]] && cut=\${current%"\${current##*:}"}
  COMPREPLY=()
  while IFS= read -r candidate; do
    [[ -n $candidate && $candidate == "$current"* ]] || continue
    case "$candidate" in */|*:) compopt -o nospace;; esac
    candidate=\${candidate#"$cut"}
    [[ -n $asked ]] && printf -v candidate %q "$candidate"
    COMPREPLY+=("$candidate")
  done <<<"$candidates"
  [[ \${#COMPREPLY[@]} -eq 0 && -n $files ]] && compopt -o default
}
_venue_files_words() {
${posixBody(all)}
}
complete -F _venue_files venue-files
`;

const zshScript = (all: Completed): string => `#compdef venue-files
# Completion of venue-files for zsh: eval "$(venue-files completion zsh)"
_venue_files_words() {
${posixBody(all)}
}
_venue_files_offer() {
  setopt localoptions ksharrays
  local at=$((CURRENT - 1)) candidates= asked=
  local current=\${words[at]} before=\${words[at-1]}
  _venue_files_words
  local -a list
  if [ -n "$asked" ]; then list=("\${(@f)candidates}"); else list=("\${(@s: :)candidates}"); fi
  if [ -n "$candidates" ]; then compadd -S '' -q -- "\${list[@]}"; fi
}
# Outside of ksharrays, with which functions of zsh do not work.
_venue_files() {
  local files=
  _venue_files_offer
  if [ -n "$files" ]; then _files; fi
}
compdef _venue_files venue-files
`;

const fishScript = (all: Completed): string => {
  const lines = [
    "# Completion of venue-files for fish: venue-files completion fish | source",
    `set -g __venue_files_paths ${all.onPaths.join(" ")}`,
    "complete -c venue-files -f",
  ];
  const say = (condition: string, rest: string) => lines.push(`complete -c venue-files -n '${condition}' ${rest}`);
  const after = (names: readonly string[], rest: string) => {
    const paths = all.onPaths.every((name) => names.includes(name)) ? ["$__venue_files_paths"] : [];
    const others = names.filter((name) => paths.length === 0 || !all.onPaths.includes(name));
    say(`__fish_seen_subcommand_from ${[...others, ...paths].join(" ")}`, rest);
  };
  say("__fish_use_subcommand", `-a '${all.first.join(" ")}'`);
  for (const [name, list] of all.second) after([name], `-a '${list.join(" ")}'`);
  const byOption = new Map<string, Set<string>>();
  for (const [name, list] of all.options) {
    const [first = ""] = name.split(" ");
    for (const option of list) byOption.set(option, (byOption.get(option) ?? new Set()).add(first));
  }
  for (const [option, names] of byOption) {
    const rest = fileValues.includes(option) ? " -r -F" : option === "--for" ? " -x" : "";
    after([...names], `-l ${option.slice(2)}${rest}`);
  }
  after(["init"], `-l for -x -a '${all.clients.join(" ")}'`);
  const candidates = "(venue-files __complete (commandline -opc) (commandline -ct) 2>/dev/null)";
  after(all.onPaths, `-F -a '${candidates}'`);
  return `${lines.join("\n")}\n`;
};

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript, powershell: powershellScript };

export type Shell = keyof typeof SCRIPTS;

export interface Completed {
  /** First words. */
  readonly first: readonly string[];
  /** Second words by first one. */
  readonly second: ReadonlyMap<string, readonly string[]>;
  /** Long options by command. */
  readonly options: ReadonlyMap<string, readonly string[]>;
  /** Commands on `ROOT:PATH`. */
  readonly onPaths: readonly string[];
  /** Clients of `init`. */
  readonly clients: readonly string[];
  /** Options whose value is a file or folder of this machine, which PowerShell completes where nothing is offered. */
  readonly fileValues: readonly string[];
}

const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(",");

/**
 * Names of files come from anybody: they are quoted where they are no plain words, and PowerShell has five characters that end such a
 * text. Before 7.3 it loses an empty argument of a program unless its quotes are written out.
 */
export function powershellScript({ first, second, options, onPaths, clients, fileValues }: Completed): string {
  const groups = new Map<string, string[]>();
  for (const [name, list] of options) groups.set(quoted(list), [...(groups.get(quoted(list)) ?? []), name]);
  return `# Completion of venue-files for PowerShell: venue-files completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName venue-files -ScriptBlock {
  param($current, $line, $cursor)
  $words = @($line.CommandElements | Where-Object { $_.Extent.StartOffset -lt $cursor } | ForEach-Object { "$_" })
  if ($current -eq '') { $words += '' }
  $at = $words.Count - 1
  $one = "$($words[1])"
  $command = $one
  $options = @()
  $candidates = @()
  switch ($one) {
${[...second].map(([name, list]) => `    '${name}' { $command = "$one $($words[2])"; if ($at -eq 2) { $candidates = ${quoted(list)} } }`).join("\n")}
  }
  switch ($command) {
${[...groups].map(([list, names]) => `    { $_ -in ${quoted(names)} } { $options = ${list} }`).join("\n")}
  }
  if ($words[$at - 1] -in ${quoted(fileValues)}) { return }
  if ($words[$at - 1] -eq '--for' -and $one -eq 'init') { $candidates = ${quoted(clients)} }
  elseif ($at -eq 1) { $candidates = ${quoted(first)} }
  if ($current -like '-*') { $candidates = $options }
  if ($candidates.Count -eq 0 -and $one -in ${quoted(onPaths)}) {
    if ($current -eq '' -and $PSVersionTable.PSVersion -lt [version]'7.3') { $words[$at] = '""' }
    $candidates = @(venue-files __complete @words 2>$null)
  }
  $candidates | Where-Object { $_ -and $_.StartsWith($current, 'Ordinal') } | ForEach-Object {
    $text = if ($_ -match '^[\\w./:-]+$') { $_ } else { "'" + ($_ -replace "['\\u2018-\\u201b]", '$0$0') + "'" }
    [System.Management.Automation.CompletionResult]::new($text, $_, 'ParameterValue', $_)
  }
}
`;
}
