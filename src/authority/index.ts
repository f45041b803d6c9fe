/** `libero/authority`: who may do what, decided in one place. */

export type { PersonalAnswer } from './ask-person.ts'
export { createMemoryAudit, teeAudit } from './audit/audit.ts'
export { createFileAudit, verifyAudit } from './audit/audit-file.ts'
export { type Authority, type AuthorityOptions, createAuthority, type Guard, type SessionAnswer } from './authority.ts'
export { type DecisionContext, decide } from './decide.ts'
export { createInteractions, type Interactions, interactThrough } from './interaction/interactions.ts'
export type { Interactor, Prompt } from './interaction/interactor-line.ts'
export type { CommandFacts, EffectFact, JudgedCall, ShellFacts } from './judged-call.ts'
export { explain, explainCommand } from './rules/explain.ts'
export { loadSettings } from './rules/load-settings.ts'
export { testPolicy } from './rules/policy-test.ts'
export {
  type AuthoritySettings,
  type RuleEntry,
  resolveSettings,
  type SecurityMode,
  type SettingsLayers,
  type ToolRule,
} from './rules/settings.ts'
export { defineStages, type Stage, type Stages } from './stages/stages.ts'
export { createStateMachine, type StateMachine } from './stages/state-machine.ts'
export { enterProject, mcpGate } from './trust/enter-project.ts'
export type { ProjectEntry } from './trust/project-entry.ts'
export { projectDigest } from './trust/project-items.ts'
export { trustByDigest } from './trust/trust-by-digest.ts'
export { createTrustList, type TrustList } from './trust/trust-list.ts'
