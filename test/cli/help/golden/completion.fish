# Completion of venue-files for fish: venue-files completion fish | source
set -g __venue_files_paths ls tree cat read head tail watch stat grep find du edit patch put get history diff undo restore trash purge mkdir rm mv cp
complete -c venue-files -f
complete -c venue-files -n '__fish_use_subcommand' -a 'init serve check mcp doctor health completion call acp grant link approvals revoke key token lock audit backup drive cluster ls tree cat read head tail watch stat grep find du edit patch put get history diff undo restore trash purge mkdir rm mv cp help'
complete -c venue-files -n '__fish_seen_subcommand_from key' -a 'new show'
complete -c venue-files -n '__fish_seen_subcommand_from token' -a 'issue ls revoke inspect identity'
complete -c venue-files -n '__fish_seen_subcommand_from lock' -a 'ls drop'
complete -c venue-files -n '__fish_seen_subcommand_from audit' -a 'verify'
complete -c venue-files -n '__fish_seen_subcommand_from backup' -a 'create restore'
complete -c venue-files -n '__fish_seen_subcommand_from drive' -a 'ls export import merge verify gc upgrade export-key import-key'
complete -c venue-files -n '__fish_seen_subcommand_from cluster' -a 'init status'
complete -c venue-files -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish powershell'
complete -c venue-files -n '__fish_seen_subcommand_from init serve check mcp call acp $__venue_files_paths' -l root -r -F
complete -c venue-files -n '__fish_seen_subcommand_from init grant link token' -l for -x
complete -c venue-files -n '__fish_seen_subcommand_from init find' -l name
complete -c venue-files -n '__fish_seen_subcommand_from init serve check health' -l port
complete -c venue-files -n '__fish_seen_subcommand_from init acp undo trash purge' -l yes
complete -c venue-files -n '__fish_seen_subcommand_from init' -l print
complete -c venue-files -n '__fish_seen_subcommand_from init get rm' -l force
complete -c venue-files -n '__fish_seen_subcommand_from init serve check mcp doctor health completion call acp key grant link token approvals lock revoke audit backup drive cluster $__venue_files_paths' -l help
complete -c venue-files -n '__fish_seen_subcommand_from serve check mcp health call acp key grant link token approvals lock revoke audit backup drive cluster $__venue_files_paths' -l config -r -F
complete -c venue-files -n '__fish_seen_subcommand_from serve check mcp call acp $__venue_files_paths' -l read-only
complete -c venue-files -n '__fish_seen_subcommand_from serve check mcp call acp $__venue_files_paths' -l deny
complete -c venue-files -n '__fish_seen_subcommand_from serve check mcp call acp $__venue_files_paths' -l protect
complete -c venue-files -n '__fish_seen_subcommand_from serve check mcp call acp $__venue_files_paths' -l no-protect
complete -c venue-files -n '__fish_seen_subcommand_from serve check health' -l host
complete -c venue-files -n '__fish_seen_subcommand_from mcp' -l client-roots
complete -c venue-files -n '__fish_seen_subcommand_from mcp' -l within -r -F
complete -c venue-files -n '__fish_seen_subcommand_from mcp' -l tools
complete -c venue-files -n '__fish_seen_subcommand_from mcp grant' -l profile
complete -c venue-files -n '__fish_seen_subcommand_from mcp call acp link token $__venue_files_paths' -l caps -r -F
complete -c venue-files -n '__fish_seen_subcommand_from mcp call acp grant token drive $__venue_files_paths' -l key
complete -c venue-files -n '__fish_seen_subcommand_from mcp call acp grant $__venue_files_paths' -l proof -r -F
complete -c venue-files -n '__fish_seen_subcommand_from health call link token approvals lock $__venue_files_paths' -l url
complete -c venue-files -n '__fish_seen_subcommand_from call link token approvals lock revoke $__venue_files_paths' -l token -r -F
complete -c venue-files -n '__fish_seen_subcommand_from acp' -l prompt
complete -c venue-files -n '__fish_seen_subcommand_from acp' -l deny-writes
complete -c venue-files -n '__fish_seen_subcommand_from acp' -l snapshot
complete -c venue-files -n '__fish_seen_subcommand_from acp' -l resume
complete -c venue-files -n '__fish_seen_subcommand_from acp' -l list
complete -c venue-files -n '__fish_seen_subcommand_from acp' -l protocol
complete -c venue-files -n '__fish_seen_subcommand_from grant token' -l to
complete -c venue-files -n '__fish_seen_subcommand_from grant link token' -l with
complete -c venue-files -n '__fish_seen_subcommand_from grant link token' -l can
complete -c venue-files -n '__fish_seen_subcommand_from grant token drive' -l out -r -F
complete -c venue-files -n '__fish_seen_subcommand_from link token' -l label
complete -c venue-files -n '__fish_seen_subcommand_from link token approvals lock audit drive cluster $__venue_files_paths' -l json
complete -c venue-files -n '__fish_seen_subcommand_from token' -l keep
complete -c venue-files -n '__fish_seen_subcommand_from revoke' -l accept-list
complete -c venue-files -n '__fish_seen_subcommand_from audit' -l did
complete -c venue-files -n '__fish_seen_subcommand_from backup' -l drives
complete -c venue-files -n '__fish_seen_subcommand_from backup' -l roots
complete -c venue-files -n '__fish_seen_subcommand_from backup' -l passphrase
complete -c venue-files -n '__fish_seen_subcommand_from backup' -l plaintext
complete -c venue-files -n '__fish_seen_subcommand_from backup' -l revocations
complete -c venue-files -n '__fish_seen_subcommand_from backup' -l accept-old-tokens
complete -c venue-files -n '__fish_seen_subcommand_from drive' -l user
complete -c venue-files -n '__fish_seen_subcommand_from drive' -l drive
complete -c venue-files -n '__fish_seen_subcommand_from drive' -l top
complete -c venue-files -n '__fish_seen_subcommand_from drive' -l region
complete -c venue-files -n '__fish_seen_subcommand_from drive' -l part-bytes
complete -c venue-files -n '__fish_seen_subcommand_from drive' -l from
complete -c venue-files -n '__fish_seen_subcommand_from drive' -l source
complete -c venue-files -n '__fish_seen_subcommand_from drive' -l clamp-times
complete -c venue-files -n '__fish_seen_subcommand_from drive edit patch undo' -l dry-run
complete -c venue-files -n '__fish_seen_subcommand_from drive' -l grace
complete -c venue-files -n '__fish_seen_subcommand_from ls' -l long
complete -c venue-files -n '__fish_seen_subcommand_from ls tree du' -l human-readable
complete -c venue-files -n '__fish_seen_subcommand_from ls du edit' -l all
complete -c venue-files -n '__fish_seen_subcommand_from ls' -l time
complete -c venue-files -n '__fish_seen_subcommand_from ls' -l one
complete -c venue-files -n '__fish_seen_subcommand_from $__venue_files_paths' -l color
complete -c venue-files -n '__fish_seen_subcommand_from tree' -l level
complete -c venue-files -n '__fish_seen_subcommand_from tree' -l size
complete -c venue-files -n '__fish_seen_subcommand_from cat' -l number
complete -c venue-files -n '__fish_seen_subcommand_from read' -l extract
complete -c venue-files -n '__fish_seen_subcommand_from read' -l pages
complete -c venue-files -n '__fish_seen_subcommand_from read' -l max-chars
complete -c venue-files -n '__fish_seen_subcommand_from head tail history' -l lines
complete -c venue-files -n '__fish_seen_subcommand_from tail' -l follow
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l fixed-strings
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l ignore-case
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l line-number
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l files-with-matches
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l count
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l after-context
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l before-context
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l context
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l regexp
complete -c venue-files -n '__fish_seen_subcommand_from grep put get rm cp' -l recursive
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l documents
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l include
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l exclude
complete -c venue-files -n '__fish_seen_subcommand_from grep' -l no-ignore
complete -c venue-files -n '__fish_seen_subcommand_from find' -l iname
complete -c venue-files -n '__fish_seen_subcommand_from find' -l path
complete -c venue-files -n '__fish_seen_subcommand_from find' -l type
complete -c venue-files -n '__fish_seen_subcommand_from find' -l maxdepth
complete -c venue-files -n '__fish_seen_subcommand_from du' -l bytes
complete -c venue-files -n '__fish_seen_subcommand_from du' -l summarize
complete -c venue-files -n '__fish_seen_subcommand_from du' -l max-depth
complete -c venue-files -n '__fish_seen_subcommand_from edit' -l old
complete -c venue-files -n '__fish_seen_subcommand_from edit' -l new
complete -c venue-files -n '__fish_seen_subcommand_from edit' -l expect
complete -c venue-files -n '__fish_seen_subcommand_from edit' -l edits
complete -c venue-files -n '__fish_seen_subcommand_from edit patch' -l encoding
complete -c venue-files -n '__fish_seen_subcommand_from edit restore' -l if-match
complete -c venue-files -n '__fish_seen_subcommand_from patch' -l in
complete -c venue-files -n '__fish_seen_subcommand_from put mv cp' -l no-clobber
complete -c venue-files -n '__fish_seen_subcommand_from put mkdir mv cp' -l parents
complete -c venue-files -n '__fish_seen_subcommand_from history undo' -l since
complete -c venue-files -n '__fish_seen_subcommand_from history undo' -l actor
complete -c venue-files -n '__fish_seen_subcommand_from history undo' -l via
complete -c venue-files -n '__fish_seen_subcommand_from undo' -l last
complete -c venue-files -n '__fish_seen_subcommand_from undo' -l session
complete -c venue-files -n '__fish_seen_subcommand_from init' -l for -x -a 'claude-code claude-desktop cursor vscode zed codex gemini antigravity copilot kiro windsurf goose opencode'
complete -c venue-files -n '__fish_seen_subcommand_from $__venue_files_paths' -F -a '(venue-files __complete (commandline -opc) (commandline -ct) 2>/dev/null)'
