import type { SandboxSupport } from '../core/execution.ts'
import type { GrantedPlacement, Placement } from './confinement.ts'
import type { Protect } from './rules/protected-paths.ts'
import type { CompiledRules } from './rules/rules.ts'
import type { SecurityMode } from './rules/settings.ts'

/** What a decision depends on besides the call. */
export interface DecisionContext {
  readonly mode: SecurityMode
  readonly rules: CompiledRules
  /** The workspace, absolute, for rules with absolute paths. */
  readonly root?: string
  readonly stage?: StageVerdict
  /**
   * Finds a grant that covers the call and, for one that runs commands, what it would reach. Not called where no approval
   * is needed, as in `yolo`.
   */
  readonly grant?: (wanted: Placement | undefined) => FoundGrant | undefined
  /** The sandboxes that the commands of the call can run in. Default: none. */
  readonly sandbox?: SandboxSupport
  /** Matches of the regular expressions of the tool's rule, which a thread evaluates beforehand. */
  readonly patterns?: { readonly deny?: string; readonly allow?: string } | undefined
  /** What happens to calls that always need an approval; `deny` where no person can be asked. Default `ask`. */
  readonly floor?: 'ask' | 'deny'
  /** The protected paths. Default: by name alone. */
  readonly protect?: Protect
  /** The folders with this program's settings, grants and credentials: no command sees them. */
  readonly own?: readonly string[]
}

/** A grant, as far as a decision depends on it. */
interface FoundGrant {
  readonly scope: string
  readonly grantedBy: string
  readonly within?: GrantedPlacement
}

/** `envelope`: the stage allows the tool. `token`: it allowed this one call. `deny`, with a code. `defer`: a person decides. */
export type StageVerdict =
  | { readonly verdict: 'envelope' | 'token' }
  | { readonly verdict: 'deny'; readonly code: string; readonly why: string }
  | { readonly verdict: 'defer' }
