export { type FakeClock, fakeClock } from './fake-clock.ts'
export { type MemoryExecution, type MemoryExecutionOptions, memoryExecution } from './memory-execution.ts'
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
