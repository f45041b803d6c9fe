import { spawn } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type AgentOptions, createAgent, createProcessContext } from 'libero'
import type { McpServerConfig } from 'libero/mcp'
import { type Step, scripted, call as toolCall } from 'libero/testing'
import { afterEach, describe, expect } from 'vitest'
import type { LiberoAgent } from '../../src/create-agent.ts'
import { compileCache } from '../compile-cache.ts'
import { sampleOf, testInTurns } from '../soak.ts'
import { temporary } from '../temporary.ts'

const test = testInTurns(2)

const at = (file: string): string =>
  fileURLToPath(new URL(`../../node_modules/@modelcontextprotocol/${file}`, import.meta.url))
const everything = at('server-everything/dist/index.js')
const filesystem = at('server-filesystem/dist/index.js')

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const overStdio: McpServerConfig = {
  name: 'all',
  transport: 'stdio',
  command: process.execPath,
  args: [everything, 'stdio'],
  env: compileCache,
}

describe.each(sampleOf(['stdio', 'streamable-http', 'sse'] as const, 1))('server-everything over %s', (transport) => {
  test('its tools are called, and answer with text, images, links and structured content', async () => {
    const agent = agentWith(await configFor(transport), [
      { call: 'mcp_all_echo', input: { message: 'over the wire' } },
      { call: 'mcp_all_get-tiny-image', input: {} },
      { call: 'mcp_all_get-resource-links', input: { count: 2 } },
      { call: 'mcp_all_get-structured-content', input: { location: 'New York' } },
    ])
    await agent.run({ prompt: 'go' })
    const [echo, image, links, structured] = resultsOf(agent)
    expect(echo).toBe('Echo: over the wire')
    expect(image).toContainEqual(expect.objectContaining({ type: 'image', mediaType: 'image/png' }))
    expect(JSON.stringify(links)).toContain('demo://resource/dynamic')
    expect(JSON.stringify(structured)).toContain('temperature')
  })

  test('progress is reported', async () => {
    const agent = agentWith(await configFor(transport), [
      { call: 'mcp_all_trigger-long-running-operation', input: { duration: 0.3, steps: 3 } },
    ])
    const heard: string[] = []
    agent.hooks.hook('tool:progress', ({ text }) => heard.push(text))
    await agent.run({ prompt: 'go' })
    expect(heard.length).toBeGreaterThan(0)
    expect(JSON.stringify(resultsOf(agent))).toContain('completed')
  })

  test('its prompts and resources are available to the host', async () => {
    const agent = agentWith(await configFor(transport), [])
    const [server] = await agent.mcpServers()
    expect(server).toMatchObject({ state: 'ready', protocolVersion: '2025-11-25' })
    expect(server?.instructions).toContain('Everything')
    expect((await server?.listPrompts())?.map(({ name }) => name)).toContain('simple-prompt')
    expect(JSON.stringify(await server?.getPrompt('simple-prompt'))).toContain('prompt')
    const resources = (await server?.listResources()) ?? []
    expect(resources.length).toBeGreaterThan(3)
    expect(await server?.readResource(resources[0]?.uri ?? '')).toHaveLength(1)
    expect((await server?.listResourceTemplates())?.length).toBeGreaterThan(0)
  })
})

test('A199 the tools of a server are named after it', async () => {
  const agent = agentWith(overStdio, [])
  const [server] = await agent.mcpServers()
  expect(server?.toolNames).toContain('mcp_all_echo')
  expect(server?.toolNames.every((name) => /^mcp_all_[A-Za-z0-9_-]+$/.test(name))).toBe(true)
})

test('MC-12 a server is not given our keys', async () => {
  process.env.ANTHROPIC_API_KEY = 'sk-canary-in-the-environment'
  cleanups.push(() => delete process.env.ANTHROPIC_API_KEY)
  const agent = agentWith({ ...overStdio, env: { GIVEN: 'on purpose' } }, [{ call: 'mcp_all_get-env', input: {} }])
  await agent.run({ prompt: 'go' })
  const said = JSON.stringify(resultsOf(agent))
  expect(said).toContain('on purpose')
  expect(said).not.toContain('canary')
})

test('roots are the folder where tools run: server-filesystem uses them instead of its own folders', async () => {
  const folder = await temporary('mcp-fs-')
  await mkdir(join(folder, 'given'))
  await mkdir(join(folder, 'here'))
  await writeFile(join(folder, 'here/note.txt'), 'found it')
  const args = [filesystem, join(folder, 'given')]
  const config: McpServerConfig = { name: 'fs', transport: 'stdio', command: process.execPath, args, env: compileCache }
  // The server requests the roots some time after `initialize`.
  const untilHere: Extract<Step, (...args: never) => unknown> = ({ messages }) =>
    JSON.stringify(messages).includes(`${folder}/here`)
      ? calls
      : [toolCall(`l${messages.length}`, 'mcp_fs_list_allowed_directories'), ...(messages.length < 200 ? [] : calls)]
  const calls = [
    toolCall('c1', 'mcp_fs_read_text_file', { path: join(folder, 'here/note.txt') }),
    toolCall('c2', 'mcp_fs_write_file', { path: join(folder, 'here/new.txt'), content: 'written' }),
    toolCall('c3', 'mcp_fs_read_text_file', { path: join(folder, 'given/x.txt') }),
  ]
  const provider = scripted(...Array.from({ length: 100 }, () => untilHere))
  const agent = createAgent({
    provider,
    mcpServers: [config],
    execution: createProcessContext({ cwd: join(folder, 'here') }),
    behavior: { maxTurns: 100 },
  })
  cleanups.push(() => agent.destroy())
  await agent.run({ prompt: 'go' })
  const [read, , outside] = resultsOf(agent).slice(-3)
  expect(JSON.stringify(read)).toContain('found it')
  expect(JSON.stringify(outside)).toContain('outside allowed directories')
  expect(await readFile(join(folder, 'here/new.txt'), 'utf8')).toBe('written')
})

interface Call {
  readonly call: string
  readonly input: Record<string, unknown>
}

function agentWith(config: McpServerConfig, calls: readonly Call[], more: Partial<AgentOptions> = {}): LiberoAgent {
  const provider = scripted(...calls.map(({ call, input }, i) => [toolCall(`c${i}`, call, input)]), 'done')
  const agent = createAgent({ provider, mcpServers: [config], ...more })
  cleanups.push(() => agent.destroy())
  return agent
}

function resultsOf({ turns }: LiberoAgent): unknown[] {
  return turns.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_result' ? [block.output] : [])),
  )
}

async function configFor(transport: McpServerConfig['transport']): Promise<McpServerConfig> {
  if (transport === 'stdio') return overStdio
  const port = await freePort()
  const child = spawn(process.execPath, [everything, transport === 'sse' ? 'sse' : 'streamableHttp'], {
    env: { PATH: process.env.PATH, PORT: String(port), ...compileCache },
    stdio: 'ignore',
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  cleanups.push(() => {
    child.kill('SIGKILL')
    return ended
  })
  const url = `http://127.0.0.1:${port}/${transport === 'sse' ? 'sse' : 'mcp'}`
  for (let tries = 0; tries < 200; tries++) {
    if (await isListening(port)) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return { name: 'all', transport, url }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
