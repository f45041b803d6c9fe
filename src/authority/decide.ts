import type { Decision } from '../core/authority.ts'
import type { JudgedCall } from './judged-call.ts'
import type { SecurityMode } from './settings.ts'

/** What a decision depends on beside the call. */
export interface DecisionContext {
  readonly mode: SecurityMode
  /** Compiled once from all layers. */
  readonly rules: unknown
  /** What the state machine, if one is attached, says about this call. */
  readonly stage?: StageVerdict
  /** Looks for an approval that was given before and still holds. Not called where no approval is needed, as in `yolo`. */
  readonly grant?: () => { readonly scope: string; readonly grantedBy: string } | undefined
  /** What the regular expressions of the tool's rule found; they are tried in a thread, beforehand. */
  readonly patterns?: { readonly deny?: string; readonly allow?: string }
}

/** `envelope`: the stage allows the tool; `token`: it granted this very call; `deny`, with a code; `defer`: a person decides. */
export type StageVerdict =
  | { readonly verdict: 'envelope' | 'token' }
  | { readonly verdict: 'deny'; readonly code: string; readonly why: string }
  | { readonly verdict: 'defer' }

/** The one place that decides. Pure: the same call in the same context gets the same decision, with the reason for it. */
export declare function decide(call: JudgedCall, context: DecisionContext): Decision
