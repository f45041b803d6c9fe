import type { ModelEvent, ModelReply, Provider } from '../src/core/provider.ts'
import type { ToolDef } from '../src/core/tool.ts'

/** What a model call looks like that costs nothing: text, then calls, for a number of turns. */
export interface Shape {
  readonly turns: number
  readonly deltas: number
  readonly calls: number
  /** `bare`: arguments come in one piece, as no service sends them; shows the cost of a call alone. */
  readonly pieces?: 'bare'
}

const text = 'The quick brown fox jumps over the lazy dog, and the dog does not mind at all.'
const args = JSON.stringify({ text, path: 'src/components/button.tsx' })
/** Services send arguments as they send text: a token or two at a time. */
const pieces = args.match(/.{1,6}/g)!

/** Replies are made anew each time, as a real provider's would be. */
export function freeProvider({ turns, deltas, calls, pieces: wanted }: Shape): Provider {
  let turn = 0
  return {
    meta: { name: 'free', defaultModel: 'free' },
    async *stream(): AsyncGenerator<ModelEvent> {
      turn++
      for (let i = 0; i < deltas; i++) yield { type: 'text', delta: 'word ' }
      const isLast = turn >= turns
      const content: ModelReply['content'][number][] = [{ type: 'text', text: 'word' }]
      for (let i = 0; i < (isLast ? 0 : calls); i++) {
        const id = `c${turn}-${i}`
        yield { type: 'tool_start', id, name: 'echo' }
        if (wanted === 'bare') yield { type: 'tool_args', id, delta: args }
        else for (const delta of pieces) yield { type: 'tool_args', id, delta }
        yield { type: 'tool_end', id }
        content.push({ type: 'tool_call', id, name: 'echo', input: args })
      }
      yield { type: 'reply', content, usage: { input: 1, output: 1 }, stop: isLast ? 'end' : 'tool_use' }
    },
  }
}

export const echo: ToolDef<{ text: string }> = {
  spec: {
    name: 'echo',
    description: 'Says it again.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' }, path: { type: 'string' } } },
  },
  execute: async ({ text }) => text,
}

/** The least one could write by hand for the same conversation: no hooks, no log, no limits, no checks. */
export async function floor(shape: Shape): Promise<void> {
  const provider = freeProvider(shape)
  const tools = new Map([[echo.spec.name, echo]])
  const { signal } = new AbortController()
  const messages: unknown[] = [{ role: 'user', content: [{ type: 'text', text: 'go' }] }]
  for (;;) {
    let text = ''
    const calls: { id: string; name: string; args: string }[] = []
    for await (const event of provider.stream({ messages } as never, signal)) {
      if (event.type === 'text') text += event.delta
      else if (event.type === 'tool_start') calls.push({ id: event.id, name: event.name, args: '' })
      else if (event.type === 'tool_args') calls.at(-1)!.args += event.delta
    }
    const asked = calls.map(({ id, name, args }) => ({
      type: 'tool_call',
      id,
      name,
      input: JSON.parse(args) as { text: string },
    }))
    messages.push({ role: 'assistant', content: [{ type: 'text', text }, ...asked] })
    if (asked.length === 0) return
    const content: unknown[] = []
    for (const { id, name, input } of asked) {
      const output = await tools.get(name)!.execute(input, {} as never)
      content.push({ type: 'tool_result', callId: id, output })
    }
    messages.push({ role: 'user', content })
  }
}
