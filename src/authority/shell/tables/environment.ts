import { isHarmlessAssignment } from '../harmless-assignment.ts'
import type { ReadCommand } from '../reading.ts'

/** Of the wrappers that can be taken off, those that leave the command where it is: `nohup` and `setsid` let it outlive the call. */
const wrappers = /^(env|nice|timeout|stdbuf|time|command)$/

/** Why a command does not mean what its words say: an assignment, or what it is wrapped in. */
export function environmentProblem({ env, via }: ReadCommand): string | undefined {
  const assignment = Object.entries(env).find(([name, value]) => !isHarmlessAssignment(name, value))
  if (assignment) return `${assignment[0]}=… can change what a command does`
  const wrapper = via.find((name) => !wrappers.test(name.split(' ')[0]!))
  return wrapper && `${wrapper} changes how or with what rights a command runs`
}
