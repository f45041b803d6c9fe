import type { ApprovalExtent, ApprovalPlace, ApprovalScope } from '../../core/authority.ts'
import type { SandboxSupport } from '../../core/execution.ts'
import { type GrantedPlacement, isEnforcing, type Placement } from '../confinement.ts'
import type { ProposedRule } from '../grants/grant-rule.ts'

/** What a person who is asked about a call may choose, besides no. */
export interface ApprovalOption {
  readonly scope: ApprovalScope
  /** Absent where no sandbox is concerned. */
  readonly where?: ApprovalPlace
  /** How long it counts, and for what: all that it allows. */
  readonly words: string
  /** With the scope `project`: the person may keep this rule instead, as they changed it; see `ApprovalExtent.rule`. */
  readonly rule?: ProposedRule
}

interface Offer {
  /** Where the commands of the call would run. Absent if it runs none, or there is no sandbox. */
  readonly place?: Placement | undefined
  /** The sandboxes of the execution context. */
  readonly sandbox?: SandboxSupport | undefined
  /** The calls that a grant would cover, in words. */
  readonly covers: string
  /** The longest time to offer. */
  readonly longest: ApprovalScope
  /** A rule that a person may change and keep for the project. */
  readonly rule?: ProposedRule | undefined
}

/** The choices for a call, the narrowest first. */
export function approvalOptions({ place, sandbox, covers, longest, rule }: Offer): ApprovalOption[] {
  const where = place && ({ where: place === 'outside' ? 'outside' : 'inside' } as const)
  const words = place && placeWords(place, sandbox)
  const at = words ? `, ${words}` : ''
  const option = (scope: ApprovalScope, words: string): ApprovalOption => ({ scope, ...where, words: `${words}${at}` })
  const outside: ApprovalOption = { scope: 'once', where: 'outside', words: `once, ${placeWords('outside')}` }
  return [
    option('once', 'once'),
    ...(where?.where === 'inside' ? [outside] : []),
    ...(longest === 'once' ? [] : [option('session', `in this session: ${covers}`)]),
    ...(longest === 'project'
      ? [
          {
            ...option('project', `always: ${covers}`),
            ...(rule && { rule: { ...rule, ...(words && { place: words }) } }),
          },
        ]
      : []),
  ]
}

/** The choice that was meant. A scope that is not offered counts as `once`; `inside` without a sandbox is no choice. */
export function chosenOption(
  options: readonly ApprovalOption[],
  { scope = 'once', where }: ApprovalExtent,
): ApprovalOption | undefined {
  if (where === 'inside' && !options.some((one) => one.where === 'inside')) return undefined
  const fits = (wanted: ApprovalScope, place?: ApprovalPlace) => (one: ApprovalOption) =>
    one.scope === wanted && (place === undefined || one.where === place)
  return options.find(fits(scope, where)) ?? options.find(fits('once', where)) ?? options[0]
}

/** Where commands run, in the words of choices and lists. */
export function placeWords(place: GrantedPlacement, sandbox?: SandboxSupport): string {
  if (place === 'outside') return 'outside any sandbox, with all your rights'
  if (sandbox && !isEnforcing(sandbox)) return 'in the container'
  const net = place.hosts === 'any' ? 'any network' : place.hosts.join(', ')
  return `inside the sandbox ${place.profile}${net === '' ? '' : ` with ${net}`}`
}
