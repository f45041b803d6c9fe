import type { Placement } from '../confinement.ts'
import type { JudgedCall } from '../judged-call.ts'
import { coveredCalls } from './covered-calls.ts'
import type { Grant } from './grant.ts'
import { isCoveredByRule } from './grant-rule.ts'
import type { GrantIdentity } from './grants.ts'

/** Where a call is made, for grants. */
export interface GrantPlace {
  /** The session of the call, then its parents. */
  readonly sessionIds: readonly string[]
  /** The workspace. */
  readonly project: string
  /** The same with all links resolved. Default: the same. */
  readonly realProject?: string
  /** Those of `boundFiles` that exist: a grant with a rule covers the call only if it is bound to each. Default: none. */
  readonly existingBoundFiles?: readonly string[]
}

/** What a grant must cover to allow a call whose commands would run in this place. */
export function grantIdentity(call: JudgedCall, at: GrantPlace, wanted: Placement | undefined): GrantIdentity {
  const { sessionIds, project, realProject = project, existingBoundFiles = [] } = at
  const { tool, origin } = call
  const { key } = coveredCalls(call)
  const isCoveredBy = ({ rule = '', bound = {} }: Grant): boolean =>
    existingBoundFiles.every((path) => Object.hasOwn(bound, path)) && isCoveredByRule(rule, call)
  return { tool, key, origin, sessionIds, project: realProject, wanted, isCoveredBy }
}
