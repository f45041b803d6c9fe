import type { JsonSchema } from './route.ts'

/** JSON Schemas that several routes use. The OpenAPI document has them as components. */

const text = { type: 'string' } as const
const count = { type: 'integer', minimum: 0 } as const

export const statuses = ['working', 'waiting', 'interrupted', 'idle', 'failed', 'parked'] as const

/** The summary of a session. */
export const sessionSchema: JsonSchema = {
  title: 'Session',
  type: 'object',
  required: ['id', 'head', 'status', 'tags', 'createdAt', 'updatedAt', 'turns', 'calls', 'tokens', 'cost', 'bytes'],
  properties: {
    id: text,
    head: { ...count, description: 'The number of the last log entry' },
    title: text,
    tags: { type: 'array', items: text },
    kind: text,
    folder: text,
    parent: { ...text, description: 'The session of the parent agent' },
    status: { type: 'string', enum: statuses },
    attention: { type: 'string', enum: ['owner_died', 'interrupted', 'mail', 'answered'] },
    isHeld: { type: 'boolean' },
    createdAt: count,
    updatedAt: count,
    turns: count,
    calls: count,
    tokens: count,
    cost: { type: 'number', minimum: 0, description: 'In dollars' },
    bytes: count,
    checkpoint: count,
    suspicions: count,
  },
}

/** A call that waits for a person. */
export const pendingCallSchema: JsonSchema = {
  title: 'PendingCall',
  type: 'object',
  required: ['session', 'callId', 'name', 'input', 'digest', 'isQuestion'],
  properties: {
    session: { ...text, description: 'The session of the call: the one that waits, or one of its sub-agents' },
    root: { ...text, description: 'The session that waits' },
    title: text,
    callId: text,
    name: text,
    input: { type: 'object' },
    reason: text,
    digest: { ...text, description: 'Identifies what was shown; send it back with the answer' },
    isQuestion: { type: 'boolean', description: 'It is answered with content; otherwise with a decision' },
    request: { description: 'The prompt: what would run, its effects, the choices' },
  },
}

export const messageContent: JsonSchema = {
  description: 'A text, or parts: { type: "text", text }, { type: "image", mediaType, data } with data in base64',
  anyOf: [
    { type: 'string', minLength: 1 },
    { type: 'array', minItems: 1, items: { type: 'object', required: ['type'] } },
  ],
}

export const detailsProperties: Readonly<Record<string, JsonSchema>> = {
  title: { type: 'string', maxLength: 1000 },
  tags: { type: 'array', maxItems: 64, items: { type: 'string', minLength: 1, maxLength: 200 } },
}

/** An event of a session: a log entry with its number. */
export const eventSchemaRef: JsonSchema = { type: 'object', description: 'As in libero/schemas/events.json' }

/** One page of entries. */
export const eventPageSchema: JsonSchema = {
  type: 'object',
  required: ['events', 'head', 'next'],
  properties: {
    events: { type: 'array', items: eventSchemaRef },
    head: count,
    next: { ...count, description: 'The `after` of the next page' },
  },
}

export const problemSchema: JsonSchema = {
  title: 'Problem',
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: { type: text, title: text, status: count, detail: text, code: text },
}

export const exampleSession = {
  id: 'fix-login',
  head: 12,
  title: 'Find the failing test and fix it',
  tags: [],
  status: 'idle',
  createdAt: 1_790_000_000_000,
  updatedAt: 1_790_000_060_000,
  turns: 4,
  calls: 1,
  tokens: 5120,
  cost: 0.031,
  bytes: 20_480,
}
