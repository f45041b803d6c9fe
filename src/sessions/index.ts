export type { Clock } from '../core/clock.ts'
export type { AgentError } from '../core/errors.ts'
export type { Session, SessionDetails, SessionQuery, SessionStore, SessionSummary } from '../core/store.ts'
export { exportSession, importSession } from './export.ts'
export type { FileMapAdapter } from './file-map-store.ts'
export { fromClaudeCode } from './interop/claude-code.ts'
export { fromCodex } from './interop/codex.ts'
export { fromTranscript } from './interop/detect-transcript.ts'
export { fromPi } from './interop/pi.ts'
export type { ForeignTranscript } from './interop/transcript.ts'
export type { JsonlStoreOptions } from './jsonl-store.ts'
export type { SessionOptions } from './leased-log.ts'
export {
  manifestOf,
  readManifest,
  resumeFromManifest,
  type SessionManifest,
  writeManifest,
} from './manifest.ts'
export { pruneSessions } from './prune.ts'
export type { RemoteStoreOptions } from './remote-store.ts'
export { createSession, loadSession, openSession } from './session.ts'
export {
  createStoreHandler,
  type StoreHandlerOptions,
  toNodeListener,
} from './store-handler.ts'
export { createFileMapStore, createJsonlStore, createMemoryStore, createRemoteStore } from './stores.ts'
