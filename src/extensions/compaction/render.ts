import type { ShownTurn } from '../../core/shown-turns.ts'
import type { SessionContentBlock } from '../../core/turn.ts'
import { markerOf, outputText } from './shorten.ts'

/** One thing that happened, as text that can be read without the conversation around it. */
export interface Passage {
  readonly kind: 'user' | 'assistant' | 'call' | 'result'
  readonly head: string
  readonly body: string
  /** Of a call or a result. */
  readonly callId?: string
  readonly isError?: boolean
  /** Whose result it is; its body is then the tool's own text, and not to be trusted. */
  readonly tool?: string
}

/** The turns as passages. Thinking is left out: what came of it was said or done. */
export function passagesOf(turns: readonly ShownTurn[]): Passage[] {
  const names = new Map<string, string>()
  return turns.flatMap(({ role, blocks }) =>
    blocks.flatMap((block) => {
      if (block?.type === 'tool_call') names.set(block.id, String(block.name))
      const passage = block && passageOf(role, block, names)
      return passage ? [passage] : []
    }),
  )
}

function passageOf(
  role: 'user' | 'assistant',
  block: SessionContentBlock,
  names: ReadonlyMap<string, string>,
): Passage | undefined {
  const speaker = role === 'user' ? 'User' : 'Assistant'
  switch (block.type) {
    case 'text':
      return String(block.text).trim() === ''
        ? undefined
        : { kind: role, head: `${speaker}:`, body: String(block.text) }
    case 'image':
    case 'document':
      return { kind: role, head: `${speaker}:`, body: markerOf(block) }
    case 'tool_call':
      return {
        kind: 'call',
        head: `Assistant calls ${String(block.name)}:`,
        body: argumentsOf(block),
        callId: block.id,
      }
    case 'tool_result': {
      const name = names.get(block.callId) ?? 'a tool'
      const isError = block.isError === true
      const head = `${isError ? 'Error' : 'Result'} of ${name}:`
      return { kind: 'result', head, body: outputText(block), callId: block.callId, isError, tool: name }
    }
    default:
      return undefined
  }
}

const argumentsOf = ({ input, raw }: Extract<SessionContentBlock, { type: 'tool_call' }>): string =>
  raw ?? JSON.stringify(input) ?? ''
