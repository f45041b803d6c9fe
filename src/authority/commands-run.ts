import type { Decision } from '../core/authority.ts'
import type { JudgedCall } from './judged-call.ts'

/** The commands that were allowed to change the workspace, so that a person knows when one would run a second time. */
export interface CommandsRun {
  add(sessionId: string, call: JudgedCall, decision: Decision): void
  has(sessionId: string, call: JudgedCall): boolean
}

/** Keeps the last ones in memory. */
export function createCommandsRun(): CommandsRun {
  const known = new Set<string>()
  const nameOf = (sessionId: string, { tool, key }: JudgedCall): string => JSON.stringify([sessionId, tool, key])
  return {
    add(sessionId, call, { verdict, confinement }) {
      const isWriting = typeof confinement === 'object' && confinement.profile === 'workspace-write'
      if (!call.shell || verdict !== 'allow' || !isWriting) return
      known.add(nameOf(sessionId, call))
      if (known.size > most) known.delete(known.values().next().value!)
    },
    has: (sessionId, call) => known.has(nameOf(sessionId, call)),
  }
}

const most = 5_000
