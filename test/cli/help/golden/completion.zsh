#compdef venue-files
# Completion of venue-files for zsh: eval "$(venue-files completion zsh)"
_venue_files_words() {
  local one=${words[1]} command=${words[1]} options=
  case "$one" in
    key) command="$one ${words[2]}"; [ $at -eq 2 ] && candidates="new show";;
    token) command="$one ${words[2]}"; [ $at -eq 2 ] && candidates="issue ls revoke inspect identity";;
    lock) command="$one ${words[2]}"; [ $at -eq 2 ] && candidates="ls drop";;
    audit) command="$one ${words[2]}"; [ $at -eq 2 ] && candidates="verify";;
    backup) command="$one ${words[2]}"; [ $at -eq 2 ] && candidates="create restore";;
    drive) command="$one ${words[2]}"; [ $at -eq 2 ] && candidates="ls export import merge verify gc upgrade export-key import-key";;
    cluster) command="$one ${words[2]}"; [ $at -eq 2 ] && candidates="init status";;
    completion) command="$one ${words[2]}"; [ $at -eq 2 ] && candidates="bash zsh fish powershell";;
  esac
  case "$command" in
    "init") options="--root --for --name --port --yes --print --force --help";;
    "serve"|"check") options="--config --root --read-only --deny --protect --no-protect --host --port --help";;
    "mcp") options="--config --root --read-only --deny --protect --no-protect --client-roots --within --tools --profile --caps --key --proof --help";;
    "doctor"|"completion") options="--help";;
    "health") options="--config --host --port --url --help";;
    "call") options="--config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --help";;
    "acp") options="--prompt --yes --deny-writes --snapshot --resume --list --protocol --config --root --read-only --deny --protect --no-protect --caps --key --proof --help";;
    "key new"|"key show"|"cluster init") options="--config --help";;
    "grant") options="--to --with --can --for --key --config --proof --profile --out --help";;
    "link"|"token issue") options="--with --can --caps --for --label --config --url --token --json --help";;
    "token ls"|"approvals"|"lock ls") options="--config --url --token --json --help";;
    "token revoke") options="--keep --config --url --token --json --help";;
    "lock drop") options="--config --url --token --help";;
    "token inspect") options="--config --key --with --can --json --help";;
    "token identity") options="--to --key --for --config --out --help";;
    "revoke") options="--config --token --accept-list --help";;
    "audit verify") options="--did --config --json --help";;
    "backup create") options="--config --drives --roots --passphrase --plaintext --help";;
    "backup restore") options="--config --passphrase --revocations --accept-old-tokens --help";;
    "drive ls") options="--config --user --key --json --help";;
    "drive export") options="--config --user --key --drive --top --region --part-bytes --json --help";;
    "drive import"|"drive merge") options="--drive --config --user --key --from --source --json --help";;
    "drive verify") options="--config --user --key --drive --clamp-times --json --help";;
    "drive gc") options="--config --dry-run --grace --json --help";;
    "drive upgrade"|"cluster status") options="--config --json --help";;
    "drive export-key") options="--config --user --out --help";;
    "drive import-key") options="--config --user --help";;
    "ls") options="--long --human-readable --all --time --one --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "tree") options="--level --size --human-readable --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "cat") options="--number --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "read") options="--extract --pages --max-chars --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "head") options="--lines --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "tail") options="--lines --follow --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "watch"|"stat"|"diff") options="--config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "grep") options="--fixed-strings --ignore-case --line-number --files-with-matches --count --after-context --before-context --context --regexp --recursive --documents --include --exclude --no-ignore --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "find") options="--name --iname --path --type --maxdepth --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "du") options="--all --bytes --human-readable --summarize --max-depth --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "edit") options="--old --new --expect --all --edits --encoding --if-match --dry-run --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "patch") options="--in --encoding --dry-run --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "put"|"cp") options="--recursive --no-clobber --parents --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "get"|"rm") options="--recursive --force --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "history") options="--lines --since --actor --via --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "undo") options="--last --since --actor --via --session --dry-run --yes --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "restore") options="--if-match --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "trash"|"purge") options="--yes --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "mkdir") options="--parents --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
    "mv") options="--no-clobber --parents --config --root --read-only --deny --protect --no-protect --caps --key --proof --url --token --color --json --help";;
  esac
  case "$before" in
    --config|--root|--caps|--proof|--out|--token|--within) files=1; return 0;;
    --for) [ "$one" = init ] && candidates="claude-code claude-desktop cursor vscode zed codex gemini antigravity copilot kiro windsurf goose opencode";;
    *) [ $at -eq 1 ] && candidates="init serve check mcp doctor health completion call acp grant link approvals revoke key token lock audit backup drive cluster ls tree cat read head tail watch stat grep find du edit patch put get history diff undo restore trash purge mkdir rm mv cp help";;
  esac
  case "$current" in -*) candidates=$options;; esac
  if [ -z "$candidates" ]; then
    case "$one" in
      ls|tree|cat|read|head|tail|watch|stat|grep|find|du|edit|patch|put|get|history|diff|undo|restore|trash|purge|mkdir|rm|mv|cp) asked=1 candidates=$(venue-files __complete "${words[@]}" 2>/dev/null);;
    esac
    files=1
  fi
}
_venue_files_offer() {
  setopt localoptions ksharrays
  local at=$((CURRENT - 1)) candidates= asked=
  local current=${words[at]} before=${words[at-1]}
  _venue_files_words
  local -a list
  if [ -n "$asked" ]; then list=("${(@f)candidates}"); else list=("${(@s: :)candidates}"); fi
  if [ -n "$candidates" ]; then compadd -S '' -q -- "${list[@]}"; fi
}
# Outside of ksharrays, with which functions of zsh do not work.
_venue_files() {
  local files=
  _venue_files_offer
  if [ -n "$files" ]; then _files; fi
}
compdef _venue_files venue-files
