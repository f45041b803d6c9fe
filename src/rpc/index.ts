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
export { type Asked, type EventsHost, type ServeEventsOptions, serveEvents } from './event-server.ts'
export { type AgentStatus, foldFrame, foldLine, idleState, isStalled, type WatchedState } from './fold-state.ts'
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
export type { RpcHost, RpcImage, RpcModel, RunOutcome } from './host.ts'
export { type NormalizedEvent, type NormalizedType, normalizeEvent } from './normalize-event.ts'
export { type Line, LineTooLongError, type ReadLinesOptions, readLines } from './read-lines.ts'
export { writeFrame } from './write-frame.ts'
export { type LineWriter, type Output, type Piece, type WriteLinesOptions, writeLines } from './write-lines.ts'
export { zotPiece } from './zot-piece.ts'
export { ZotProjection, type ZotProjectionOptions } from './zot-projection.ts'
export { type ServeEnd, type ServeOptions, serveZot } from './zot-server.ts'
