/** `libero/authority`: decides which tool calls may run. */

export type { AuditSink, Decision } from '../core/authority.ts'
export type { Clock } from '../core/clock.ts'
export type { Interact } from '../core/interaction.ts'
export type { Redactor } from '../platform/redact.ts'
export type { PersonalAnswer } from './ask-person.ts'
export { createMemoryAudit, type MemoryAudit, teeAudit } from './audit/audit.ts'
export { type AuditCheck, verifyAudit } from './audit/audit-chain.ts'
export { createFileAudit, type FileAuditOptions } from './audit/audit-file.ts'
export {
  type Authority,
  type AuthorityOptions,
  type CallScope,
  createAuthority,
  type Guard,
  type SessionAnswer,
} from './authority.ts'
export { type DecisionContext, decide, type StageVerdict } from './decide.ts'
export type { ApprovalScope, Grant, Grants } from './grants/grants.ts'
export type { ApprovePayload, BatchPayload } from './interaction/consent.ts'
export type { InteractionAnswer } from './interaction/interaction-kinds.ts'
export { type InteractionOutcome, type Interactions, interactThrough } from './interaction/interactions.ts'
export type { Interactor, OpenInteraction, Prompt } from './interaction/interactor-queue.ts'
export type { CommandFacts, EffectFact, JudgedCall, ShellFacts } from './judged-call.ts'
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
  type RuleEntry,
  resolveSettings,
  type SecurityMode,
  type SettingsLayers,
  type ToolRule,
} from './rules/settings.ts'
export type { ReadCommand, ReadRedirect, ShellReading } from './shell/reading.ts'
export type { ShellLocation } from './shell/shell-location.ts'
export type { ReadLine } from './shell/with-reader.ts'
export type { SetupContext, Stage, StageContext, StageGrant, StageProposal, Stages } from './stages/stages.ts'
export { createStateMachine, type StateMachine, type StateMachineOptions } from './stages/state-machine.ts'
export { type EnterOptions, enterProject, trustByDigest } from './trust/enter-project.ts'
export type { Instructions } from './trust/instructions.ts'
export { instructionsSection } from './trust/instructions.ts'
export type { PendingItem } from './trust/item-gate.ts'
export type { ProjectEntry } from './trust/project-entry.ts'
export { type ProjectItem, projectDigest } from './trust/project-items.ts'
export type { ProjectSearchOptions } from './trust/project-names.ts'
export { createTrustList, type TrustEntry, type TrustList } from './trust/trust-list.ts'
