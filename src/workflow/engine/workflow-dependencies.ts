import type { AuthorityOptions } from '../../authority/authority.ts'
import type { Clock } from '../../core/clock.ts'
import type { ExecutionContext } from '../../core/execution.ts'
import type { LogEntry } from '../../core/log.ts'
import type { Provider } from '../../core/provider.ts'
import type { SessionStore } from '../../core/store.ts'
import type { PluginDefinition, PluginServices } from '../../plugins/plugin.ts'
import type { AgentDefinition } from '../definitions/definition.ts'
import type { WorkflowSettings } from '../settings.ts'
import type { WorkflowOptions } from '../workflow-contract.ts'

/** What all agents of a workflow have in common. */
export interface WorkflowDependencies {
  readonly providerOf: (definition: AgentDefinition) => Provider
  readonly plugins: ReadonlyMap<string, PluginDefinition>
  readonly definition: (id: string) => AgentDefinition
  readonly definitionIds: () => readonly string[]
  readonly settings: () => WorkflowSettings
  readonly services: (agentId: string) => Omit<PluginServices, 'childOf' | 'definitionIds'>
  readonly authority: AuthorityOptions
  /** What the workflow gives to every agent as it is. */
  readonly options: Pick<WorkflowOptions, 'skills' | 'mcpConnector' | 'thinking' | 'withoutTools'>
  readonly execution: ExecutionContext | undefined
  readonly batchTimeoutMs: number | undefined
  readonly clock: Clock
  readonly newId: () => string
  readonly onError: (error: Error) => void
  readonly store: SessionStore
  readonly entries: (id: string, after: number) => Promise<readonly LogEntry[]>
}
