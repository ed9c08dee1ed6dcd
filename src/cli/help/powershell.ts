// The completion script for PowerShell, on Windows and elsewhere.

/** What is completed, for commands of one or two words. */
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
