import { readFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openaiCompat } from '../../src/providers/index.ts'
import { tool } from '../../src/testing/index.ts'
import { hostOf } from './agent-host.ts'
import { checkGrammar, type Frame } from './check-grammar.ts'
import { converse } from './client.ts'
import { agentOf } from './zot-kit.ts'

// The two runs of the seed, line by line. Where it leaves something out (times, counts, most of a text, the last message)
// the line has been completed.
const refused = golden('refused')
const toolCall = golden('tool-call')

let server: Server | undefined
afterEach(() => server?.close())

test('C003 the run that is refused with 401 has the frames of the seed', async () => {
  const agent = agentOf({ provider: await deepseek((reply) => reply.writeHead(401).end('{"error":"wrong key"}')) })
  const frames = await converse(hostOf(agent), { id: '1', type: 'prompt', message: 'check the current directory' })
  expect(checkGrammar(frames)).toEqual([])
  const error = frames.find(({ type }) => type === 'error')?.message
  expect(error).toMatch(/deepseek.*401/s)
  const words = (frame: Frame) => ({
    ...frame,
    ...('error' in frame && { error }),
    ...('message' in frame && { message: error }),
  })
  expect(frames.map(timeless)).toEqual(refused.map(words).map(timeless))
})

test('C004 C010 C011 the run with a tool has the frames of the seed, in their order', async () => {
  const replies = [firstReply, secondReply]
  const provider = await deepseek((reply) => {
    reply.writeHead(200, { 'content-type': 'text/event-stream' })
    reply.end(
      replies
        .shift()!
        .map((data) => `data: ${data}\n\n`)
        .join(''),
    )
  })
  const kernel = 'FreeBSD osa.smilepowered.org 15.0-RELEASE-p10\n'
  const shell = tool('shell', ({ command }, { progress }) => {
    progress(kernel)
    return `$ ${command}\n${kernel}`
  })
  const agent = agentOf({ provider, tools: [shell], aliases: { shell: 'bash' } })
  const message = 'run uname -a and tell me the kernel version in one sentence'
  const frames = await converse(hostOf(agent), { id: '1', type: 'prompt', message })
  expect(checkGrammar(frames)).toEqual([])
  expect(frames.map(priceless).map(timeless)).toEqual(toolCall.map(priceless).map(timeless))
  expect(frames.filter(({ type }) => type === 'done')).toHaveLength(1)
  expect(frames.at(-1)).toEqual({ type: 'done' })
})

test('the goldens themselves follow the grammar', () => {
  expect(checkGrammar(refused)).toEqual([])
  expect(checkGrammar(toolCall)).toEqual([])
})

function golden(name: string): Frame[] {
  const text = readFileSync(new URL(`golden/${name}.jsonl`, import.meta.url), 'utf8')
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Frame)
}

const timeless = (frame: Frame): Frame => ('time' in frame ? { ...frame, time: 'a time' } : frame)

/** The cost depends on the price list. */
function priceless(frame: Frame): Frame {
  if (frame.type !== 'usage') return frame
  return { ...frame, cost_usd: 0, cumulative: { ...(frame.cumulative as object), cost_usd: 0 } }
}

const chunk = (delta: object, finish: string | null = null) =>
  JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })
const counted = (fresh: number, output: number) =>
  JSON.stringify({
    id: 'x',
    object: 'chat.completion.chunk',
    choices: [],
    usage: {
      prompt_tokens: fresh + 896,
      completion_tokens: output,
      prompt_cache_hit_tokens: 896,
      prompt_tokens_details: { cached_tokens: 896 },
    },
  })
const args = (text: string) => chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] })

const firstReply = [
  chunk({ role: 'assistant', content: '' }),
  chunk({
    tool_calls: [{ index: 0, id: 'call_00_golden', type: 'function', function: { name: 'bash', arguments: '' } }],
  }),
  args('{'),
  args('"command": "uname -a"'),
  args('}'),
  chunk({}, 'tool_calls'),
  counted(104, 20),
  '[DONE]',
]
const secondReply = [
  ...['This', ' system', ' runs', ' FreeBSD', ' 15.0', '.'].map((content) => chunk({ content })),
  chunk({}, 'stop'),
  counted(204, 12),
  '[DONE]',
]

async function deepseek(answer: (reply: ServerResponse) => void) {
  server = createServer((request, reply) => {
    request.resume()
    request.on('end', () => answer(reply))
  })
  await new Promise<void>((listening) => server!.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return openaiCompat({
    name: 'deepseek',
    baseURL: `http://127.0.0.1:${port}`,
    apiKey: 'k',
    defaultModel: 'deepseek-v4-pro',
  })
}
