import type { AuditSink } from '../../core/authority.ts'
import { CodedError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { isPlainJson } from '../../core/plain-json.ts'
import type { Run } from '../../core/run.ts'
import type { ToolDef } from '../../core/tool.ts'
import { copyJson, deepFreeze } from '../../core/turn.ts'
import type { Stage, StageContext, Stages } from './stages.ts'

/** The progress of one run through the stages. */
export interface StageRun {
  readonly run: Run
  readonly state: StageState
  readonly stage: Stage
  /** Called after a turn. Leaves the stage if it is complete, and says what happened. */
  afterTurn(): Promise<'stays' | 'moved' | 'ended'>
  /** Takes effect at once; resolves when it is in the log. */
  update(change: Partial<StageState>): Promise<void>
}

const section = 'stage'

/** Resumes at the session's stage, or enters the first one. */
export async function runStages(
  run: Run,
  { definition, newId, audit }: { definition: Stages; newId: () => string; audit: AuditSink },
): Promise<StageRun> {
  const { id: machine = '', start } = definition
  let state: StageState
  let stage: Stage
  const stageRun: StageRun = {
    run,
    get state() {
      return state
    },
    get stage() {
      return stage
    },
    afterTurn: () => orFail(afterTurn),
    update,
  }
  const stored = readState(run.log, definition)
  if (stored) await orFail(() => resume(stored))
  else await orFail(() => enter(start, {}))
  return stageRun

  function update(change: Partial<StageState>): Promise<void> {
    state = { ...state, ...change }
    return writeState(run.log, state)
  }

  /** Resuming is a new attempt: calls that were judged before are judged again. */
  async function resume(kept: StageState): Promise<void> {
    state = kept
    stage = stageOf(kept.stage)
    await note('StageExecution', 'StageResumed')
    await update({ attempt: kept.attempt + 1 })
    init()
    if (state.completion) await leave()
  }

  async function enter(id: string, completions: StageState['completions']): Promise<void> {
    const entered = stageOf(id)
    const data: Record<string, unknown> = {}
    const fresh: StageState = {
      ...{ machine, status: 'running', stage: id, stageExecutionId: newId(), attempt: 1, turns: 0 },
      ...{ data: {}, completions, consumed: [] },
    }
    await note('StageExecution', 'StageStarted', fresh)
    await entered.setup?.(Object.freeze({ ...contextOf(fresh, entered), data }))
    if (!isPlainJson(data))
      throw new CodedError(
        'Validation/StageDataInvalid',
        `setup of the stage "${id}" left something in data that is no JSON`,
      )
    uninstall()
    stage = entered
    state = fresh
    await update({ data })
    init()
    const refusal = await stage.checkGate?.(contextOf(state, stage))
    if (refusal) throw new CodedError('Session/StageGateRefused', `the stage "${id}" must not begin: ${refusal}`)
  }

  function init(): void {
    const { completionTool } = stage
    if (run.tools.get(completionTool))
      throw new CodedError(
        'Validation/InvalidStages',
        `the completion tool "${completionTool}" of the stage "${stage.id}" has the name of another tool; rename one of them`,
      )
    run.tools.add(completionToolOf(stageRun))
    run.system.set(section, stage.body)
  }

  function uninstall(): void {
    if (stage) run.tools.remove(stage.completionTool)
  }

  async function afterTurn(): Promise<'stays' | 'moved' | 'ended'> {
    if (state.status !== 'running') return 'ended'
    if (!state.completion && state.turns < stage.turnCap) return 'stays'
    await leave()
    return stageRun.state.status === 'running' ? 'moved' : 'ended'
  }

  async function leave(): Promise<void> {
    const ctx = contextOf(state, stage)
    const refusal = await stage.assert?.(ctx)
    if (refusal) throw new CodedError('Session/StageAssertionFailed', `the stage "${stage.id}" ended badly: ${refusal}`)
    await stage.exit?.(ctx)
    const to = await stage.next(ctx)
    await note('StageExecution', 'StageEnded')
    await note('SMTransition', 'SMTransition', state, { from: stage.id, to: to ?? null, capHit: ctx.capHit })
    const { completion } = state
    const completions = completion ? { ...state.completions, [stage.id]: completion.input } : state.completions
    if (to !== undefined) return enter(to, completions)
    await update({ status: 'done', completions })
    uninstall()
  }

  function stageOf(id: string): Stage {
    const found = definition.stages.find((one) => one.id === id)
    if (found) return found
    const ids = definition.stages.map((one) => one.id).join(', ')
    throw new CodedError('Validation/UnknownStage', `next of "${stage.id}" gave "${id}"; the stages are ${ids}`)
  }

  async function note(kind: string, event: string, about = state, more?: Record<string, unknown>): Promise<void> {
    const { stage: id, stageExecutionId, attempt, turns } = about
    const details = { machine, stage: id, stageExecutionId, attempt, turns, ...more }
    const ids = { runId: run.id, ...(run.session && { sessionId: run.session.id }) }
    await audit.write({ class: kind, event, ...ids, details })
  }

  /** An error ends this pass through the stages; a later run starts again. */
  async function orFail<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (state) await update({ status: 'failed' }).catch(() => {}) // the log itself may have failed
      throw error
    }
  }
}

/** The tool that completes the stage. The stage ends after the turn. */
function completionToolOf(stageRun: StageRun): ToolDef {
  const { id, completionTool: name, completionSchema: inputSchema } = stageRun.stage
  return {
    spec: {
      name,
      description: `Completes the stage "${id}". Call it when the work of this stage is done.`,
      inputSchema,
    },
    effects: [],
    replay: 'pure',
    async execute(input) {
      if (stageRun.state.completion) return { output: `The stage "${id}" is complete already.`, isError: true }
      await stageRun.update({ completion: { input } })
      return `The stage "${id}" is complete.`
    },
  }
}

/** The state of a machine, as stored in the log. */
export interface StageState {
  readonly machine: string
  readonly status: 'running' | 'done' | 'failed'
  readonly stage: string
  readonly stageExecutionId: string
  readonly attempt: number
  readonly turns: number
  readonly data: Readonly<Record<string, unknown>>
  /** Set once the stage is complete, until it is left. */
  readonly completion?: { readonly input: unknown }
  readonly completions: Readonly<Record<string, unknown>>
  readonly consumed: readonly string[]
}

const owner = 'state-machine'

function readState({ transcript }: Log, { id, stages }: Stages): StageState | undefined {
  const state = transcript.states.get(owner) as StageState | undefined
  if (state?.status !== 'running') return undefined
  if (state.machine !== id || !stages.some((stage) => stage.id === state.stage))
    throw new CodedError(
      'Session/ResumeMismatch',
      `the session stands in the stage "${state.stage}" of "${state.machine}", which "${id}" does not have; go on with the machine it was begun with`,
    )
  return state
}

async function writeState(log: Log, state: StageState): Promise<void> {
  await log.append({ type: 'state', owner, value: state })
}

/** The context of a stage's phases: a frozen copy. */
function contextOf(state: StageState, { turnCap }: Stage): StageContext {
  const { stage, stageExecutionId, attempt, turns, completion, completions, data } = state
  return deepFreeze({
    ...{ stage, stageExecutionId, attempt, turns },
    capHit: completion === undefined && turns >= turnCap,
    ...(completion && { completion: copyJson(completion.input) }),
    completions: copyJson(completions),
    data: copyJson(data),
  })
}
