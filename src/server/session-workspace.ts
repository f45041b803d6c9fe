import type { Authority } from '../authority/authority.ts'
import type { SecurityMode } from '../authority/rules/settings.ts'
import type { ModelChoice } from '../chat/chat.ts'
import type { ChatCommand } from '../chat/command.ts'
import type { FindDecision } from '../chat/commands/why.ts'
import type { ExecutionContext } from '../core/execution.ts'
import type { Provider } from '../core/provider.ts'
import type { Session } from '../core/store.ts'
import type { ThinkingLevel } from '../core/thinking.ts'
import type { Snapshots } from '../snapshots/snapshots.ts'

/**
 * What a host knows about the place in which a session works, while no agent works there. The server keeps it open for some
 * seconds. What is absent, the routes about it answer with `not_offered`.
 */
export interface SessionWorkspace {
  /** What the next run would use. */
  settings?(session: Session): Promise<SettingsInUse>
  /** The profiles that can be chosen. */
  readonly profiles?: readonly string[]
  /** Where its tools work: for the names of files, and files that a message names. */
  readonly execution?: ExecutionContext
  /** Decides whether a file may be attached. Without it none is. */
  readonly authority?: Authority
  readonly snapshots?: Snapshots
  /** The models that can be chosen, for commands that name one. */
  models?(): Promise<readonly ModelChoice[]>
  /** Commands that become messages: of Markdown files, and of skills. */
  commands?(): Promise<readonly ChatCommand[]>
  /** Finds the decision about a call, in an audit. */
  readonly findDecision?: FindDecision
  /** The prices of a model. */
  costOf?(session: Session): Promise<Provider['costOf']>
  close(): Promise<void>
}

/** The settings of a run. */
export interface SettingsInUse {
  readonly model?: { readonly provider: string; readonly model: string; readonly contextWindow?: number }
  readonly thinking?: ThinkingLevel
  readonly mode?: SecurityMode
  readonly profile?: string
  readonly folder?: string
}
