export type { LogEntry } from '../core/log.ts'
export { type AgentEvent, type DurableEvent, durable, eventVersion, followEvents } from './events.ts'
export { eventSchema } from './schema.ts'
