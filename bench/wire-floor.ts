/** What one would write by hand: no log, no hooks, no checks, no repair, no second provider. */
export interface FloorOptions {
  readonly url: string
  readonly onText?: (delta: string) => void
}

interface Floored {
  readonly role: string
  readonly content: unknown
}

const tools = [
  {
    name: 'echo',
    description: 'Says it again.',
    input_schema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  },
]
const head = { model: 'bench-1', max_tokens: 16_384, stream: true, system: 'You are a bench.', tools }

/** `fetch`, and the whole body built anew for every turn. */
export async function naiveFloor({ url, onText }: FloorOptions): Promise<void> {
  const messages: Floored[] = [{ role: 'user', content: [{ type: 'text', text: 'go' }] }]
  for (;;) {
    const reply = await ask(url, JSON.stringify({ ...head, messages }), onText)
    messages.push({ role: 'assistant', content: reply })
    const results = answers(reply)
    if (results.length === 0) return
    messages.push({ role: 'user', content: results })
  }
}

/** The same, but what was written of the conversation stays written. */
export async function appendFloor({ url, onText }: FloorOptions): Promise<void> {
  const start = JSON.stringify(head).slice(0, -1)
  let written = JSON.stringify({ role: 'user', content: [{ type: 'text', text: 'go' }] })
  for (;;) {
    const reply = await ask(url, `${start},"messages":[${written}]}`, onText)
    written += `,${JSON.stringify({ role: 'assistant', content: reply })}`
    const results = answers(reply)
    if (results.length === 0) return
    written += `,${JSON.stringify({ role: 'user', content: results })}`
  }
}

interface Block {
  type: string
  id?: string
  text?: string
  input?: unknown
}

function answers(reply: readonly Block[]): object[] {
  return reply
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, input }) => ({ type: 'tool_result', tool_use_id: id, content: (input as { text: string }).text }))
}

async function ask(url: string, body: string, onText?: (delta: string) => void): Promise<Block[]> {
  const headers = { 'content-type': 'application/json', 'x-api-key': 'bench', 'anthropic-version': '2023-06-01' }
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body })
  const decoder = new TextDecoder()
  const blocks: Block[] = []
  let args = ''
  let rest = ''
  for await (const chunk of response.body!) {
    rest += decoder.decode(chunk, { stream: true })
    const frames = rest.split('\n\n')
    rest = frames.pop()!
    for (const frame of frames) {
      const data = frame.split('\n').find((line) => line.startsWith('data: '))
      if (!data) continue
      const event = JSON.parse(data.slice(6))
      if (event.type === 'content_block_start') {
        blocks[event.index] = event.content_block
        args = ''
      } else if (event.type === 'content_block_delta') {
        if (event.delta.type === 'text_delta') {
          blocks[event.index]!.text += event.delta.text
          onText?.(event.delta.text)
        } else if (event.delta.type === 'input_json_delta') args += event.delta.partial_json
      } else if (event.type === 'content_block_stop' && args !== '') {
        blocks[event.index]!.input = JSON.parse(args)
        args = ''
      }
    }
  }
  return blocks
}
