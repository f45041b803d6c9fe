export type { LogEntry } from '../core/log.ts'
export {
  type AgentEvent,
  type ChildEvent,
  type DurableEvent,
  durable,
  eventVersion,
  followEvents,
  type Provisional,
  type ProvisionalEvent,
} from './events.ts'
export { eventSchema } from './schema.ts'
