// A small MCP server. Its arguments are its name and its faults, such as `crash` and `hang`.
import { appendFileSync } from 'node:fs'

const [name, ...faults] = process.argv.slice(2)
if (process.env.STARTS) appendFileSync(process.env.STARTS, `${process.pid} ${name} ${faults.join(' ')}\n`)
if (faults.includes('crash')) {
  process.stderr.write('no licence found\n')
  process.exit(3)
}

const tool = {
  name: 'ask',
  description: `Asks ${name}.`,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
}
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name, version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': ({ arguments: { text }, _meta }) => {
    if (text === 'meta') return { content: [{ type: 'text', text: JSON.stringify(_meta ?? {}) }] }
    if (text === 'die') process.exit(4)
    return { content: [{ type: 'text', text: `${name} heard ${text}, and ${process.env.TOKEN ?? 'no token'}` }] }
  },
}

let rest = ''
process.stdin.setEncoding('utf8').on('data', (text) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop() ?? ''
  for (const line of lines) if (!faults.includes('hang')) answer(JSON.parse(line))
})

function answer({ id, method, params }) {
  if (id === undefined) return
  const work = answers[method]
  const reply = work ? { result: work(params ?? {}) } : { error: { code: -32601, message: `no method ${method}` } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...reply })}\n`)
}
