import type { Transcript } from '../core/transcript.ts'

/** What is known of the commands of an interrupted call, for the model. */
export type CommandsOf = (callId: string) => string

/** Ends what the commands of a dead process left running on this machine. `undefined` where processes cannot be seen. */
export async function endLeftCommands({ runs }: Transcript): Promise<CommandsOf | undefined> {
  if (typeof process === 'undefined' || process.platform !== 'linux') return undefined
  const { endCallProcesses } = await import('../platform/leftover-processes.ts')
  const left = await endCallProcesses(runs.map(({ id }) => id))
  if (!left) return undefined
  return (callId) => {
    const { isEnded, startedBy, commands } = left.of(callId) ?? {}
    if (isEnded === undefined) return 'No command of it was found running on this machine.'
    if (!isEnded) return `Its command is still running, under process ${startedBy} of this machine; it was left alone.`
    return `Its command was still running, and was ended now: ${commands?.join('; ')}`
  }
}
