import type { AuditSink } from '../../core/authority.ts'
import { createIds } from '../../core/clock.ts'
import { CodedError } from '../../core/errors.ts'
import type { Extension } from '../../core/run.ts'
import { digestOfJson } from '../../platform/canonical-json.ts'
import type { StageVerdict } from '../decide.ts'
import { grantFor } from './stage-grants.ts'
import { runStages, type StageRun } from './stage-run.ts'
import type { StageState } from './stage-state.ts'
import { defineStages, type Stages } from './stages.ts'

export interface StateMachineOptions {
  readonly newId?: () => string
}

/** Leads an agent through stages, and says what each of them allows. One serves one conversation at a time. */
export interface StateMachine {
  /** Undefined before the first run. */
  readonly stage: string | undefined
  readonly stageExecutionId: string | undefined
  readonly status: 'idle' | StageState['status']
  /** What the present stage says about a call, of the agent or of a child. An approval is used up by asking for it. */
  judge(call: StageCall): Promise<StageVerdict>
  /** What moves the machine along with the turns of a run; the authority starts it. Records go to `audit`. */
  extension(audit?: AuditSink): Extension
}

/** A call that a stage is asked about. */
export interface StageCall {
  readonly tool: string
  /** The id of the call. */
  readonly proposalId: string
  readonly input: unknown
}

/** A machine for `createAgent({ authority: { stateMachine } })`. A wrong definition is refused here. */
export function createStateMachine(stages: Stages, { newId = createIds() }: StateMachineOptions = {}): StateMachine {
  const definition = defineStages(stages)
  let walk: StageRun | undefined
  return {
    get stage() {
      return walk?.state.stage
    },
    get stageExecutionId() {
      return walk?.state.stageExecutionId
    },
    get status() {
      return walk?.state.status ?? 'idle'
    },
    judge: (call) => judge(call, walk),
    extension: (audit = nowhere) => ({
      name: 'state-machine',
      async start(run, hooks) {
        if (run.facts.depth > 0) return
        if (walk && !walk.run.progress.isOver && walk.run !== run) throw busy(walk)
        const current = await runStages(run, { definition, newId, audit })
        walk = current
        hooks.hook('turn:next', async (next) => {
          try {
            if (next.turnId !== '' && current.state.status === 'running')
              await current.keep({ turns: current.state.turns + 1 })
            const became = await current.afterTurn()
            const isOver = became === 'ended'
            if (!isOver && (next.stop || became === 'moved')) next.add.push(prompting(current, became))
            next.stop = isOver
          } catch (error) {
            next.error = error
          }
        })
      },
    }),
  }
}

async function judge({ tool, proposalId, input }: StageCall, walk: StageRun | undefined): Promise<StageVerdict> {
  if (walk?.state.status !== 'running')
    return { verdict: 'deny', code: 'StageNotRunning', why: 'the state machine is not in any of its stages' }
  const { stage } = walk
  const { stageExecutionId, attempt } = walk.state
  if (tool === stage.completionTool || stage.allowedTools?.includes(tool)) return { verdict: 'envelope' }
  const proposal = { stageExecutionId, attempt, proposalId, tool, argsDigest: digestOfJson(input) }
  return grantFor(stage, proposal, {
    has: (token) => walk.state.stageExecutionId !== stageExecutionId || walk.state.consumed.includes(token),
    consume: (token) => walk.keep({ consumed: [...walk.state.consumed, token] }),
  })
}

/** For a model that would stop too early, or that has to hear of its new stage. */
function prompting({ stage: { id, completionTool } }: StageRun, became: 'stays' | 'moved'): string {
  return became === 'moved'
    ? `The stage "${id}" begins; its instructions have replaced those of the last one.`
    : `The stage "${id}" is not complete. Go on, and call ${completionTool} when it is.`
}

const nowhere: AuditSink = { write() {} }

const busy = ({ run, state }: StageRun): CodedError =>
  new CodedError(
    'Validation/StateMachineAttached',
    `the state machine is in the stage "${state.stage}" of run ${run.id}; wait for its end, or create another one`,
  )
