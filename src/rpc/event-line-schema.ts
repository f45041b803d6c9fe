import { eventSchema } from '../events/schema.ts'
import {
  type HelloLine,
  lineVersion,
  type NotRunLine,
  type ReplyLine,
  type RequestClosedLine,
  type RequestLine,
} from './event-lines.ts'

type Schema = Readonly<Record<string, unknown>>

const text: Schema = { type: 'string' }
const number: Schema = { type: 'number' }

/** What changes in a file. */
const change: Schema = { added: number, removed: number, diff: text, moreLines: number }

/** The file changes that a call would make, in the payload of an `Approve` request (`ToolPreview`). */
const preview: Schema = {
  type: 'object',
  properties: {
    files: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          path: text,
          change: { enum: ['create', 'replace', 'edit'] },
          ...change,
          edits: { type: 'array', items: { type: 'object', properties: change } },
        },
        required: ['path', 'change'],
      },
    },
  },
  required: ['files'],
}

/** The types ensure that a schema names exactly the fields of its line. */
function line<T extends { readonly type: string }>(
  type: T['type'],
  fields: { readonly [Field in Exclude<keyof T, 'type'>]-?: Schema },
  optional: readonly (keyof T & string)[] = [],
): Schema {
  const all = { type: { const: type }, ...fields }
  return {
    type: 'object',
    properties: all,
    required: Object.keys(all).filter((name) => !optional.includes(name as never)),
  }
}

/** A copy: validators write into the schemas that they are given, so that two schemas must not share parts. */
const events = structuredClone(eventSchema)

/** The JSON Schema (draft 2020-12) of an `EventLine`. Further fields are allowed. */
export const eventLineSchema: Schema = {
  ...events,
  $id: `urn:libero:event-line:${lineVersion}`,
  title: 'A line of libero run --events',
  anyOf: [
    ...(events.anyOf as Schema[]),
    ...['hello', 'request', 'request_closed', 'reply', 'not_run'].map((name) => ({ $ref: `#/$defs/line_${name}` })),
  ],
  $defs: {
    ...(events.$defs as object),
    line_hello: line<HelloLine>(
      'hello',
      {
        lines: { const: lineVersion },
        events: number,
        version: text,
        provider: text,
        model: text,
        cwd: text,
        session: text,
        head: number,
      },
      ['session'],
    ),
    line_request: line<RequestLine>('request', {
      request: text,
      kind: text,
      payload: { type: 'object', properties: { preview, wouldFail: text, edits: number } },
      expiresAt: number,
    }),
    line_request_closed: line<RequestClosedLine>('request_closed', { request: text }),
    line_reply: line<ReplyLine>('reply', { command: text, ok: { type: 'boolean' }, id: text, error: text }, [
      'id',
      'error',
    ]),
    line_not_run: line<NotRunLine>('not_run', { command: text, id: text, status: text, error: text }, ['id', 'error']),
  },
}
