export type { AgentEvent } from '../events/events.ts'
export type { JoinRun } from '../events/runs-elsewhere.ts'
export { eventLineSchema } from './event-line-schema.ts'
export { type EventCommand, type EventLine, lineVersion } from './event-lines.ts'
export { type EventsHost, serveEvents } from './event-server.ts'
export {
  foldFrame,
  foldLine,
  idleState,
  isStalled,
  normalizeEvent,
  type WatchedState,
} from './fold-state.ts'
export type { ZotEvent, ZotUsage } from './frames.ts'
export type { RpcHost, RunOutcome } from './host.ts'
export { joinLocalRuns } from './join-local-runs.ts'
export { offerLocalEvents } from './offer-local-events.ts'
export { type Output, writeFrame } from './write-lines.ts'
export { ZotProjection } from './zot-projection.ts'
export { serveZot } from './zot-server.ts'
