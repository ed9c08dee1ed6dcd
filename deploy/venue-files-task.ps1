# A venue as a scheduled task of Windows: it runs as you, without a window, from the start of the computer. In a PowerShell that was
# opened "as administrator", which Windows wants for that; the task itself has your rights without an administrator's:
#
#   powershell -ExecutionPolicy Bypass -File venue-files-task.ps1 -Config C:\Users\ann\venue\venue.json5
#   powershell -ExecutionPolicy Bypass -File venue-files-task.ps1 -Remove
#
# Set log.file in the configuration: a task has no console. Stopping it ends the process at once; what it leaves is cleared at the next
# start, and no file is left half written.
param(
  [Parameter(Mandatory = $true, ParameterSetName = 'Make')] [string] $Config,
  [Parameter(ParameterSetName = 'Make')] [string] $Program = (Join-Path $PSScriptRoot '..\dist\cli.js'),
  [Parameter(Mandatory = $true, ParameterSetName = 'Remove')] [switch] $Remove,
  [string] $Name = 'venue-files'
)
$ErrorActionPreference = 'Stop'

if ($Remove) {
  Stop-ScheduledTask -TaskName $Name
  Unregister-ScheduledTask -TaskName $Name -Confirm:$false
  return
}

$node = (Get-Command node -CommandType Application | Select-Object -First 1).Source
$cli = (Resolve-Path -LiteralPath $Program).ProviderPath
$file = (Resolve-Path -LiteralPath $Config).ProviderPath
& $node $cli check --config $file
if ($LASTEXITCODE -ne 0) { throw 'The configuration cannot be served: see above.' }

$user = [System.Security.Principal.WindowsIdentity]::GetCurrent().Name
$task = @{
  TaskName  = $Name
  Action    = New-ScheduledTaskAction -Execute $node -Argument "`"$cli`" serve --config `"$file`"" -WorkingDirectory (Split-Path $file)
  Trigger   = New-ScheduledTaskTrigger -AtStartup
  # S4U: as this user, signed in or not, without a stored password.
  Principal = New-ScheduledTaskPrincipal -UserId $user -LogonType S4U -RunLevel Limited
  Settings  = New-ScheduledTaskSettingsSet -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -MultipleInstances IgnoreNew `
    -ExecutionTimeLimit ([TimeSpan]::Zero) -RestartCount 3 -RestartInterval (New-TimeSpan -Minutes 1)
}
Register-ScheduledTask @task -Force | Out-Null
Start-ScheduledTask -TaskName $Name
