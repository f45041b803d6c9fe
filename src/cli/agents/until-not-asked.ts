import type { Waiting } from '../../workflow/index.ts'
import type { OpenedWorkflow } from './open-workflow.ts'

interface AskedCall {
  readonly agentId: string
  readonly call: Pick<Waiting, 'approvalId' | 'sessionId'>
  readonly signal: AbortSignal
}

/**
 * Whether a call stopped waiting before `signal` came: somebody answered it elsewhere, spoke over it, or stopped its
 * agent. Never rejects: a prompt that cannot be looked after is one all the same.
 */
export async function untilNotAsked(
  { workflow, store }: Pick<OpenedWorkflow, 'workflow' | 'store'>,
  { agentId, call, signal }: AskedCall,
): Promise<boolean> {
  const isAsked = async (): Promise<boolean> => {
    const waiting = await workflow.pending(agentId).catch(() => [])
    return waiting.some(({ approvalId }) => approvalId === call.approvalId)
  }
  const follow = async (id: string): Promise<boolean> => {
    const after = (await store.list()).find((one) => one.id === id)?.head ?? 0
    if (!(await isAsked())) return true
    for await (const _ of store.watch(id, { after, signal })) if (!signal.aborted && !(await isAsked())) return true
    return false
  }
  // What a sub-agent waits for is answered in its own log, or left behind in that of its parent.
  const both = [...new Set([agentId, call.sessionId])].map(async (id) => {
    if (!(await follow(id))) throw new Error('it is not followed any more')
    return true
  })
  return Promise.any(both).catch(() => false)
}
