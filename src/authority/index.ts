/** `libero/authority`: decides which tool calls may run. */

export type { AuditRecord, AuditSink, Decision } from '../core/authority.ts'
export type { Clock } from '../core/clock.ts'
export type { SandboxSupport } from '../core/execution.ts'
export type { Interact } from '../core/interaction.ts'
export { createMemoryAudit, teeAudit } from './audit/audit.ts'
export { createFileAudit } from './audit/audit-file.ts'
export { verifyAudit } from './audit/verify-audit.ts'
export { type Authority, type AuthorityOptions, createAuthority, type Guard } from './authority.ts'
export type { DecisionContext } from './decision-context.ts'
export type { Interactor, Prompt } from './interaction/interactor-queue.ts'
export type { JudgedCall } from './judged-call.ts'
export { type Explanation, explain, explainCommand } from './rules/explain.ts'
export { loadSettings, testPolicy } from './rules/load-settings.ts'
export {
  type AuthoritySettings,
  type ResolvedSettings,
  resolveSettings,
  type SettingsLayers,
} from './rules/settings.ts'
export type { Stage, Stages } from './stages/stages.ts'
export { createStateMachine, type StateMachine } from './stages/state-machine.ts'
export { enterProject, trustByDigest } from './trust/enter-project.ts'
export type { ProjectEntry } from './trust/project-entry.ts'
export { projectDigest } from './trust/project-items.ts'
export type { ClaudeSearch } from './trust/project-names.ts'
export { createTrustList, type TrustEntry, type TrustList } from './trust/trust-list.ts'
