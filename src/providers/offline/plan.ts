import type { CallResult, Conversation } from './conversation.ts'
import type { Job } from './jobs.ts'
import type { Intent } from './requests.ts'
import { brief, denialIn } from './results.ts'

/** One step of a plan: what the model says about it, and the tool call it needs. */
export interface PlanStep {
  readonly say: string
  readonly job: Job
}

/** How a request ended. After a failed one, the requests that follow are not tried. */
export interface PlanEnd {
  readonly says: string
  readonly isFailed?: boolean
}

/**
 * Carries out a request: it yields one step after the other and gets the result of each. For every reply it is played from
 * the start with the results in the conversation, so it must yield the same steps for the same results.
 */
export type Plan = Generator<PlanStep, PlanEnd, CallResult>

export interface PlanContext {
  readonly conversation: Conversation
  /** Whether there is a tool for a job. */
  can(job: Job['do']): boolean
  /** Folders in the system prompt; paths in them are shown without them. */
  readonly folders: readonly string[]
  /** Wikis in the system prompt. */
  readonly wikis: readonly string[]
}

export type PlanFor<Kind extends Intent['kind']> = (
  intent: Extract<Intent, { kind: Kind }>,
  context: PlanContext,
) => Plan

/** The end of a request whose call failed or was denied. */
export function failure(result: CallResult, what: string): PlanEnd {
  const denial = denialIn(result)
  if (denial !== undefined)
    return { says: `I was not allowed to ${what}: ${denial}. Nothing was done.`, isFailed: true }
  return { says: `I could not ${what}: ${brief(result.text, 300)}`, isFailed: true }
}

/** A plan of one call. */
export function* oneCall(step: PlanStep, what: string, describe: (result: CallResult) => string): Plan {
  const result = yield step
  return result.isError ? failure(result, what) : { says: describe(result) }
}
