import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError } from '../cli-error.ts'
import { isBeingWritten } from '../sessions/session-state.ts'
import type { OpenedWorkflow } from './open-workflow.ts'

/** Refuses what cannot be done to an agent that another program works on. */
export async function requireRest({ store }: Pick<OpenedWorkflow, 'store'>, agentId: string): Promise<void> {
  if (!(await isBeingWritten(store, agentId))) return
  const id = fullyVisible(agentId)
  throw new CliError(
    `Agent ${id} is at work in another program; stop it first: libero agents cancel ${id}. Nothing was done`,
  )
}
