import { readlinkSync } from 'node:fs'
import { setImmediate as breathe } from 'node:timers/promises'
import { digestOf } from './digest.ts'
import { endLeftovers, processIds, readOfProcess } from './leftover-processes.ts'
import { fateOf, thisProcess } from './process-identity.ts'

/** Which call of which run starts a command. */
export interface CallName {
  readonly runId: string
  readonly callId: string
}

/** The variable that holds the mark of a command's call. */
export const callVariable = 'LIBERO_CALL'

/** For the environment of a command: its call, and this process, which has to be dead before another one ends the command. */
export function callMark({ runId, callId }: CallName): string {
  const { pid, started } = thisProcess()
  return `${shortDigest(runId)}-${shortDigest(callId)}-${pid}-${started}`
}

/** The processes of one call that a run of another process left. */
export interface LeftProcesses {
  /** The process that started them. It is dead, or `isEnded` is false. */
  readonly startedBy: number
  readonly isEnded: boolean
  readonly commands: readonly string[]
}

/**
 * Ends what calls of these runs left running on this machine, and says what that was. Only what carries the mark of such a
 * call is looked at, and only what was started by a process that is dead is ended. `undefined` where processes cannot be seen.
 */
export async function endCallProcesses(
  runIds: readonly string[],
): Promise<{ of(callId: string): LeftProcesses | undefined } | undefined> {
  const pids = processIds()
  if (!pids) return undefined
  const marks = [...(await marksOf(pids, new Set(runIds.map(shortDigest))))]
  const found = await Promise.all(marks.map(async (mark) => [mark.split('-')[1], await endIfOrphaned(mark)] as const))
  const left = new Map(found)
  return { of: (callId) => left.get(shortDigest(callId)) }
}

async function endIfOrphaned(mark: string): Promise<LeftProcesses | undefined> {
  const [, , pid, started = ''] = mark.split('-')
  const startedBy = Number(pid)
  const isEnded = fateOf({ ...thisProcess(), pid: startedBy, started }) === 'dead'
  const commands = isEnded ? await endLeftovers({ mark }, { graceMs }) : []
  return commands.length > 0 || !isEnded ? { startedBy, isEnded, commands } : undefined
}

/** Between SIGTERM and SIGKILL, as at the time limit of a command. */
const graceMs = 2000
const slice = 64

async function marksOf(pids: ReadonlySet<number>, runs: ReadonlySet<string>): Promise<Set<string>> {
  const marks = new Set<string>()
  let n = 0
  for (const pid of pids) {
    if (++n % slice === 0) await breathe()
    const variables = readOfProcess(pid, 'environ')?.split('\0') ?? []
    const value = variables.find((variable) => variable.startsWith(`${callVariable}=`))
    if (value === undefined || !isOfThisNamespace(pid)) continue
    for (const mark of value.slice(callVariable.length + 1).split(' '))
      if (form.test(mark) && runs.has(mark.slice(0, digestLength))) marks.add(mark)
  }
  return marks
}

/** In a container the number of the starting process means another process than here. */
function isOfThisNamespace(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) === readlinkSync('/proc/self/ns/pid')
  } catch {
    return false
  }
}

const digestLength = 16
const form = /^[0-9a-f]{16}-[0-9a-f]{16}-\d+-\d*$/

function shortDigest(text: string): string {
  return digestOf(text).slice(0, digestLength)
}
