import { CodedError } from '../../core/errors.ts'
import type { JsonSchema } from '../../core/tool.ts'

/**
 * A task in sequential stages: the instructions, the tools that need no approval, and the condition to go on. Parallel
 * stages are not supported: give each its own agent.
 */
export interface Stages {
  /** Stored in the log, so that another machine does not resume the session. Default `stages`. */
  readonly id?: string
  readonly start: string
  readonly stages: readonly Stage[]
}

/** One stage. Its phases are called in this order; the turns of the model come between `grantStageTool` and `assert`. */
export interface Stage {
  readonly id: string
  /** Part of the system prompt during the stage. */
  readonly body: string
  /** Tools that need no approval. All others are denied unless `grantStageTool` decides otherwise. */
  readonly allowedTools?: readonly string[]
  /** After this many turns the stage ends as if completed, with `capHit`. */
  readonly turnCap: number
  /** The tool by which the model completes the stage, created from this name and schema. */
  readonly completionTool: string
  readonly completionSchema: JsonSchema
  /** The only phase that may write `data`, which the later phases read. */
  setup?(ctx: SetupContext): void | Promise<void>
  /** Returns why the stage must not begin; the run then fails. */
  checkGate?(ctx: StageContext): Refusal | Promise<Refusal>
  /** Decides about each call of another tool; `defer` asks a person. */
  grantStageTool?(proposal: StageProposal): StageGrant | Promise<StageGrant>
  /** Returns what is wrong at the end of the stage; the run then fails. */
  assert?(ctx: StageContext): Refusal | Promise<Refusal>
  /** Cleans up. After a crash this phase and its neighbours may be called again. */
  exit?(ctx: StageContext): void | Promise<void>
  /** The next stage; `undefined` ends the run. */
  next(ctx: StageContext): string | undefined | Promise<string | undefined>
}

/** A stage's decision about a call of a tool not in `allowedTools`. */
export type StageGrant = 'approve' | 'deny' | 'defer'

/** A call proposed to a stage. The approval is bound to all five fields. */
export interface StageProposal {
  readonly stageExecutionId: string
  readonly attempt: number
  readonly proposalId: string
  readonly tool: string
  readonly argsDigest: string
}

type Refusal = string | undefined | void

/** The state of a stage, for its phases. Frozen, except for `data` in `setup`. */
export interface StageContext {
  readonly stage: string
  /** New each time a stage is entered. */
  readonly stageExecutionId: string
  /** 1, or more if later runs resumed the stage. */
  readonly attempt: number
  readonly turns: number
  readonly capHit: boolean
  /** The input of the completion tool. */
  readonly completion?: unknown
  /** The inputs of earlier stages, by stage id. */
  readonly completions: Readonly<Record<string, unknown>>
  readonly data: Readonly<Record<string, unknown>>
}

/** The context of `setup`, which may write `data`. */
export interface SetupContext extends Omit<StageContext, 'data'> {
  /** Must be JSON: the log stores it. */
  readonly data: Record<string, unknown>
}

/** Checks and freezes a definition. Throws on errors, before a task starts. */
export function defineStages(definition: Stages): Stages {
  const { id = 'stages', start, stages } = definition
  if (!isName(id)) throw invalid(`id must be a name, got ${JSON.stringify(id)}`)
  if (!Array.isArray(stages) || stages.length === 0) throw invalid('stages must list at least one stage')
  const seen = new Set<string>()
  for (const [i, stage] of stages.entries()) {
    checkStage(stage, `stages[${i}]`)
    if (seen.has(stage.id)) throw invalid(`two stages are called "${stage.id}"; give one of them another id`)
    seen.add(stage.id)
  }
  if (!seen.has(start)) throw invalid(`start must be one of ${[...seen].join(', ')}, got ${JSON.stringify(start)}`)
  return Object.freeze({ id, start, stages: Object.freeze(stages.map((stage) => Object.freeze({ ...stage }))) })
}

function checkStage(stage: Partial<Stage> | null, where: string): void {
  const { id, body, allowedTools, turnCap, completionTool, completionSchema } = stage ?? {}
  const wrong = (field: string, wanted: string, got: unknown): CodedError =>
    invalid(`${where}.${field} must be ${wanted}, got ${JSON.stringify(got) ?? typeof got}`)
  if (!isName(id)) throw wrong('id', 'a name', id)
  if (typeof body !== 'string') throw wrong('body', 'a text for the system prompt', body)
  if (allowedTools !== undefined && !(Array.isArray(allowedTools) && allowedTools.every(isName)))
    throw wrong('allowedTools', 'a list of names of tools', allowedTools)
  if (!Number.isInteger(turnCap) || turnCap! < 1) throw wrong('turnCap', 'a whole number of at least 1', turnCap)
  if (!isName(completionTool)) throw wrong('completionTool', 'the name of a tool', completionTool)
  if (typeof completionSchema !== 'object' || completionSchema === null || Array.isArray(completionSchema))
    throw wrong('completionSchema', 'a JSON Schema of an object', completionSchema)
  if (typeof stage?.next !== 'function') throw wrong('next', 'a function that gives the id of a stage', stage?.next)
  for (const phase of ['setup', 'checkGate', 'grantStageTool', 'assert', 'exit'] as const)
    if (stage[phase] !== undefined && typeof stage[phase] !== 'function') throw wrong(phase, 'a function', stage[phase])
}

const isName = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

const invalid = (what: string): CodedError => new CodedError('Validation/InvalidStages', what)
