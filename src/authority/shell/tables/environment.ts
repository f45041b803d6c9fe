import { isHarmlessAssignment } from '../harmless-assignment.ts'
import type { ReadCommand } from '../reading.ts'

/** Removable wrappers that do not affect the command. Not `nohup` and `setsid`, which let it outlive the call. */
const wrappers = /^(env|nice|timeout|stdbuf|time|command)$/

/** Why a command may do more than its words show: an assignment or a wrapper. */
export function environmentProblem({ env, via }: ReadCommand): string | undefined {
  const assignment = Object.entries(env).find(([name, value]) => !isHarmlessAssignment(name, value))
  if (assignment) return `${assignment[0]}=… can change what a command does`
  const wrapper = via.find((name) => !wrappers.test(name.split(' ')[0]!))
  return wrapper && `${wrapper} changes how or with what rights a command runs`
}
