import { CodedError } from '../../core/errors.ts'
import type { JsonSchema } from '../../core/tool.ts'

/**
 * A task in stages, one after another: what the model is told, what it may use without a question, and when it goes
 * on. Stages side by side are not part of it: give each its own agent.
 */
export interface Stages {
  /** Kept in the log, so that a session is not taken up by another machine. Default `stages`. */
  readonly id?: string
  readonly start: string
  readonly stages: readonly Stage[]
}

/** One stage. Its phases are called in the order in which they stand here; Act, the turns of the model, is in between. */
export interface Stage {
  readonly id: string
  /** Stands in the system prompt while the stage lasts. */
  readonly body: string
  /** Tools that need no further permission here. All others are denied unless `grantStageTool` says otherwise. */
  readonly allowedTools?: readonly string[]
  /** After so many turns the stage ends as if it had been completed, with `capHit`. */
  readonly turnCap: number
  /** The tool that the model completes the stage with; it is made from this name and the schema. */
  readonly completionTool: string
  readonly completionSchema: JsonSchema
  /** The only phase that may write: what it puts into `data` is there for the rest of the stage. */
  setup?(ctx: SetupContext): void | Promise<void>
  /** A text says why the stage must not begin; the run then fails. */
  checkGate?(ctx: StageContext): Refusal | Promise<Refusal>
  /** Asked about each call of a tool that is not allowed anyway; `defer` lets a person decide. */
  grantStageTool?(proposal: StageProposal): StageGrant | Promise<StageGrant>
  /** A text says what is wrong with how the stage ended; the run then fails. */
  assert?(ctx: StageContext): Refusal | Promise<Refusal>
  /** Clears up. After a crash this phase, and those around it, may be called once more. */
  exit?(ctx: StageContext): void | Promise<void>
  /** The stage to go on with; `undefined` ends the run. */
  next(ctx: StageContext): string | undefined | Promise<string | undefined>
}

/** What a stage says about a call of a tool that it does not name. */
export type StageGrant = 'approve' | 'deny' | 'defer'

/** What a stage is asked about, and what its approval is bound to: all five. */
export interface StageProposal {
  readonly stageExecutionId: string
  readonly attempt: number
  /** Of the call. */
  readonly proposalId: string
  readonly tool: string
  readonly argsDigest: string
}

type Refusal = string | undefined | void

/** What a stage knows of itself. Frozen, except for `data` in `setup`. */
export interface StageContext {
  readonly stage: string
  /** Another one each time a stage is entered. */
  readonly stageExecutionId: string
  /** 1, or more where later runs went on with the stage. */
  readonly attempt: number
  readonly turns: number
  readonly capHit: boolean
  /** What the completion tool was called with. */
  readonly completion?: unknown
  /** The same of the stages before, by their ids. */
  readonly completions: Readonly<Record<string, unknown>>
  readonly data: Readonly<Record<string, unknown>>
}

/** The same for `setup`, which may write. */
export interface SetupContext extends Omit<StageContext, 'data'> {
  /** Has to be JSON: it is kept in the log. */
  readonly data: Record<string, unknown>
}

/** Checks a definition and freezes it. What is wrong is said here, not in the middle of a task. */
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
