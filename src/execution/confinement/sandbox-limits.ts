import { checkProcessLimit } from '../bubblewrap/check.ts'
import { canCreateCgroups } from '../bubblewrap/process-cgroup.ts'
import type { CommandLimits } from '../commands/command-shell.ts'

const mostProcesses = 4096

/**
 * The limits of a command in a sandbox. If the user names no number of processes, there is one that ends a program which starts
 * itself again and again. It applies to root where root may create cgroups, and not on old kernels.
 */
export function sandboxLimits(own: CommandLimits = {}): CommandLimits {
  const { processes, ...others } = own
  if (process.getuid?.() === 0 && !canCreateCgroups()) return others
  try {
    checkProcessLimit()
  } catch {
    return own
  }
  return { processes: processes ?? mostProcesses, ...others }
}
