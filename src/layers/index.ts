export { checkApprovalKey } from '../core/approval-key.ts'
export type { AuditSink } from '../core/authority.ts'
export type { Clock } from '../core/clock.ts'
export type { Interact } from '../core/interaction.ts'
export type { ToolDef } from '../core/tool.ts'
export {
  contractVersion,
  defineToolFile,
  type StateSlot,
  type ToolAnswer,
  type ToolConfig,
  type ToolContract,
  type ToolFailure,
  type ToolLifecycle,
} from './contract.ts'
export type { Layer } from './discover.ts'
export type { ToolHost } from './host.ts'
export { type LayeredTools, type LayeredToolsOptions, layeredTools, type ReloadOutcome } from './layered-tools.ts'
export type { ProjectAccess, ToolCandidate, ToolDiagnostic, ToolListing, ToolState } from './tool-collector.ts'
export { validateContract } from './validate-contract.ts'
