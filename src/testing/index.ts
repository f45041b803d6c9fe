export type { Clock } from '../core/clock.ts'
export type { AgentProviderError } from '../core/errors.ts'
export type { ExecResult, ExecutionContext } from '../core/execution.ts'
export type { Provider, ProviderCapabilities } from '../core/provider.ts'
export type { SessionStore } from '../core/store.ts'
export type { ToolDef } from '../core/tool.ts'
export type { Message, ToolCallBlock } from '../core/turn.ts'
export type { RedactorOptions } from '../platform/redact.ts'
export { type Difference, ReplayError } from './cassette/differences.ts'
export type { PlayerOptions } from './cassette/player.ts'
export type { ContractCase } from './contract.ts'
export { executionContract } from './execution-contract.ts'
export { type CacheWatch, expectNoCacheBreaks } from './expect-no-cache-breaks.ts'
export { type FakeClock, fakeClock } from './fake-clock.ts'
export { type MemoryExecution, type MemoryExecutionOptions, memoryExecution } from './memory-execution.ts'
export { type ContractRequest, type ProviderContractOptions, providerContract } from './provider-contract.ts'
export { type Recorder, type RecordOptions, record } from './record.ts'
export { type Replay, type ReplayOptions, replay } from './replay.ts'
export {
  call,
  type ScriptedOptions,
  type ScriptedProvider,
  type ScriptedReply,
  type Step,
  scripted,
  texts,
  tool,
} from './scripted.ts'
export { type StoreContractOptions, storeContract } from './store-contract.ts'
