import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { createProcessContext } from '../../src/execution/process.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import type { AgentDefinition } from '../../src/workflow/definitions/definition.ts'
import { temporary } from '../temporary.ts'
import { definition, world } from './kit.ts'

const everything = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
)

/** The official server, whose process ids are written down. */
async function setting(textTools = false): Promise<{ definitions: AgentDefinition[]; pids(): Promise<number[]> }> {
  const starts = join(await temporary('mcp-'), 'starts')
  const args = ['-c', `echo $$ >> ${starts}; exec ${process.execPath} ${everything} stdio`]
  const server = { name: 'all', transport: 'stdio', command: 'sh', args } as const
  return {
    definitions: [{ ...definition(), mcpServers: [server], textTools }],
    pids: async () => (await readFile(starts, 'utf8')).trim().split('\n').map(Number),
  }
}

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}`)

test.runIf(process.platform === 'linux')(
  'D037 each agent has servers of its own, the loop goes on after their results, and they end with the agent',
  async () => {
    const { definitions, pids } = await setting()
    const echo = (id: string) => [call(id, 'mcp_all_echo', { message: `from ${id}` })]
    const { workflow, provider } = world([echo('1'), 'Heard.', echo('2'), 'Heard too.'], {
      definitions,
      execution: createProcessContext(),
    })
    const [one, two] = [await workflow.createAgent('helper'), await workflow.createAgent('helper')]
    expect((await workflow.sendMsgToAgent(one.id, 'Echo')).message?.content).toBe('Heard.')
    expect((await workflow.sendMsgToAgent(two.id, 'Echo')).message?.content).toBe('Heard too.')
    expect(texts(provider.requests[1]!.messages).at(-1)).toContain('Echo: from 1')
    const [first, second] = await pids()
    expect([isAlive(first!), isAlive(second!)]).toEqual([true, true])
    await workflow.closeAgent(one.id)
    await vi.waitFor(() => expect([isAlive(first!), isAlive(second!)]).toEqual([false, true]), 10_000)
    await workflow.close()
    await vi.waitFor(() => expect(isAlive(second!)).toBe(false), 10_000)
  },
)

test('D037 in text mode a server’s tool is known by its name with hyphens too', async () => {
  const { definitions } = await setting(true)
  const said = '<tool_use name="mcp-all-echo">{"message": "spoken"}</tool_use>'
  const { workflow, provider } = world([said, 'Heard.'], { definitions, execution: createProcessContext() })
  const { id } = await workflow.createAgent('helper')
  expect((await workflow.sendMsgToAgent(id, 'Echo')).message?.content).toBe('Heard.')
  expect(texts(provider.requests[1]!.messages).at(-1)).toContain('Echo: spoken')
  await workflow.close()
})

test('a server that cannot be started is reported with its agent, for sub-agents too, and the work goes on', async () => {
  const mcpServers = [{ name: 'gone', transport: 'stdio', command: '/nonexistent/server' }] as const
  const spawning = call('s1', 'spawn-agent', { task: 'Read it', agentDefinitionId: 'reader' })
  const { workflow, errors } = world([[spawning], 'Read.', 'Done.'], {
    definitions: [
      { ...definition({ toolId: 'spawn-agent', approval: { mode: 'auto' } }), mcpServers },
      { id: 'reader', mcpServers },
    ],
    execution: createProcessContext(),
  })
  const { id } = await workflow.createAgent('helper')
  expect((await workflow.sendMsgToAgent(id, 'Go')).message?.content).toBe('Done.')
  expect(errors.map(({ message }) => message)).toEqual([
    expect.stringContaining(`agent ${id}: its MCP server "gone" failed: `),
    expect.stringContaining(`a sub-agent "reader" of agent ${id}: its MCP server "gone" failed: `),
  ])
})
