import type { Decision } from '../core/authority.ts'
import type { Confinement, SandboxProfile } from '../core/execution.ts'
import { confinementOf, isEnforcing, type Placement, profileOf, type Reach } from './confinement.ts'
import type { DecisionContext } from './decision-context.ts'
import type { JudgedCall } from './judged-call.ts'
import { isReadingLine } from './reading-line.ts'
import { protection } from './rules/protected-paths.ts'

/** Adds what the commands of the call can reach. Decided last; does not affect whether the call may run. */
export function withConfinement(call: JudgedCall, context: DecisionContext, decision: Decision): Decision {
  if (decision.verdict === 'deny' || decision.confinement !== undefined) return decision
  const confinement = confinedTo(call, context, reachOf(call, context, decision))
  return confinement ? { ...decision, confinement } : decision
}

function reachOf(call: JudgedCall, { mode }: DecisionContext, { verdict, by }: Decision): Reach {
  // What a grant covers, a person saw.
  if (verdict === 'ask' || by === 'grant') return 'proposed'
  const isByMode = by === 'mode-gate' && (mode === 'yolo' || isReadingLine(call, mode))
  return isByMode ? 'nothing' : 'decided'
}

/** What the commands of the call can reach in a sandbox; undefined if it runs none, or there is none that fits. */
function confinedTo(call: JudgedCall, context: DecisionContext, reach: Reach): Confinement | undefined {
  const { mode, rules, root, protect = protection, sandbox, own = [] } = context
  if (!mayRunCommands(call) || root === undefined || !sandbox) return undefined
  // A wider one is better than none.
  const wanted = [neededProfile(call, context, reach), 'workspace-write'] as const
  const profile = wanted.find((one) => sandbox.profiles.includes(one))
  return profile && confinementOf(call, { profile, rules, root, protect, reach, own, isOpen: mode === 'yolo' })
}

function neededProfile(call: JudgedCall, { mode }: DecisionContext, reach: Reach): SandboxProfile {
  if (mode === 'yolo') return 'workspace-write'
  return reach === 'nothing' ? 'read-only' : profileOf(call)
}

/** Why the call cannot run in the sandbox that the decision needs, in words; undefined if it can. */
export function whyUnconfined(call: JudgedCall, context: DecisionContext, decision: Decision): string | undefined {
  return whyNotConfined(neededProfile(call, context, reachOf(call, context, decision)), context)
}

/** Why there is no such sandbox, in words; undefined if there is one. */
export function whyNotConfined(profile: SandboxProfile, { sandbox }: DecisionContext): string | undefined {
  if (sandbox?.profiles.includes(profile)) return undefined
  if (sandbox && sandbox.profiles.length > 0) return `the execution context has no sandbox ${profile}`
  if (sandbox?.isUntried) return `the sandbox cannot be used now: ${sandbox.why}`
  return `there is no sandbox: ${sandbox?.why ?? 'the execution context has none'}`
}

/** Whether there may be a sandbox, but it could not be tried. Even `yolo` runs nothing without it then, because a command could bring such a failure about. */
export const isUntried = ({ sandbox }: DecisionContext): boolean => sandbox?.isUntried === true

export const hasSandbox = ({ sandbox }: DecisionContext): boolean =>
  sandbox !== undefined && sandbox.profiles.length > 0

/**
 * Whether the sandbox itself protects the protected paths, so that the line need not be judged for them. It does not
 * protect files deeper in the workspace.
 */
export const isFloorEnforced = ({ shell, isOutside }: JudgedCall, { mode, sandbox }: DecisionContext): boolean =>
  mode === 'yolo' &&
  shell !== undefined &&
  !isOutside &&
  isEnforcing(sandbox) &&
  sandbox!.profiles.includes('workspace-write')

/** Whether the line runs where no file can be read that a rule denies or asks about. */
export function hidesFiles(call: JudgedCall, context: DecisionContext, decision: Decision): boolean {
  const isConfined = whyUnconfined(call, context, decision) === undefined && isEnforcing(context.sandbox)
  return call.shell !== undefined && !call.isOutside && isConfined
}

/** The decision by a grant, if one covers the call. */
export function granted(call: JudgedCall, context: DecisionContext): Decision | undefined {
  const wanted = runsCommands(call) ? placeWanted(call, context) : undefined
  const found = context.grant?.(wanted)
  if (!found) return undefined
  const isOutside = found.within === 'outside' && hasSandbox(context)
  const why = `${found.grantedBy} approved it before (${found.scope}${isOutside ? ', outside any sandbox' : ''})`
  return { verdict: 'allow', by: 'grant', why, ...(isOutside && { confinement: 'outside' }) }
}

/** Where the call would run its commands. */
function placeWanted(call: JudgedCall, context: DecisionContext): Placement {
  return (call.isOutside ? undefined : confinedTo(call, context, 'proposed')) ?? 'outside'
}

/** Whether the tool may run commands for this call: a search tool does so for reading. */
export const mayRunCommands = ({ effects }: Pick<JudgedCall, 'effects'>): boolean =>
  effects.some(({ effect }) => /^(exec|unknown|fs\.read|fs\.write)$/.test(effect))

/** Whether the call says that it runs commands. */
export const runsCommands = ({ effects }: Pick<JudgedCall, 'effects'>): boolean =>
  effects.some(({ effect }) => effect === 'exec')
