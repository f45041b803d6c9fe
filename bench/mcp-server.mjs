// The least that is an MCP server over stdio: one tool, which echoes. argv[2]: milliseconds before it listens.
import { createInterface } from 'node:readline'

setTimeout(serve, Number(process.argv[2] ?? 0))

function serve() {
  const answer = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
  const lines = createInterface({ input: process.stdin })
  lines.on('close', () => process.exit(0))
  lines.on('line', (line) => {
    const { id, method, params } = JSON.parse(line)
    if (id === undefined) return
    if (method === 'initialize')
      return answer(id, {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'echo', version: '1' },
      })
    if (method === 'tools/list')
      return answer(id, {
        tools: [
          {
            name: 'echo',
            description: 'Says it again',
            inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
          },
        ],
      })
    if (method === 'tools/call') return answer(id, { content: [{ type: 'text', text: params.arguments.text }] })
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } })}\n`)
  })
}
