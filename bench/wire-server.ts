import { createServer } from 'node:http'

/**
 * The other end of the wire, in a process of its own: speaks the Messages API. The path says what to play,
 * `/<conversation>/<turns>/<deltas>/<events per chunk>/v1/messages`; every turn but the last asks for a tool.
 */
const counts = new Map<string, number>()

const server = createServer((request, response) => {
  const [, conversation = '', turns, deltas, perChunk] = (request.url ?? '').split('/')
  request.resume().on('end', () => {
    const turn = (counts.get(conversation) ?? 0) + 1
    counts.set(conversation, turn)
    if (turn === Number(turns)) counts.delete(conversation)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    play(frames(turn, turn < Number(turns), Number(deltas)), Number(perChunk), (chunk) => response.write(chunk))
      .then(() => response.end())
      .catch(() => response.destroy())
  })
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as { port: number }).port))
process.on('disconnect', () => process.exit())

const kept = new Map<string, string[]>()

function frames(turn: number, callsTool: boolean, deltas: number): string[] {
  const key = `${callsTool} ${deltas} ${callsTool ? turn : 0}`
  const known = kept.get(key)
  if (known) return known
  const frame = (event: { type: string; [key: string]: unknown }): string =>
    `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
  const block = (index: number, start: object, pieces: object[]): string[] => [
    frame({ type: 'content_block_start', index, content_block: start }),
    ...pieces.map((delta) => frame({ type: 'content_block_delta', index, delta })),
    frame({ type: 'content_block_stop', index }),
  ]
  const words = Array.from({ length: deltas }, (_, i) => ({ type: 'text_delta', text: ` word${i % 97}` }))
  const input = JSON.stringify({ text: `call ${turn}` })
  const list = [
    frame({ type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } }),
    ...block(0, { type: 'text', text: '' }, words),
    ...(callsTool
      ? block(1, { type: 'tool_use', id: `call_${turn}`, name: 'echo', input: {} }, [
          { type: 'input_json_delta', partial_json: input.slice(0, 8) },
          { type: 'input_json_delta', partial_json: input.slice(8) },
        ])
      : []),
    frame({
      type: 'message_delta',
      delta: { stop_reason: callsTool ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: deltas },
    }),
    frame({ type: 'message_stop' }),
  ]
  if (kept.size < 2000) kept.set(key, list)
  return list
}

/** Each chunk reaches the other side by itself: written one after the other they would be glued together. */
async function play(list: readonly string[], perChunk: number, write: (chunk: string) => boolean): Promise<void> {
  for (let i = 0; i < list.length; i += perChunk) {
    write(list.slice(i, i + perChunk).join(''))
    if (perChunk < list.length) await new Promise(setImmediate)
  }
}
