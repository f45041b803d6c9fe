import { isInterrupted } from '../sessions/needs-run.ts'
import { inboxOf } from '../sessions/pending.ts'
import { agentPrefix } from '../workflow/agent-instance.ts'
import type { Workflow } from '../workflow/workflow-contract.ts'
import type { Dispatcher, WakeOptions } from './dispatcher.ts'
import type { FleetWorkflow, KindRequest } from './fleet.ts'
import type { FleetWork, FleetWorkContext } from './fleet-work.ts'

interface WorkflowAgentsOptions extends Pick<FleetWorkContext, 'store' | 'clock' | 'onError'> {
  readonly dispatcher: Pick<Dispatcher, 'wake'>
  readonly limited: KindRequest['limited']
}

/** The agents of a workflow on a fleet. */
export interface WorkflowAgents extends FleetWork {
  /** Records and wakes; runs no model. */
  readonly workflow: Workflow
  close(): Promise<void>
}

const kind = 'libero.agent'
/** The kinds of sessions that a workflow makes. A plain session may have an id that looks like one of an agent. */
export const agentKinds: ReadonlySet<string> = new Set(['agent', 'closed agent', 'sub-agent'])
/** When an agent is looked at again that another process holds, or that has to run alone. */
const againMs = 1000
/** Every so many looks of a worker it looks at so many agents that wait for a person, for a message that came without a wake. */
const looksBetween = 3
const waitingAtOnce = 20

/**
 * Each worker has a workflow of its own, which does what its jobs say, and one worker at a time owns the schedules: a due time
 * is a message and a wake, so any worker may do the work.
 */
export function workflowAgents(make: FleetWorkflow, options: WorkflowAgentsOptions): WorkflowAgents {
  const { store, dispatcher, clock, onError, limited } = options
  const workflows = new Map<string, WorkerState>()
  const wake = (
    id: string,
    tenant: string | undefined,
    more: Pick<WakeOptions, 'at' | 'isUrgent'> = {},
  ): Promise<void> => dispatcher.wake(id, { kind, ...(tenant !== undefined && { tenant }), ...more })

  const makeWorkflow = (): Workflow =>
    make({ store, clock, onError, work: 'elsewhere', onWork: (id, tenant) => wake(id, tenant) }, { limited })

  const front = makeWorkflow()

  function of(worker: string): WorkerState {
    const known = workflows.get(worker) ?? { workflow: makeWorkflow(), isStarted: false, looks: 0 }
    workflows.set(worker, known)
    return known
  }

  /** A person may have sent a message in place of an answer, which the reconciler does not look for. */
  async function lookAtWaiting(own: WorkerState): Promise<void> {
    const query = { attention: true, status: 'waiting', prefix: agentPrefix, limit: waitingAtOnce } as const
    const page = await store.list({ ...query, ...(own.cursor !== undefined && { cursor: own.cursor }) })
    own.cursor = page.next
    for (const { id, tenant, head } of page.sessions)
      if ((await inboxOf(store, id, head)).some(({ mode }) => mode === 'steer')) await wake(id, tenant)
  }

  return {
    kind,
    runsSessions: true,
    owns: (sessionId, ownKind = 'agent') => sessionId.startsWith(agentPrefix) && agentKinds.has(ownKind),

    async work({ sessionId: id, attempt }, { worker, signal, admit }) {
      const summary = await store.find(id)
      if (!summary?.attention && !summary?.isHeld) return
      const { tenant, isHeld, head } = summary
      // A takeover stays urgent, however often it is put off.
      const isUrgent = attempt > 1 || isInterrupted(summary)
      const wakeAgain = (inMs = 0): Promise<void> =>
        wake(id, tenant, { isUrgent, ...(inMs > 0 && { at: clock.now() + inMs }) })
      // Its holder takes what is in the inbox, unless it is just ending. A lapsed job says that the holder may be dead.
      const lookAgain = async (): Promise<void> => {
        if (attempt > 1 || (await inboxOf(store, id, head)).length > 0) await wakeAgain(againMs)
      }
      if (isHeld) return lookAgain()
      if (signal.aborted) return wakeAgain()
      if (!(await admit(summary))) return wakeAgain(againMs)
      if (signal.aborted) return wakeAgain() // `admit` may take seconds
      const { state } = await of(worker).workflow.work(id)
      if (signal.aborted)
        await wake(id, tenant, { isUrgent: true }) // it may have been left in the middle
      else if (state === 'submitted') await lookAgain()
    },

    async reconcile({ worker }) {
      const own = of(worker)
      if (!own.isStarted) await own.workflow.start() // from now on it may own the schedules
      own.isStarted = true
      if (++own.looks % looksBetween === 0) await lookAtWaiting(own)
    },

    async stop({ worker }) {
      const own = workflows.get(worker)
      workflows.delete(worker)
      await own?.workflow.close()
    },

    workflow: front,

    close: () => front.close(),
  }
}

interface WorkerState {
  readonly workflow: Workflow
  isStarted: boolean
  /** How often the worker has looked. */
  looks: number
  cursor?: string | undefined
}
