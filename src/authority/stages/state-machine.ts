import type { AuditSink } from '../../core/authority.ts'
import { createIds } from '../../core/clock.ts'
import { CodedError, messageOf } from '../../core/errors.ts'
import type { Extension } from '../../core/run.ts'
import { digestOfJson } from '../../platform/canonical-json.ts'
import type { StageVerdict } from '../decision-context.ts'
import { runStages, type StageRun, type StageState } from './stage-run.ts'
import { defineStages, type Stage, type StageProposal, type Stages } from './stages.ts'

/** Leads an agent through stages and decides what each allows. Serves one conversation at a time. */
export interface StateMachine {
  /** Undefined before the first run. */
  readonly stage: string | undefined
  readonly stageExecutionId: string | undefined
  readonly status: 'idle' | StageState['status']
  /** The current stage's verdict about a call of the agent or a child. Judging uses up an approval. */
  judge(call: StageCall): Promise<StageVerdict>
  /** The extension that advances the machine with the turns of a run. The authority starts it. Records go to `audit`. */
  extension(audit?: AuditSink): Extension
}

interface StageCall {
  readonly tool: string
  readonly proposalId: string
  readonly input: unknown
}

/** Creates a machine for `createAgent({ authority: { stateMachine } })`. Throws on an invalid definition. */
export function createStateMachine(
  stages: Stages,
  { newId = createIds() }: { readonly newId?: () => string } = {},
): StateMachine {
  const definition = defineStages(stages)
  let stageRun: StageRun | undefined
  return {
    get stage() {
      return stageRun?.state.stage
    },
    get stageExecutionId() {
      return stageRun?.state.stageExecutionId
    },
    get status() {
      return stageRun?.state.status ?? 'idle'
    },
    judge: (call) => judge(call, stageRun),
    extension: (audit = noAudit) => ({
      name: 'state-machine',
      async start(run, hooks) {
        if (run.facts.depth > 0) return
        if (stageRun && !stageRun.run.progress.isOver && stageRun.run !== run) throw busy(stageRun)
        const current = await runStages(run, { definition, newId, audit })
        stageRun = current
        hooks.hook('turn:next', async (next) => {
          try {
            if (next.turnId !== '' && current.state.status === 'running')
              await current.update({ turns: current.state.turns + 1 })
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

async function judge({ tool, proposalId, input }: StageCall, stageRun: StageRun | undefined): Promise<StageVerdict> {
  if (stageRun?.state.status !== 'running')
    return { verdict: 'deny', code: 'StageNotRunning', why: 'the state machine is not in any of its stages' }
  const { stage } = stageRun
  const { stageExecutionId, attempt } = stageRun.state
  if (tool === stage.completionTool || stage.allowedTools?.includes(tool)) return { verdict: 'envelope' }
  const proposal = { stageExecutionId, attempt, proposalId, tool, argsDigest: digestOfJson(input) }
  return grantFor(stage, proposal, {
    has: (token) => stageRun.state.stageExecutionId !== stageExecutionId || stageRun.state.consumed.includes(token),
    consume: (token) => stageRun.update({ consumed: [...stageRun.state.consumed, token] }),
  })
}

/** The message for a model that stops too early, or that enters a new stage. */
function prompting({ stage: { id, completionTool } }: StageRun, became: 'stays' | 'moved'): string {
  return became === 'moved'
    ? `The stage "${id}" begins; its instructions have replaced those of the last one.`
    : `The stage "${id}" is not complete. Go on, and call ${completionTool} when it is.`
}

const noAudit: AuditSink = { write() {} }

const busy = ({ run, state }: StageRun): CodedError =>
  new CodedError(
    'Validation/StateMachineAttached',
    `the state machine is in the stage "${state.stage}" of run ${run.id}; wait for its end, or create another one`,
  )

/** Stores which approvals are used up. */
export interface Tokens {
  has(token: string): boolean
  /** Takes effect at once; resolves when it is in the log. */
  consume(token: string): Promise<void>
}

/** A stage's verdict about a call of another tool. An approval counts for this one call. */
export async function grantFor(stage: Stage, proposal: StageProposal, tokens: Tokens): Promise<StageVerdict> {
  const token = digestOfJson(proposal)
  if (tokens.has(token)) return consumed(proposal)
  const grant = await ask(stage, proposal)
  if (grant !== 'approve') return grant
  if (tokens.has(token)) return consumed(proposal) // it was used while the stage was deciding
  await tokens.consume(token)
  return { verdict: 'token' }
}

async function ask(stage: Stage, proposal: StageProposal): Promise<StageVerdict | 'approve'> {
  const { allowedTools = [], completionTool } = stage
  const known = [...allowedTools, completionTool].join(', ')
  const why = `"${proposal.tool}" is not for the stage "${stage.id}", which has ${known}`
  if (!stage.grantStageTool) return deny('StageToolDenied', why)
  try {
    const grant = await stage.grantStageTool(proposal)
    if (grant === 'approve') return grant
    return grant === 'defer' ? { verdict: 'defer' } : deny('StageToolDenied', why)
  } catch (error) {
    return deny('StageGrantFailed', `the stage "${stage.id}" could not decide: ${messageOf(error)}`)
  }
}

const consumed = ({ proposalId, tool }: StageProposal): StageVerdict =>
  deny('GrantTokenAlreadyConsumed', `the permission for call ${proposalId} of "${tool}" was used already`)

const deny = (code: string, why: string): StageVerdict => ({ verdict: 'deny', code, why })
