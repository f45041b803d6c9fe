import { checkProcessLimit } from '../bubblewrap/check.ts'
import { canCreateCgroups } from '../bubblewrap/process-cgroup.ts'
import type { CommandLimits } from '../commands/command-shell.ts'

const mostProcesses = 4096

/**
 * The limits of a command in a sandbox. If the user names no number of processes, there is one that ends a program which starts
 * itself again and again. Not for root, for which only cgroups can limit it: to enter one takes longer than to build a
 * sandbox. A number that is named applies to root too, where root may create cgroups. Old kernels have no limit.
 */
export function sandboxLimits(own: CommandLimits = {}): CommandLimits {
  const { processes, ...others } = own
  if (process.getuid?.() === 0) return processes === undefined || canCreateCgroups() ? own : others
  try {
    checkProcessLimit()
  } catch {
    return own
  }
  return { processes: processes ?? mostProcesses, ...others }
}
