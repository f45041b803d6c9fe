import { createAgent } from '../../src/create-agent.ts'
import { createMcpAgentServer } from '../../src/mcp/serve/agent-server.ts'
import { call, scripted, tool } from '../../src/testing/scripted.ts'

// A server as an embedder would write it, with a scripted model and a tool that does not end by itself.
const server = createMcpAgentServer({
  name: 'child',
  version: '1.0.0',
  agent: ({ interactors }) =>
    createAgent({
      provider: scripted([call('1', 'danger', { what: 'x' })], 'Done.'),
      tools: {
        danger: tool('danger', ({ what }: { what: string }) => `did ${what}`, { effects: ['fs.write'] }),
        wait: tool('wait', async (_input, { signal, progress }) => {
          progress('waiting')
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
          process.stderr.write('the tool was stopped\n')
        }),
      },
      authority: { mode: 'ask', allow: ['wait'], interactors },
    }),
})
await server.serveStdio()
await server.close()
process.stderr.write('closed\n')
