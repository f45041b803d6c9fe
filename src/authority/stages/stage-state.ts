import { CodedError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { copyJson, deepFreeze } from '../../core/turn.ts'
import type { Stage, StageContext, Stages } from './stages.ts'

/** Where a machine stands, as it is kept in the log. */
export interface StageState {
  readonly machine: string
  readonly status: 'running' | 'done' | 'failed'
  readonly stage: string
  readonly stageExecutionId: string
  readonly attempt: number
  readonly turns: number
  readonly data: Readonly<Record<string, unknown>>
  /** The stage is complete, and has not been left yet. */
  readonly completion?: { readonly input: unknown }
  readonly completions: Readonly<Record<string, unknown>>
  /** Approvals of this stage that are used up. */
  readonly consumed: readonly string[]
}

const owner = 'state-machine'

/** Where the session stands; nothing, where it is new or came to its end. */
export function readState({ transcript }: Log, { id, stages }: Stages): StageState | undefined {
  const state = transcript.states.get(owner) as StageState | undefined
  if (state?.status !== 'running') return undefined
  if (state.machine !== id || !stages.some((stage) => stage.id === state.stage))
    throw new CodedError(
      'Session/ResumeMismatch',
      `the session stands in the stage "${state.stage}" of "${state.machine}", which "${id}" does not have; go on with the machine it was begun with`,
    )
  return state
}

/** Makes it fact. */
export async function writeState(log: Log, state: StageState): Promise<void> {
  await log.append({ type: 'state', owner, value: state })
}

/** What the phases of a stage are shown: a copy nobody can write to. */
export function contextOf(state: StageState, { turnCap }: Stage): StageContext {
  const { stage, stageExecutionId, attempt, turns, completion, completions, data } = state
  return deepFreeze({
    ...{ stage, stageExecutionId, attempt, turns },
    capHit: completion === undefined && turns >= turnCap,
    ...(completion && { completion: copyJson(completion.input) }),
    completions: copyJson(completions),
    data: copyJson(data),
  })
}
