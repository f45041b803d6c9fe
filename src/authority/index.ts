/** `libero/authority`: decides which tool calls may run. */

export type { AuditSink, Decision } from '../core/authority.ts'
export type { Clock } from '../core/clock.ts'
export type { Interact } from '../core/interaction.ts'
export type { Redactor } from '../platform/redact.ts'
export { createMemoryAudit, type MemoryAudit, teeAudit } from './audit/audit.ts'
export { type AuditCheck, verifyAudit } from './audit/audit-chain.ts'
export { createFileAudit, type FileAuditOptions } from './audit/audit-file.ts'
export { type Authority, type AuthorityOptions, createAuthority, type Guard } from './authority.ts'
export { type DecisionContext, decide } from './decide.ts'
export type { Interactor, Prompt } from './interaction/interactor-queue.ts'
export type { JudgedCall } from './judged-call.ts'
export { type ExplainOptions, type Explanation, explain, explainCommand } from './rules/explain.ts'
export {
  type FactsOfLine,
  loadSettings,
  type PolicyFailure,
  type SettingsSources,
  testPolicy,
} from './rules/load-settings.ts'
export type { RuleLayer } from './rules/rules.ts'
export {
  type AuthoritySettings,
  type ResolvedSettings,
  resolveSettings,
  type SettingsLayers,
} from './rules/settings.ts'
export type { ShellLocation } from './shell/shell-location.ts'
export type { ReadLine } from './shell/with-reader.ts'
export type { Stage, Stages } from './stages/stages.ts'
export { createStateMachine, type StateMachine, type StateMachineOptions } from './stages/state-machine.ts'
export { type EnterOptions, enterProject, trustByDigest } from './trust/enter-project.ts'
export type { ProjectEntry } from './trust/project-entry.ts'
export { projectDigest } from './trust/project-items.ts'
export type { ProjectSearchOptions } from './trust/project-names.ts'
export { createTrustList, type TrustEntry, type TrustList } from './trust/trust-list.ts'
