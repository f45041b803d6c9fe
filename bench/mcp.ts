import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { ToolContext } from '../src/core/tool.ts'
import type { McpServerConfig } from '../src/mcp/config.ts'
import { connectMcpServers } from '../src/mcp/connect.ts'
import { resolveSkills } from '../src/skills/resolve-skills.ts'
import { compare, median, type Result } from './measure.ts'

const program = fileURLToPath(new URL('mcp-server.mjs', import.meta.url))

/** What servers and skills cost: at the start, and with each call. */
export async function mcp(): Promise<Result[]> {
  return [await bootstrap(), await callOverhead(), await scanSkills()]
}

const slowMs = 1000

/** Five servers, one of which needs a second, against that one alone. */
async function bootstrap(): Promise<Result> {
  const delays = [0, 0, 0, 0, slowMs]
  const [all, one]: [number[], number[]] = [[], []]
  for (let round = 0; round < 7; round++) {
    all.push(await connecting(delays))
    one.push(await connecting([slowMs]))
  }
  return compare('bootstrap of five stdio servers / the slowest alone', median(all), median(one), 1.3, 'start')
}

async function connecting(delays: readonly number[]): Promise<number> {
  const before = performance.now()
  const connections = await connectMcpServers(delays.map(configOf))
  const micros = (performance.now() - before) * 1000
  if (connections.servers?.some(({ state }) => state !== 'ready'))
    throw new Error('a server of the bench did not start')
  await connections.close()
  return micros
}

const configOf = (delay: number, i: number): McpServerConfig => ({
  name: `s${i}`,
  transport: 'stdio',
  command: process.execPath,
  args: [program, String(delay)],
})

const calls = 200

/** A call through our tool, checked and made readable, against the official client alone. */
async function callOverhead(): Promise<Result> {
  const connections = await connectMcpServers([configOf(0, 0)])
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [program] }))
  await client.listTools() // required before a call
  const tool = connections.tools.mcp_s0_echo
  const ctx = { callId: 'c', signal: new AbortController().signal, progress() {} } as unknown as ToolContext
  const text = 'a sentence of the usual length, as tools give and take them'
  const ours: number[] = []
  const raw: number[] = []
  for (let round = 0; round < 21; round++) {
    ours.push(await timed(() => tool?.execute({ text }, ctx)))
    raw.push(await timed(() => client.callTool({ name: 'echo', arguments: { text } })))
  }
  await Promise.all([connections.close(), client.close()])
  return compare('a call / the official client alone', median(ours), median(raw), 1.2, 'call')
}

async function timed(work: () => unknown): Promise<number> {
  const before = performance.now()
  for (let i = 0; i < calls; i++) await work()
  return ((performance.now() - before) * 1000) / calls
}

/** From the folders to the catalogue. */
async function scanSkills(): Promise<Result> {
  const home = mkdtempSync(join(tmpdir(), 'libero-bench-skills-'))
  try {
    for (let i = 0; i < 500; i++) {
      const folder = join(home, '.agents/skills', `skill-${i}`)
      mkdirSync(folder, { recursive: true })
      writeFileSync(
        join(folder, 'SKILL.md'),
        `---\nname: skill-${i}\ndescription: Does thing ${i}, when the user asks for it.\n---\n\n${'How it is done.\n'.repeat(200)}`,
      )
    }
    const samples: number[] = []
    for (let round = 0; round < 11; round++) {
      const before = performance.now()
      const { skills } = await resolveSkills({ cwd: home, home, liberoHome: join(home, '.libero') })
      samples.push(performance.now() - before)
      if (skills.length !== 500) throw new Error(`${skills.length} skills were found`)
    }
    const value = Number(median(samples).toFixed(1))
    const result = { name: 'scan of 500 skill folders, ms', value, goal: 100, ok: value < 100 }
    console.log(`${result.ok ? 'ok  ' : 'MISS'} ${result.name.padEnd(52)} ${String(value).padStart(6)}  (goal 100)`)
    return result
  } finally {
    rmSync(home, { recursive: true })
  }
}
