export type { AgentEvent } from '../events/events.ts'
export { eventLineSchema } from './event-line-schema.ts'
export {
  type EventCommand,
  type EventLine,
  type HelloLine,
  lineVersion,
  type NotRunLine,
  type ReplyLine,
  type RequestClosedLine,
  type RequestLine,
} from './event-lines.ts'
export { type EventsHost, type OpenRequest, type ServeEventsOptions, serveEvents } from './event-server.ts'
export {
  type AgentStatus,
  foldFrame,
  foldLine,
  idleState,
  isStalled,
  type NormalizedEvent,
  type NormalizedType,
  normalizeEvent,
  type WatchedState,
} from './fold-state.ts'
export type {
  ZotCommand,
  ZotContent,
  ZotEvent,
  ZotFrame,
  ZotImage,
  ZotMessage,
  ZotResponse,
  ZotStop,
  ZotToolCall,
  ZotUsage,
} from './frames.ts'
export { zotFragment } from './frames.ts'
export type { RpcHost, RpcImage, RpcModel, RunOutcome } from './host.ts'
export { type InputLine, LineTooLongError, type ReadLinesOptions, readLines } from './read-lines.ts'
export {
  type LineWriter,
  type Output,
  type TextFragment,
  type WriteLinesOptions,
  writeFrame,
  writeLines,
} from './write-lines.ts'
export { ZotProjection, type ZotProjectionOptions } from './zot-projection.ts'
export { type ServeEnd, type ServeOptions, serveZot } from './zot-server.ts'
