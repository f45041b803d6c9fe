import type { Conversation, Deed } from './conversation.ts'
import type { Intent } from './intent.ts'
import type { Job } from './jobs.ts'
import { brief, code, denialIn } from './results.ts'

/** One step: what is said about it, and what is to be done. */
export interface Ask {
  readonly say: string
  readonly job: Job
}

/** How a request ended. */
export interface Ending {
  readonly says: string
  /** What comes after it should not be tried. */
  readonly isStuck?: boolean
}

/**
 * How a request is carried out: it asks for one thing after another and is handed what came of it. It is played from
 * the start with the results in the conversation each time, so it must do the same for the same results.
 */
export type Plan = Generator<Ask, Ending, Deed>

/** What plans can look at. */
export interface Surroundings {
  readonly conversation: Conversation
  can(job: Job['do']): boolean
  /** Folders that the model was told of; paths in them are shown without them. */
  readonly folders: readonly string[]
  /** Wikis that the model was told of. */
  readonly wikis: readonly string[]
}

export type PlanFor<Kind extends Intent['kind']> = (
  intent: Extract<Intent, { kind: Kind }>,
  around: Surroundings,
) => Plan

/** An ending that says why it came to nothing. */
export function failure(deed: Deed, what: string): Ending {
  const denial = denialIn(deed)
  if (denial !== undefined) return { says: `I was not allowed to ${what}: ${denial}. Nothing was done.`, isStuck: true }
  return { says: `I could not ${what}: ${brief(deed.text, 300)}`, isStuck: true }
}

/** For sentences. */
export const place = (path: string): string => (path === '.' ? 'this folder' : code(path))

/** A plan for what needs nothing to be done. */
// biome-ignore lint/correctness/useYield: there is nothing to do, only to say
export function* saying(ending: Ending): Plan {
  return ending
}
