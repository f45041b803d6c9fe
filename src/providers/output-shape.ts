import type { ModelEvent, ModelReply } from '../core/provider.ts'
import type { JsonSchema } from '../core/tool.ts'
import { withoutAddedNulls } from './lower-schema.ts'

/**
 * An answer in the shape that was asked for. What may be left out is nullable in a strict schema, because there nothing
 * can be left out; the nulls that stand for nothing are taken out of the reply again.
 */
export async function* inShape(events: AsyncIterable<ModelEvent>, schema: JsonSchema): AsyncGenerator<ModelEvent> {
  for await (const event of events) yield event.type === 'reply' ? shaped(event, schema) : event
}

function shaped(reply: ModelReply, schema: JsonSchema): ModelReply {
  const content = reply.content.map((block) =>
    block.type === 'text' ? { ...block, text: withoutNulls(block.text, schema) } : block,
  )
  return { ...reply, content }
}

function withoutNulls(text: string, schema: JsonSchema): string {
  if (!text.includes('null')) return text
  try {
    return JSON.stringify(withoutAddedNulls(JSON.parse(text), schema))
  } catch {
    return text // whoever asked will complain
  }
}
