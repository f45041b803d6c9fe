import { createAgent } from '../../src/create-agent.ts'
import { createMcpFace } from '../../src/mcp/serve/face.ts'
import { call, scripted, tool } from '../../src/testing/scripted.ts'

// A server as an embedder would write it, with a model that plays a script and a tool that does not end by itself.
const face = createMcpFace({
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
await face.serveStdio()
await face.close()
process.stderr.write('closed\n')
